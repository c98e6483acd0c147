"""The public module `minijax.extend.core.primitives`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "control.branches.cond": "cond_p",
    "control.calls.jit_primitive": "closed_call_p jit_p",
    "control.calls.remat": "name_p remat_p",
    "control.loops.scan": "scan_p",
    "control.loops.while_loop": "while_p",
    "control.refs.refs": "get_p swap_p",
    "control.rules.custom_jvp": "custom_jvp_call_p",
    "control.rules.custom_solve": "linear_solve_p",
    "control.rules.custom_vjp_call": "custom_lin_p custom_vjp_call_p",
    "prims.stop_gradient": "stop_gradient_p",
    "prims.collectives.all_gather": "all_gather_p all_to_all_p",
    "prims.collectives.permute": "ppermute_p ragged_all_to_all_p",
    "prims.collectives.psum": "axis_index_p pmax_p pmin_p psum_p",
    "prims.conv.general": "conv_general_dilated_p",
    "prims.dot.dot": "dot_general_p",
    "prims.fft": "fft_p",
    "prims.gather.dynamic_slicing": "dynamic_slice_p dynamic_update_slice_p",
    "prims.gather.gather": "gather_p scatter_add_p",
    "prims.gather.scatter": "scatter_max_p scatter_min_p scatter_mul_p scatter_p",
    "prims.linalg.lu": "lu_p",
    "prims.linalg.qr": "hessenberg_p householder_product_p qr_p tridiagonal_p",
    "prims.linalg.solve": "cholesky_p triangular_solve_p tridiagonal_solve_p",
    "prims.linalg.spectral": "eig_p eigh_p schur_p",
    "prims.linalg.svd": "svd_p",
    "prims.math.algebraic": """
        add_jaxvals_p=add_any_p add_p cbrt_p div_p integer_pow_p mul_p neg_p rsqrt_p sqrt_p
        square_p sub_p
    """,
    "prims.special.bessel": "bessel_i0e_p bessel_i1e_p",
    "prims.special.beta": "regularized_incomplete_beta_p",
    "prims.math.cast": "bitcast_convert_type_p convert_element_type_p reduce_precision_p",
    "prims.math.elementary": """
        acos_p acosh_p asin_p asinh_p atan2_p atan_p atanh_p cos_p cosh_p exp2_p exp_p
        expm1_p log1p_p log_p logistic_p pow_p sin_p sinh_p tan_p tanh_p
    """,
    "prims.special.error_function": "erf_inv_p erf_p erfc_p",
    "prims.special.gamma": "igamma_grad_a_p igamma_p igammac_p",
    "prims.special.log_gamma": "digamma_p lgamma_p polygamma_p zeta_p",
    "prims.math.logic": """
        and_p clamp_p clz_p eq_p eq_to_p ge_p gt_p is_finite_p le_p le_to_p lt_p lt_to_p
        ne_p not_p or_p population_count_p select_n_p shift_left_p shift_right_arithmetic_p
        shift_right_logical_p xor_p
    """,
    "prims.math.order": """
        abs_p ceil_p complex_p conj_p floor_p imag_p max_p min_p nextafter_p real_p rem_p
        round_p sign_p
    """,
    "prims.random.generators": "rng_bit_generator_p rng_uniform_p",
    "prims.random.hashes": "threefry2x32_p",
    "prims.random.key_arrays": "random_bits_p random_fold_in_p random_seed_p random_split_p",
    "prims.reduce.cumulative": "cumlogsumexp_p cummax_p cummin_p cumprod_p cumsum_p",
    "prims.reduce.generic": "reduce_p",
    "prims.reduce.over_axes": """
        argmax_p argmin_p reduce_and_p reduce_max_p reduce_min_p reduce_or_p reduce_prod_p
        reduce_sum_p reduce_xor_p
    """,
    "prims.reduce.window_reductions": """
        reduce_window_max_p reduce_window_min_p reduce_window_sum_p select_and_gather_add_p
        select_and_scatter_add_p
    """,
    "prims.reduce.reduce_window": "reduce_window_p select_and_scatter_p",
    "prims.shape.concatenation": "concatenate_p pad_p",
    "prims.shape.creation": "iota_p",
    "prims.shape.shapes": "broadcast_in_dim_p copy_p reshape_p rev_p squeeze_p transpose_p",
    "prims.shape.slicing": "slice_p",
    "prims.sharding_constraint": "sharding_constraint_p",
    "prims.sort": "approx_top_k_p sort_p top_k_p",
    "prims.tokens": "after_all_p create_token_p",
    "prims.device_put": "device_put_p",
    "surface.random.gammas": "random_gamma_p",
    "views.primitives": "call_p",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
