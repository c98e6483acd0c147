"""Random bits, uniform numbers, normal numbers and integers.

All other samplers use these.  A float in [0, 1) has random mantissa bits with the exponent
of 1, and 1 is subtracted.  A normal number is the inverse error function of a uniform
number.  An integer is twice as many bits modulo the span.  For the same key the results
equal JAX's, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...base import util
from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims import dtype_arguments
from ...prims.math.algebraic import add, div, mul, sub
from ...prims.math.cast import bitcast_convert_type, convert_element_type
from ...prims.math.logic import (
    bitwise_and,
    bitwise_or,
    clamp,
    gt,
    le,
    select_n,
    shift_right_logical,
)
from ...prims.math.order import max as larger
from ...prims.math.order import rem
from ...prims.random.implementations import uint_of
from ...prims.random.key_arrays import random_bits_p, random_split_p
from ...prims.reduce.over_axes import reduce_sum
from ...prims.shape.shapes import reshape
from ...prims.shape.slicing import index_in_dim
from ...prims.special.error_function import erf_inv
from ...types import dtypes
from .common import *

__all__ = ("bits", "uniform", "normal", "randint")

Shape = tuple[int, ...]


def sum_of_last(x: Any) -> Any:
    """Return the sum along the last axis; half-precision numbers are summed in float32."""
    aval = aval_of(x)
    wide = dtypes.float32 if aval.dtype.itemsize < 4 else aval.dtype
    total = reduce_sum(convert_element_type(x, wide), (len(aval.shape) - 1,))
    return convert_element_type(total, aval.dtype)


def split_of(key: Any, num: int = 2) -> list[Any]:
    """Split an opaque key into `num` keys."""
    keys = random_split_p.bind(key, shape=(num,))
    return [index_in_dim(keys, i, keepdims=False) for i in range(num)]


# -------------------------------------------------------------------------------- bits


@composite(static=("shape", "bit_width"))
def _bits(key: Any, shape: Shape, bit_width: int) -> Any:
    typed, _ = opaque("bits", key)
    return random_bits_p.bind(typed, bit_width=bit_width, shape=shape)


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw uniform random bits, as unsigned integers.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: an unsigned integer dtype (default: uint32, under x64 uint64).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`; each bit is 0 or 1 with equal
      probability.

    Raises:
      ValueError: the dtype is not an unsigned integer dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.bits(mj.random.key(0), (2,))
      Array([4070199207, 4202968722], dtype=uint32)
    """
    if dtype is None:
        dtype = dtypes.canonical(dtypes.uint64)
    else:
        accepts = dtypes.is_unsigned
        dtype = checked_dtype("bits", dtype, accepts, "an unsigned int dtype")
    out = _bits(key, static_shape(shape, "bits"), 8 * dtype.itemsize)
    return placed(out, out_sharding, "bits")


# ----------------------------------------------------------------------------- uniform


@util.cached(64)
def _layout(dtype: Any) -> tuple[int, int, Any]:
    """Return the number of bits to draw for a float dtype, the number to drop, and the
    bits of 1."""
    width = 8 * dtype.itemsize
    info = ml_dtypes.finfo(dtype)
    if info.bits not in (8, 16, 32, 64):
        raise type_problem(
            f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtype}.",
            why="uniform combines mantissa bits with the exponent of 1.",
        )
    # Mantissas below 8 bits are drawn from 8 bits, as in JAX: other bits would change the
    # numbers of a key.
    drawn = width if info.nmant >= 8 else 8
    return drawn, drawn - info.nmant, np.ones((), dtype).view(uint_of(width))[()]


def unit_of(key: Any, shape: Shape, dtype: Any) -> Any:
    """Draw numbers in [0, 1)."""
    drawn, dropped, one = _layout(dtype)
    x = random_bits_p.bind(key, bit_width=drawn, shape=shape)
    if one.dtype.itemsize * 8 != drawn:
        x = convert_element_type(x, one.dtype)
    x = bitwise_or(shift_right_logical(x, one.dtype.type(dropped)), one)
    return sub(bitcast_convert_type(x, dtype), dtype.type(1))


