"""The public module `minijax.lax`: operations and control flow."""

from ..control.branches.cond import cond_p as cond_p
from ..control.branches.cond_functions import cond as cond
from ..control.branches.cond_functions import platform_dependent as platform_dependent
from ..control.branches.cond_functions import switch as switch
from ..control.calls.composite import composite as composite
from ..control.calls.jitted_indexing import dynamic_index_in_dim as dynamic_index_in_dim
from ..control.calls.jitted_indexing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from ..control.effects.sinks import dce_sink as dce_sink
from ..control.effects.sinks import dce_sink_p as dce_sink_p
from ..control.loop_functions.associative_scan import associative_scan as associative_scan
from ..control.loop_functions.map import map as map
from ..control.loop_functions.scan import scan as scan
from ..control.loop_functions.while_loop import fori_loop as fori_loop
from ..control.loop_functions.while_loop import while_loop as while_loop
from ..control.loops.scan import scan_p as scan_p
from ..control.loops.while_loop import while_p as while_p
from ..control.rules.custom_solve import custom_linear_solve as custom_linear_solve
from ..control.rules.custom_solve import custom_root as custom_root
from ..control.rules.custom_solve import linear_solve_p as linear_solve_p
from ..prims.collectives.all_gather import all_gather as all_gather
from ..prims.collectives.all_gather import all_gather_p as all_gather_p
from ..prims.collectives.all_gather import all_to_all as all_to_all
from ..prims.collectives.all_gather import all_to_all_p as all_to_all_p
from ..prims.collectives.all_gather import psum_scatter as psum_scatter
from ..prims.collectives.all_gather import pswapaxes as pswapaxes
from ..prims.collectives.all_gather import reduce_scatter_p as reduce_scatter_p
from ..prims.collectives.one_sided import precv as precv
from ..prims.collectives.one_sided import psend as psend
from ..prims.collectives.pcast import pcast as pcast
from ..prims.collectives.permute import pbroadcast as pbroadcast
from ..prims.collectives.permute import ppermute as ppermute
from ..prims.collectives.permute import ppermute_p as ppermute_p
from ..prims.collectives.permute import pshuffle as pshuffle
from ..prims.collectives.permute import ragged_all_to_all as ragged_all_to_all
from ..prims.collectives.permute import ragged_all_to_all_p as ragged_all_to_all_p
from ..prims.collectives.psum import axis_index as axis_index
from ..prims.collectives.psum import axis_index_p as axis_index_p
from ..prims.collectives.psum import axis_size as axis_size
from ..prims.collectives.psum import pmax as pmax
from ..prims.collectives.psum import pmax_p as pmax_p
from ..prims.collectives.psum import pmean as pmean
from ..prims.collectives.psum import pmin as pmin
from ..prims.collectives.psum import pmin_p as pmin_p
from ..prims.collectives.psum import psum as psum
from ..prims.collectives.psum import psum_p as psum_p
from ..prims.conv.conv_functions import conv as conv
from ..prims.conv.conv_functions import conv_general_dilated_local as conv_general_dilated_local
from ..prims.conv.conv_functions import conv_general_dilated_patches as conv_general_dilated_patches
from ..prims.conv.conv_functions import conv_general_shape_tuple as conv_general_shape_tuple
from ..prims.conv.conv_functions import conv_shape_tuple as conv_shape_tuple
from ..prims.conv.conv_functions import conv_transpose as conv_transpose
from ..prims.conv.conv_functions import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from ..prims.conv.conv_functions import conv_with_general_padding as conv_with_general_padding
from ..prims.conv.general import ConvDimensionNumbers as ConvDimensionNumbers
from ..prims.conv.general import ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers
from ..prims.conv.general import conv_dimension_numbers as conv_dimension_numbers
from ..prims.conv.general import conv_general_dilated as conv_general_dilated
from ..prims.conv.general import conv_general_dilated_p as conv_general_dilated_p
from ..prims.conv.general import conv_general_permutations as conv_general_permutations
from ..prims.device_put import device_put_p as device_put_p
from ..prims.dot.dot import DotDimensionNumbers as DotDimensionNumbers
from ..prims.dot.dot import batch_matmul as batch_matmul
from ..prims.dot.dot import dot as dot
from ..prims.dot.dot import dot_general as dot_general
from ..prims.dot.dot import dot_general_p as dot_general_p
from ..prims.dot.precision import DotAlgorithm as DotAlgorithm
from ..prims.dot.precision import DotAlgorithmPreset as DotAlgorithmPreset
from ..prims.dot.precision import Precision as Precision
from ..prims.dot.precision import PrecisionLike as PrecisionLike
from ..prims.dot.ragged import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from ..prims.dot.ragged import ragged_dot as ragged_dot
from ..prims.dot.ragged import ragged_dot_general as ragged_dot_general
from ..prims.dot.ragged import ragged_dot_general_p as ragged_dot_general_p
from ..prims.dot.ragged import scaled_dot as scaled_dot
from ..prims.dot.ragged import scaled_dot_p as scaled_dot_p
from ..prims.fft import FftType as FftType
from ..prims.fft import fft as fft
from ..prims.fft import fft_p as fft_p
from ..prims.gather.dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from ..prims.gather.dimension_numbers import GatherScatterMode as GatherScatterMode
from ..prims.gather.dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from ..prims.gather.dynamic_slicing import dynamic_slice as dynamic_slice
from ..prims.gather.dynamic_slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from ..prims.gather.dynamic_slicing import dynamic_slice_p as dynamic_slice_p
from ..prims.gather.dynamic_slicing import dynamic_update_slice as dynamic_update_slice
from ..prims.gather.dynamic_slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from ..prims.gather.dynamic_slicing import dynamic_update_slice_p as dynamic_update_slice_p
from ..prims.gather.gather import gather as gather
from ..prims.gather.gather import gather_p as gather_p
from ..prims.gather.gather import index_take as index_take
from ..prims.gather.gather import scatter_add as scatter_add
from ..prims.gather.gather import scatter_add_p as scatter_add_p
from ..prims.gather.gather import scatter_sub as scatter_sub
from ..prims.gather.gather import scatter_sub_p as scatter_sub_p
from ..prims.gather.scatter import scatter as scatter
from ..prims.gather.scatter import scatter_apply as scatter_apply
from ..prims.gather.scatter import scatter_max as scatter_max
from ..prims.gather.scatter import scatter_max_p as scatter_max_p
from ..prims.gather.scatter import scatter_min as scatter_min
from ..prims.gather.scatter import scatter_min_p as scatter_min_p
from ..prims.gather.scatter import scatter_mul as scatter_mul
from ..prims.gather.scatter import scatter_mul_p as scatter_mul_p
from ..prims.gather.scatter import scatter_p as scatter_p
from ..prims.math.accuracy import AccuracyMode as AccuracyMode
from ..prims.math.accuracy import Tolerance as Tolerance
from ..prims.math.algebraic import add as add
from ..prims.math.algebraic import add_p as add_p
from ..prims.math.algebraic import cbrt as cbrt
from ..prims.math.algebraic import cbrt_p as cbrt_p
from ..prims.math.algebraic import div as div
from ..prims.math.algebraic import div_p as div_p
from ..prims.math.algebraic import integer_pow as integer_pow
from ..prims.math.algebraic import integer_pow_p as integer_pow_p
from ..prims.math.algebraic import mul as mul
from ..prims.math.algebraic import mul_p as mul_p
from ..prims.math.algebraic import mulhi as mulhi
from ..prims.math.algebraic import mulhi_p as mulhi_p
from ..prims.math.algebraic import neg as neg
from ..prims.math.algebraic import neg_p as neg_p
from ..prims.math.algebraic import reciprocal as reciprocal
from ..prims.math.algebraic import rsqrt as rsqrt
from ..prims.math.algebraic import rsqrt_p as rsqrt_p
from ..prims.math.algebraic import sqrt as sqrt
from ..prims.math.algebraic import sqrt_p as sqrt_p
from ..prims.math.algebraic import square as square
from ..prims.math.algebraic import square_p as square_p
from ..prims.math.algebraic import sub as sub
from ..prims.math.algebraic import sub_p as sub_p
from ..prims.math.cast import bitcast_convert_type as bitcast_convert_type
from ..prims.math.cast import bitcast_convert_type_p as bitcast_convert_type_p
from ..prims.math.cast import convert_element_type as convert_element_type
from ..prims.math.cast import convert_element_type_p as convert_element_type_p
from ..prims.math.cast import reduce_precision as reduce_precision
from ..prims.math.cast import reduce_precision_p as reduce_precision_p
from ..prims.math.elementary import acos as acos
from ..prims.math.elementary import acos_p as acos_p
from ..prims.math.elementary import acosh as acosh
from ..prims.math.elementary import acosh_p as acosh_p
from ..prims.math.elementary import asin as asin
from ..prims.math.elementary import asin_p as asin_p
from ..prims.math.elementary import asinh as asinh
from ..prims.math.elementary import asinh_p as asinh_p
from ..prims.math.elementary import atan as atan
from ..prims.math.elementary import atan2 as atan2
from ..prims.math.elementary import atan2_p as atan2_p
from ..prims.math.elementary import atan_p as atan_p
from ..prims.math.elementary import atanh as atanh
from ..prims.math.elementary import atanh_p as atanh_p
from ..prims.math.elementary import cos as cos
from ..prims.math.elementary import cos_p as cos_p
from ..prims.math.elementary import cosh as cosh
from ..prims.math.elementary import cosh_p as cosh_p
from ..prims.math.elementary import exp as exp
from ..prims.math.elementary import exp2 as exp2
from ..prims.math.elementary import exp2_p as exp2_p
from ..prims.math.elementary import exp_p as exp_p
from ..prims.math.elementary import expm1 as expm1
from ..prims.math.elementary import expm1_p as expm1_p
from ..prims.math.elementary import log as log
from ..prims.math.elementary import log1p as log1p
from ..prims.math.elementary import log1p_p as log1p_p
from ..prims.math.elementary import log_p as log_p
from ..prims.math.elementary import logistic as logistic
from ..prims.math.elementary import logistic_p as logistic_p
from ..prims.math.elementary import pow as pow
from ..prims.math.elementary import pow_p as pow_p
from ..prims.math.elementary import sin as sin
from ..prims.math.elementary import sin_p as sin_p
from ..prims.math.elementary import sinh as sinh
from ..prims.math.elementary import sinh_p as sinh_p
from ..prims.math.elementary import tan as tan
from ..prims.math.elementary import tan_p as tan_p
from ..prims.math.elementary import tanh as tanh
from ..prims.math.elementary import tanh_p as tanh_p
from ..prims.math.logic import and_p as and_p
from ..prims.math.logic import bitwise_and as bitwise_and
from ..prims.math.logic import bitwise_not as bitwise_not
from ..prims.math.logic import bitwise_or as bitwise_or
from ..prims.math.logic import bitwise_xor as bitwise_xor
from ..prims.math.logic import clamp as clamp
from ..prims.math.logic import clamp_p as clamp_p
from ..prims.math.logic import clz as clz
from ..prims.math.logic import clz_p as clz_p
from ..prims.math.logic import eq as eq
from ..prims.math.logic import eq_p as eq_p
from ..prims.math.logic import eq_to_p as eq_to_p
from ..prims.math.logic import ge as ge
from ..prims.math.logic import ge_p as ge_p
from ..prims.math.logic import gt as gt
from ..prims.math.logic import gt_p as gt_p
from ..prims.math.logic import is_finite as is_finite
from ..prims.math.logic import is_finite_p as is_finite_p
from ..prims.math.logic import le as le
from ..prims.math.logic import le_p as le_p
from ..prims.math.logic import le_to_p as le_to_p
from ..prims.math.logic import lt as lt
from ..prims.math.logic import lt_p as lt_p
from ..prims.math.logic import lt_to_p as lt_to_p
from ..prims.math.logic import ne as ne
from ..prims.math.logic import ne_p as ne_p
from ..prims.math.logic import not_p as not_p
from ..prims.math.logic import or_p as or_p
from ..prims.math.logic import population_count as population_count
from ..prims.math.logic import population_count_p as population_count_p
from ..prims.math.logic import select as select
from ..prims.math.logic import select_n as select_n
from ..prims.math.logic import select_n_p as select_n_p
from ..prims.math.logic import shift_left as shift_left
from ..prims.math.logic import shift_left_p as shift_left_p
from ..prims.math.logic import shift_right_arithmetic as shift_right_arithmetic
from ..prims.math.logic import shift_right_arithmetic_p as shift_right_arithmetic_p
from ..prims.math.logic import shift_right_logical as shift_right_logical
from ..prims.math.logic import shift_right_logical_p as shift_right_logical_p
from ..prims.math.logic import xor_p as xor_p
from ..prims.math.order import RoundingMethod as RoundingMethod
from ..prims.math.order import abs as abs
from ..prims.math.order import abs_p as abs_p
from ..prims.math.order import ceil as ceil
from ..prims.math.order import ceil_p as ceil_p
from ..prims.math.order import complex as complex
from ..prims.math.order import complex_p as complex_p
from ..prims.math.order import conj as conj
from ..prims.math.order import conj_p as conj_p
from ..prims.math.order import floor as floor
from ..prims.math.order import floor_p as floor_p
from ..prims.math.order import imag as imag
from ..prims.math.order import imag_p as imag_p
from ..prims.math.order import max as max
from ..prims.math.order import max_p as max_p
from ..prims.math.order import min as min
from ..prims.math.order import min_p as min_p
from ..prims.math.order import nextafter as nextafter
from ..prims.math.order import nextafter_p as nextafter_p
from ..prims.math.order import real as real
from ..prims.math.order import real_p as real_p
from ..prims.math.order import rem as rem
from ..prims.math.order import rem_p as rem_p
from ..prims.math.order import round as round
from ..prims.math.order import round_p as round_p
from ..prims.math.order import sign as sign
from ..prims.math.order import sign_p as sign_p
from ..prims.random.generators import RandomAlgorithm as RandomAlgorithm
from ..prims.random.generators import rng_bit_generator as rng_bit_generator
from ..prims.random.generators import rng_bit_generator_p as rng_bit_generator_p
from ..prims.random.generators import rng_uniform as rng_uniform
from ..prims.random.generators import rng_uniform_p as rng_uniform_p
from ..prims.reduce.cumulative import cumlogsumexp as cumlogsumexp
from ..prims.reduce.cumulative import cumlogsumexp_p as cumlogsumexp_p
from ..prims.reduce.cumulative import cummax as cummax
from ..prims.reduce.cumulative import cummax_p as cummax_p
from ..prims.reduce.cumulative import cummin as cummin
from ..prims.reduce.cumulative import cummin_p as cummin_p
from ..prims.reduce.cumulative import cumprod as cumprod
from ..prims.reduce.cumulative import cumprod_p as cumprod_p
from ..prims.reduce.cumulative import cumsum as cumsum
from ..prims.reduce.cumulative import cumsum_p as cumsum_p
from ..prims.reduce.generic import reduce as reduce
from ..prims.reduce.generic import reduce_p as reduce_p
from ..prims.reduce.over_axes import argmax as argmax
from ..prims.reduce.over_axes import argmax_p as argmax_p
from ..prims.reduce.over_axes import argmin as argmin
from ..prims.reduce.over_axes import argmin_p as argmin_p
from ..prims.reduce.over_axes import reduce_and as reduce_and
from ..prims.reduce.over_axes import reduce_and_p as reduce_and_p
from ..prims.reduce.over_axes import reduce_max as reduce_max
from ..prims.reduce.over_axes import reduce_max_p as reduce_max_p
from ..prims.reduce.over_axes import reduce_min as reduce_min
from ..prims.reduce.over_axes import reduce_min_p as reduce_min_p
from ..prims.reduce.over_axes import reduce_or as reduce_or
from ..prims.reduce.over_axes import reduce_or_p as reduce_or_p
from ..prims.reduce.over_axes import reduce_prod as reduce_prod
from ..prims.reduce.over_axes import reduce_prod_p as reduce_prod_p
from ..prims.reduce.over_axes import reduce_sum as reduce_sum
from ..prims.reduce.over_axes import reduce_sum_p as reduce_sum_p
from ..prims.reduce.over_axes import reduce_xor as reduce_xor
from ..prims.reduce.over_axes import reduce_xor_p as reduce_xor_p
from ..prims.reduce.reduce_window import reduce_window as reduce_window
from ..prims.reduce.reduce_window import reduce_window_p as reduce_window_p
from ..prims.reduce.reduce_window import select_and_scatter_p as select_and_scatter_p
from ..prims.reduce.window_reductions import reduce_window_max_p as reduce_window_max_p
from ..prims.reduce.window_reductions import reduce_window_min_p as reduce_window_min_p
from ..prims.reduce.window_reductions import reduce_window_shape_tuple as reduce_window_shape_tuple
from ..prims.reduce.window_reductions import reduce_window_sum_p as reduce_window_sum_p
from ..prims.reduce.window_reductions import select_and_gather_add_p as select_and_gather_add_p
from ..prims.reduce.window_reductions import select_and_scatter_add_p as select_and_scatter_add_p
from ..prims.shape.concatenation import concatenate as concatenate
from ..prims.shape.concatenation import concatenate_p as concatenate_p
from ..prims.shape.concatenation import optimization_barrier as optimization_barrier
from ..prims.shape.concatenation import optimization_barrier_p as optimization_barrier_p
from ..prims.shape.concatenation import pad as pad
from ..prims.shape.concatenation import pad_p as pad_p
from ..prims.shape.concatenation import split as split
from ..prims.shape.concatenation import split_p as split_p
from ..prims.shape.concatenation import stack as stack
from ..prims.shape.concatenation import stack_p as stack_p
from ..prims.shape.concatenation import tile as tile
from ..prims.shape.concatenation import tile_p as tile_p
from ..prims.shape.concatenation import unstack as unstack
from ..prims.shape.concatenation import unstack_p as unstack_p
from ..prims.shape.creation import broadcasted_iota as broadcasted_iota
from ..prims.shape.creation import empty as empty
from ..prims.shape.creation import iota as iota
from ..prims.shape.creation import iota_p as iota_p
from ..prims.shape.full import dtype as dtype
from ..prims.shape.full import full as full
from ..prims.shape.full import full_like as full_like
from ..prims.shape.shapes import broadcast as broadcast
from ..prims.shape.shapes import broadcast_in_dim as broadcast_in_dim
from ..prims.shape.shapes import broadcast_in_dim_p as broadcast_in_dim_p
from ..prims.shape.shapes import broadcast_like as broadcast_like
from ..prims.shape.shapes import broadcast_shapes as broadcast_shapes
from ..prims.shape.shapes import broadcast_to_rank as broadcast_to_rank
from ..prims.shape.shapes import collapse as collapse
from ..prims.shape.shapes import copy_p as copy_p
from ..prims.shape.shapes import expand_dims as expand_dims
from ..prims.shape.shapes import reshape as reshape
from ..prims.shape.shapes import reshape_p as reshape_p
from ..prims.shape.shapes import rev as rev
from ..prims.shape.shapes import rev_p as rev_p
from ..prims.shape.shapes import squeeze as squeeze
from ..prims.shape.shapes import squeeze_p as squeeze_p
from ..prims.shape.shapes import transpose as transpose
from ..prims.shape.shapes import transpose_p as transpose_p
from ..prims.shape.slicing import index_in_dim as index_in_dim
from ..prims.shape.slicing import slice as slice
from ..prims.shape.slicing import slice_in_dim as slice_in_dim
from ..prims.shape.slicing import slice_p as slice_p
from ..prims.sharding_constraint import sharding_constraint_p as sharding_constraint_p
from ..prims.sharding_constraint import with_sharding_constraint as with_sharding_constraint
from ..prims.sort import approx_max_k as approx_max_k
from ..prims.sort import approx_min_k as approx_min_k
from ..prims.sort import approx_top_k_p as approx_top_k_p
from ..prims.sort import sort as sort
from ..prims.sort import sort_key_val as sort_key_val
from ..prims.sort import sort_p as sort_p
from ..prims.sort import top_k as top_k
from ..prims.sort import top_k_p as top_k_p
from ..prims.special.bessel import bessel_i0e as bessel_i0e
from ..prims.special.bessel import bessel_i0e_p as bessel_i0e_p
from ..prims.special.bessel import bessel_i1e as bessel_i1e
from ..prims.special.bessel import bessel_i1e_p as bessel_i1e_p
from ..prims.special.beta import betainc as betainc
from ..prims.special.beta import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from ..prims.special.error_function import erf as erf
from ..prims.special.error_function import erf_inv as erf_inv
from ..prims.special.error_function import erf_inv_p as erf_inv_p
from ..prims.special.error_function import erf_p as erf_p
from ..prims.special.error_function import erfc as erfc
from ..prims.special.error_function import erfc_p as erfc_p
from ..prims.special.gamma import igamma as igamma
from ..prims.special.gamma import igamma_grad_a as igamma_grad_a
from ..prims.special.gamma import igamma_grad_a_p as igamma_grad_a_p
from ..prims.special.gamma import igamma_p as igamma_p
from ..prims.special.gamma import igammac as igammac
from ..prims.special.gamma import igammac_p as igammac_p
from ..prims.special.gamma import random_gamma_grad as random_gamma_grad
from ..prims.special.log_gamma import digamma as digamma
from ..prims.special.log_gamma import digamma_p as digamma_p
from ..prims.special.log_gamma import lgamma as lgamma
from ..prims.special.log_gamma import lgamma_p as lgamma_p
from ..prims.special.log_gamma import polygamma as polygamma
from ..prims.special.log_gamma import polygamma_p as polygamma_p
from ..prims.special.log_gamma import zeta as zeta
from ..prims.special.log_gamma import zeta_p as zeta_p
from ..prims.stop_gradient import stop_gradient as stop_gradient
from ..prims.stop_gradient import stop_gradient_p as stop_gradient_p
from ..prims.tokens import after_all as after_all
from ..prims.tokens import after_all_p as after_all_p
from ..prims.tokens import create_token as create_token
from ..prims.tokens import create_token_p as create_token_p
from ..prims.window_padding import padtype_to_pads as padtype_to_pads
from ..surface.values import shape_as_value as shape_as_value
from ..surface.values import stage as stage
from ..surface.values import stage_p as stage_p
from . import linalg as linalg

