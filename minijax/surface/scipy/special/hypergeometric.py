r"""Hypergeometric functions of real numbers.

:math:`{}_1F_1` is its power series, after Kummer's transformation for negative numbers, and
for large numbers its asymptotic expansion (NIST Digital Library of Mathematical Functions,
13.2.2, 13.2.39, 13.7.2).  :math:`{}_2F_1` is its power series up to 1/2.  From there it is
continued by Taylor series in steps that halve the distance to 1, with coefficients from the
differential equation (15.10.1).  Negative numbers are transformed to positive ones
(15.8.1).

Derivatives by x are functions of the same kind (13.3.15, 15.5.1).  Derivatives by
parameters differentiate the computation itself in forward mode, to any order.

Next: along_axes.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes

from ....api.autodiff import jvp
from ....control.loop_functions.while_loop import fori_loop, while_loop
from ....control.rules.custom_jvp import SymbolicZero
from ...numpy._common import broadcast_to
from ...numpy.creation import asarray
from ._common import *
from .gamma import _sign

__all__ = ("hyp1f1", "hyp2f1")

REAL = "real array or number; integers become floats."


def _eps(x: Any) -> float:
    """Return the relative size at which series stop: terms' derivatives decay later."""
    return float(ml_dtypes.finfo(dtype_of(x)).eps) / 64


def _any(flags: Any) -> Any:
    return lax.reduce_or(flags, tuple(range(aval_of(flags).ndim)))


def _whole_below_1(x: Any) -> Any:
    """Whether x is 0, -1, -2 ..."""
    return lax.bitwise_and(lax.le(x, const(x, 0)), lax.eq(x, lax.floor(x)))


def _either(*flags: Any) -> Any:
    return functools.reduce(lax.bitwise_or, flags)


def _both(*flags: Any) -> Any:
    return functools.reduce(lax.bitwise_and, flags)


def _size(x: Any) -> Any:
    """Return |x|, at least 1/4, so that a zero factor does not end a bound of terms."""
    return lax.max(lax.abs(x), const(x, 0.25))


def _broadcast_all(*xs: Any) -> list[Any]:
    """Broadcast operands to their joint shape."""
    shape = np.broadcast_shapes(*[aval_of(x).shape for x in xs])
    return [broadcast_to(x, shape) for x in xs]


def with_forward_slopes(
    fun: Callable[..., Any], smooth: Callable[..., Any], n: int, by_last: Callable[..., Any]
) -> Any:
    """Return an elementwise function of n operands with derivative `by_last` by the last.

    Derivatives by the other operands are derivatives of `smooth`, which has the same
    values, computed in forward mode to any order.
    """

    once = staged(fun)

    @custom_jvp
    def value(*xs: Any) -> Any:
        return once(*xs)

    def slope(f: Callable[..., Any], i: int) -> Callable[..., Any]:
        def along(*xs: Any) -> Any:
            of = lambda x: f(*xs[:i], x, *xs[i + 1 :])
            return jvp(of, (xs[i],), (filled(xs[i], 1),))[1]

        return along

    def slope_by(i: int) -> Callable[..., Any]:
        if i == n - 1:
            return by_last
        along = slope(smooth, i)
        return with_forward_slopes(along, along, n, slope(by_last, i))

    def rule(xs: Any, tangents: Any) -> Any:
        differentiated = [i for i, t in enumerate(tangents) if not isinstance(t, SymbolicZero)]
        return value(*xs), sum(tangents[i] * slope_by(i)(*xs) for i in differentiated)

    value.defjvp(rule, symbolic_zeros=True)
    return value


# ------------------------------------------------------------------------ confluent

TERMS = 2000


