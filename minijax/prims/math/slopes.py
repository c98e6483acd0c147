"""Slopes of inverse circular and hyperbolic functions of real numbers.

A slope is a primitive if the usual expression overflows (x^2 for asinh at 1e20) or cancels
(1 - x^2 for asin near 1).  Its derivative is an expression of its own result.  Slopes that
need the functions (tanh, logistic, pow) are in the files of these functions.

Next: elementary.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...ir import core
from ..elementwise import *
from .algebraic import add, div, mul, neg, reciprocal, rsqrt, square, sub
from .logic import ge, gt, select
from .order import abs
from .wide_lowering import lower_wide

__all__ = ()


def _strong_if_array(aval: Any) -> Any:
    """Return `x`'s type, weakly typed only if it is scalar, like `derivative_constant`."""
    return aval.update(weak_type=aval.weak_type and not aval.shape)


def _asin_slope(x: Any) -> Any:
    """Return 1 / sqrt(1 - x^2), also precise near 1."""
    return rsqrt(mul(sub(const(x, 1), x), add(const(x, 1), x)))


asin_slope_p = nary(
    "asin_slope",
    [FLOAT],
    lower=lower_wide(_asin_slope),
    jvp=[lambda t, ans, x: mul(t, mul(mul(x, ans), square(ans)))],
)
asin_slope_p.abstract = _strong_if_array


# The tangent is -2x / (1 + x^2)^2, multiplied in an order that does not overflow.
atan_slope_p = nary(
    "atan_slope",
    [FLOAT],
    lower=lower_wide(lambda x: reciprocal(add(const(x, 1), square(x)))),
    jvp=[lambda t, ans, x: mul(t, mul(mul(x, ans), mul(derivative_constant(x, -2), ans)))],
    keeps_finite=True,
)
atan_slope_p.abstract = _strong_if_array


def _over_squares(x: Any, y: Any, first: bool) -> Any:
    """Return x or y over x^2 + y^2, by the ratio of the smaller to the larger."""
    larger = ge(abs(x), abs(y))
    high, low = select(larger, x, y), select(larger, y, x)
    ratio = div(low, high)
    of_high = reciprocal(add(high, mul(low, ratio)))
    pair = of_high, mul(of_high, ratio)
    return select(larger, *(pair if first else pair[::-1]))


def _lower_over_squares(ctx: Any, x: Any, y: Any, *, first: bool) -> Any:
    return lower_wide(partial(_over_squares, first=first))(ctx, x, y)


def _xy_term(t: Any, ans: Any, x: Any, y: Any, *, first: bool) -> Any:
    """Return t times -2xy / (x^2 + y^2)^2; p = x / (x^2 + y^2) and q = y / (x^2 + y^2)."""
    p, q = (over_squares_p.bind(x, y, first=f) for f in (True, False))
    return mul(t, mul(mul(derivative_constant(ans, -2), p), q))


def _difference_term(t: Any, ans: Any, x: Any, y: Any, *, first: bool) -> Any:
    """Return t times (q - p) (q + p), which is (y^2 - x^2) / (x^2 + y^2)^2, or minus it."""
    p, q = (over_squares_p.bind(x, y, first=f) for f in (True, False))
    gap = sub(q, p) if first else sub(p, q)
    return mul(t, mul(gap, add(p, q)))


def _by_x(t: Any, ans: Any, x: Any, y: Any, *, first: bool) -> Any:
    return (_difference_term if first else _xy_term)(t, ans, x, y, first=first)


def _by_y(t: Any, ans: Any, x: Any, y: Any, *, first: bool) -> Any:
    return (_xy_term if first else _difference_term)(t, ans, x, y, first=first)


over_squares_p = nary(
    "over_squares", [FLOAT, FLOAT], lower=_lower_over_squares, jvp=[_by_x, _by_y]
)


def _asinh_slope(x: Any) -> Any:
    """Return 1 / sqrt(x^2 + 1), and 1 / |x| where adding 1 to x^2 has no effect."""
    size = abs(x)
    far = gt(size, const(x, 2.0 ** (28 if core.aval_of(x).dtype.itemsize == 8 else 13)))
    near = rsqrt(add(square(x), const(x, 1)))
    return select(far, reciprocal(size), near)


# The tangent is -x / (x^2 + 1)^(3/2), multiplied in an order that does not overflow.
asinh_slope_p = nary(
    "asinh_slope",
    [FLOAT],
    lower=lower_wide(_asinh_slope),
    jvp=[lambda t, ans, x: mul(t, mul(mul(mul(neg(x), ans), ans), ans))],
    keeps_finite=True,
)


atanh_slope_p = nary(
    "atanh_slope",
    [FLOAT],
    lower=lower_wide(lambda x: reciprocal(mul(sub(const(x, 1), x), add(const(x, 1), x)))),
    jvp=[lambda t, ans, x: mul(t, mul(mul(derivative_constant(x, 2), x), square(ans)))],
)
