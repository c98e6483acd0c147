r"""Faddeeva's function w(z), and the scaled error function of complex numbers.

w(z) is an integral of :math:`e^{-t^2} / (z - t)` over the real line, which the trapezoidal
rule computes to full precision.  The function uses the one of two grids whose points are
farther from z, and adds the residue of the pole at z (M. Al Azah, S. N. Chandler-Wilde,
"Computation of the complex error function using modified trapezoidal rules", SIAM Journal
on Numerical Analysis 59, 2021).  The real and the imaginary part are separate sums, so each
is precise.

Next: exponential_integrals.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....types.avals import shaped
from ...numpy._common import from_host
from ._common import *
from .scaled import erfcx_of_real, exp_of_square

__all__ = ("wofz", "erfcx")

FAR = 1e7  # above this size w(z) equals i / (sqrt(pi) z) to full precision


def _upper(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the real and imaginary part of w(x + iy) for nonnegative x and y."""
    dtype, rank = dtype_of(x), aval_of(x).ndim
    points = 12 if dtype == dtypes.float64 else 7
    h = math.sqrt(math.pi / points)
    grids = [h * np.arange(1, points + 1), h * (np.arange(points) + 0.5)]
    at, half_at, weight, half_weight = (
        from_host(v.astype(dtype), shaped(v.shape, dtype))
        for v in (*grids, *[np.exp(-g * g) * h / math.pi for g in grids])
    )
    turns = x / h
    fraction = turns - lax.floor(turns)
    between = lax.bitwise_and(
        lax.ge(fraction, const(x, 0.25)), lax.lt(fraction, const(x, 0.75))
    )
    wide = lambda v: lax.expand_dims(v, (rank,))
    at = choose(wide(between), at, half_at)
    weight = choose(wide(between), weight, half_weight)
    # Sum the points t and -t together; one of the grids also contains 0.
    left, right, square = wide(x) - at, wide(x) + at, wide(y * y)
    one, other = left * left + square, right * right + square
    real = y * lax.reduce_sum(weight / one + weight / other, (rank,))
    scaled = weight * (left * right + square) / (one * other)
    imag = 2 * x * lax.reduce_sum(scaled, (rank,))
    middle = h / math.pi / choose(between, x * x + y * y, const(x, 1))
    real = real + choose(between, y * middle, const(x, 0))
    imag = imag + choose(between, x * middle, const(x, 0))
    # The residue: 2 e^(-z^2) / (1 + s e^(-2 pi i z / h)), s = -1 on the grid with 0.
    sign = choose(between, const(x, -1), const(x, 1))
    near = lax.lt(y, const(x, math.pi / h))
    low = choose(near, y, const(x, 0))
    decay = lax.exp(-2 * math.pi / h * low)
    angle = 2 * math.pi * fraction
    cosine, sine = sign * lax.cos(angle), sign * lax.sin(angle)
    size = decay / (1 + 2 * decay * cosine + decay * decay)
    size = 2 * size * exp_of_square(x, -1) * exp_of_square(low)
    size = choose(near, size, const(x, 0))
    phase = 2 * x * low
    c, s = lax.cos(phase), lax.sin(phase)
    real = real + size * ((decay + cosine) * c + sine * s)
    imag = imag + size * (sine * c - (decay + cosine) * s)
    return real, imag


@staged
def _value(z: Any) -> Any:
    real_type = dtypes.real_of(dtype_of(z))
    a, b = lax.real(z), lax.imag(z)
    x, y = lax.abs(a), lax.abs(b)
    far = lax.gt(lax.max(x, y), const(x, FAR))
    zero = const(x, 0)
    re, im = _upper(choose(far, zero, x), choose(far, zero, y))
    # For large z, i / (sqrt(pi) z), scaled so that nothing overflows.
    big, small = lax.max(x, y), lax.min(x, y)
    big = choose(far, big, const(x, 1))
    ratio = choose(lax.eq(big, const(x, np.inf)), zero, small / big)
    length = math.sqrt(math.pi) * (1 + ratio * ratio)
    one = filled(x, 1)
    steep = lax.gt(y, x)
    re = choose(far, choose(steep, one, ratio) / length / big, re)
    im = choose(far, choose(steep, ratio, one) / length / big, im)
    below = lax.lt(b, zero)
    # Below the real axis, w(z) = 2 e^(-z^2) - w(-z).
    residue = 2 * exp_of_square(y) * exp_of_square(x, -1)
    phase = choose(lax.bitwise_and(below, lax.lt(x * y, const(x, 1e30))), 2 * x * y, zero)
    sine = lax.sin(phase)
    phase_imag = choose(lax.eq(sine, zero), zero, residue * sine)
    re = choose(below, residue * lax.cos(phase) - re, re)
    im = choose(below, phase_imag + im, im)
    im = choose(lax.lt(a, zero), -im, im)
    nan = lax.ne(a + b, a + b)
    nan = lax.bitwise_and(nan, lax.bitwise_or(lax.ne(a, a), lax.ne(b, b)))
    w = lax.complex(re, im)
    assert dtype_of(re) == real_type
    return choose(nan, const(z, complex(math.nan, math.nan)), w)


@custom_jvp
def _wofz(z: Any) -> Any:
    return _value(z)


_wofz.defjvps(lambda t, ans, z: t * (const(z, 2j / math.sqrt(math.pi)) - 2 * z * ans))


@special(
    r"Compute Faddeeva's function, :math:`w(z) = e^{-z^2} \mathrm{erfc}(-iz)`.",
    "1j -> 0.42758+0.00000j",
    "z: real or complex array or number.",
    returns="A complex array of its shape.",
    source="NIST Digital Library of Mathematical Functions, 7.2.3.",
)
def wofz(z: ArrayLike) -> Any:
    (z,) = promote_args_inexact("wofz", z)
    return _wofz(convert(z, dtypes.complex_of(_at_least_float32(dtype_of(z)))))


def _at_least_float32(dtype: Any) -> Any:
    real = dtypes.real_of(dtype) if dtypes.is_complex(dtype) else dtype
    return real if real.itemsize >= 4 else dtypes.float32


@special(
    r"Compute the complementary error function, scaled: :math:`e^{x^2} \mathrm{erfc}(x)`.",
    "1. -> 0.42758",
    "x: real or complex array or number; integers become floats.",
)
def erfcx(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("erfcx", x)
    x = strip_weak_type(x)
    if dtypes.is_complex(dtype_of(x)):
        return _wofz(lax.complex(-lax.imag(x), lax.real(x)))
    return in_float32(erfcx_of_real)(x)
