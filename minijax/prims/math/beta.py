r"""The regularized incomplete beta function.

I_x(a, b) is a weight over a continued fraction, which converges fast for x below
(a+1)/(a+b+2); beyond, I_x(a, b) = 1 - I_{1-x}(b, a) (A. R. DiDonato and A. H. Morris,
"Significant digit computation of the incomplete beta function ratios", ACM Transactions
on Mathematical Software 18, 1992).  It is evaluated forwards (Lentz's method).

Next: error_function.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from ...ir import core
from ..elementwise import FLOAT, const, filled, nary
from .algebraic import add, div, mul, neg, reciprocal, sub
from .double_double import exact_sum, exp_of, times
from .elementary import exp, log, log1p
from .gamma import log_ratio, shifted_gamma
from .log_gamma import lgamma
from .logic import bitwise_and, bitwise_not, bitwise_or, clamp, eq, ge, gt, le, lt, select
from .order import abs, max, min
from .special_lowering import emit_loop, narrow, widen

__all__ = ("regularized_incomplete_beta_p", "betainc")

LIMIT = 1000  # steps; about sqrt(max(a, b)) are needed


def reciprocal_beta(a: Any, b: Any, *powers: Any, factor: Any = None) -> Any:
    """p^a q^b / B(a, b), for pairs `powers` of p and q, by default 1; times a factor.

    With 1 / Gamma(a) = q_a e^z_a / z_a^a, and so on, it is (p z_t / z_a)^a (q z_t / z_b)^b
    e^(z_a + z_b - z_t) q_a q_b / q_t for t = a + b.
    """
    t, lost = exact_sum(a, b)
    (z_a, q_a), (z_b, q_b), (z_t, q_t) = (shifted_gamma(z) for z in (a, b, t))
    pairs = []
    for i, (exponent, z) in enumerate(((a, z_a), (b, z_b))):
        p, rest = powers[i] if powers else (filled(t, 1), None)
        pairs.append(times(exponent, log_ratio(p, z, z_t, rest)))
    gap, gap_rest = exact_sum(z_a, z_b)
    gap, last = exact_sum(gap, neg(z_t))
    # The power of z_t knows what t lost, and its factor does not; of the digamma
    # function, which is ln(t + 1/2) - 1/t but for 1/8, two digits do.
    slope = sub(log(div(add(t, const(t, 0.5)), z_t)), reciprocal(t))
    last = add(last, mul(lost, slope))
    # a b / t without overflow
    ratio_of = mul(min(a, b), div(max(a, b), t))
    scale = mul(div(mul(q_a, q_b), q_t), ratio_of)
    scale = scale if factor is None else mul(scale, factor)
    (first, first_rest), (second, second_rest) = pairs
    terms = first, second, gap, first_rest, second_rest, gap_rest, last
    return exp_of(*terms, times=scale)


def _inside(a: Any, b: Any, x: Any) -> Any:
    """Return where neither a, b nor x is at an end of its range."""
    zero, top = const(x, 0), const(x, float(ml_dtypes.finfo(_dtype(x)).max))
    fine = bitwise_and(gt(x, zero), lt(x, const(x, 1)))
    for p in (a, b):
        fine = bitwise_and(fine, bitwise_and(gt(p, zero), lt(p, top)))
    return fine


def _dtype(x: Any) -> Any:
    return core.aval_of(x).dtype


def _swapped(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Whether a and b change places, which is faster there; then a, b, x and 1 - x."""
    one = const(x, 1)
    swap = gt(x, div(add(a, one), add(add(a, b), const(x, 2))))
    y = sub(one, x)
    return swap, *(select(swap, *pair) for pair in ((b, a), (a, b), (y, x), (x, y)))


def _start(a: Any, b: Any, x: Any) -> list[Any]:
    _, p, q, u, v = _swapped(a, b, x)
    inside = _inside(a, b, x)
    gap = add(sub(mul(p, v), mul(q, u)), const(x, 1))
    first = div(mul(p, gap), add(p, const(x, 1)))
    first = select(inside, first, filled(x, 1))
    return [inside, first, first, filled(x, 0), p, q, u, gap]


