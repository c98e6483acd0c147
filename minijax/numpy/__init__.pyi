"""NumPy's interface on minijax arrays: `import minijax.numpy as jnp`."""

from ..runtime.arrays.array import Array as ndarray
from ..surface.numpy.constants import ComplexWarning as ComplexWarning
from ..surface.numpy.constants import e as e
from ..surface.numpy.constants import euler_gamma as euler_gamma
from ..surface.numpy.constants import inf as inf
from ..surface.numpy.constants import nan as nan
from ..surface.numpy.constants import newaxis as newaxis
from ..surface.numpy.constants import pi as pi
from ..surface.numpy.contraction import einsum as einsum
from ..surface.numpy.contraction import einsum_path as einsum_path
from ..surface.numpy.conversion import astype as astype
from ..surface.numpy.conversion import copy as copy
from ..surface.numpy.convolution import convolve as convolve
from ..surface.numpy.convolution import correlate as correlate
from ..surface.numpy.creation import array as array
from ..surface.numpy.creation import asarray as asarray
from ..surface.numpy.creation import empty as empty
from ..surface.numpy.creation import empty_like as empty_like
from ..surface.numpy.creation import full as full
from ..surface.numpy.creation import full_like as full_like
from ..surface.numpy.creation import ones as ones
from ..surface.numpy.creation import ones_like as ones_like
from ..surface.numpy.creation import zeros as zeros
from ..surface.numpy.creation import zeros_like as zeros_like
from ..surface.numpy.diagonals import diag as diag
from ..surface.numpy.diagonals import diagflat as diagflat
from ..surface.numpy.diagonals import diagonal as diagonal
from ..surface.numpy.diagonals import trace as trace
from ..surface.numpy.differences import diff as diff
from ..surface.numpy.differences import ediff1d as ediff1d
from ..surface.numpy.differences import gradient as gradient
from ..surface.numpy.differences import interp as interp
from ..surface.numpy.differences import trapezoid as trapezoid
from ..surface.numpy.differences import unwrap as unwrap
from ..surface.numpy.dtype_info import bfloat16 as bfloat16
from ..surface.numpy.dtype_info import bool_ as bool
from ..surface.numpy.dtype_info import bool_ as bool_
from ..surface.numpy.dtype_info import can_cast as can_cast
from ..surface.numpy.dtype_info import cdouble as cdouble
from ..surface.numpy.dtype_info import character as character
from ..surface.numpy.dtype_info import complex128 as complex128
from ..surface.numpy.dtype_info import complex64 as complex64
from ..surface.numpy.dtype_info import complex_ as complex_
from ..surface.numpy.dtype_info import complexfloating as complexfloating
from ..surface.numpy.dtype_info import csingle as csingle
from ..surface.numpy.dtype_info import double as double
from ..surface.numpy.dtype_info import dtype as dtype
from ..surface.numpy.dtype_info import finfo as finfo
from ..surface.numpy.dtype_info import flexible as flexible
from ..surface.numpy.dtype_info import float16 as float16
from ..surface.numpy.dtype_info import float32 as float32
from ..surface.numpy.dtype_info import float4_e2m1fn as float4_e2m1fn
from ..surface.numpy.dtype_info import float64 as float64
from ..surface.numpy.dtype_info import float6_e2m3fn as float6_e2m3fn
from ..surface.numpy.dtype_info import float6_e3m2fn as float6_e3m2fn
from ..surface.numpy.dtype_info import float8_e3m4 as float8_e3m4
from ..surface.numpy.dtype_info import float8_e4m3 as float8_e4m3
from ..surface.numpy.dtype_info import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from ..surface.numpy.dtype_info import float8_e4m3fn as float8_e4m3fn
from ..surface.numpy.dtype_info import float8_e4m3fnuz as float8_e4m3fnuz
from ..surface.numpy.dtype_info import float8_e5m2 as float8_e5m2
from ..surface.numpy.dtype_info import float8_e5m2fnuz as float8_e5m2fnuz
from ..surface.numpy.dtype_info import float8_e8m0fnu as float8_e8m0fnu
from ..surface.numpy.dtype_info import float_ as float_
from ..surface.numpy.dtype_info import floating as floating
from ..surface.numpy.dtype_info import generic as generic
from ..surface.numpy.dtype_info import iinfo as iinfo
from ..surface.numpy.dtype_info import inexact as inexact
from ..surface.numpy.dtype_info import int1 as int1
from ..surface.numpy.dtype_info import int16 as int16
from ..surface.numpy.dtype_info import int2 as int2
from ..surface.numpy.dtype_info import int32 as int32
from ..surface.numpy.dtype_info import int4 as int4
from ..surface.numpy.dtype_info import int64 as int64
from ..surface.numpy.dtype_info import int8 as int8
from ..surface.numpy.dtype_info import int_ as int_
from ..surface.numpy.dtype_info import integer as integer
from ..surface.numpy.dtype_info import iscomplexobj as iscomplexobj
from ..surface.numpy.dtype_info import isdtype as isdtype
from ..surface.numpy.dtype_info import isrealobj as isrealobj
from ..surface.numpy.dtype_info import isscalar as isscalar
from ..surface.numpy.dtype_info import issubdtype as issubdtype
from ..surface.numpy.dtype_info import number as number
from ..surface.numpy.dtype_info import object_ as object_
from ..surface.numpy.dtype_info import promote_types as promote_types
from ..surface.numpy.dtype_info import result_type as result_type
from ..surface.numpy.dtype_info import signedinteger as signedinteger
from ..surface.numpy.dtype_info import single as single
from ..surface.numpy.dtype_info import uint as uint
from ..surface.numpy.dtype_info import uint1 as uint1
from ..surface.numpy.dtype_info import uint16 as uint16
from ..surface.numpy.dtype_info import uint2 as uint2
from ..surface.numpy.dtype_info import uint32 as uint32
from ..surface.numpy.dtype_info import uint4 as uint4
from ..surface.numpy.dtype_info import uint64 as uint64
from ..surface.numpy.dtype_info import uint8 as uint8
from ..surface.numpy.dtype_info import unsignedinteger as unsignedinteger
from ..surface.numpy.edits import delete as delete
from ..surface.numpy.edits import insert as insert
from ..surface.numpy.elementwise import around as around
from ..surface.numpy.elementwise import clip as clip
from ..surface.numpy.elementwise import divmod as divmod
from ..surface.numpy.elementwise import float_power as float_power
from ..surface.numpy.elementwise import floor_divide as floor_divide
from ..surface.numpy.elementwise import fmax as fmax
from ..surface.numpy.elementwise import fmin as fmin
from ..surface.numpy.elementwise import fmod as fmod
from ..surface.numpy.elementwise import gcd as gcd
from ..surface.numpy.elementwise import lcm as lcm
from ..surface.numpy.elementwise import mod as mod
from ..surface.numpy.elementwise import modf as modf
from ..surface.numpy.elementwise import pow as pow
from ..surface.numpy.elementwise import power as power
from ..surface.numpy.elementwise import remainder as remainder
from ..surface.numpy.elementwise import rint as rint
from ..surface.numpy.elementwise import round as round
from ..surface.numpy.elementwise import trunc as trunc
from ..surface.numpy.equality import allclose as allclose
from ..surface.numpy.equality import array_equal as array_equal
from ..surface.numpy.equality import array_equiv as array_equiv
from ..surface.numpy.equality import isclose as isclose
from ..surface.numpy.floating_point import bitwise_count as bitwise_count
from ..surface.numpy.floating_point import copysign as copysign
from ..surface.numpy.floating_point import frexp as frexp
from ..surface.numpy.floating_point import iscomplex as iscomplex
from ..surface.numpy.floating_point import isfinite as isfinite
from ..surface.numpy.floating_point import isinf as isinf
from ..surface.numpy.floating_point import isnan as isnan
from ..surface.numpy.floating_point import isneginf as isneginf
from ..surface.numpy.floating_point import isposinf as isposinf
from ..surface.numpy.floating_point import isreal as isreal
from ..surface.numpy.floating_point import ldexp as ldexp
from ..surface.numpy.floating_point import signbit as signbit
from ..surface.numpy.floating_point import spacing as spacing
from ..surface.numpy.functional import apply_along_axis as apply_along_axis
from ..surface.numpy.functional import apply_over_axes as apply_over_axes
from ..surface.numpy.functional import vectorize as vectorize
from ..surface.numpy.grids import c_ as c_
from ..surface.numpy.grids import diag_indices as diag_indices
from ..surface.numpy.grids import diag_indices_from as diag_indices_from
from ..surface.numpy.grids import eye as eye
from ..surface.numpy.grids import fromfunction as fromfunction
from ..surface.numpy.grids import identity as identity
from ..surface.numpy.grids import index_exp as index_exp
from ..surface.numpy.grids import indices as indices
from ..surface.numpy.grids import mask_indices as mask_indices
from ..surface.numpy.grids import meshgrid as meshgrid
from ..surface.numpy.grids import mgrid as mgrid
from ..surface.numpy.grids import ogrid as ogrid
from ..surface.numpy.grids import r_ as r_
from ..surface.numpy.grids import s_ as s_
from ..surface.numpy.grids import tri as tri
from ..surface.numpy.grids import tril as tril
from ..surface.numpy.grids import tril_indices as tril_indices
from ..surface.numpy.grids import tril_indices_from as tril_indices_from
from ..surface.numpy.grids import triu as triu
from ..surface.numpy.grids import triu_indices as triu_indices
from ..surface.numpy.grids import triu_indices_from as triu_indices_from
from ..surface.numpy.indexing import take as take
from ..surface.numpy.indexing import take_along_axis as take_along_axis
from ..surface.numpy.inserting import fill_diagonal as fill_diagonal
from ..surface.numpy.inserting import ix_ as ix_
from ..surface.numpy.inserting import place as place
from ..surface.numpy.inserting import put as put
from ..surface.numpy.inserting import put_along_axis as put_along_axis
from ..surface.numpy.io import array_repr as array_repr
from ..surface.numpy.io import array_str as array_str
from ..surface.numpy.io import from_dlpack as from_dlpack
from ..surface.numpy.io import frombuffer as frombuffer
from ..surface.numpy.io import fromfile as fromfile
from ..surface.numpy.io import fromiter as fromiter
from ..surface.numpy.io import fromstring as fromstring
from ..surface.numpy.io import get_printoptions as get_printoptions
from ..surface.numpy.io import iterable as iterable
from ..surface.numpy.io import load as load
from ..surface.numpy.io import printoptions as printoptions
from ..surface.numpy.io import save as save
from ..surface.numpy.io import savez as savez
from ..surface.numpy.io import set_printoptions as set_printoptions
from ..surface.numpy.joining import append as append
from ..surface.numpy.joining import array_split as array_split
from ..surface.numpy.joining import block as block
from ..surface.numpy.joining import column_stack as column_stack
from ..surface.numpy.joining import concat as concat
from ..surface.numpy.joining import concatenate as concatenate
from ..surface.numpy.joining import dsplit as dsplit
from ..surface.numpy.joining import dstack as dstack
from ..surface.numpy.joining import hsplit as hsplit
from ..surface.numpy.joining import hstack as hstack
from ..surface.numpy.joining import split as split
from ..surface.numpy.joining import stack as stack
from ..surface.numpy.joining import unstack as unstack
from ..surface.numpy.joining import vsplit as vsplit
from ..surface.numpy.joining import vstack as vstack
from ..surface.numpy.linear import cross as cross
from ..surface.numpy.linear import dot as dot
from ..surface.numpy.linear import inner as inner
from ..surface.numpy.linear import kron as kron
from ..surface.numpy.linear import matmul as matmul
from ..surface.numpy.linear import matvec as matvec
from ..surface.numpy.linear import outer as outer
from ..surface.numpy.linear import tensordot as tensordot
from ..surface.numpy.linear import vdot as vdot
from ..surface.numpy.linear import vecdot as vecdot
from ..surface.numpy.linear import vecmat as vecmat
from ..surface.numpy.manipulation import atleast_1d as atleast_1d
from ..surface.numpy.manipulation import atleast_2d as atleast_2d
from ..surface.numpy.manipulation import atleast_3d as atleast_3d
from ..surface.numpy.manipulation import broadcast_arrays as broadcast_arrays
from ..surface.numpy.manipulation import broadcast_shapes as broadcast_shapes
from ..surface.numpy.manipulation import broadcast_to as broadcast_to
from ..surface.numpy.manipulation import expand_dims as expand_dims
from ..surface.numpy.manipulation import matrix_transpose as matrix_transpose
from ..surface.numpy.manipulation import moveaxis as moveaxis
from ..surface.numpy.manipulation import ndim as ndim
from ..surface.numpy.manipulation import permute_dims as permute_dims
from ..surface.numpy.manipulation import ravel as ravel
from ..surface.numpy.manipulation import reshape as reshape
from ..surface.numpy.manipulation import rollaxis as rollaxis
from ..surface.numpy.manipulation import shape as shape
from ..surface.numpy.manipulation import size as size
from ..surface.numpy.manipulation import squeeze as squeeze
from ..surface.numpy.manipulation import swapaxes as swapaxes
from ..surface.numpy.manipulation import transpose as transpose
from ..surface.numpy.moments import average as average
from ..surface.numpy.moments import mean as mean
from ..surface.numpy.moments import std as std
from ..surface.numpy.moments import var as var
from ..surface.numpy.nanreductions import nanargmax as nanargmax
from ..surface.numpy.nanreductions import nanargmin as nanargmin
from ..surface.numpy.nanreductions import nancumprod as nancumprod
from ..surface.numpy.nanreductions import nancumsum as nancumsum
from ..surface.numpy.nanreductions import nanmax as nanmax
from ..surface.numpy.nanreductions import nanmean as nanmean
from ..surface.numpy.nanreductions import nanmin as nanmin
from ..surface.numpy.nanreductions import nanprod as nanprod
from ..surface.numpy.nanreductions import nanstd as nanstd
from ..surface.numpy.nanreductions import nansum as nansum
from ..surface.numpy.nanreductions import nanvar as nanvar
from ..surface.numpy.padding import pad as pad
from ..surface.numpy.polynomial import poly as poly
from ..surface.numpy.polynomial import polyadd as polyadd
from ..surface.numpy.polynomial import polyder as polyder
from ..surface.numpy.polynomial import polydiv as polydiv
from ..surface.numpy.polynomial import polyfit as polyfit
from ..surface.numpy.polynomial import polyint as polyint
from ..surface.numpy.polynomial import polymul as polymul
from ..surface.numpy.polynomial import polysub as polysub
from ..surface.numpy.polynomial import polyval as polyval
from ..surface.numpy.polynomial import roots as roots
from ..surface.numpy.polynomial import vander as vander
from ..surface.numpy.quantiles import median as median
from ..surface.numpy.quantiles import nanmedian as nanmedian
from ..surface.numpy.quantiles import nanpercentile as nanpercentile
from ..surface.numpy.quantiles import nanquantile as nanquantile
from ..surface.numpy.quantiles import percentile as percentile
from ..surface.numpy.quantiles import quantile as quantile
from ..surface.numpy.ranges import arange as arange
from ..surface.numpy.ranges import geomspace as geomspace
from ..surface.numpy.ranges import linspace as linspace
from ..surface.numpy.ranges import logspace as logspace
from ..surface.numpy.rearrange import flip as flip
from ..surface.numpy.rearrange import fliplr as fliplr
from ..surface.numpy.rearrange import flipud as flipud
from ..surface.numpy.rearrange import packbits as packbits
from ..surface.numpy.rearrange import repeat as repeat
from ..surface.numpy.rearrange import resize as resize
from ..surface.numpy.rearrange import roll as roll
from ..surface.numpy.rearrange import rot90 as rot90
from ..surface.numpy.rearrange import tile as tile
from ..surface.numpy.rearrange import trim_zeros as trim_zeros
from ..surface.numpy.rearrange import unpackbits as unpackbits
from ..surface.numpy.reductions import all as all
from ..surface.numpy.reductions import amax as amax
from ..surface.numpy.reductions import amin as amin
from ..surface.numpy.reductions import any as any
from ..surface.numpy.reductions import argmax as argmax
from ..surface.numpy.reductions import argmin as argmin
from ..surface.numpy.reductions import count_nonzero as count_nonzero
from ..surface.numpy.reductions import max as max
from ..surface.numpy.reductions import min as min
from ..surface.numpy.reductions import prod as prod
from ..surface.numpy.reductions import ptp as ptp
from ..surface.numpy.reductions import sum as sum
from ..surface.numpy.running import cumprod as cumprod
from ..surface.numpy.running import cumsum as cumsum
from ..surface.numpy.running import cumulative_prod as cumulative_prod
from ..surface.numpy.running import cumulative_sum as cumulative_sum
from ..surface.numpy.searching import argwhere as argwhere
from ..surface.numpy.searching import digitize as digitize
from ..surface.numpy.searching import flatnonzero as flatnonzero
from ..surface.numpy.searching import nonzero as nonzero
from ..surface.numpy.searching import ravel_multi_index as ravel_multi_index
from ..surface.numpy.searching import searchsorted as searchsorted
from ..surface.numpy.searching import unravel_index as unravel_index
from ..surface.numpy.selection import choose as choose
from ..surface.numpy.selection import compress as compress
from ..surface.numpy.selection import extract as extract
from ..surface.numpy.selection import piecewise as piecewise
from ..surface.numpy.selection import select as select
from ..surface.numpy.selection import where as where
from ..surface.numpy.setops import intersect1d as intersect1d
from ..surface.numpy.setops import isin as isin
from ..surface.numpy.setops import setdiff1d as setdiff1d
from ..surface.numpy.setops import setxor1d as setxor1d
from ..surface.numpy.setops import union1d as union1d
from ..surface.numpy.setops import unique as unique
from ..surface.numpy.setops import unique_all as unique_all
from ..surface.numpy.setops import unique_counts as unique_counts
from ..surface.numpy.setops import unique_inverse as unique_inverse
from ..surface.numpy.setops import unique_values as unique_values
from ..surface.numpy.sorting import argpartition as argpartition
from ..surface.numpy.sorting import argsort as argsort
from ..surface.numpy.sorting import lexsort as lexsort
from ..surface.numpy.sorting import partition as partition
from ..surface.numpy.sorting import sort as sort
from ..surface.numpy.sorting import sort_complex as sort_complex
from ..surface.numpy.special_values import angle as angle
from ..surface.numpy.special_values import fabs as fabs
from ..surface.numpy.special_values import heaviside as heaviside
from ..surface.numpy.special_values import hypot as hypot
from ..surface.numpy.special_values import i0 as i0
from ..surface.numpy.special_values import nan_to_num as nan_to_num
from ..surface.numpy.special_values import sinc as sinc
from ..surface.numpy.standard import __array_api_version__ as __array_api_version__
from ..surface.numpy.standard import __array_namespace_info__ as __array_namespace_info__
from ..surface.numpy.statistics import bincount as bincount
from ..surface.numpy.statistics import corrcoef as corrcoef
from ..surface.numpy.statistics import cov as cov
from ..surface.numpy.statistics import histogram as histogram
from ..surface.numpy.statistics import histogram2d as histogram2d
from ..surface.numpy.statistics import histogram_bin_edges as histogram_bin_edges
from ..surface.numpy.statistics import histogramdd as histogramdd
from ..surface.numpy.ufunc import add as add
from ..surface.numpy.ufunc import bitwise_and as bitwise_and
from ..surface.numpy.ufunc import bitwise_or as bitwise_or
from ..surface.numpy.ufunc import bitwise_xor as bitwise_xor
from ..surface.numpy.ufunc import frompyfunc as frompyfunc
from ..surface.numpy.ufunc import logaddexp as logaddexp
from ..surface.numpy.ufunc import logaddexp2 as logaddexp2
from ..surface.numpy.ufunc import logical_and as logical_and
from ..surface.numpy.ufunc import logical_or as logical_or
from ..surface.numpy.ufunc import logical_xor as logical_xor
from ..surface.numpy.ufunc import maximum as maximum
from ..surface.numpy.ufunc import minimum as minimum
from ..surface.numpy.ufunc import multiply as multiply
from ..surface.numpy.ufunc import negative as negative
from ..surface.numpy.ufunc import subtract as subtract
from ..surface.numpy.ufunc import ufunc as ufunc
from ..surface.numpy.ufuncs import abs as abs
from ..surface.numpy.ufuncs import absolute as absolute
from ..surface.numpy.ufuncs import acos as acos
from ..surface.numpy.ufuncs import acosh as acosh
from ..surface.numpy.ufuncs import arccos as arccos
from ..surface.numpy.ufuncs import arccosh as arccosh
from ..surface.numpy.ufuncs import arcsin as arcsin
from ..surface.numpy.ufuncs import arcsinh as arcsinh
from ..surface.numpy.ufuncs import arctan as arctan
from ..surface.numpy.ufuncs import arctan2 as arctan2
from ..surface.numpy.ufuncs import arctanh as arctanh
from ..surface.numpy.ufuncs import asin as asin
from ..surface.numpy.ufuncs import asinh as asinh
from ..surface.numpy.ufuncs import atan as atan
from ..surface.numpy.ufuncs import atan2 as atan2
from ..surface.numpy.ufuncs import atanh as atanh
from ..surface.numpy.ufuncs import bitwise_invert as bitwise_invert
from ..surface.numpy.ufuncs import bitwise_left_shift as bitwise_left_shift
from ..surface.numpy.ufuncs import bitwise_not as bitwise_not
from ..surface.numpy.ufuncs import bitwise_right_shift as bitwise_right_shift
from ..surface.numpy.ufuncs import cbrt as cbrt
from ..surface.numpy.ufuncs import ceil as ceil
from ..surface.numpy.ufuncs import conj as conj
from ..surface.numpy.ufuncs import conjugate as conjugate
from ..surface.numpy.ufuncs import cos as cos
from ..surface.numpy.ufuncs import cosh as cosh
from ..surface.numpy.ufuncs import deg2rad as deg2rad
from ..surface.numpy.ufuncs import degrees as degrees
from ..surface.numpy.ufuncs import divide as divide
from ..surface.numpy.ufuncs import equal as equal
from ..surface.numpy.ufuncs import exp as exp
from ..surface.numpy.ufuncs import exp2 as exp2
from ..surface.numpy.ufuncs import expm1 as expm1
from ..surface.numpy.ufuncs import floor as floor
from ..surface.numpy.ufuncs import greater as greater
from ..surface.numpy.ufuncs import greater_equal as greater_equal
from ..surface.numpy.ufuncs import imag as imag
from ..surface.numpy.ufuncs import invert as invert
from ..surface.numpy.ufuncs import left_shift as left_shift
from ..surface.numpy.ufuncs import less as less
from ..surface.numpy.ufuncs import less_equal as less_equal
from ..surface.numpy.ufuncs import log as log
from ..surface.numpy.ufuncs import log10 as log10
from ..surface.numpy.ufuncs import log1p as log1p
from ..surface.numpy.ufuncs import log2 as log2
from ..surface.numpy.ufuncs import logical_not as logical_not
from ..surface.numpy.ufuncs import nextafter as nextafter
from ..surface.numpy.ufuncs import not_equal as not_equal
from ..surface.numpy.ufuncs import positive as positive
from ..surface.numpy.ufuncs import rad2deg as rad2deg
from ..surface.numpy.ufuncs import radians as radians
from ..surface.numpy.ufuncs import real as real
from ..surface.numpy.ufuncs import reciprocal as reciprocal
from ..surface.numpy.ufuncs import right_shift as right_shift
from ..surface.numpy.ufuncs import sign as sign
from ..surface.numpy.ufuncs import sin as sin
from ..surface.numpy.ufuncs import sinh as sinh
from ..surface.numpy.ufuncs import sqrt as sqrt
from ..surface.numpy.ufuncs import square as square
from ..surface.numpy.ufuncs import tan as tan
from ..surface.numpy.ufuncs import tanh as tanh
from ..surface.numpy.ufuncs import true_divide as true_divide
from ..surface.numpy.windows import bartlett as bartlett
from ..surface.numpy.windows import blackman as blackman
from ..surface.numpy.windows import hamming as hamming
from ..surface.numpy.windows import hanning as hanning
from ..surface.numpy.windows import kaiser as kaiser
from . import fft as fft
from . import linalg as linalg

