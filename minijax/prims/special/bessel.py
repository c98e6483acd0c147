"""Exponentially scaled modified Bessel functions of order 0 and 1.

Order 0 is a Chebyshev expansion in x/4 - 1 for x <= 8, and in 16/x - 1 for larger x.  Its
coefficients were computed from the power series and the asymptotic series of I_0 in
120-digit arithmetic (NIST Digital Library of Mathematical Functions, 10.25.2, 10.40.1).
Order 1 is an operation of the compiler.

Next: gamma.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes

from ...ir import core
from ...ir.core import Primitive
from ...passes.ad_util import instantiate
from ...passes.jvp import jvp_flat
from ..elementwise import FLOAT, Rule, const, filled, nary
from ..math.algebraic import add, div, mul, neg, reciprocal, rsqrt, sqrt, square, sub
from ..math.elementary import exp
from ..math.logic import bitwise_or, eq, ge, le, lt, select
from ..math.order import abs, sign
from ..math.wide_lowering import lower_chlo, lower_wide
from .log_gamma import polynomial

__all__ = ("bessel_i0e_p", "bessel_i0e", "bessel_i1e_p", "bessel_i1e")

# fmt: off
SMALL = (  # of e^-x I_0(x) in T_k(x/4 - 1), for 0 <= x <= 8
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877,
    -0.09490109704804764, 0.04930528423967071, -0.02373741480589947,
    0.010546460394594998, -0.004324309995050576, 0.0016394756169413357,
    -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06,
    -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11,
    -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15,
    -2.431279846547955e-16,
)
LARGE = (  # of e^-x I_0(x) sqrt(x) in T_k(16/x - 1), for x >= 8
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05,
    2.8913705208347567e-06, 2.0489185894690638e-07, 2.266668990498178e-08,
    3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15,
    1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18,
    -7.233180487874754e-18, 9.921475412173699e-19, 1.193650890845982e-18,
    -2.4887098371508075e-19,
)
# fmt: on


def chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """Return the sum of c_k T_k(t), by Clenshaw's recurrence."""
    twice = mul(const(t, 2), t)
    b, above = filled(t, coefficients[-1]), filled(t, 0)
    for c in coefficients[-2:0:-1]:
        b, above = add(sub(mul(twice, b), above), const(t, c)), b
    return add(sub(mul(t, b), above), const(t, coefficients[0]))


def enough(coefficients: Sequence[float], dtype: Any) -> Sequence[float]:
    """Return the coefficients that affect a result of the dtype's precision."""
    eps = float(ml_dtypes.finfo(dtype).eps) / 8
    count = len(coefficients)
    while count > 2 and -eps < coefficients[count - 1] / coefficients[0] < eps:
        count -= 1
    return coefficients[:count]


def _i0e(x: Any) -> Any:
    dtype = core.aval_of(x).dtype
    x = abs(x)
    near = select(le(x, const(x, 8)), x, filled(x, 8))
    far = select(le(x, const(x, 8)), filled(x, 8), x)
    small = chebyshev(sub(div(near, const(x, 4)), const(x, 1)), enough(SMALL, dtype))
    large = chebyshev(sub(div(const(x, 16), far), const(x, 1)), enough(LARGE, dtype))
    return select(le(x, const(x, 8)), small, div(large, sqrt(far)))


# ---- derivatives, of x >= 0
# I_1 - I_0 and the other differences cancel for large x, and their quotients cancel near 0.
# There, the terms of asymptotic series (DLMF 10.40.1) and of power series are all positive.

_NEAR = 1  # the power series are used below


def _power_series(q: Any, order: int) -> Any:
    """Return I_n(x) / (x/2)^n, the sum of q^k / (k! (k + n)!) for q = x^2 / 4 <= 1/4."""
    coefficients = [1 / math.factorial(k) / math.factorial(k + order) for k in range(9)]
    return polynomial(q, coefficients)


def _asymptotic_slope(x: Any, order: int) -> Any:
    """Return the derivative of the asymptotic series of e^-x I_n(x), n = 0 or 1."""
    coefficients, a = [], 1.0
    for k in range(_TERMS[core.aval_of(x).dtype.itemsize]):
        coefficients.append(-(k + 0.5) * a / math.sqrt(2 * math.pi))
        a *= ((2 * k + 1) ** 2 - 4 * order) / (8 * (k + 1))
    inverse = reciprocal(x)
    return mul(mul(rsqrt(x), inverse), polynomial(inverse, coefficients))


# By itemsize: the least x for which the asymptotic series has full precision, and the number
# of terms that it needs there.
_FAR = {8: 20, 4: 8, 2: 4, 1: 4}
_TERMS = {8: 30, 4: 12, 2: 5, 1: 5}


