r"""The regularized incomplete beta function.

I_x(a, b) is a weight over a continued fraction, which converges fast for x below
(a+1)/(a+b+2); beyond, I_x(a, b) = 1 - I_{1-x}(b, a) (NIST Digital Library of
Mathematical Functions, 8.17.22 and 8.17.4).  It is evaluated forwards, two steps at a
time (Lentz's method).

Next: error_function.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from ...ir import core
from ..define import FLOAT, const, filled, nary
from .algebraic import add, div, mul, neg, reciprocal, sub
from .elementary import exp, log, log1p
from .gamma import lgamma
from .logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    clamp,
    eq,
    ge,
    gt,
    le,
    lt,
    select,
)
from .order import abs
from .widen import emit_loop, narrow, widen

__all__ = ("regularized_incomplete_beta_p", "betainc")

LIMIT = 1000  # double steps; about sqrt(max(a, b)) are needed


def _log_beta(a: Any, b: Any) -> Any:
    return sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))


def _inside(a: Any, b: Any, x: Any) -> Any:
    """Where neither a, b nor x is at an end of its range."""
    zero, top = const(x, 0), const(x, float(ml_dtypes.finfo(_dtype(x)).max))
    fine = bitwise_and(gt(x, zero), lt(x, const(x, 1)))
    for p in (a, b):
        fine = bitwise_and(fine, bitwise_and(gt(p, zero), lt(p, top)))
    return fine


def _dtype(x: Any) -> Any:
    return core.aval_of(x).dtype


def _start(a: Any, b: Any, x: Any) -> list[Any]:
    """Swap a and b where that is the faster way; the fraction starts from 1."""
    one = const(x, 1)
    swap = gt(x, div(add(a, one), add(add(a, b), const(x, 2))))
    p, q = select(swap, b, a), select(swap, a, b)
    y = select(swap, sub(one, x), x)
    ones = filled(x, 1)
    return [_inside(a, b, x), ones, ones, filled(x, 0), p, q, y]


def _step(n: Any, active: Any, f: Any, c: Any, d: Any, a: Any, b: Any, x: Any) -> Any:
    """Two factors: the coefficients d_{2n-1} and d_{2n}."""
    m = sub(n, const(n, 1))
    twice = add(a, add(m, m))
    odd = neg(
        div(
            mul(mul(add(a, m), add(add(a, b), m)), x),
            mul(twice, add(twice, const(x, 1))),
        )
    )
    twice = add(a, add(n, n))
    even = div(mul(mul(n, sub(b, n)), x), mul(sub(twice, const(x, 1)), twice))
    last = f
    for coefficient in (odd, even):
        d = reciprocal(_away(add(mul(coefficient, d), const(x, 1))))
        c = _away(add(const(x, 1), div(coefficient, c)))
        f = mul(f, mul(c, d))
    f = select(active, f, last)
    eps = const(x, float(ml_dtypes.finfo(_dtype(x)).eps))
    more = gt(abs(sub(f, last)), mul(eps, abs(f)))
    return bitwise_and(active, more), f, c, d, a, b, x


def _away(x: Any) -> Any:
    """`x`, or a tiny number in place of zero."""
    return select(eq(x, const(x, 0)), filled(x, 1e-30), x)


def _finish(a: Any, b: Any, x: Any, f: Any) -> Any:
    one, zero = const(x, 1), const(x, 0)
    swap = gt(x, div(add(a, one), add(add(a, b), const(x, 2))))
    weight = exp(sub(add(mul(a, log(x)), mul(b, log1p(neg(x)))), _log_beta(a, b)))
    part = div(weight, mul(f, select(swap, b, a)))
    part = clamp(zero, part, one)  # rounding may lead out
    inner = select(_inside(a, b, x), select(swap, sub(one, part), part), filled(x, 0))
    infinity = const(x, float("inf"))
    all_below = bitwise_or(eq(a, zero), eq(b, infinity))  # all mass at x = 0
    all_above = bitwise_or(eq(b, zero), eq(a, infinity))  # all mass at x = 1
    out = select(all_below, filled(x, 1), select(all_above, filled(x, 0), inner))
    out = select(eq(x, zero), filled(x, 0), select(eq(x, one), filled(x, 1), out))
    fine = bitwise_and(
        bitwise_and(ge(x, zero), le(x, one)),
        bitwise_and(ge(a, zero), ge(b, zero)),
    )
    fine = bitwise_and(fine, bitwise_not(bitwise_and(all_below, all_above)))
    return select(fine, out, filled(x, float("nan")))


def _lower(ctx: Any, a: Any, b: Any, x: Any) -> Any:
    values, aval = widen(ctx, (a, b, x))
    state = ctx.fun(_start, *values, avals=[aval] * 3)
    flags = aval.update(dtype=_dtype(True))
    state = emit_loop(ctx, _step, state, [flags, *[aval] * 6], LIMIT)
    (out,) = ctx.fun(_finish, *values, state[1], avals=[aval] * 4)
    return narrow(ctx, out, aval)


def _no_parameter(t: Any, ans: Any, a: Any, b: Any, x: Any) -> Any:
    raise ValueError(
        "Betainc gradient with respect to a and b not supported.\n"
        "Why: there is no rule for them.\nTry: lax.stop_gradient on a and b."
    )


def _point_tangent(t: Any, ans: Any, a: Any, b: Any, x: Any) -> Any:
    """The density x^(a-1) (1-x)^(b-1) / B(a, b)."""
    one = const(x, 1)
    log_beta = _log_beta(a, b)
    powers = add(mul(sub(b, one), log1p(neg(x))), mul(sub(a, one), log(x)))
    return mul(exp(sub(powers, log_beta)), t)


regularized_incomplete_beta_p = nary(
    "regularized_incomplete_beta", [FLOAT, FLOAT, FLOAT], lower=_lower,
    jvp=[_no_parameter, _no_parameter, _point_tangent],
)  # fmt: skip


def betainc(a: Any, b: Any, x: Any) -> Any:
    r"""Regularized incomplete beta function,
    :math:`I_x(a, b) = \frac{1}{B(a, b)} \int_0^x t^{a-1} (1-t)^{b-1} dt`.

    It can be differentiated by x alone.

    Args:
      a, b: parameters above 0, arrays of one float dtype and shape; scalars and axes of
        size 1 repeat.
      x: the points, in [0, 1], of the same dtype.

    Returns:
      An array of their joint shape and dtype, in [0, 1]; nan out of the ranges.

    Example:
      >>> print(f"{betainc(2.0, 3.0, 0.5):.4f}")
      0.6875
    """
    return regularized_incomplete_beta_p.bind(a, b, x)