def _power_series(a: Any, b: Any, x: Any) -> Any:
    """Return the sum of (a)_k x^k / ((b)_k k!)."""

    def step(state: Any) -> Any:
        k, active, total, term, bound = state
        last = k - 1
        below = b + last
        ended = lax.eq(below, const(x, 0))  # a + k was zero before
        ratio = choose(ended, const(x, 0), x / (choose(ended, const(x, 1), below) * k))
        term = term * ((a + last) * ratio)
        bound = bound * (_size(a + last) * lax.abs(ratio))
        total = choose(active, total + term, total)
        # Terms may grow again until k exceeds -b.
        grows = lax.lt(filled(x, 0) + k, -b)
        more = _either(lax.gt(bound, lax.abs(total) * _eps(x)), grows)
        return k + 1, _both(active, more), total, term, bound

    def going(state: Any) -> Any:
        return _both(_any(state[1]), lax.lt(state[0], const(x, TERMS)))

    one = filled(x, 1)
    start = (dtype_of(x).type(1), lax.ne(x, const(x, 0)), one, one, one)
    return while_loop(going, step, start)[2]


def _expansion(p: Any, q: Any, x: Any) -> Any:
    """Return the sum of (p)_k (q)_k / (k! x^k), up to its smallest term."""
    total = term = bound = filled(x, 1)
    active = lax.eq(x, x)
    for k in range(1, 40 if dtype_of(x) == dtypes.float64 else 20):
        one, other = p + (k - 1), q + (k - 1)
        term = term * (one / k) * (other / x)
        smaller = bound * (_size(one) * _size(other) / (k * x))
        active = _both(active, lax.lt(smaller, bound))
        term, bound = choose(active, term, const(x, 0)), smaller
        total = total + term
    return total


def _confluent(a: Any, b: Any, x: Any, finite: bool = True) -> Any:
    a, b, x = _broadcast_all(a, b, x)
    zero = const(x, 0)
    border = 200.0 if dtype_of(x) == dtypes.float64 else 60.0
    sums = _whole_below_1(a)  # the series is a polynomial
    trivial = _either(lax.eq(a, zero), lax.eq(x, zero))
    pole = _both(
        _whole_below_1(b), lax.bitwise_not(_either(_both(sums, lax.ge(a, b)), trivial))
    )
    # Kummer: 1F1(a, b, -x) = e^-x 1F1(b - a, b, x).
    is_negative = lax.lt(x, zero)
    if finite:
        is_negative = _both(is_negative, lax.bitwise_not(sums))
    safe = choose(pole, const(x, 1), b)
    first = choose(is_negative, safe - a, a)
    size = choose(is_negative, -x, x)
    near = _either(lax.lt(size, const(x, border)), _whole_below_1(first))
    series = _power_series(first, safe, choose(near, size, zero))
    series = series * choose(is_negative, lax.exp(choose(near, x, zero)), const(x, 1))
    far = choose(near, const(x, 10 * border), size)
    gamma_operand = choose(near, const(x, 1), first)
    log = (gamma_operand - safe) * lax.log(far) + lax.lgamma(safe) - lax.lgamma(gamma_operand)
    log = choose(is_negative, log, log + far)
    beyond = _sign(gamma_operand) * _sign(safe) * lax.exp(log)
    beyond = beyond * _expansion(safe - gamma_operand, 1 - gamma_operand, far)
    out = choose(near, series, beyond)
    return choose(pole, const(x, np.inf), out)


def _confluent_slope(a: Any, b: Any, x: Any) -> Any:
    return a / b * _hyp1f1(a + 1, b + 1, x)


_hyp1f1 = with_forward_slopes(
    _confluent, functools.partial(_confluent, finite=False), 3, _confluent_slope
)


@special(
    r"Compute the confluent hypergeometric function,"
    r" :math:`{}_1F_1(a; b; x) = \sum_k \frac{(a)_k}{(b)_k} \frac{x^k}{k!}`.",
    "1., 2., 1. -> 1.71828",
    f"a, b: parameters, {REAL}",
    f"x: {REAL}",
    returns="An array of their joint shape and dtype; inf where b is 0, -1, -2 ...",
    raises="ValueError: an argument is complex.",
)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Any:
    xs = promote_real("hyp1f1", asarray(a), asarray(b), asarray(x))
    return in_float32(_hyp1f1)(*map(strip_weak_type, xs))


