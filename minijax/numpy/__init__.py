"""NumPy's interface on minijax arrays: `import minijax.numpy as jnp`.

A face: names only, gathered from the rooms of this folder.  `linalg` and `fft` load on
first use.
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from ..runtime.array import Array as ndarray

from .ufuncs import absolute as abs  # noqa: A004
from .ufuncs import add as add
from .ufuncs import subtract as subtract
from .ufuncs import multiply as multiply
from .ufuncs import divide as divide
from .ufuncs import true_divide as true_divide
from .ufuncs import negative as negative
from .ufuncs import positive as positive
from .ufuncs import absolute as absolute
from .ufuncs import sign as sign
from .ufuncs import square as square
from .ufuncs import reciprocal as reciprocal
from .ufuncs import maximum as maximum
from .ufuncs import minimum as minimum
from .ufuncs import exp as exp
from .ufuncs import exp2 as exp2
from .ufuncs import expm1 as expm1
from .ufuncs import log as log
from .ufuncs import log1p as log1p
from .ufuncs import log2 as log2
from .ufuncs import log10 as log10
from .ufuncs import sqrt as sqrt
from .ufuncs import cbrt as cbrt
from .ufuncs import sin as sin
from .ufuncs import cos as cos
from .ufuncs import tan as tan
from .ufuncs import arcsin as arcsin
from .ufuncs import arccos as arccos
from .ufuncs import arctan as arctan
from .ufuncs import arctan2 as arctan2
from .ufuncs import sinh as sinh
from .ufuncs import cosh as cosh
from .ufuncs import tanh as tanh
from .ufuncs import arcsinh as arcsinh
from .ufuncs import arccosh as arccosh
from .ufuncs import arctanh as arctanh
from .ufuncs import acos as acos
from .ufuncs import acosh as acosh
from .ufuncs import asin as asin
from .ufuncs import asinh as asinh
from .ufuncs import atan as atan
from .ufuncs import atanh as atanh
from .ufuncs import atan2 as atan2
from .ufuncs import deg2rad as deg2rad
from .ufuncs import rad2deg as rad2deg
from .ufuncs import radians as radians
from .ufuncs import degrees as degrees
from .ufuncs import floor as floor
from .ufuncs import ceil as ceil
from .ufuncs import equal as equal
from .ufuncs import not_equal as not_equal
from .ufuncs import less as less
from .ufuncs import less_equal as less_equal
from .ufuncs import greater as greater
from .ufuncs import greater_equal as greater_equal
from .ufuncs import logical_and as logical_and
from .ufuncs import logical_or as logical_or
from .ufuncs import logical_xor as logical_xor
from .ufuncs import logical_not as logical_not
from .ufuncs import bitwise_and as bitwise_and
from .ufuncs import bitwise_or as bitwise_or
from .ufuncs import bitwise_xor as bitwise_xor
from .ufuncs import bitwise_not as bitwise_not
from .ufuncs import bitwise_invert as bitwise_invert
from .ufuncs import invert as invert
from .ufuncs import left_shift as left_shift
from .ufuncs import right_shift as right_shift
from .ufuncs import bitwise_left_shift as bitwise_left_shift
from .ufuncs import bitwise_right_shift as bitwise_right_shift
from .ufuncs import nextafter as nextafter
from .ufuncs import real as real
from .ufuncs import imag as imag
from .ufuncs import conjugate as conjugate
from .ufuncs import conj as conj

from .creation import array as array
from .creation import asarray as asarray
from .creation import zeros as zeros
from .creation import ones as ones
from .creation import empty as empty
from .creation import full as full
from .creation import zeros_like as zeros_like
from .creation import ones_like as ones_like
from .creation import empty_like as empty_like
from .creation import full_like as full_like

from .ranges import arange as arange
from .ranges import linspace as linspace
from .ranges import logspace as logspace
from .ranges import geomspace as geomspace

from .manipulation import reshape as reshape
from .manipulation import ravel as ravel
from .manipulation import squeeze as squeeze
from .manipulation import expand_dims as expand_dims
from .manipulation import atleast_1d as atleast_1d
from .manipulation import atleast_2d as atleast_2d
from .manipulation import atleast_3d as atleast_3d
from .manipulation import transpose as transpose
from .manipulation import permute_dims as permute_dims
from .manipulation import matrix_transpose as matrix_transpose
from .manipulation import swapaxes as swapaxes
from .manipulation import moveaxis as moveaxis
from .manipulation import rollaxis as rollaxis
from .manipulation import broadcast_to as broadcast_to
from .manipulation import broadcast_arrays as broadcast_arrays
from .manipulation import broadcast_shapes as broadcast_shapes
from .manipulation import concatenate as concatenate
from .manipulation import concat as concat
from .manipulation import stack as stack
from .manipulation import unstack as unstack
from .manipulation import vstack as vstack
from .manipulation import hstack as hstack
from .manipulation import dstack as dstack
from .manipulation import column_stack as column_stack
from .manipulation import block as block
from .manipulation import append as append
from .manipulation import split as split
from .manipulation import array_split as array_split
from .manipulation import vsplit as vsplit
from .manipulation import hsplit as hsplit
from .manipulation import dsplit as dsplit
from .manipulation import shape as shape
from .manipulation import ndim as ndim
from .manipulation import size as size

from .conversion import astype as astype
from .conversion import copy as copy

from .dtype_info import bool_ as bool_
from .dtype_info import int1 as int1
from .dtype_info import int2 as int2
from .dtype_info import int4 as int4
from .dtype_info import int8 as int8
from .dtype_info import int16 as int16
from .dtype_info import int32 as int32
from .dtype_info import int64 as int64
from .dtype_info import uint1 as uint1
from .dtype_info import uint2 as uint2
from .dtype_info import uint4 as uint4
from .dtype_info import uint8 as uint8
from .dtype_info import uint16 as uint16
from .dtype_info import uint32 as uint32
from .dtype_info import uint64 as uint64
from .dtype_info import float16 as float16
from .dtype_info import float32 as float32
from .dtype_info import float64 as float64
from .dtype_info import bfloat16 as bfloat16
from .dtype_info import complex64 as complex64
from .dtype_info import complex128 as complex128
from .dtype_info import float4_e2m1fn as float4_e2m1fn
from .dtype_info import float6_e2m3fn as float6_e2m3fn
from .dtype_info import float6_e3m2fn as float6_e3m2fn
from .dtype_info import float8_e3m4 as float8_e3m4
from .dtype_info import float8_e4m3 as float8_e4m3
from .dtype_info import float8_e8m0fnu as float8_e8m0fnu
from .dtype_info import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from .dtype_info import float8_e4m3fn as float8_e4m3fn
from .dtype_info import float8_e4m3fnuz as float8_e4m3fnuz
from .dtype_info import float8_e5m2 as float8_e5m2
from .dtype_info import float8_e5m2fnuz as float8_e5m2fnuz
from .dtype_info import single as single
from .dtype_info import double as double
from .dtype_info import csingle as csingle
from .dtype_info import cdouble as cdouble
from .dtype_info import int_ as int_
from .dtype_info import uint as uint
from .dtype_info import float_ as float_
from .dtype_info import complex_ as complex_
from .dtype_info import generic as generic
from .dtype_info import number as number
from .dtype_info import inexact as inexact
from .dtype_info import integer as integer
from .dtype_info import signedinteger as signedinteger
from .dtype_info import unsignedinteger as unsignedinteger
from .dtype_info import floating as floating
from .dtype_info import complexfloating as complexfloating
from .dtype_info import flexible as flexible
from .dtype_info import character as character
from .dtype_info import object_ as object_
from .dtype_info import dtype as dtype
from .dtype_info import finfo as finfo
from .dtype_info import iinfo as iinfo
from .dtype_info import result_type as result_type
from .dtype_info import promote_types as promote_types
from .dtype_info import issubdtype as issubdtype
from .dtype_info import isdtype as isdtype
from .dtype_info import can_cast as can_cast
from .dtype_info import iscomplexobj as iscomplexobj
from .dtype_info import isrealobj as isrealobj
from .dtype_info import isscalar as isscalar
from .dtype_info import bool_ as bool  # noqa: A004

e, pi, inf, nan, euler_gamma = _np.e, _np.pi, _np.inf, _np.nan, _np.euler_gamma
newaxis = None
