"""Elementwise functions with special values: at kinks, zeros, nan and infinities.

fabs, hypot, heaviside, sinc, i0, angle, nan_to_num.  Each is a `composite`: one compiled
call when evaluated, inlined when traced.

Next: equality.py, for comparisons of entire arrays.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...control.calls.jit import composite
from ...control.rules.custom_jvp import custom_jvp
from ...prims import lax
from ...prims.elementwise import const
from ...prims.special.bessel import i1_slope
from ...prims.special.log_gamma import polynomial
from ...types import dtypes
from ._common import *

__all__ = ("fabs", "hypot", "heaviside", "sinc", "i0", "angle", "nan_to_num")


def _dtype(x: Any) -> Any:
    return aval_of(x).dtype


@composite
def fabs(x: Any, /) -> Any:
    """Return the absolute value of real numbers as floats, elementwise.

    Args:
      x: real array or number; integers and bools become floats.

    Returns:
      Array of the shape of x and its float dtype.

    Raises:
      TypeError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fabs(jnp.array([-1, 2]))
      Array([1., 2.], dtype=float32)
    """
    check_arraylike("fabs", x)
    if is_complex(x):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_dtypes_inexact(x))


@composite
def hypot(x1: Any, x2: Any, /) -> Any:
    """Return sqrt(x1**2 + x2**2) without overflow, elementwise.

    Args:
      x1, x2: real arrays or numbers that broadcast; integers and bools become floats.

    Returns:
      Array of the broadcast shape, of the common float dtype; infinity where an operand
      is infinite, even if the other is nan.

    Raises:
      ValueError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.hypot(3., 4.)
      Array(5., dtype=float32, weak_type=True)
    """
    x, y = promote_args_inexact("hypot", x1, x2)
    if is_complex(x):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs."
            " Try: jnp.hypot(abs(x1), abs(x2))"
        )
    shape = joint_shape("max", shape_of(x), shape_of(y))
    return strong_unless_scalar(_hypot(broadcast_to(x, shape), broadcast_to(y, shape)))


@custom_jvp
def _hypot(x: Any, y: Any) -> Any:
    x, y = lax.abs(x), lax.abs(y)
    infinite = lax.bitwise_or(lax.eq(x, const(x, np.inf)), lax.eq(y, const(y, np.inf)))
    high, low = lax.max(x, y), lax.min(x, y)
    none = lax.eq(high, const(high, 0))
    ratio = lax.div(low, choose(none, const(high, 1), high))
    length = lax.mul(high, lax.sqrt(lax.add(const(ratio, 1), lax.square(ratio))))
    length = choose(none, high, length)
    return choose(infinite, const(length, np.inf), length)


@_hypot.defjvp
def _hypot_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (t, u) = primals, tangents
    by_x, by_y = _cosine(x, y), _cosine(y, x)
    return _hypot(x, y), lax.add(lax.mul(t, by_x), lax.mul(u, by_y))


@custom_jvp
def _cosine(x: Any, y: Any) -> Any:
    """Return x / hypot(x, y), and where both are 0 the mean of the slopes around, 1/2.

    It uses the ratio of the smaller to the larger, since the hypotenuse may overflow.
    """
    size, other = lax.abs(x), lax.abs(y)
    larger = lax.ge(size, other)
    high, low = choose(larger, size, other), choose(larger, other, size)
    none = lax.eq(high, const(high, 0))
    ratio = lax.div(low, choose(none, const(high, 1), high))
    larger_cosine = lax.rsqrt(lax.add(const(ratio, 1), lax.square(ratio)))
    cosine = lax.mul(lax.sign(x), choose(larger, larger_cosine, lax.mul(ratio, larger_cosine)))
    return choose(none, const(x, 0.5), cosine)


@_cosine.defjvp
def _cosine_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (t, u) = primals, tangents
    cosine, sine, length = _cosine(x, y), _cosine(y, x), _hypot(x, y)
    # sine (sine t - cosine u) / length: no cancellation, and no square that overflows.
    across = lax.mul(sine, lax.sub(lax.mul(sine, t), lax.mul(cosine, u)))
    none = lax.eq(length, const(x, 0))
    bent = lax.div(across, choose(none, const(x, 1), length))
    return cosine, choose(none, const(x, 0), bent)


@composite
def heaviside(x1: Any, x2: Any, /) -> Any:
    """Return 0 below zero, 1 above, and x2 at zero, elementwise.

    Args:
      x1, x2: real arrays or numbers that broadcast; integers and bools become floats.

    Returns:
      Array of the broadcast shape, of the common float dtype; nan where x1 is nan.

    Raises:
      TypeError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.heaviside(jnp.array([-1., 0., 1.]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    check_arraylike("heaviside", x1, x2)
    x, at_zero = promote_args_inexact("heaviside", *ranked(x1, x2))
    zero = const(x, 0)
    out = choose(lax.ne(x, x), x, at_zero)
    out = choose(lax.gt(x, zero), const(x, 1), out)
    out = choose(lax.lt(x, zero), zero, out)
    return strong_unless_scalar(out) if shape_of(x) else out


@composite
def sinc(x: Any, /) -> Any:
    """Return sin(pi x) / (pi x), and 1 at zero, elementwise.

    Args:
      x: array or number; integers and bools become floats.

    Returns:
      Array of the shape of x, of its float or complex dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.sinc(jnp.array([0., 0.5])).round(3)
      Array([1.   , 0.637], dtype=float32)
    """
    check_arraylike("sinc", x)
    (x,) = promote_dtypes_inexact(x)
    return strong_unless_scalar(sine_quotient(lax.mul(const(x, np.pi), x)))


@custom_jvp
def sine_quotient(t: Any) -> Any:
    """Return sin(t) / t."""
    # Subnormal numbers lose digits in the multiplication and division.
    size = lax.abs(t)
    # Below 4 * tiny, sin(t) / t is 1 in every float dtype.
    at_zero = lax.lt(size, const(size, 4 * float(ml_dtypes.finfo(_dtype(size)).tiny)))
    safe = choose(at_zero, const(t, 1), t)
    return choose(at_zero, const(t, 1), lax.div(lax.sin(safe), safe))


# Coefficients of the derivative of sin(t) / t, divided by t, in powers of t^2: 13 terms
# are exact to float64 for |t| < 1.5.
_SINC_SLOPE = tuple((-1.0) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 14))


@sine_quotient.defjvp
def _sinc_jvp(primals: Any, tangents: Any) -> Any:
    """Return (cos t - sinc) / t; near 0, where the terms cancel, by its power series."""
    (t,), (t_dot,) = primals, tangents
    size = lax.abs(t)
    near = lax.lt(size, const(size, 1.5))
    small = choose(near, t, const(t, 0))
    series = lax.mul(small, polynomial(lax.square(small), _SINC_SLOPE))
    large = choose(near, const(t, 1.5), t)
    beyond = lax.div(lax.sub(lax.cos(large), sine_quotient(large)), large)
    return sine_quotient(t), lax.mul(t_dot, choose(near, series, beyond))


@composite
def i0(x: Any) -> Any:
    """Return the modified Bessel function of the first kind, order 0, elementwise.

    Args:
      x: real array or number; integers and bools become floats.

    Returns:
      Array of the shape of x and its float dtype.

    Raises:
      ValueError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.i0(jnp.array([0., 1.])).round(3)
      Array([1.   , 1.266], dtype=float32)
    """
    check_arraylike("i0", x)
    if is_complex(x):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {_dtype(x)}")
    return modified_bessel_0(*promote_dtypes_inexact(x))


@custom_jvp
def modified_bessel_0(x: Any) -> Any:
    """Return I_0(x) of a float array."""
    size = lax.abs(x)
    return _grown(size, lax.bessel_i0e(size))


def _grown(size: Any, scaled: Any) -> Any:
    """Return e^size times a number, in two steps: the power alone may be infinite."""
    half = lax.exp(lax.mul(size, const(size, 0.5)))
    return lax.mul(half, lax.mul(half, scaled))


@custom_jvp
def modified_bessel_1(x: Any) -> Any:
    """Return I_1(x) of a float array."""
    return _grown(lax.abs(x), lax.bessel_i1e(x))


modified_bessel_0.defjvps(lambda t, ans, x: lax.mul(t, modified_bessel_1(x)))
modified_bessel_1.defjvps(lambda t, ans, x: lax.mul(t, i1_slope(x)))


@composite(static="deg")
def _angle(z: Any, deg: Any) -> Any:
    if not dtypes.is_inexact(_dtype(z)):
        z = convert(z, dtypes.float_default())
    if is_complex(z):
        y, x = lax.imag(z), lax.real(z)
    else:
        z = z if shape_of(z) else convert(z, _dtype(z))
        y, x = lax.full_like(z, 0), z
    out = lax.atan2(y, x)
    return lax.mul(out, const(out, 180 / np.pi)) if deg else out


def angle(z: Any, deg: bool = False) -> Any:
    """Return the argument of a complex number, in (-pi, pi], elementwise.

    Args:
      z: array or number; integers and bools become floats.
      deg: return degrees instead of radians.

    Returns:
      Array of the shape of z, of its real dtype (complex64: float32); of a real z, 0 or
      pi.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.angle(jnp.array([1j]), deg=True)
      Array([90.], dtype=float32)
    """
    check_arraylike("angle", z)
    out = _angle(z, bool(deg))
    return strong_unless_scalar(out) if deg else out


@composite
def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    dtype = _dtype(x)
    if dtypes.is_complex(dtype):
        parts = (lax.real(x), lax.imag(x))
        return lax.complex(*(_nan_to_num(p, nan, posinf, neginf) for p in parts))
    if not dtypes.is_float(dtype):
        return x
    info = ml_dtypes.finfo(dtype)
    high = info.max if posinf is None else posinf
    low = info.min if neginf is None else neginf
    x = convert(x, dtype)
    out = choose(lax.ne(x, x), convert(nan, dtype), x)
    out = choose(lax.eq(x, const(x, np.inf)), convert(high, dtype), out)
    return choose(lax.eq(x, const(x, -np.inf)), convert(low, dtype), out)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace nan and infinities by finite numbers, elementwise.

    Args:
      x: array or number.
      copy: ignored; arrays are immutable.
      nan: the replacement for nan.
      posinf, neginf: the replacements for infinities; None for the largest and the lowest
        finite number of the dtype.

    Returns:
      Array of the shape and dtype of x; integers and bools are returned unchanged.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.nan_to_num(jnp.array([jnp.nan, 1.]))
      Array([0., 1.], dtype=float32)
    """
    del copy
    check_arraylike("nan_to_num", x)
    return _nan_to_num(x, nan, posinf, neginf)
