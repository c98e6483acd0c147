"""Elementwise functions of the binary representation of floats.

Tests for nan and infinity, sign bits, exponents and mantissas, distances between
floats.  Each is a `composite`: one compiled call when evaluated, inlined when traced.

Next: special_values.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...control.calls.jit import composite
from ...control.rules.custom_jvp import custom_jvp
from ...prims import lax
from ...prims.elementwise import ANY, check_kind, const, derivative_constant
from ...types import dtypes
from ._common import *
from .ufuncs import float_args

__all__ = (
    "isfinite",
    "isinf",
    "isposinf",
    "isneginf",
    "isnan",
    "iscomplex",
    "isreal",
    "signbit",
    "copysign",
    "spacing",
    "frexp",
    "ldexp",
    "bitwise_count",
)


def _dtype(x: Any) -> Any:
    return aval_of(x).dtype


# ------------------------------------------------------------------- classes of floats


def _all_false(x: Any) -> Any:
    return lax.full_like(x, False, dtypes.bool_)


@composite
def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor nan, elementwise.

    Args:
      x: array or number.

    Returns:
      Bool array of the shape of x, True for all integers and bools.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isfinite(jnp.array([1., jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    check_arraylike("isfinite", x)
    if is_complex(x):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    if dtypes.is_float(_dtype(x)):
        return lax.is_finite(x)
    return lax.full_like(x, True, dtypes.bool_)


@composite
def isinf(x: Any, /) -> Any:
    """Whether x is infinite, elementwise.

    Args:
      x: array or number.

    Returns:
      Bool array of the shape of x; a complex number is infinite if either part is.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isinf(jnp.array([1., -jnp.inf]))
      Array([False,  True], dtype=bool)
    """
    check_arraylike("isinf", x)
    if is_complex(x):
        return lax.bitwise_or(_infinite(lax.real(x)), _infinite(lax.imag(x)))
    return _infinite(x) if dtypes.is_float(_dtype(x)) else _all_false(x)


def _infinite(x: Any) -> Any:
    return lax.eq(lax.abs(x), _dtype(x).type(np.inf))


def _signed_infinity(name: str, x: Any, out: Any, sign: float) -> Any:
    no_out("isneginf/isposinf", out)
    check_arraylike(name, x)
    if is_complex(x):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return _equals_infinity(x, sign)


@composite(static="sign")
def _equals_infinity(x: Any, sign: float) -> Any:
    if not dtypes.is_float(_dtype(x)):
        return _all_false(x)
    return lax.eq(x, _dtype(x).type(sign * np.inf))


def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether x is positive infinity, elementwise.

    Args:
      x: real array or number.
      out: not supported.

    Returns:
      Bool array of the shape of x, False for all integers and bools.

    Raises:
      ValueError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
      Array([ True, False], dtype=bool)
    """
    return _signed_infinity("isposinf", x, out, 1.0)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether x is negative infinity, elementwise.

    Args:
      x: real array or number.
      out: not supported.

    Returns:
      Bool array of the shape of x, False for all integers and bools.

    Raises:
      ValueError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
      Array([False,  True], dtype=bool)
    """
    return _signed_infinity("isneginf", x, out, -1.0)


@composite
def isnan(x: Any, /) -> Any:
    """Whether x is nan, elementwise.

    Args:
      x: array or number.

    Returns:
      Bool array of the shape of x; a complex number is nan if either part is.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isnan(jnp.array([1., jnp.nan]))
      Array([False,  True], dtype=bool)
    """
    check_arraylike("isnan", x)
    return lax.ne(x, x)  # only nan differs from itself


@composite
def iscomplex(x: Any) -> Any:
    """Whether the imaginary part differs from zero, elementwise.

    Args:
      x: array or number.

    Returns:
      Bool array of the shape of x, False for all real dtypes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.iscomplex(jnp.array([1j, 1]))
      Array([ True, False], dtype=bool)
    """
    check_arraylike("iscomplex", x)
    check_kind("iscomplex", aval_of(x), ANY, 0, 1)
    if not is_complex(x):
        weak = aval_of(x).weak_type and not shape_of(x)
        return convert(_all_false(x), dtypes.bool_, weak)
    part = lax.imag(x)
    return lax.ne(part, derivative_constant(part, 0))


@composite
def isreal(x: Any) -> Any:
    """Whether the imaginary part is zero, elementwise.

    Args:
      x: array or number.

    Returns:
      Bool array of the shape of x, True for all real dtypes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isreal(jnp.array([1j, 1]))
      Array([False,  True], dtype=bool)
    """
    check_arraylike("isreal", x)
    check_kind("isreal", aval_of(x), ANY, 0, 1)
    if not is_complex(x):
        weak = aval_of(x).weak_type and not shape_of(x)
        return convert(lax.full_like(x, True, dtypes.bool_), dtypes.bool_, weak)
    part = lax.imag(x)
    return lax.eq(part, derivative_constant(part, 0))


# ---------------------------------------------------------------------- bits of floats

_BITS: dict[int, Any] = {8: dtypes.int8, 16: dtypes.int16, 32: dtypes.int32, 64: dtypes.int64}


def _bits_of(x: Any) -> Any:
    """Return the bits of floats as signed integers of their width."""
    return lax.bitcast_convert_type(x, _BITS[8 * _dtype(x).itemsize])


@composite
def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set (also for -0.), elementwise.

    Args:
      x: real array or number.

    Returns:
      Bool array of the shape of x.

    Raises:
      ValueError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.signbit(jnp.array([-0., 0., -1.]))
      Array([ True, False,  True], dtype=bool)
    """
    check_arraylike("signbit", x)
    if is_complex(x):
        raise ValueError(f"jax.numpy.signbit is not well defined for {_dtype(x)}")
    return convert(_signbit(x), dtypes.bool_)