# ---------------------------------------------------------------------------- Gauss


def _gauss_series(a: Any, b: Any, c: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """Return the sum of (a)_k (b)_k x^k / ((c)_k k!), and x times its derivative."""

    def step(state: Any) -> Any:
        k, active, total, slope, term, bound = state
        last = k - 1
        below = c + last
        ended = lax.eq(below, const(x, 0))  # a + k was zero before
        ratio = choose(ended, const(x, 0), x / (choose(ended, const(x, 1), below) * k))
        term = term * ((a + last) * (b + last) * ratio)
        bound = bound * (_size(a + last) * _size(b + last) * lax.abs(ratio))
        total = choose(active, total + term, total)
        slope = choose(active, slope + k * term, slope)
        enough = lax.max(lax.abs(total), lax.abs(slope)) * _eps(x)
        grows = lax.lt(filled(x, 0) + k, -c)
        more = _either(lax.gt(k * bound, enough), grows)
        ends = _both(lax.eq(term, const(x, 0)), lax.gt(lax.abs(x), const(x, 0.5)))
        more = _both(more, lax.bitwise_not(ends))
        return k + 1, _both(active, more), total, slope, term, bound

    def going(state: Any) -> Any:
        return _both(_any(state[1]), lax.lt(state[0], const(x, TERMS)))

    one = filled(x, 1)
    start = (dtype_of(x).type(1), active, one, filled(x, 0), one, one)
    return while_loop(going, step, start)[2:4]


def _taylor(a: Any, b: Any, c: Any, d: Any, h: Any, y: Any, dy: Any) -> tuple[Any, Any]:
    """Return value and derivative at 1 - d + h, from those at 1 - d."""
    terms = 75 if dtype_of(d) == dtypes.float64 else 36
    leading_coefficient = (1 - d) * d
    curve, slope = 2 * d - 1, c - (a + b + 1) * (1 - d)

    def step(k: Any, state: Any) -> Any:
        low, high, total, rise = state  # the terms k and k + 1
        k = convert(k, dtype_of(d))
        above = (k + a) * (k + b) * h * h * low - (k + 1) * (curve * k + slope) * h * high
        above = above / (leading_coefficient * ((k + 2) * (k + 1)))
        return high, above, total + above, rise + (k + 2) * above

    first = dy * h
    start = (y, first, y + first, first)
    _, _, total, rise = fori_loop(0, terms, step, start)
    return total, rise / h


def _continued(a: Any, b: Any, c: Any, end: Any, y: Any, dy: Any) -> Any:
    """Return the value at 1 - end, from value and derivative at 1/2."""

    def going(state: Any) -> Any:
        return _any(lax.gt(state[0], end))

    def step(state: Any) -> Any:
        d, y, dy = state
        active = lax.gt(d, end)
        after = choose(lax.le(d / 2, end), end, d / 2)
        h = choose(active, d - after, d / 2)
        value, slope = _taylor(a, b, c, d, h, y, dy)
        return (choose(active, after, d), choose(active, value, y), choose(active, slope, dy))

    return while_loop(going, step, (filled(end, 0.5), y, dy))[1]


def _gauss(a: Any, b: Any, c: Any, x: Any, finite: bool = True) -> Any:
    a, b, c, x = _broadcast_all(a, b, c, x)
    zero, one, half = const(x, 0), const(x, 1), const(x, 0.5)
    ends_a = _both(_whole_below_1(a), _either(lax.bitwise_not(_whole_below_1(c)), lax.ge(a, c)))
    ends_b = _both(_whole_below_1(b), _either(lax.bitwise_not(_whole_below_1(c)), lax.ge(b, c)))
    sums = _either(ends_a, ends_b)  # the series is a polynomial
    trivial = _either(lax.eq(a, zero), lax.eq(b, zero), lax.eq(x, zero))
    pole = _both(_whole_below_1(c), lax.bitwise_not(_either(sums, trivial)))
    safe = choose(pole, one, c)
    is_plain = sums if finite else _both(sums, lax.ge(x, one))
    lowest = -float(ml_dtypes.finfo(dtype_of(x)).max) / 4
    x_in = lax.max(x, const(x, lowest))
    # For negative numbers use (1 - x)^-a F(a, c - b, c, x / (x - 1)).
    is_negative = _both(lax.lt(x, zero), lax.bitwise_not(is_plain))
    below = choose(is_negative, x_in, zero)
    p, q = a, choose(is_negative, safe - b, b)
    w = choose(is_negative, below / (below - 1), x_in)
    gap = choose(is_negative, 1 / (1 - below), 1 - x_in)
    inside = _both(lax.gt(gap, zero), lax.bitwise_not(is_plain))
    gap = choose(inside, gap, one)
    log_scale = choose(is_negative, -a * lax.log1p(-below), zero)
    # Euler's transformation gives a finite series if c - a or c - b is 0, -1, -2 ...
    if finite:
        euler = _both(inside, _either(_whole_below_1(safe - p), _whole_below_1(safe - q)))
        log_scale = log_scale + choose(euler, (safe - p - q) * lax.log(gap), zero)
        p, q = choose(euler, safe - p, p), choose(euler, safe - q, q)
        is_plain = _either(is_plain, euler)
    steps = _both(inside, lax.bitwise_not(is_plain), lax.gt(w, half))
    at = choose(steps, half, choose(_either(is_plain, inside), w, zero))
    y, rise = _gauss_series(p, q, safe, at, lax.ne(at, zero))
    end = choose(steps, gap, half)
    y = choose(steps, _continued(p, q, safe, end, y, rise / half), y)
    out = y * lax.exp(log_scale)
    # At 1 the value is Gauss's sum; beyond 1 no real value exists.
    rest = safe - a - b
    finite_sum = lax.gt(rest, zero)
    s = choose(finite_sum, rest, one)
    gammas = [(safe, 1), (s, 1), (safe - a, -1), (safe - b, -1)]
    log = functools.reduce(lax.add, [k * lax.lgamma(g) for g, k in gammas])
    signs = functools.reduce(lax.mul, [_sign(g) for g, _ in gammas])
    is_zero_sum = _either(_whole_below_1(safe - a), _whole_below_1(safe - b))
    total = choose(is_zero_sum, zero, choose(is_zero_sum, one, signs) * lax.exp(log))
    at_one = choose(finite_sum, total, const(x, np.inf))
    out = choose(_both(lax.eq(x, one), lax.bitwise_not(sums)), at_one, out)
    beyond = _both(lax.gt(x, one), lax.bitwise_not(sums))
    out = choose(_either(pole, beyond), const(x, np.inf), out)
    return choose(_either(*[lax.ne(v, v) for v in (a, b, c, x)]), const(x, np.nan), out)


def _gauss_slope(a: Any, b: Any, c: Any, x: Any) -> Any:
    return a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)


_hyp2f1 = with_forward_slopes(_gauss, functools.partial(_gauss, finite=False), 4, _gauss_slope)


@special(
    r"Compute the hypergeometric function,"
    r" :math:`{}_2F_1(a, b; c; x) = \sum_k \frac{(a)_k (b)_k}{(c)_k} \frac{x^k}{k!}`.",
    "1., 1., 2., 0.5 -> 1.38629",
    f"a, b, c: parameters, {REAL}",
    f"x: {REAL}",
    returns="An array of their joint shape and dtype; inf where c is 0, -1, -2 ..., and"
    " where x is above 1.",
    raises="ValueError: an argument is complex.",
)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Any:
    xs = promote_real("hyp2f1", *map(asarray, (a, b, c, x)))
    return in_float32(_hyp2f1)(*map(strip_weak_type, xs))