def _by_range(x: Any, small: Rule, middle: Rule, order: int) -> Any:
    far = const(x, _FAR[core.aval_of(x).dtype.itemsize])
    near = lt(x, const(x, _NEAR))
    beyond = ge(x, far)
    outside = bitwise_or(near, beyond)
    inner = middle(select(outside, filled(x, _NEAR), x))
    inner = select(near, small(select(near, x, filled(x, 0))), inner)
    tail = _asymptotic_slope(
        select(beyond, x, filled(x, _FAR[core.aval_of(x).dtype.itemsize])), order
    )
    return select(beyond, tail, inner)


def _i0e_slope(x: Any) -> Any:
    def small(x: Any) -> Any:
        q, half = square(mul(x, const(x, 0.5))), mul(x, const(x, 0.5))
        first = mul(half, _power_series(q, 1))
        return mul(exp(neg(x)), sub(first, _power_series(q, 0)))

    return _by_range(x, small, lambda x: sub(bessel_i1e(x), bessel_i0e(x)), 0)


def _i1e_slope(x: Any) -> Any:
    def small(x: Any) -> Any:
        first = mul(mul(x, const(x, 0.5)), _power_series(square(mul(x, const(x, 0.5))), 1))
        return mul(exp(neg(x)), sub(_i1_slope_near_0(x), first))

    def middle(x: Any) -> Any:
        inverse = reciprocal(x)
        return sub(bessel_i0e(x), mul(bessel_i1e(x), add(inverse, const(x, 1))))

    return _by_range(x, small, middle, 1)


def _i1_slope_near_0(x: Any) -> Any:
    q = square(mul(x, const(x, 0.5)))
    half = mul(_power_series(q, 1), const(x, 0.5))
    return add(half, mul(q, _power_series(q, 2)))


def _i1_slope(x: Any) -> Any:
    size = abs(x)
    near = lt(size, const(x, _NEAR))
    away = select(near, filled(x, _NEAR), size)
    inner = sub(bessel_i0e(away), mul(bessel_i1e(away), reciprocal(away)))
    low = _i1_slope_near_0(select(near, size, filled(x, 0)))
    half = exp(mul(away, const(x, 0.5)))  # e^x alone may overflow
    return select(near, low, mul(half, mul(half, inner)))


def _slope_primitive(name: str, slope: Callable[[Any], Any]) -> Primitive:
    """Declare a slope as a primitive whose jvp differentiates the operations of `slope`."""

    def tangent(t: Any, ans: Any, x: Any) -> Any:
        moved = jvp_flat(lambda x: [slope(x)], (x,), (filled(x, 1),))[1][0]
        return mul(t, instantiate(moved))

    return nary(name, [FLOAT], lower=lower_wide(slope), jvp=[tangent])


def _i0e_signed_slope(x: Any) -> Any:
    # The slope is 0 at 0, between -1 and 1; the second derivative is 3/2 on both sides.
    slope = mul(sign(x), _i0e_slope(abs(x)))
    return select(eq(x, const(x, 0)), mul(x, const(x, 1.5)), slope)


i0e_slope_p = _slope_primitive("bessel_i0e_slope", _i0e_signed_slope)


def _i0e_tangent(t: Any, ans: Any, x: Any) -> Any:
    return mul(t, i0e_slope_p.bind(x))


bessel_i0e_p = nary("bessel_i0e", [FLOAT], lower=lower_wide(_i0e), jvp=[_i0e_tangent])


def bessel_i0e(x: Any) -> Any:
    r"""Compute the scaled modified Bessel function :math:`e^{-|x|} I_0(x)`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> print(f"{bessel_i0e(0.0):.5f}")
      1.00000
    """
    return bessel_i0e_p.bind(x)


# The second derivative at 0 is 0.
i1e_slope_p = _slope_primitive("bessel_i1e_slope", lambda x: _i1e_slope(mul(x, sign(x))))


def _i1e_tangent(t: Any, ans: Any, x: Any) -> Any:
    return mul(t, i1e_slope_p.bind(x))


bessel_i1e_p = nary("bessel_i1e", [FLOAT], lower=lower_chlo("bessel_i1e"), jvp=[_i1e_tangent])


i1_slope_p = _slope_primitive("bessel_i1_slope", _i1_slope)


def i1_slope(x: Any) -> Any:
    """Return the derivative of I_1, not scaled: I_0 - I_1 / x."""
    return i1_slope_p.bind(x)


def bessel_i1e(x: Any) -> Any:
    r"""Compute the scaled modified Bessel function :math:`e^{-|x|} I_1(x)`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> bessel_i1e(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return bessel_i1e_p.bind(x)