def _signbit(x: Any) -> Any:
    kind = dtypes.kind(_dtype(x))
    if kind in ("bool", "uint"):
        return _all_false(x)
    if kind == "int":
        return lax.lt(x, const(x, 0))
    bits = _bits_of(x)
    return lax.lt(bits, const(bits, 0))


@composite
def copysign(x1: Any, x2: Any, /) -> Any:
    """Return the magnitude of x1 with the sign of x2, elementwise.

    Args:
      x1, x2: real arrays or numbers that broadcast; integers and bools become floats.

    Returns:
      Array of the broadcast shape, of the common float dtype.

    Raises:
      TypeError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.copysign(jnp.array([1., 2.]), -0.)
      Array([-1., -2.], dtype=float32)
    """
    x, y = float_args("copysign", x1, x2)
    size = lax.abs(x)
    return choose(_signbit(y), lax.neg(size), size)


@composite
def spacing(x: Any, /) -> Any:
    """Return the distance to the next float away from zero, signed like x, elementwise.

    For float16, as in NumPy, the distance to the next larger float.

    Args:
      x: real array or number; integers and bools become floats.

    Returns:
      Array of the shape of x and its float dtype; nan for infinities and nan.

    Raises:
      ValueError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> float(jnp.spacing(1.))
      1.1920928955078125e-07
    """
    check_arraylike("spacing", x)
    if is_complex(x):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    (x,) = promote_dtypes_inexact(x)
    x = convert(x, _dtype(x))
    if _dtype(x) == dtypes.float16:
        return lax.sub(lax.nextafter(x, const(x, np.inf)), x)
    away = choose(_signbit(x), const(x, -np.inf), const(x, np.inf))
    gap = lax.sub(lax.nextafter(x, away), x)
    # Subtraction may flush a subnormal gap to zero; the gap is then the smallest float.
    least = const(x, ml_dtypes.finfo(_dtype(x)).smallest_subnormal)
    least = choose(_signbit(x), lax.neg(least), least)
    return convert(choose(lax.eq(gap, const(gap, 0)), least, gap), _dtype(x))


def _layout(dtype: Any) -> tuple[int, int]:
    """Return (mantissa bits, exponent bias) of a float dtype."""
    info = ml_dtypes.finfo(dtype)
    return int(info.nmant), 1 - int(info.minexp)


def power_of_two(k: Any, dtype: Any) -> Any:
    """Return 2.0**k exactly, for integers that are exponents of normal floats."""
    mantissa, bias = _layout(dtype)
    kind = _BITS[8 * dtype.itemsize]
    biased = lax.add(convert(k, kind), const_of(kind, bias))
    return lax.bitcast_convert_type(lax.shift_left(biased, const_of(kind, mantissa)), dtype)


def const_of(dtype: Any, value: Any) -> Any:
    """Return a host scalar of a dtype."""
    return np.asarray(value).astype(dtype)[()]


@composite
def frexp(x: Any, /) -> tuple[Any, Any]:
    """Return the mantissa in [0.5, 1) and exponent of two: x = mantissa * 2**exponent.

    Args:
      x: real array or number; integers and bools become floats.  Zero, infinities and
        nan are their own mantissa, with exponent 0.

    Returns:
      (mantissa, exponent), arrays of the shape of x: of its float dtype, and int32.

    Raises:
      TypeError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.frexp(jnp.array([6.]))
      (Array([0.75], dtype=float32), Array([3], dtype=int32))
    """
    check_arraylike("frexp", x)
    if is_complex(x):
        raise TypeError("frexp does not support complex-valued inputs")
    (x,) = promote_dtypes_inexact(x)
    return _frexp(convert(x, _dtype(x)))


@custom_jvp
def _frexp(x: Any) -> tuple[Any, Any]:
    finite_nonzero = lax.bitwise_and(lax.is_finite(x), _not_zero(x))
    normal, lowered = _normalise(x)
    exponent = exponent_of(normal)
    fraction = _scale(normal, lax.neg(exponent))
    exponent = choose(finite_nonzero, lax.sub(exponent, lowered), const(exponent, 0))
    return choose(finite_nonzero, fraction, x), exponent


