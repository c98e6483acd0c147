"""NumPy's interface on minijax arrays: `import minijax.numpy as jnp`.

A face: names only, gathered from the rooms of this folder.  `linalg` and `fft` load on
first use; names that NumPy and JAX have dropped still work, with a DeprecationWarning.
"""

from __future__ import annotations

import importlib as _importlib
import warnings as _warnings
from typing import Any as _Any

import numpy as _np

from ..runtime.array import Array as ndarray
from .contraction import einsum as einsum
from .contraction import einsum_path as einsum_path
from .conversion import astype as astype
from .conversion import copy as copy
from .convolution import convolve as convolve
from .convolution import correlate as correlate
from .creation import array as array
from .creation import asarray as asarray
from .creation import empty as empty
from .creation import empty_like as empty_like
from .creation import full as full
from .creation import full_like as full_like
from .creation import ones as ones
from .creation import ones_like as ones_like
from .creation import zeros as zeros
from .creation import zeros_like as zeros_like
from .diagonals import diag as diag
from .diagonals import diagflat as diagflat
from .diagonals import diagonal as diagonal
from .diagonals import trace as trace
from .dtype_info import bfloat16 as bfloat16
from .dtype_info import bool_ as bool
from .dtype_info import bool_ as bool_
from .dtype_info import can_cast as can_cast
from .dtype_info import cdouble as cdouble
from .dtype_info import character as character
from .dtype_info import complex64 as complex64
from .dtype_info import complex128 as complex128
from .dtype_info import complex_ as complex_
from .dtype_info import complexfloating as complexfloating
from .dtype_info import csingle as csingle
from .dtype_info import double as double
from .dtype_info import dtype as dtype
from .dtype_info import finfo as finfo
from .dtype_info import flexible as flexible
from .dtype_info import float4_e2m1fn as float4_e2m1fn
from .dtype_info import float6_e2m3fn as float6_e2m3fn
from .dtype_info import float6_e3m2fn as float6_e3m2fn
from .dtype_info import float8_e3m4 as float8_e3m4
from .dtype_info import float8_e4m3 as float8_e4m3
from .dtype_info import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from .dtype_info import float8_e4m3fn as float8_e4m3fn
from .dtype_info import float8_e4m3fnuz as float8_e4m3fnuz
from .dtype_info import float8_e5m2 as float8_e5m2
from .dtype_info import float8_e5m2fnuz as float8_e5m2fnuz
from .dtype_info import float8_e8m0fnu as float8_e8m0fnu
from .dtype_info import float16 as float16
from .dtype_info import float32 as float32
from .dtype_info import float64 as float64
from .dtype_info import float_ as float_
from .dtype_info import floating as floating
from .dtype_info import generic as generic
from .dtype_info import iinfo as iinfo
from .dtype_info import inexact as inexact
from .dtype_info import int1 as int1
from .dtype_info import int2 as int2
from .dtype_info import int4 as int4
from .dtype_info import int8 as int8
from .dtype_info import int16 as int16
from .dtype_info import int32 as int32
from .dtype_info import int64 as int64
from .dtype_info import int_ as int_
from .dtype_info import integer as integer
from .dtype_info import iscomplexobj as iscomplexobj
from .dtype_info import isdtype as isdtype
from .dtype_info import isrealobj as isrealobj
from .dtype_info import isscalar as isscalar
from .dtype_info import issubdtype as issubdtype
from .dtype_info import number as number
from .dtype_info import object_ as object_
from .dtype_info import promote_types as promote_types
from .dtype_info import result_type as result_type
from .dtype_info import signedinteger as signedinteger
from .dtype_info import single as single
from .dtype_info import uint as uint
from .dtype_info import uint1 as uint1
from .dtype_info import uint2 as uint2
from .dtype_info import uint4 as uint4
from .dtype_info import uint8 as uint8
from .dtype_info import uint16 as uint16
from .dtype_info import uint32 as uint32
from .dtype_info import uint64 as uint64
from .dtype_info import unsignedinteger as unsignedinteger
from .edits import delete as delete
from .edits import insert as insert
from .elementwise import around as around
from .elementwise import clip as clip
from .elementwise import divmod as divmod
from .elementwise import float_power as float_power
from .elementwise import floor_divide as floor_divide
from .elementwise import fmax as fmax
from .elementwise import fmin as fmin
from .elementwise import fmod as fmod
from .elementwise import gcd as gcd
from .elementwise import lcm as lcm
from .elementwise import logaddexp as logaddexp
from .elementwise import logaddexp2 as logaddexp2
from .elementwise import mod as mod
from .elementwise import modf as modf
from .elementwise import pow as pow
from .elementwise import power as power
from .elementwise import remainder as remainder
from .elementwise import rint as rint
from .elementwise import round as round
from .elementwise import trunc as trunc
from .equality import allclose as allclose
from .equality import array_equal as array_equal
from .equality import array_equiv as array_equiv
from .equality import isclose as isclose
from .floats import angle as angle
from .floats import bitwise_count as bitwise_count
from .floats import copysign as copysign
from .floats import fabs as fabs
from .floats import frexp as frexp
from .floats import heaviside as heaviside
from .floats import hypot as hypot
from .floats import i0 as i0
from .floats import iscomplex as iscomplex
from .floats import isfinite as isfinite
from .floats import isinf as isinf
from .floats import isnan as isnan
from .floats import isneginf as isneginf
from .floats import isposinf as isposinf
from .floats import isreal as isreal
from .floats import ldexp as ldexp
from .floats import nan_to_num as nan_to_num
from .floats import signbit as signbit
from .floats import sinc as sinc
from .floats import spacing as spacing
from .functional import apply_along_axis as apply_along_axis
from .functional import apply_over_axes as apply_over_axes
from .functional import vectorize as vectorize
from .grids import c_ as c_
from .grids import diag_indices as diag_indices
from .grids import diag_indices_from as diag_indices_from
from .grids import eye as eye
from .grids import fromfunction as fromfunction
from .grids import identity as identity
from .grids import index_exp as index_exp
from .grids import indices as indices
from .grids import mask_indices as mask_indices
from .grids import meshgrid as meshgrid
from .grids import mgrid as mgrid
from .grids import ogrid as ogrid
from .grids import r_ as r_
from .grids import s_ as s_
from .grids import tri as tri
from .grids import tril as tril
from .grids import tril_indices as tril_indices
from .grids import tril_indices_from as tril_indices_from
from .grids import triu as triu
from .grids import triu_indices as triu_indices
from .grids import triu_indices_from as triu_indices_from
from .indexing import take as take
from .indexing import take_along_axis as take_along_axis
from .io import array_repr as array_repr
from .io import array_str as array_str
from .io import from_dlpack as from_dlpack
from .io import frombuffer as frombuffer
from .io import fromfile as fromfile
from .io import fromiter as fromiter
from .io import fromstring as fromstring
from .io import get_printoptions as get_printoptions
from .io import iterable as iterable
from .io import load as load
from .io import printoptions as printoptions
from .io import save as save
from .io import savez as savez
from .io import set_printoptions as set_printoptions
from .joining import append as append
from .joining import array_split as array_split
from .joining import block as block
from .joining import column_stack as column_stack
from .joining import concat as concat
from .joining import concatenate as concatenate
from .joining import dsplit as dsplit
from .joining import dstack as dstack
from .joining import hsplit as hsplit
from .joining import hstack as hstack
from .joining import split as split
from .joining import stack as stack
from .joining import unstack as unstack
from .joining import vsplit as vsplit
from .joining import vstack as vstack
from .linear import cross as cross
from .linear import dot as dot
from .linear import inner as inner
from .linear import kron as kron
from .linear import matmul as matmul
from .linear import matvec as matvec
from .linear import outer as outer
from .linear import tensordot as tensordot
from .linear import vdot as vdot
from .linear import vecdot as vecdot
from .linear import vecmat as vecmat
from .manipulation import atleast_1d as atleast_1d
from .manipulation import atleast_2d as atleast_2d
from .manipulation import atleast_3d as atleast_3d
from .manipulation import broadcast_arrays as broadcast_arrays
from .manipulation import broadcast_shapes as broadcast_shapes
from .manipulation import broadcast_to as broadcast_to
from .manipulation import expand_dims as expand_dims
from .manipulation import matrix_transpose as matrix_transpose
from .manipulation import moveaxis as moveaxis
from .manipulation import ndim as ndim
from .manipulation import permute_dims as permute_dims
from .manipulation import ravel as ravel
from .manipulation import reshape as reshape
from .manipulation import rollaxis as rollaxis
from .manipulation import shape as shape
from .manipulation import size as size
from .manipulation import squeeze as squeeze
from .manipulation import swapaxes as swapaxes
from .manipulation import transpose as transpose
from .moments import average as average
from .moments import mean as mean
from .moments import std as std
from .moments import var as var
from .nanreductions import nanargmax as nanargmax
from .nanreductions import nanargmin as nanargmin
from .nanreductions import nancumprod as nancumprod
from .nanreductions import nancumsum as nancumsum
from .nanreductions import nanmax as nanmax
from .nanreductions import nanmean as nanmean
from .nanreductions import nanmin as nanmin
from .nanreductions import nanprod as nanprod
from .nanreductions import nanstd as nanstd
from .nanreductions import nansum as nansum
from .nanreductions import nanvar as nanvar
from .padding import pad as pad
from .polynomial import poly as poly
from .polynomial import polyadd as polyadd
from .polynomial import polyder as polyder
from .polynomial import polydiv as polydiv
from .polynomial import polyfit as polyfit
from .polynomial import polyint as polyint
from .polynomial import polymul as polymul
from .polynomial import polysub as polysub
from .polynomial import polyval as polyval
from .polynomial import roots as roots
from .polynomial import vander as vander
from .quantiles import median as median
from .quantiles import nanmedian as nanmedian
from .quantiles import nanpercentile as nanpercentile
from .quantiles import nanquantile as nanquantile
from .quantiles import percentile as percentile
from .quantiles import quantile as quantile
from .ranges import arange as arange
from .ranges import geomspace as geomspace
from .ranges import linspace as linspace
from .ranges import logspace as logspace
from .rearrange import flip as flip
from .rearrange import fliplr as fliplr
from .rearrange import flipud as flipud
from .rearrange import packbits as packbits
from .rearrange import repeat as repeat
from .rearrange import resize as resize
from .rearrange import roll as roll
from .rearrange import rot90 as rot90
from .rearrange import tile as tile
from .rearrange import trim_zeros as trim_zeros
from .rearrange import unpackbits as unpackbits
from .reductions import all as all
from .reductions import amax as amax
from .reductions import amin as amin
from .reductions import any as any
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import count_nonzero as count_nonzero
from .reductions import max as max
from .reductions import min as min
from .reductions import prod as prod
from .reductions import ptp as ptp
from .reductions import sum as sum
from .running import cumprod as cumprod
from .running import cumsum as cumsum
from .running import cumulative_prod as cumulative_prod
from .running import cumulative_sum as cumulative_sum
from .searching import argwhere as argwhere
from .searching import digitize as digitize
from .searching import flatnonzero as flatnonzero
from .searching import nonzero as nonzero
from .searching import ravel_multi_index as ravel_multi_index
from .searching import searchsorted as searchsorted
from .searching import unravel_index as unravel_index
from .selection import choose as choose
from .selection import compress as compress
from .selection import extract as extract
from .selection import piecewise as piecewise
from .selection import select as select
from .selection import where as where
from .setops import intersect1d as intersect1d
from .setops import isin as isin
from .setops import setdiff1d as setdiff1d
from .setops import setxor1d as setxor1d
from .setops import union1d as union1d
from .setops import unique as unique
from .setops import unique_all as unique_all
from .setops import unique_counts as unique_counts
from .setops import unique_inverse as unique_inverse
from .setops import unique_values as unique_values
from .signals import diff as diff
from .signals import ediff1d as ediff1d
from .signals import gradient as gradient
from .signals import interp as interp
from .signals import trapezoid as trapezoid
from .signals import unwrap as unwrap
from .sorting import argpartition as argpartition
from .sorting import argsort as argsort
from .sorting import lexsort as lexsort
from .sorting import partition as partition
from .sorting import sort as sort
from .sorting import sort_complex as sort_complex
from .statistics import bincount as bincount
from .statistics import corrcoef as corrcoef
from .statistics import cov as cov
from .statistics import histogram as histogram
from .statistics import histogram2d as histogram2d
from .statistics import histogram_bin_edges as histogram_bin_edges
from .statistics import histogramdd as histogramdd
from .ufunc import frompyfunc as frompyfunc
from .ufunc import ufunc as ufunc
from .ufuncs import absolute as abs
from .ufuncs import absolute as absolute
from .ufuncs import acos as acos
from .ufuncs import acosh as acosh
from .ufuncs import add as add
from .ufuncs import arccos as arccos
from .ufuncs import arccosh as arccosh
from .ufuncs import arcsin as arcsin
from .ufuncs import arcsinh as arcsinh
from .ufuncs import arctan as arctan
from .ufuncs import arctan2 as arctan2
from .ufuncs import arctanh as arctanh
from .ufuncs import asin as asin
from .ufuncs import asinh as asinh
from .ufuncs import atan as atan
from .ufuncs import atan2 as atan2
from .ufuncs import atanh as atanh
from .ufuncs import bitwise_and as bitwise_and
from .ufuncs import bitwise_invert as bitwise_invert
from .ufuncs import bitwise_left_shift as bitwise_left_shift
from .ufuncs import bitwise_not as bitwise_not
from .ufuncs import bitwise_or as bitwise_or
from .ufuncs import bitwise_right_shift as bitwise_right_shift
from .ufuncs import bitwise_xor as bitwise_xor
from .ufuncs import cbrt as cbrt
from .ufuncs import ceil as ceil
from .ufuncs import conj as conj
from .ufuncs import conjugate as conjugate
from .ufuncs import cos as cos
from .ufuncs import cosh as cosh
from .ufuncs import deg2rad as deg2rad
from .ufuncs import degrees as degrees
from .ufuncs import divide as divide
from .ufuncs import equal as equal
from .ufuncs import exp as exp
from .ufuncs import exp2 as exp2
from .ufuncs import expm1 as expm1
from .ufuncs import floor as floor
from .ufuncs import greater as greater
from .ufuncs import greater_equal as greater_equal
from .ufuncs import imag as imag
from .ufuncs import invert as invert
from .ufuncs import left_shift as left_shift
from .ufuncs import less as less
from .ufuncs import less_equal as less_equal
from .ufuncs import log as log
from .ufuncs import log1p as log1p
from .ufuncs import log2 as log2
from .ufuncs import log10 as log10
from .ufuncs import logical_and as logical_and
from .ufuncs import logical_not as logical_not
from .ufuncs import logical_or as logical_or
from .ufuncs import logical_xor as logical_xor
from .ufuncs import maximum as maximum
from .ufuncs import minimum as minimum
from .ufuncs import multiply as multiply
from .ufuncs import negative as negative
from .ufuncs import nextafter as nextafter
from .ufuncs import not_equal as not_equal
from .ufuncs import positive as positive
from .ufuncs import rad2deg as rad2deg
from .ufuncs import radians as radians
from .ufuncs import real as real
from .ufuncs import reciprocal as reciprocal
from .ufuncs import right_shift as right_shift
from .ufuncs import sign as sign
from .ufuncs import sin as sin
from .ufuncs import sinh as sinh
from .ufuncs import sqrt as sqrt
from .ufuncs import square as square
from .ufuncs import subtract as subtract
from .ufuncs import tan as tan
from .ufuncs import tanh as tanh
from .ufuncs import true_divide as true_divide
from .windows import bartlett as bartlett
from .windows import blackman as blackman
from .windows import hamming as hamming
from .windows import hanning as hanning
from .windows import kaiser as kaiser
from .writing import fill_diagonal as fill_diagonal
from .writing import ix_ as ix_
from .writing import place as place
from .writing import put as put
from .writing import put_along_axis as put_along_axis

e, pi, inf, nan = _np.e, _np.pi, _np.inf, _np.nan
euler_gamma = _np.euler_gamma
newaxis = None
ComplexWarning = _np.exceptions.ComplexWarning

_MODULES = ("linalg", "fft")
# Names of older NumPy and JAX, and what does the same today.
_RENAMED = {
    "alltrue": "all", "sometrue": "any", "product": "prod", "cumproduct": "cumprod",
    "in1d": "isin", "row_stack": "vstack", "trapz": "trapezoid", "fix": "trunc",
    "round_": "round", "DeviceArray": "ndarray",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        module = _importlib.import_module(f".{name}", __name__)
        globals()[name] = module
        return module
    if name in _RENAMED:
        _warnings.warn(
            f"jnp.{name} is deprecated; use jnp.{_RENAMED[name]}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return globals()[_RENAMED[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
