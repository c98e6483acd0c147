"""The public module `minijax.lax`: operations and control flow."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "control.loop_functions.associative_scan": "associative_scan",
    "control.branches.cond": "cond_p",
    "control.calls.composite": "composite",
    "control.branches.cond_functions": "cond platform_dependent switch",
    "control.rules.custom_solve": "custom_linear_solve custom_root linear_solve_p",
    "control.calls.jitted_indexing": "dynamic_index_in_dim dynamic_update_index_in_dim",
    "control.loops.while_loop": "while_p",
    "control.loop_functions.while_loop": "fori_loop while_loop",
    "control.loop_functions.map": "map",
    "control.loops.scan": "scan_p",
    "control.loop_functions.scan": "scan",
    "control.effects.sinks": "dce_sink dce_sink_p",
    "prims.stop_gradient": "stop_gradient stop_gradient_p",
    "prims.collectives.all_gather": """
        all_gather_p all_gather reduce_scatter_p psum_scatter all_to_all_p all_to_all
        pswapaxes
    """,
    "prims.collectives.one_sided": "precv psend",
    "prims.collectives.permute": """
        ppermute_p ppermute pshuffle pbroadcast ragged_all_to_all_p ragged_all_to_all
    """,
    "prims.collectives.psum": """
        psum_p pmax_p pmin_p psum pmean pmax pmin axis_index_p axis_index axis_size
    """,
    "prims.collectives.pcast": "pcast",
    "prims.conv.conv_functions": """
        conv conv_with_general_padding conv_transpose conv_shape_tuple
        conv_general_shape_tuple conv_transpose_shape_tuple conv_general_dilated_patches
        conv_general_dilated_local
    """,
    "prims.conv.general": """
        ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv_dimension_numbers
        conv_general_permutations conv_general_dilated_p conv_general_dilated
    """,
    "prims.dot.dot": "DotDimensionNumbers dot_general_p dot_general dot batch_matmul",
    "prims.dot.precision": "Precision DotAlgorithm DotAlgorithmPreset PrecisionLike",
    "prims.dot.ragged": """
        RaggedDotDimensionNumbers ragged_dot_general_p ragged_dot_general ragged_dot
        scaled_dot_p scaled_dot
    """,
    "prims.fft": "FftType fft_p fft",
    "prims.gather.dynamic_slicing": """
        dynamic_slice_p dynamic_slice dynamic_update_slice_p dynamic_update_slice
        dynamic_slice_in_dim dynamic_update_slice_in_dim
    """,
    "prims.gather.dimension_numbers": """
        GatherScatterMode GatherDimensionNumbers ScatterDimensionNumbers
    """,
    "prims.gather.gather": """
        gather_p gather index_take scatter_add_p scatter_sub_p scatter_add scatter_sub
    """,
    "prims.gather.scatter": """
        scatter_mul_p scatter_mul scatter_min_p scatter_max_p scatter_min scatter_max
        scatter_p scatter scatter_apply
    """,
    "prims.math.accuracy": "AccuracyMode Tolerance",
    "prims.math.algebraic": """
        neg_p neg add_p add sub_p sub mul_p mul div_p div mulhi_p mulhi square_p square
        integer_pow_p integer_pow reciprocal sqrt_p sqrt rsqrt_p rsqrt cbrt_p cbrt
    """,
    "prims.special.bessel": "bessel_i0e_p bessel_i0e bessel_i1e_p bessel_i1e",
    "prims.special.beta": "regularized_incomplete_beta_p betainc",
    "prims.math.cast": """
        convert_element_type_p convert_element_type bitcast_convert_type_p
        bitcast_convert_type reduce_precision_p reduce_precision
    """,
    "prims.math.elementary": """
        exp_p exp exp2_p exp2 expm1_p expm1 logistic_p logistic log_p log log1p_p log1p
        pow_p pow sin_p sin cos_p cos tan_p tan asin_p asin acos_p acos atan_p atan atan2_p
        atan2 sinh_p cosh_p sinh cosh tanh_p tanh asinh_p asinh acosh_p acosh atanh_p atanh
    """,
    "prims.special.error_function": "erf_p erf erfc_p erfc erf_inv_p erf_inv",
    "prims.special.gamma": """
        igamma_p igamma igammac_p igammac igamma_grad_a_p igamma_grad_a random_gamma_grad
    """,
    "prims.special.log_gamma": """
        digamma_p lgamma_p lgamma digamma polygamma_p polygamma zeta_p zeta
    """,
    "prims.math.logic": """
        eq_p ne_p lt_p le_p gt_p ge_p eq ne lt le gt ge is_finite_p is_finite eq_to_p
        le_to_p lt_to_p and_p or_p xor_p not_p shift_left_p shift_right_arithmetic_p
        shift_right_logical_p population_count_p clz_p bitwise_and bitwise_or bitwise_xor
        bitwise_not shift_left shift_right_arithmetic shift_right_logical population_count
        clz select_n_p select_n select clamp_p clamp
    """,
    "prims.math.order": """
        rem_p rem max_p min_p max min nextafter_p nextafter sign_p sign abs_p abs floor_p
        ceil_p floor ceil RoundingMethod round_p round real_p imag_p real imag complex_p
        complex conj_p conj
    """,
    "prims.random.generators": """
        RandomAlgorithm rng_bit_generator_p rng_bit_generator rng_uniform_p rng_uniform
    """,
    "prims.reduce.cumulative": """
        cumsum_p cumsum cumprod_p cumprod cummax_p cummin_p cummax cummin cumlogsumexp_p
        cumlogsumexp
    """,
    "prims.reduce.generic": "reduce_p reduce",
    "prims.reduce.over_axes": """
        reduce_sum_p reduce_sum reduce_max_p reduce_min_p reduce_max reduce_min
        reduce_prod_p reduce_prod reduce_and_p reduce_or_p reduce_xor_p reduce_and reduce_or
        reduce_xor argmax_p argmin_p argmax argmin
    """,
    "prims.reduce.window_reductions": """
        reduce_window_shape_tuple reduce_window_sum_p reduce_window_max_p
        reduce_window_min_p select_and_gather_add_p select_and_scatter_add_p
    """,
    "prims.reduce.reduce_window": "reduce_window_p reduce_window select_and_scatter_p",
    "prims.shape.concatenation": """
        concatenate_p concatenate split_p split stack_p stack unstack_p unstack tile_p tile
        pad_p pad optimization_barrier_p optimization_barrier
    """,
    "prims.shape.full": "full full_like dtype",
    "prims.shape.creation": "iota_p iota broadcasted_iota empty",
    "prims.shape.shapes": """
        broadcast_in_dim_p broadcast_in_dim broadcast broadcast_to_rank broadcast_shapes
        broadcast_like reshape_p reshape collapse transpose_p transpose squeeze_p squeeze
        expand_dims rev_p rev copy_p
    """,
    "prims.shape.slicing": "slice_p slice slice_in_dim index_in_dim",
    "prims.sharding_constraint": "sharding_constraint_p with_sharding_constraint",
    "prims.window_padding": "padtype_to_pads",
    "prims.sort": """
        sort_p sort sort_key_val top_k_p top_k approx_top_k_p approx_max_k approx_min_k
    """,
    "prims.tokens": "after_all after_all_p create_token create_token_p",
    "prims.device_put": "device_put_p",
    "surface.values": "shape_as_value stage stage_p",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, "linalg")