@_frexp.defjvp
def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    fraction, exponent = _frexp(*primals)
    zero_tangent = np.zeros(shape_of(exponent), dtypes.float0)
    return (fraction, exponent), (_scale(tangents[0], lax.neg(exponent)), zero_tangent)


def _not_zero(x: Any) -> Any:
    """Whether any bit except the sign is set (processors may treat subnormals as zero)."""
    bits = _bits_of(x)
    return lax.ne(lax.shift_left(bits, const(bits, 1)), const(bits, 0))


def _normalise(x: Any) -> tuple[Any, Any]:
    """Return x with subnormals scaled by a power of two, and that power's exponent (or 0).

    A subnormal is its integer mantissa times the smallest float, and that integer,
    converted to a float, is normal.
    """
    mantissa, bias = _layout(_dtype(x))
    bits = _bits_of(x)
    mantissa_field = lax.bitwise_and(bits, const(bits, (1 << mantissa) - 1))
    field = lax.bitwise_and(bits, const(bits, (2 * bias + 1) << mantissa))
    subnormal = lax.eq(field, const(bits, 0))
    size = convert(mantissa_field, _dtype(x))
    signed = choose(lax.lt(bits, const(bits, 0)), lax.neg(size), size)
    shift = const_of(dtypes.int32, mantissa + bias - 1)
    return choose(subnormal, signed, x), choose(subnormal, shift, const(shift, 0))


def exponent_of(x: Any) -> Any:
    """Return the exponent that frexp returns for normal floats, as int32."""
    mantissa, bias = _layout(_dtype(x))
    bits = _bits_of(x)
    field = lax.bitwise_and(
        lax.shift_right_arithmetic(bits, const(bits, mantissa)), const(bits, 2 * bias + 1)
    )
    exponent = convert(field, dtypes.int32)
    return lax.sub(exponent, const(exponent, bias - 1))


def _scale(x: Any, k: Any) -> Any:
    """Return x * 2**k for any integers k, in steps without early over- or underflow."""
    _, bias = _layout(_dtype(x))
    least, most = const(k, 1 - bias), const(k, bias)
    # Three steps reach 2^(3 * bias), beyond the range from the least to the largest float.
    for _ in range(3):
        step = lax.min(lax.max(k, least), most)
        x = lax.mul(x, power_of_two(step, _dtype(x)))
        k = lax.sub(k, step)
    return x


@composite
def ldexp(x1: Any, x2: Any, /) -> Any:
    """Return x1 * 2**x2, elementwise.

    Args:
      x1: real array or number; integers and bools become floats.
      x2: array or number of integers or bools, which broadcasts with x1.

    Returns:
      Array of the broadcast shape, of the float dtype of x1.

    Raises:
      ValueError: x2 is not of an integer dtype, or x1 is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ldexp(jnp.array([0.75]), 3)
      Array([6.], dtype=float32)
    """
    check_arraylike("ldexp", x1, x2)
    if dtypes.kind(_dtype(x2)) not in ("int", "uint", "bool") or is_complex(x1):
        raise ValueError(f"ldexp not supported for input types {(_dtype(x1), _dtype(x2))}")
    (x,) = promote_dtypes_inexact(x1)
    x = convert(x, _dtype(x))
    shape = joint_shape("add", shape_of(x), shape_of(x2))
    k = x2
    if dtypes.kind(_dtype(k)) == "uint" and _dtype(k).itemsize >= 4:
        k = lax.min(k, const(k, 1 << 30))  # fits in int32
    if not dtypes.is_signed(_dtype(k)) or _dtype(k).itemsize < 4:
        k = convert(k, dtypes.int32)
    return _ldexp(broadcast_to(x, shape), broadcast_to(k, shape))


@custom_jvp
def _ldexp(x: Any, k: Any) -> Any:
    # The exponent of x is added to k before any multiplication: compilers merge constant
    # factors, and 2^-200 underflows.
    limit = 4 * _layout(_dtype(x))[1]
    fraction, exponent = _frexp(x)
    k = lax.min(lax.max(k, const(k, -limit)), const(k, limit))
    return _scale(fraction, lax.add(k, convert(exponent, _dtype(k))))


@_ldexp.defjvp
def _ldexp_jvp(primals: Any, tangents: Any) -> Any:
    return _ldexp(*primals), _scale(tangents[0], primals[1])


@composite
def bitwise_count(x: Any, /) -> Any:
    """Count the bits of |x| that are set, elementwise.

    Args:
      x: array or number of integers or bools.

    Returns:
      uint8 array of the shape of x.

    Raises:
      TypeError: x has neither an integer nor a bool dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.bitwise_count(jnp.array([7, -8]))
      Array([3, 1], dtype=uint8)
    """
    check_arraylike("bitwise_count", x)
    if dtypes.is_bool(_dtype(x)):
        return convert(x, dtypes.uint8)
    size = lax.abs(x) if dtypes.is_signed(_dtype(x)) else x
    return convert(lax.population_count(size), dtypes.uint8)
