r"""The regularized incomplete beta function.

I_x(a, b) is a weight divided by a continued fraction, which converges fast for x below
(a+1)/(a+b+2).  For larger x, I_x(a, b) = 1 - I_{1-x}(b, a) (A. R. DiDonato and A. H. Morris,
"Significant digit computation of the incomplete beta function ratios", ACM Transactions
on Mathematical Software 18, 1992).  It is evaluated forwards (Lentz's method).

Next: error_function.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from ...ir import core
from ..elementwise import FLOAT, const, filled, nary
from ..math.algebraic import add, div, mul, neg, reciprocal, sub
from ..math.elementary import exp, log, log1p
from ..math.logic import (
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
from ..math.order import abs, max, min
from ..math.wide_lowering import narrow, widen
from ..sequential import emit_iteration
from .double_double import exact_sum, exp_of, times
from .gamma import log_ratio, shifted_gamma
from .log_gamma import lgamma

__all__ = ("regularized_incomplete_beta_p", "betainc")

LIMIT = 1000  # steps; about sqrt(max(a, b)) are needed


def reciprocal_beta(a: Any, b: Any, *powers: Any, factor: Any = None) -> Any:
    """Return factor p^a q^b / B(a, b); `powers` are double-double p and q, by default 1.

    With 1 / Gamma(a) = q_a e^z_a / z_a^a, and so on, it is (p z_t / z_a)^a (q z_t / z_b)^b
    e^(z_a + z_b - z_t) q_a q_b / q_t for t = a + b.
    """
    t, t_rest = exact_sum(a, b)
    (z_a, q_a), (z_b, q_b), (z_t, q_t) = (shifted_gamma(z) for z in (a, b, t))
    pairs = []
    for i, (exponent, z) in enumerate(((a, z_a), (b, z_b))):
        p, rest = powers[i] if powers else (filled(t, 1), None)
        pairs.append(times(exponent, log_ratio(p, z, z_t, rest)))
    gap, gap_rest = exact_sum(z_a, z_b)
    gap, last = exact_sum(gap, neg(z_t))
    # The power of z_t includes t's rounding error, but its factor q_t does not.  The correction
    # needs only two digits of the digamma function, which is ln(t + 1/2) - 1/t within 1/8.
    slope = sub(log(div(add(t, const(t, 0.5)), z_t)), reciprocal(t))
    last = add(last, mul(t_rest, slope))
    # a b / t without overflow
    ab_over_t = mul(min(a, b), div(max(a, b), t))
    scale = mul(div(mul(q_a, q_b), q_t), ab_over_t)
    scale = scale if factor is None else mul(scale, factor)
    (first, first_rest), (second, second_rest) = pairs
    terms = first, second, gap, first_rest, second_rest, gap_rest, last
    return exp_of(*terms, times=scale)


def _inside(a: Any, b: Any, x: Any) -> Any:
    """Return where a, b and x are all inside of their ranges, not at the ends."""
    zero, top = const(x, 0), const(x, float(ml_dtypes.finfo(_dtype(x)).max))
    fine = bitwise_and(gt(x, zero), lt(x, const(x, 1)))
    for p in (a, b):
        fine = bitwise_and(fine, bitwise_and(gt(p, zero), lt(p, top)))
    return fine


def _dtype(x: Any) -> Any:
    return core.aval_of(x).dtype


def _swapped(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return where to swap a and b for faster convergence; then a, b, x and 1 - x."""
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
    """Do two steps of the fraction as one, which avoids cancellation.

    `gap` is a (1 - x) - b x + 1.  It is the only loop invariant in the state: the compiler
    would allocate an array for each one.
    """
    odd = add(a, sub(add(n, n), const(x, 1)))
    partial = div(mul(mul(n, sub(b, n)), x), odd)
    even = add(a, sub(n, const(x, 1)))
    top = mul(mul(partial, x), mul(div(even, odd), add(even, b)))
    wide = add(gap, sub(add(n, n), mul(n, x)))
    bottom = add(add(n, partial), div(mul(add(a, n), wide), add(odd, const(x, 2))))
    d = reciprocal(_away(add(mul(top, d), bottom)))
    c = _away(add(bottom, div(top, c)))
    ratio = mul(c, d)
    f = select(active, mul(f, ratio), f)
    eps = const(x, float(ml_dtypes.finfo(_dtype(x)).eps))
    more = gt(abs(sub(ratio, const(x, 1))), eps)
    return bitwise_and(active, more), f, c, d, a, b, x, gap


def _away(x: Any) -> Any:
    """Return `x`, or a tiny number in place of zero, by which Lentz's method would divide."""
    return select(eq(x, const(x, 0)), filled(x, 1e-30), x)


def _finish(a: Any, b: Any, x: Any, f: Any) -> Any:
    one, zero = const(x, 1), const(x, 0)
    swap = _swapped(a, b, x)[0]
    inside = _inside(a, b, x)
    ones = filled(x, 1)
    # A NaN fraction makes the result NaN.  The weight depends on the fraction; otherwise the
    # compiler would compute parts of it before the loop and keep them in memory.
    is_valid = bitwise_and(inside, eq(f, f))
    p, q = select(is_valid, a, ones), select(is_valid, b, ones)
    y = select(is_valid, x, filled(x, 0.5))
    weight = reciprocal_beta(p, q, (y, None), exact_sum(neg(y), one))
    value = div(weight, f)
    value = clamp(zero, value, one)  # rounding may leave the range
    inner = select(inside, select(swap, sub(one, value), value), filled(x, 0))
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
    state = emit_iteration(ctx, _step, state, [flags, *[aval] * 7], LIMIT)
    (out,) = ctx.fun(_finish, *values, state[1], avals=[aval] * 4)
    return narrow(ctx, out, aval)


def _no_parameter(t: Any, ans: Any, a: Any, b: Any, x: Any) -> Any:
    raise ValueError(
        "Betainc gradient with respect to a and b not supported.\n"
        "Why: There is no rule for them.\nTry: lax.stop_gradient on a and b."
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
    r"""Compute the regularized incomplete beta function
    :math:`I_x(a, b) = \frac{1}{B(a, b)} \int_0^x t^{a-1} (1-t)^{b-1} dt`.

    It can be differentiated only with respect to x.

    Args:
      a, b: parameters above 0, arrays of one float dtype and shape; scalars and axes of
        size 1 repeat.
      x: the points, in [0, 1], of the same dtype.

    Returns:
      An array of their joint shape and dtype, in [0, 1]; nan outside of the ranges.

    Example:
      >>> print(f"{betainc(2.0, 3.0, 0.5):.4f}")
      0.6875
    """
    return regularized_incomplete_beta_p.bind(a, b, x)