def uniform_of(key: Any, shape: Shape, dtype: Any, low: Any, high: Any) -> Any:
    """Draw numbers in [low, high); the bounds have the dtype `dtype`."""
    x = unit_of(key, shape, dtype)
    if isinstance(low, np.generic) and isinstance(high, np.generic):
        with np.errstate(over="ignore", invalid="ignore"):
            span = np.asarray(high - low, dtype)[()]  # type: ignore[operator]
        if low == 0 and span == 1:
            return x
        return larger(low, add(mul(x, span), low))  # rounding may go below `low`
    broadcast_shape = max(shape, aval_of(low).shape, aval_of(high).shape, key=len)
    start = align_to_shape(low, broadcast_shape)
    span = sub(align_to_shape(high, broadcast_shape), start)
    out = add(mul(align_to_shape(x, broadcast_shape), span), start)
    if math.prod(aval_of(out).shape) != math.prod(shape):
        raise type_problem(
            f"uniform: minval and maxval do not broadcast to the shape {shape}.",
            out,
            why="each element is drawn from one range.",
            tries=["a larger shape", "scalar minval and maxval"],
        )
    if aval_of(out).shape != shape:  # the range has further axes of size 1
        out, start = reshape(out, shape), align_to_shape(low, shape)
    return larger(start, out)


@composite(static=("shape", "dtype"))
def _unit(key: Any, shape: Shape, dtype: Any) -> Any:
    return unit_of(opaque("uniform", key)[0], shape, dtype)