def _step(n, active, f, c, d, a, b, x, gap):
    """Two steps of the fraction as one, in which next to nothing cancels.

    Of what is the same in each step, `gap` alone is part of the state, a (1 - x) - b x + 1:
    the compiler would keep an array for each such expression.
    """
    odd = add(a, sub(add(n, n), const(x, 1)))
    part = div(mul(mul(n, sub(b, n)), x), odd)
    even = add(a, sub(n, const(x, 1)))
    top = mul(mul(part, x), mul(div(even, odd), add(even, b)))
    wide = add(gap, sub(add(n, n), mul(n, x)))
    bottom = add(add(n, part), div(mul(add(a, n), wide), add(odd, const(x, 2))))
    d = reciprocal(_away(add(mul(top, d), bottom)))
    c = _away(add(bottom, div(top, c)))
    ratio = mul(c, d)
    f = select(active, mul(f, ratio), f)
    eps = const(x, float(ml_dtypes.finfo(_dtype(x)).eps))
    more = gt(abs(sub(ratio, const(x, 1))), eps)
    return bitwise_and(active, more), f, c, d, a, b, x, gap


def _away(x: Any) -> Any:
    """`x`, or a tiny number in place of zero."""
    return select(eq(x, const(x, 0)), filled(x, 1e-30), x)


def _finish(a: Any, b: Any, x: Any, f: Any) -> Any:
    one, zero = const(x, 1), const(x, 0)
    swap = _swapped(a, b, x)[0]
    inside = _inside(a, b, x)
    ones = filled(x, 1)
    # A fraction that is NaN makes the result NaN.  The weight depends on the fraction, or
    # the compiler would compute parts of it before the loop, and keep them meanwhile.
    known = bitwise_and(inside, eq(f, f))
    p, q = select(known, a, ones), select(known, b, ones)
    y = select(known, x, filled(x, 0.5))
    weight = reciprocal_beta(p, q, (y, None), exact_sum(neg(y), one))
    part = div(weight, f)
    part = clamp(zero, part, one)  # rounding may lead out
    inner = select(inside, select(swap, sub(one, part), part), filled(x, 0))
    infinity = const(x, float("inf"))
    all_below = bitwise_or(eq(a, zero), eq(b, infinity))  # all mass at x = 0
    all_above = bitwise_or(eq(b, zero), eq(a, infinity))  # all mass at x = 1
    out = select(all_below, filled(x, 1), select(all_above, filled(x, 0), inner))
    out = select(eq(x, zero), filled(x, 0), select(eq(x, one), filled(x, 1), out))
    fine = bitwise_and(
        bitwise_and(ge(x, zero), le(x, one)), bitwise_and(ge(a, zero), ge(b, zero))
    )
    fine = bitwise_and(fine, bitwise_not(bitwise_and(all_below, all_above)))
    return select(fine, out, filled(x, float("nan")))


def _lower(ctx: Any, a: Any, b: Any, x: Any) -> Any:
    values, aval = widen(ctx, (a, b, x))
    state = ctx.fun(_start, *values, avals=[aval] * 3)
    flags = aval.update(dtype=_dtype(True))
    state = emit_loop(ctx, _step, state, [flags, *[aval] * 7], LIMIT)
    (out,) = ctx.fun(_finish, *values, state[1], avals=[aval] * 4)
    return narrow(ctx, out, aval)


def _no_parameter(t: Any, ans: Any, a: Any, b: Any, x: Any) -> Any:
    raise ValueError(
        "Betainc gradient with respect to a and b not supported.\n"
        "Why: there is no rule for them.\nTry: lax.stop_gradient on a and b."
    )


def _point_tangent(t: Any, ans: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the density x^(a-1) (1-x)^(b-1) / B(a, b)."""
    one = const(x, 1)
    powers = add(mul(sub(b, one), log1p(neg(x))), mul(sub(a, one), log(x)))
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    return mul(exp(sub(powers, log_beta)), t)


regularized_incomplete_beta_p = nary(
    "regularized_incomplete_beta",
    [FLOAT, FLOAT, FLOAT],
    lower=_lower,
    jvp=[_no_parameter, _no_parameter, _point_tangent],
)


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
