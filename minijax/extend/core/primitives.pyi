"""The public module `minijax.extend.core.primitives`."""

from ...control.branches.cond import cond_p as cond_p
from ...control.calls.jit_primitive import closed_call_p as closed_call_p
from ...control.calls.jit_primitive import jit_p as jit_p
from ...control.calls.remat import name_p as name_p
from ...control.calls.remat import remat_p as remat_p
from ...control.loops.scan import scan_p as scan_p
from ...control.loops.while_loop import while_p as while_p
from ...control.refs.refs import get_p as get_p
from ...control.refs.refs import swap_p as swap_p
from ...control.rules.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from ...control.rules.custom_solve import linear_solve_p as linear_solve_p
from ...control.rules.custom_vjp_call import custom_lin_p as custom_lin_p
from ...control.rules.custom_vjp_call import custom_vjp_call_p as custom_vjp_call_p
from ...prims.collectives.all_gather import all_gather_p as all_gather_p
from ...prims.collectives.all_gather import all_to_all_p as all_to_all_p
from ...prims.collectives.permute import ppermute_p as ppermute_p
from ...prims.collectives.permute import ragged_all_to_all_p as ragged_all_to_all_p
from ...prims.collectives.psum import axis_index_p as axis_index_p
from ...prims.collectives.psum import pmax_p as pmax_p
from ...prims.collectives.psum import pmin_p as pmin_p
from ...prims.collectives.psum import psum_p as psum_p
from ...prims.conv.general import conv_general_dilated_p as conv_general_dilated_p
from ...prims.device_put import device_put_p as device_put_p
from ...prims.dot.dot import dot_general_p as dot_general_p
from ...prims.fft import fft_p as fft_p
from ...prims.gather.dynamic_slicing import dynamic_slice_p as dynamic_slice_p
from ...prims.gather.dynamic_slicing import dynamic_update_slice_p as dynamic_update_slice_p
from ...prims.gather.gather import gather_p as gather_p
from ...prims.gather.gather import scatter_add_p as scatter_add_p
from ...prims.gather.scatter import scatter_max_p as scatter_max_p
from ...prims.gather.scatter import scatter_min_p as scatter_min_p
from ...prims.gather.scatter import scatter_mul_p as scatter_mul_p
from ...prims.gather.scatter import scatter_p as scatter_p
from ...prims.linalg.lu import lu_p as lu_p
from ...prims.linalg.qr import hessenberg_p as hessenberg_p
from ...prims.linalg.qr import householder_product_p as householder_product_p
from ...prims.linalg.qr import qr_p as qr_p
from ...prims.linalg.qr import tridiagonal_p as tridiagonal_p
from ...prims.linalg.solve import cholesky_p as cholesky_p
from ...prims.linalg.solve import triangular_solve_p as triangular_solve_p
from ...prims.linalg.solve import tridiagonal_solve_p as tridiagonal_solve_p
from ...prims.linalg.spectral import eig_p as eig_p
from ...prims.linalg.spectral import eigh_p as eigh_p
from ...prims.linalg.spectral import schur_p as schur_p
from ...prims.linalg.svd import svd_p as svd_p
from ...prims.math.algebraic import add_any_p as add_jaxvals_p
from ...prims.math.algebraic import add_p as add_p
from ...prims.math.algebraic import cbrt_p as cbrt_p
from ...prims.math.algebraic import div_p as div_p
from ...prims.math.algebraic import integer_pow_p as integer_pow_p
from ...prims.math.algebraic import mul_p as mul_p
from ...prims.math.algebraic import neg_p as neg_p
from ...prims.math.algebraic import rsqrt_p as rsqrt_p
from ...prims.math.algebraic import sqrt_p as sqrt_p
from ...prims.math.algebraic import square_p as square_p
from ...prims.math.algebraic import sub_p as sub_p
from ...prims.math.cast import bitcast_convert_type_p as bitcast_convert_type_p
from ...prims.math.cast import convert_element_type_p as convert_element_type_p
from ...prims.math.cast import reduce_precision_p as reduce_precision_p
from ...prims.math.elementary import acos_p as acos_p
from ...prims.math.elementary import acosh_p as acosh_p
from ...prims.math.elementary import asin_p as asin_p
from ...prims.math.elementary import asinh_p as asinh_p
from ...prims.math.elementary import atan2_p as atan2_p
from ...prims.math.elementary import atan_p as atan_p
from ...prims.math.elementary import atanh_p as atanh_p
from ...prims.math.elementary import cos_p as cos_p
from ...prims.math.elementary import cosh_p as cosh_p
from ...prims.math.elementary import exp2_p as exp2_p
from ...prims.math.elementary import exp_p as exp_p
from ...prims.math.elementary import expm1_p as expm1_p
from ...prims.math.elementary import log1p_p as log1p_p
from ...prims.math.elementary import log_p as log_p
from ...prims.math.elementary import logistic_p as logistic_p
from ...prims.math.elementary import pow_p as pow_p
from ...prims.math.elementary import sin_p as sin_p
from ...prims.math.elementary import sinh_p as sinh_p
from ...prims.math.elementary import tan_p as tan_p
from ...prims.math.elementary import tanh_p as tanh_p
from ...prims.math.logic import and_p as and_p
from ...prims.math.logic import clamp_p as clamp_p
from ...prims.math.logic import clz_p as clz_p
from ...prims.math.logic import eq_p as eq_p
from ...prims.math.logic import eq_to_p as eq_to_p
from ...prims.math.logic import ge_p as ge_p
from ...prims.math.logic import gt_p as gt_p
from ...prims.math.logic import is_finite_p as is_finite_p
from ...prims.math.logic import le_p as le_p
from ...prims.math.logic import le_to_p as le_to_p
from ...prims.math.logic import lt_p as lt_p
from ...prims.math.logic import lt_to_p as lt_to_p
from ...prims.math.logic import ne_p as ne_p
from ...prims.math.logic import not_p as not_p
from ...prims.math.logic import or_p as or_p
from ...prims.math.logic import population_count_p as population_count_p
from ...prims.math.logic import select_n_p as select_n_p
from ...prims.math.logic import shift_left_p as shift_left_p
from ...prims.math.logic import shift_right_arithmetic_p as shift_right_arithmetic_p
from ...prims.math.logic import shift_right_logical_p as shift_right_logical_p
from ...prims.math.logic import xor_p as xor_p
from ...prims.math.order import abs_p as abs_p
from ...prims.math.order import ceil_p as ceil_p
from ...prims.math.order import complex_p as complex_p
from ...prims.math.order import conj_p as conj_p
from ...prims.math.order import floor_p as floor_p
from ...prims.math.order import imag_p as imag_p
from ...prims.math.order import max_p as max_p
from ...prims.math.order import min_p as min_p
from ...prims.math.order import nextafter_p as nextafter_p
from ...prims.math.order import real_p as real_p
from ...prims.math.order import rem_p as rem_p
from ...prims.math.order import round_p as round_p
from ...prims.math.order import sign_p as sign_p
from ...prims.random.generators import rng_bit_generator_p as rng_bit_generator_p
from ...prims.random.generators import rng_uniform_p as rng_uniform_p
from ...prims.random.hashes import threefry2x32_p as threefry2x32_p
from ...prims.random.key_arrays import random_bits_p as random_bits_p
from ...prims.random.key_arrays import random_fold_in_p as random_fold_in_p
from ...prims.random.key_arrays import random_seed_p as random_seed_p
from ...prims.random.key_arrays import random_split_p as random_split_p
from ...prims.reduce.cumulative import cumlogsumexp_p as cumlogsumexp_p
from ...prims.reduce.cumulative import cummax_p as cummax_p
from ...prims.reduce.cumulative import cummin_p as cummin_p
from ...prims.reduce.cumulative import cumprod_p as cumprod_p
from ...prims.reduce.cumulative import cumsum_p as cumsum_p
from ...prims.reduce.generic import reduce_p as reduce_p
from ...prims.reduce.over_axes import argmax_p as argmax_p
from ...prims.reduce.over_axes import argmin_p as argmin_p
from ...prims.reduce.over_axes import reduce_and_p as reduce_and_p
from ...prims.reduce.over_axes import reduce_max_p as reduce_max_p
from ...prims.reduce.over_axes import reduce_min_p as reduce_min_p
from ...prims.reduce.over_axes import reduce_or_p as reduce_or_p
from ...prims.reduce.over_axes import reduce_prod_p as reduce_prod_p
from ...prims.reduce.over_axes import reduce_sum_p as reduce_sum_p
from ...prims.reduce.over_axes import reduce_xor_p as reduce_xor_p
from ...prims.reduce.reduce_window import reduce_window_p as reduce_window_p
from ...prims.reduce.reduce_window import select_and_scatter_p as select_and_scatter_p
from ...prims.reduce.window_reductions import reduce_window_max_p as reduce_window_max_p
from ...prims.reduce.window_reductions import reduce_window_min_p as reduce_window_min_p
from ...prims.reduce.window_reductions import reduce_window_sum_p as reduce_window_sum_p
from ...prims.reduce.window_reductions import select_and_gather_add_p as select_and_gather_add_p
from ...prims.reduce.window_reductions import select_and_scatter_add_p as select_and_scatter_add_p
from ...prims.shape.concatenation import concatenate_p as concatenate_p
from ...prims.shape.concatenation import pad_p as pad_p
from ...prims.shape.creation import iota_p as iota_p
from ...prims.shape.shapes import broadcast_in_dim_p as broadcast_in_dim_p
from ...prims.shape.shapes import copy_p as copy_p
from ...prims.shape.shapes import reshape_p as reshape_p
from ...prims.shape.shapes import rev_p as rev_p
from ...prims.shape.shapes import squeeze_p as squeeze_p
from ...prims.shape.shapes import transpose_p as transpose_p
from ...prims.shape.slicing import slice_p as slice_p
from ...prims.sharding_constraint import sharding_constraint_p as sharding_constraint_p
from ...prims.sort import approx_top_k_p as approx_top_k_p
from ...prims.sort import sort_p as sort_p
from ...prims.sort import top_k_p as top_k_p
from ...prims.special.bessel import bessel_i0e_p as bessel_i0e_p
from ...prims.special.bessel import bessel_i1e_p as bessel_i1e_p
from ...prims.special.beta import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from ...prims.special.error_function import erf_inv_p as erf_inv_p
from ...prims.special.error_function import erf_p as erf_p
from ...prims.special.error_function import erfc_p as erfc_p
from ...prims.special.gamma import igamma_grad_a_p as igamma_grad_a_p
from ...prims.special.gamma import igamma_p as igamma_p
from ...prims.special.gamma import igammac_p as igammac_p
from ...prims.special.log_gamma import digamma_p as digamma_p
from ...prims.special.log_gamma import lgamma_p as lgamma_p
from ...prims.special.log_gamma import polygamma_p as polygamma_p
from ...prims.special.log_gamma import zeta_p as zeta_p
from ...prims.stop_gradient import stop_gradient_p as stop_gradient_p
from ...prims.tokens import after_all_p as after_all_p
from ...prims.tokens import create_token_p as create_token_p
from ...surface.random.gammas import random_gamma_p as random_gamma_p
from ...views.primitives import call_p as call_p