__all__ = [
    "ComplexWarning", "__array_api_version__", "__array_namespace_info__", "abs",
    "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle",
    "any", "append", "apply_along_axis", "apply_over_axes", "arange", "arccos",
    "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin",
    "argpartition", "argsort", "argwhere", "around", "array", "array_equal",
    "array_equiv", "array_repr", "array_split", "array_str", "asarray", "asin", "asinh",
    "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "average", "bartlett", "bfloat16", "bincount", "bitwise_and", "bitwise_count",
    "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "blackman", "block", "bool", "bool_",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "c_", "can_cast", "cbrt",
    "cdouble", "ceil", "character", "choose", "clip", "column_stack", "complex128",
    "complex64", "complex_", "complexfloating", "compress", "concat", "concatenate",
    "conj", "conjugate", "convolve", "copy", "copysign", "corrcoef", "correlate", "cos",
    "cosh", "count_nonzero", "cov", "cross", "csingle", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "delete", "diag",
    "diag_indices", "diag_indices_from", "diagflat", "diagonal", "diff", "digitize",
    "divide", "divmod", "dot", "double", "dsplit", "dstack", "dtype", "e", "ediff1d",
    "einsum", "einsum_path", "empty", "empty_like", "equal", "euler_gamma", "exp",
    "exp2", "expand_dims", "expm1", "extract", "eye", "fabs", "fft", "fill_diagonal",
    "finfo", "flatnonzero", "flexible", "flip", "fliplr", "flipud", "float16",
    "float32", "float4_e2m1fn", "float64", "float6_e2m3fn", "float6_e3m2fn",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float_",
    "float_power", "floating", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp",
    "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "frompyfunc",
    "fromstring", "full", "full_like", "gcd", "generic", "geomspace",
    "get_printoptions", "gradient", "greater", "greater_equal", "hamming", "hanning",
    "heaviside", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "index_exp",
    "indices", "inexact", "inf", "inner", "insert", "int1", "int16", "int2", "int32",
    "int4", "int64", "int8", "int_", "integer", "interp", "intersect1d", "invert",
    "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isin", "isinf",
    "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype",
    "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp", "left_shift", "less",
    "less_equal", "lexsort", "linalg", "linspace", "load", "log", "log10", "log1p",
    "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logspace", "mask_indices", "matmul", "matrix_transpose", "matvec",
    "max", "maximum", "mean", "median", "meshgrid", "mgrid", "min", "minimum", "mod",
    "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin",
    "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ndarray",
    "ndim", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "number",
    "object_", "ogrid", "ones", "ones_like", "outer", "packbits", "pad", "partition",
    "percentile", "permute_dims", "pi", "piecewise", "place", "poly", "polyadd",
    "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
    "positive", "pow", "power", "printoptions", "prod", "promote_types", "ptp", "put",
    "put_along_axis", "quantile", "r_", "rad2deg", "radians", "ravel",
    "ravel_multi_index", "real", "reciprocal", "remainder", "repeat", "reshape",
    "resize", "result_type", "right_shift", "rint", "roll", "rollaxis", "roots",
    "rot90", "round", "s_", "save", "savez", "searchsorted", "select",
    "set_printoptions", "setdiff1d", "setxor1d", "shape", "sign", "signbit",
    "signedinteger", "sin", "sinc", "single", "sinh", "size", "sort", "sort_complex",
    "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum",
    "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace",
    "transpose", "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from",
    "trim_zeros", "triu", "triu_indices", "triu_indices_from", "true_divide", "trunc",
    "ufunc", "uint", "uint1", "uint16", "uint2", "uint32", "uint4", "uint64", "uint8",
    "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unpackbits", "unravel_index", "unsignedinteger", "unstack",
    "unwrap", "vander", "var", "vdot", "vecdot", "vecmat", "vectorize", "vsplit",
    "vstack", "where", "zeros", "zeros_like"
]