@composite(static=("shape", "dtype"))
def _uniform(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("uniform", key)
    low, high = as_dtype(minval, dtype), as_dtype(maxval, dtype)
    return uniform_of(typed, shape, dtype, low, high)


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw uniform random numbers in [minval, maxval).

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      minval, maxval: numbers, or arrays that broadcast to `shape`.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Raises:
      ValueError: the dtype is not a float dtype.
      TypeError: shapes do not fit.

    Example:
      >>> import minijax as mj
      >>> mj.random.uniform(mj.random.key(0), (2,))
      Array([0.947667 , 0.9785799], dtype=float32)
    """
    dtype = float_dtype("uniform", dtype)
    shape = static_shape(shape, "uniform")
    if type(minval) is float and type(maxval) is float and (minval, maxval) == (0, 1):
        out = _unit(key, shape, dtype)
    else:
        out = _uniform(key, minval, maxval, shape, dtype)
    return out if out_sharding is None else placed(out, out_sharding, "uniform")


# ------------------------------------------------------------------------------ normal


@util.cached(64)
def above_minus_one(dtype: Any) -> Any:
    one = np.ones((), dtype)
    return np.nextafter(-one, np.zeros((), dtype))[()]


def normal_of(key: Any, shape: Shape, dtype: Any) -> Any:
    """Draw standard normal numbers of a float or complex dtype."""
    if dtypes.is_complex(dtype):
        real, imag = (normal_of(k, shape, dtypes.real_of(dtype)) for k in split_of(key))
        real, imag = (convert_element_type(x, dtype) for x in (real, imag))
        both = add(real, mul(dtype.type(1j), imag))
        return div(both, np.sqrt(dtype.type(2)).astype(dtype))
    u = uniform_of(key, shape, dtype, above_minus_one(dtype), dtype.type(1))
    return mul(np.asarray(math.sqrt(2), np.float64).astype(dtype)[()], erf_inv(u))


@composite(static=("shape", "dtype"))
def _normal(key: Any, shape: Shape, dtype: Any) -> Any:
    return normal_of(opaque("normal", key)[0], shape, dtype)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    r"""Draw standard normal random numbers, with density
    :math:`e^{-x^2/2} / \sqrt{2\pi}`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float or complex dtype (default: the dtype of Python floats).  The real
        and the imaginary part of complex numbers have variance 1/2.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Raises:
      ValueError: the dtype is neither float nor complex.

    Example:
      >>> import minijax as mj
      >>> mj.random.normal(mj.random.key(0), (2,))
      Array([1.6226422, 2.0252647], dtype=float32)
    """
    if dtype is None:
        dtype = dtypes.float_default()
    else:
        kind = "a float or complex dtype"
        dtype = checked_dtype("normal", dtype, dtypes.is_inexact, kind)
    out = _normal(key, static_shape(shape, "normal"), dtype)
    return out if out_sharding is None else placed(out, out_sharding, "normal")


# ----------------------------------------------------------------------------- randint


def _integer_bound(x: Any, dtype: Any) -> Any:
    """Convert a bound to an integer; a traced non-integer is converted to `dtype`."""
    if isinstance(x, (int, np.integer)):
        return int(x)
    if isinstance(x, (float, np.generic)):
        info = ml_dtypes.iinfo(dtype)
        bound: Any = x  # NumPy's stubs define no order of scalars
        return int(min(max(bound, int(info.min)), int(info.max)))
    integer = dtypes.is_integer(aval_of(x).dtype)
    return x if integer else convert_element_type(x, dtype)


def _clipped(x: Any, low: int, high: int, dtype: Any) -> Any:
    """Clamp an integer bound to [low, high], in an integer dtype."""
    if isinstance(x, int):
        return dtype.type(min(max(x, low), high))
    own = aval_of(x).dtype
    info = ml_dtypes.iinfo(own)
    low, high = max(low, int(info.min)), min(high, int(info.max))
    if (low, high) != (info.min, info.max):
        x = clamp(own.type(low), x, own.type(high))
    return convert_element_type(x, dtype)


def _exceeds(x: Any, top: int) -> Any:
    """Whether an integer bound is greater than the largest number of a dtype."""
    if isinstance(x, int):
        return np.bool_(x > top)
    own = aval_of(x).dtype
    return np.bool_(False) if top >= ml_dtypes.iinfo(own).max else gt(x, own.type(top))


def _span(low: Any, high: Any, too_high: Any, dtype: Any) -> Any:
    """Return the number of integers in [low, high), at least 1, unsigned modulo 2**bits.

    `too_high` means that the upper bound was `high` + 1, and `high` is the largest integer.
    """
    if all(isinstance(x, np.generic) for x in (low, high, too_high)):
        count = max(1, int(high) - int(low) + int(too_high and high > low))
        return dtype.type(count % 2 ** (8 * dtype.itemsize))
    difference = convert_element_type(sub(high, low), dtype)
    shape = aval_of(difference).shape
    low, high = repeated(low, shape), repeated(high, shape)
    span = select_n(le(high, low), difference, repeated(dtype.type(1), shape))
    if isinstance(too_high, np.generic) and not too_high:
        return span
    needs_one_more = bitwise_and(repeated(too_high, shape), gt(high, low))
    return select_n(needs_one_more, span, add(span, dtype.type(1)))


def randint_of(key: Any, shape: Shape, minval: Any, maxval: Any, dtype: Any) -> Any:
    """Draw integers of an integer dtype in [minval, maxval)."""
    info = ml_dtypes.iinfo(dtype)
    bottom, top, width = int(info.min), int(info.max), info.bits
    minval, maxval = (_integer_bound(x, dtypes.int_default()) for x in (minval, maxval))
    if width < 32:
        low = _clipped(minval, bottom, top, dtypes.int32)
        high = _clipped(maxval, bottom, top + 1, dtypes.int32)
        wide = randint_of(key, shape, low, high, dtypes.int32)
        return convert_element_type(wide, dtype)
    unsigned = uint_of(width)
    too_high = _exceeds(maxval, top)
    low, high = (
        align_to_shape(_clipped(x, bottom, top, dtype), shape) for x in (minval, maxval)
    )
    span = _span(low, high, too_high, unsigned)
    first, second = (random_bits_p.bind(k, bit_width=width, shape=shape) for k in split_of(key))
    # Compute (first * 2**width + second) % span; 2**width itself would overflow, so take
    # the square of 2**(width / 2) modulo the span.
    half = _rem(unsigned.type(2 ** (width // 2)), span)
    modulus_factor = _rem(_mul(half, half), span)
    offset = rem(add(mul(rem(first, span), modulus_factor), rem(second, span)), span)
    if unsigned != dtype:
        offset = convert_element_type(offset, dtype)
    return add(low, offset)


def _rem(x: Any, y: Any) -> Any:
    if isinstance(y, np.generic) and y:
        return x % y
    return rem(x, y)


def _mul(x: Any, y: Any) -> Any:
    if isinstance(x, np.generic) and isinstance(y, np.generic):
        with np.errstate(over="ignore"):
            return x * y  # type: ignore[operator]  # of any scalars
    return mul(x, y)


@composite(static=("shape", "dtype"))
def _randint(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("randint", key)
    shape_of_all("randint", shape, minval, maxval)
    return randint_of(typed, shape, minval, maxval, dtype)


def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw uniform random integers in [minval, maxval).

    Args:
      key: a random key.
      shape: the result's shape.
      minval, maxval: numbers, or arrays that broadcast to `shape`; the result is `minval`
        where `maxval` is not greater than `minval`.
      dtype: an integer dtype (default: the dtype of Python ints).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Raises:
      TypeError: the dtype is not an integer dtype.
      ValueError: shapes do not fit.
      OverflowError: a bound is out of range of the default integer dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.randint(mj.random.key(0), (3,), 0, 10)
      Array([9, 0, 2], dtype=int32)
    """
    if dtype is None:
        dtype = dtypes.int_default()
    else:
        dtype = dtype_arguments.requested_dtype(dtype, "randint")
        if not dtypes.is_integer(dtype):
            raise type_problem(
                f"randint only accepts integer dtypes, got {dtype}",
                why="randint draws integers.",
                tries=["jax.random.uniform for floats", "jax.random.bernoulli for bools"],
            )
    out = _randint(key, minval, maxval, static_shape(shape, "randint"), dtype)
    return out if out_sharding is None else placed(out, out_sharding, "randint")