__all__ = [
    "AccuracyMode", "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers",
    "DotAlgorithm", "DotAlgorithmPreset", "DotDimensionNumbers", "FftType",
    "GatherDimensionNumbers", "GatherScatterMode", "Precision", "PrecisionLike",
    "RaggedDotDimensionNumbers", "RandomAlgorithm", "RoundingMethod",
    "ScatterDimensionNumbers", "Tolerance", "abs", "abs_p", "acos", "acos_p", "acosh",
    "acosh_p", "add", "add_p", "after_all", "after_all_p", "all_gather", "all_gather_p",
    "all_to_all", "all_to_all_p", "and_p", "approx_max_k", "approx_min_k",
    "approx_top_k_p", "argmax", "argmax_p", "argmin", "argmin_p", "asin", "asin_p",
    "asinh", "asinh_p", "associative_scan", "atan", "atan2", "atan2_p", "atan_p",
    "atanh", "atanh_p", "axis_index", "axis_index_p", "axis_size", "batch_matmul",
    "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "betainc",
    "bitcast_convert_type", "bitcast_convert_type_p", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "broadcast", "broadcast_in_dim", "broadcast_in_dim_p",
    "broadcast_like", "broadcast_shapes", "broadcast_to_rank", "broadcasted_iota",
    "cbrt", "cbrt_p", "ceil", "ceil_p", "clamp", "clamp_p", "clz", "clz_p", "collapse",
    "complex", "complex_p", "composite", "concatenate", "concatenate_p", "cond",
    "cond_p", "conj", "conj_p", "conv", "conv_dimension_numbers",
    "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_p",
    "conv_general_dilated_patches", "conv_general_permutations",
    "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose",
    "conv_transpose_shape_tuple", "conv_with_general_padding", "convert_element_type",
    "convert_element_type_p", "copy_p", "cos", "cos_p", "cosh", "cosh_p",
    "create_token", "create_token_p", "cumlogsumexp", "cumlogsumexp_p", "cummax",
    "cummax_p", "cummin", "cummin_p", "cumprod", "cumprod_p", "cumsum", "cumsum_p",
    "custom_linear_solve", "custom_root", "dce_sink", "dce_sink_p", "device_put_p",
    "digamma", "digamma_p", "div", "div_p", "dot", "dot_general", "dot_general_p",
    "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim",
    "dynamic_slice_p", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "dynamic_update_slice_p", "empty", "eq", "eq_p",
    "eq_to_p", "erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "exp", "exp2",
    "exp2_p", "exp_p", "expand_dims", "expm1", "expm1_p", "fft", "fft_p", "floor",
    "floor_p", "fori_loop", "full", "full_like", "gather", "gather_p", "ge", "ge_p",
    "gt", "gt_p", "igamma", "igamma_grad_a", "igamma_grad_a_p", "igamma_p", "igammac",
    "igammac_p", "imag", "imag_p", "index_in_dim", "index_take", "integer_pow",
    "integer_pow_p", "iota", "iota_p", "is_finite", "is_finite_p", "le", "le_p",
    "le_to_p", "lgamma", "lgamma_p", "linalg", "linear_solve_p", "log", "log1p",
    "log1p_p", "log_p", "logistic", "logistic_p", "lt", "lt_p", "lt_to_p", "map", "max",
    "max_p", "min", "min_p", "mul", "mul_p", "mulhi", "mulhi_p", "ne", "ne_p", "neg",
    "neg_p", "nextafter", "nextafter_p", "not_p", "optimization_barrier",
    "optimization_barrier_p", "or_p", "pad", "pad_p", "padtype_to_pads", "pbroadcast",
    "pcast", "platform_dependent", "pmax", "pmax_p", "pmean", "pmin", "pmin_p",
    "polygamma", "polygamma_p", "population_count", "population_count_p", "pow",
    "pow_p", "ppermute", "ppermute_p", "precv", "psend", "pshuffle", "psum", "psum_p",
    "psum_scatter", "pswapaxes", "ragged_all_to_all", "ragged_all_to_all_p",
    "ragged_dot", "ragged_dot_general", "ragged_dot_general_p", "random_gamma_grad",
    "real", "real_p", "reciprocal", "reduce", "reduce_and", "reduce_and_p",
    "reduce_max", "reduce_max_p", "reduce_min", "reduce_min_p", "reduce_or",
    "reduce_or_p", "reduce_p", "reduce_precision", "reduce_precision_p", "reduce_prod",
    "reduce_prod_p", "reduce_scatter_p", "reduce_sum", "reduce_sum_p", "reduce_window",
    "reduce_window_max_p", "reduce_window_min_p", "reduce_window_p",
    "reduce_window_shape_tuple", "reduce_window_sum_p", "reduce_xor", "reduce_xor_p",
    "regularized_incomplete_beta_p", "rem", "rem_p", "reshape", "reshape_p", "rev",
    "rev_p", "rng_bit_generator", "rng_bit_generator_p", "rng_uniform", "rng_uniform_p",
    "round", "round_p", "rsqrt", "rsqrt_p", "scaled_dot", "scaled_dot_p", "scan",
    "scan_p", "scatter", "scatter_add", "scatter_add_p", "scatter_apply", "scatter_max",
    "scatter_max_p", "scatter_min", "scatter_min_p", "scatter_mul", "scatter_mul_p",
    "scatter_p", "scatter_sub", "scatter_sub_p", "select", "select_and_gather_add_p",
    "select_and_scatter_add_p", "select_and_scatter_p", "select_n", "select_n_p",
    "shape_as_value", "sharding_constraint_p", "shift_left", "shift_left_p",
    "shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical",
    "shift_right_logical_p", "sign", "sign_p", "sin", "sin_p", "sinh", "sinh_p",
    "slice", "slice_in_dim", "slice_p", "sort", "sort_key_val", "sort_p", "split",
    "split_p", "sqrt", "sqrt_p", "square", "square_p", "squeeze", "squeeze_p", "stack",
    "stack_p", "stage", "stage_p", "stop_gradient", "stop_gradient_p", "sub", "sub_p",
    "switch", "tan", "tan_p", "tanh", "tanh_p", "tile", "tile_p", "top_k", "top_k_p",
    "transpose", "transpose_p", "unstack", "unstack_p", "while_loop", "while_p",
    "with_sharding_constraint", "xor_p", "zeta", "zeta_p"
]