__all__ = [
    "abs_p", "acos_p", "acosh_p", "add_jaxvals_p", "add_p", "after_all_p",
    "all_gather_p", "all_to_all_p", "and_p", "approx_top_k_p", "argmax_p", "argmin_p",
    "asin_p", "asinh_p", "atan2_p", "atan_p", "atanh_p", "axis_index_p", "bessel_i0e_p",
    "bessel_i1e_p", "bitcast_convert_type_p", "broadcast_in_dim_p", "call_p", "cbrt_p",
    "ceil_p", "cholesky_p", "clamp_p", "closed_call_p", "clz_p", "complex_p",
    "concatenate_p", "cond_p", "conj_p", "conv_general_dilated_p",
    "convert_element_type_p", "copy_p", "cos_p", "cosh_p", "create_token_p",
    "cumlogsumexp_p", "cummax_p", "cummin_p", "cumprod_p", "cumsum_p",
    "custom_jvp_call_p", "custom_lin_p", "custom_vjp_call_p", "device_put_p",
    "digamma_p", "div_p", "dot_general_p", "dynamic_slice_p", "dynamic_update_slice_p",
    "eig_p", "eigh_p", "eq_p", "eq_to_p", "erf_inv_p", "erf_p", "erfc_p", "exp2_p",
    "exp_p", "expm1_p", "fft_p", "floor_p", "gather_p", "ge_p", "get_p", "gt_p",
    "hessenberg_p", "householder_product_p", "igamma_grad_a_p", "igamma_p", "igammac_p",
    "imag_p", "integer_pow_p", "iota_p", "is_finite_p", "jit_p", "le_p", "le_to_p",
    "lgamma_p", "linear_solve_p", "log1p_p", "log_p", "logistic_p", "lt_p", "lt_to_p",
    "lu_p", "max_p", "min_p", "mul_p", "name_p", "ne_p", "neg_p", "nextafter_p",
    "not_p", "or_p", "pad_p", "pmax_p", "pmin_p", "polygamma_p", "population_count_p",
    "pow_p", "ppermute_p", "psum_p", "qr_p", "ragged_all_to_all_p", "random_bits_p",
    "random_fold_in_p", "random_gamma_p", "random_seed_p", "random_split_p", "real_p",
    "reduce_and_p", "reduce_max_p", "reduce_min_p", "reduce_or_p", "reduce_p",
    "reduce_precision_p", "reduce_prod_p", "reduce_sum_p", "reduce_window_max_p",
    "reduce_window_min_p", "reduce_window_p", "reduce_window_sum_p", "reduce_xor_p",
    "regularized_incomplete_beta_p", "rem_p", "remat_p", "reshape_p", "rev_p",
    "rng_bit_generator_p", "rng_uniform_p", "round_p", "rsqrt_p", "scan_p",
    "scatter_add_p", "scatter_max_p", "scatter_min_p", "scatter_mul_p", "scatter_p",
    "schur_p", "select_and_gather_add_p", "select_and_scatter_add_p",
    "select_and_scatter_p", "select_n_p", "sharding_constraint_p", "shift_left_p",
    "shift_right_arithmetic_p", "shift_right_logical_p", "sign_p", "sin_p", "sinh_p",
    "slice_p", "sort_p", "sqrt_p", "square_p", "squeeze_p", "stop_gradient_p", "sub_p",
    "svd_p", "swap_p", "tan_p", "tanh_p", "threefry2x32_p", "top_k_p", "transpose_p",
    "triangular_solve_p", "tridiagonal_p", "tridiagonal_solve_p", "while_p", "xor_p",
    "zeta_p"
]
