r"""The regularized incomplete gamma functions, and their derivatives.

P(a, x) is a power series in x for x <= a, and one minus a continued fraction for larger x
(NIST Digital Library of Mathematical Functions, 8.11.4 and 8.9.2), which is evaluated
forwards (Steed's method).  Differentiating both term by term yields dP/da.  From it follows
the derivative of a gamma sample: P(a, x(a)) is constant, so dx/da is -(dP/da) / (dP/dx).
For large a, both converge too slowly near x = a; there the expansion for a to infinity is
used (8.12.3 and 8.12.4).

Next: beta.py.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from ...ir import core
from ...ir.core import unsupported
from ...passes.ad_util import Zero, instantiate
from ...passes.jvp import jvp_flat
from ..elementwise import FLOAT, Rule, const, filled, nary
from ..math.algebraic import add, div, mul, neg, reciprocal, sqrt, square, sub
from ..math.elementary import exp, expm1, log, log1p
from ..math.logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    clamp,
    eq,
    ge,
    gt,
    lt,
    ne,
    select,
)
from ..math.order import abs
from ..math.wide_lowering import narrow, widen
from ..sequential import emit_iteration
from .double_double import (
    Pair,
    exact_product,
    exact_sum,
    exp_of,
    log_of,
    ratio,
    times,
)
from .error_function import erfc
from .log_gamma import digamma, lgamma, polynomial

__all__ = (
    "igamma_p",
    "igamma",
    "igammac_p",
    "igammac",
    "igamma_grad_a_p",
    "igamma_grad_a",
    "random_gamma_grad",
)

LIMIT = 20_000  # steps; about 10 sqrt(a) are needed if x is close to a

# ---- incomplete gamma functions: series and continued fraction
# With w = x^a e^-x / Gamma(a):  P = w S / a,  S = sum_n x^n / ((a+1) ... (a+n)),
#                            1 - P = w F,      F the continued fraction.


def _series_step(n: Any, active: Any, total: Any, term: Any, a: Any, x: Any) -> Any:
    term = mul(term, div(x, add(a, n)))
    total = select(active, add(total, term), total)
    return bitwise_and(active, gt(term, mul(total, _eps(x)))), total, term, a, x


def _series_slope_step(n, active, total, term, slope, term_slope, a, x):
    """Add a term of the sum, and of its derivative with respect to a."""
    ratio = div(x, add(a, n))
    term = mul(term, ratio)
    # d ln(ratio) / da = -1 / (a + n)
    term_slope = sub(mul(term_slope, ratio), div(term, add(a, n)))
    total = select(active, add(total, term), total)
    slope = select(active, add(slope, term_slope), slope)
    more = bitwise_or(
        gt(term, mul(total, _eps(x))), gt(abs(term_slope), mul(abs(slope), _eps(x)))
    )
    return bitwise_and(active, more), total, term, slope, term_slope, a, x


def _fraction_step(n, active, f, change, d, a, x):
    """Add the difference of the next convergent to the last one: Steed's method."""
    top = mul(n, sub(a, n))
    last, d = d, reciprocal(add(mul(top, d), _denominator(n, a, x)))
    change = mul(change, neg(mul(top, mul(last, d))))
    f = select(active, add(f, change), f)
    more = gt(abs(change), mul(abs(f), _eps(x)))
    return bitwise_and(active, more), f, change, d, a, x


def _fraction_slope_step(n, active, f, c, d, df, dc, dd, a, x):
    """Do a step of the fraction and its derivatives with respect to a.

    The derivatives of `b` and `top` are -1 and n."""
    b = _denominator(n, a, x)
    top = mul(n, sub(a, n))
    dd = sub(sub(const(x, 1), mul(n, d)), mul(top, dd))
    d = reciprocal(add(mul(top, d), b))
    dd = mul(mul(d, d), dd)
    dc = sub(div(sub(n, div(mul(top, dc), c)), c), const(x, 1))
    c = add(b, div(top, c))
    ratio = mul(c, d)
    ratio_slope = add(mul(dc, d), mul(c, dd))
    step = mul(f, ratio_slope)
    df = select(active, add(mul(df, ratio), step), df)
    f = select(active, mul(f, ratio), f)
    more = bitwise_or(
        gt(abs(sub(ratio, const(x, 1))), _eps(x)), gt(abs(step), mul(abs(df), _eps(x)))
    )
    return bitwise_and(active, more), f, c, d, df, dc, dd, a, x


def _denominator(n: Any, a: Any, x: Any) -> Any:
    """Return the n-th denominator of the continued fraction: x + 2n + 1 - a."""
    return add(sub(x, a), add(mul(const(x, 2), n), const(x, 1)))


def _eps(x: Any) -> Any:
    return const(x, float(ml_dtypes.finfo(core.aval_of(x).dtype).eps))


def _regions(a: Any, x: Any) -> tuple[Any, Any]:
    """Return where to use the series, and where the continued fraction."""
    top = const(x, float(ml_dtypes.finfo(core.aval_of(x).dtype).max))
    inside = bitwise_and(
        bitwise_and(gt(x, const(x, 0)), gt(a, const(x, 0))), bitwise_and(lt(x, top), lt(a, top))
    )
    beyond = bitwise_and(gt(x, const(x, 1)), gt(x, a))
    return bitwise_and(inside, bitwise_not(beyond)), bitwise_and(inside, beyond)


def _start_series(a: Any, x: Any) -> list[Any]:
    one = filled(x, 1)
    use = bitwise_and(_regions(a, x)[0], lt(a, const(a, _LARGE)))
    return [use, one, one, a, x]


def _start_series_slope(a: Any, x: Any) -> list[Any]:
    one, zero = filled(x, 1), filled(x, 0)
    return [_regions(a, x)[0], one, one, zero, zero, a, x]


def _start_fraction(a: Any, x: Any) -> list[Any]:
    use = bitwise_and(_regions(a, x)[1], lt(a, const(a, _LARGE)))
    d = _first_denominator(use, a, x)
    return [use, d, d, d, a, x]


def _first_denominator(use: Any, a: Any, x: Any) -> Any:
    return select(use, reciprocal(add(sub(x, a), const(x, 1))), filled(x, 1))


def _start_fraction_slope(a: Any, x: Any) -> list[Any]:
    use = _regions(a, x)[1]
    d = _first_denominator(use, a, x)
    square_of = mul(d, d)
    zero = filled(x, 0)
    return [use, d, filled(x, _HUGE), d, square_of, zero, square_of, a, x]


_HUGE = 1e30  # in place of infinity in Lentz's method


def _weight(a: Any, x: Any) -> Any:
    """Return x^a e^-x / Gamma(a)."""
    return mul(a, _weight_over_a(a, x))


def _weight_over_a(a: Any, x: Any) -> Any:
    """Return x^a e^-x / Gamma(a+1), which is (x/z)^a e^(z-x) q / a."""
    z, scale = shifted_gamma(a)
    point = select(bitwise_or(*_regions(a, x)), x, z)
    power = times(a, log_ratio(point, z))
    gap = exact_sum(z, neg(point))
    return mul(scale, exp_of(power[0], gap[0], power[1], gap[1]))


def log_ratio(x: Any, z: Any, multiple: Any = None, rest: Any = None) -> Pair:
    """Return the logarithm of (x + rest) / z, or of a multiple, as a pair.

    The numbers are positive, and z is at least 10."""
    tiny = lt(x, const(x, 1))  # and may be subnormal, with fewer digits
    zero, one = filled(x, 0), filled(x, 1)
    factor = select(tiny, filled(x, 2.0**_RAISED), one)
    x = mul(x, factor)
    rest = zero if rest is None else mul(rest, factor)
    if multiple is not None:
        (x, lost), rest = exact_product(x, multiple), mul(rest, multiple)
        rest = add(rest, lost)
    return log_of(*ratio(x, z, rest), select(tiny, filled(x, _RAISED), zero))


# Numbers below 1 are multiplied by 2**60, since subnormal ones have fewer digits; `log_of`
# subtracts the logarithm of this factor.
_RAISED = 60


def shifted_gamma(a: Any) -> Pair:
    """Return z and q / a, where 1 / Gamma(a) is q e^z / z^a.

    By Stirling's formula for z, which is a if a >= 10.  Otherwise z is a + 10, and the formula is
    divided by a (a+1) ... (a+9)."""
    small = lt(a, const(a, 10))
    z = select(small, add(a, const(a, 10)), a)
    u, square_of = mul(a, z), square(z)
    # (a + i) (a + 10 - i) = u + i (10 - i)
    product = add(a, const(a, 5))
    for i in range(1, 5):
        product = mul(product, add(u, const(a, i * (10 - i))))
    power = mul(square(square(square_of)), square_of)
    shift = select(small, div(product, power), reciprocal(a))
    root = sqrt(mul(z, const(a, 0.5 / math.pi)))
    return z, mul(mul(shift, root), exp(neg(stirling_rest(z))))


def gamma_above_1(a: Any, divisor: Any) -> Any:
    """Return Gamma(1 + a) / divisor, a >= 0; factors come last so the power is in range."""
    z, scale = shifted_gamma(a)
    power = times(a, log_of(z, filled(z, 0), filled(z, 0)))
    terms = power[0], neg(z), const(z, -3), power[1]
    scale = mul(scale, divisor)
    return mul(exp_of(*terms), div(const(z, math.exp(3)), scale))


def rising_gamma(a: Any, m: Any) -> Any:
    """Return Gamma(a + m) / Gamma(a) for positive a and a + m."""
    total = add(a, m)
    (y, lower), (z, upper) = shifted_gamma(a), shifted_gamma(total)
    zero = filled(z, 0)
    first = times(a, log_of(*ratio(z, y), zero))
    second = times(m, log_of(z, zero, zero))
    terms = first[0], second[0], y, neg(z), first[1], second[1]
    return mul(exp_of(*terms), div(mul(lower, a), mul(upper, total)))


def stirling_rest(a: Any) -> Any:
    """Return ln Gamma(a) minus Stirling's formula, for a >= 10 (DLMF 5.11.1)."""
    inverse = reciprocal(a)
    return mul(inverse, polynomial(square(inverse), STIRLING))


STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)


def log_gap(u: Any, one_plus_u: Any) -> Any:
    """Return u - ln(1 + u).

    Near 0 by the series of ln((1 + t) / (1 - t)), t = u / (2 + u); otherwise by `one_plus_u`,
    which is 1 + u computed without the rounding of u."""
    near = lt(abs(u), const(u, 0.4))
    v = select(near, u, filled(u, 0))
    t = div(v, add(v, const(v, 2)))
    cube = mul(const(t, 2), mul(t, square(t)))
    series = sub(mul(v, t), mul(cube, polynomial(square(t), ODD_INVERSES)))
    return select(near, series, sub(u, log(one_plus_u)))


ODD_INVERSES = tuple(1 / (2 * k + 3) for k in range(12))


def _start_by_a(start: Rule) -> Rule:
    """Extend the start of a loop by the derivatives of its state with respect to a.

    The flags, the first element, have none."""

    def run(a: Any, x: Any) -> list[Any]:
        out, tangents = jvp_flat(start, (a, x), (filled(a, 1), Zero(core.aval_of(x))))
        return [*out, *map(instantiate, tangents[1:])]

    return run


def _step_by_a(step: Rule) -> Rule:
    def run(n: Any, active: Any, *state: Any) -> list[Any]:
        half = len(state) // 2
        step_at_n = lambda *values: step(n, active, *values)
        out, tangents = jvp_flat(step_at_n, state[:half], state[half:])
        return [*out, *map(instantiate, tangents[1:])]

    return run


def _finish_by_a(finish: Rule) -> Rule:
    def run(*state: Any) -> list[Any]:
        half = len(state) // 2
        tangents = jvp_flat(lambda *xs: [finish(*xs)], state[:half], state[half:])[1]
        return [instantiate(tangents[0])]

    return run


def _lower_incomplete(finish: Rule, slopes: bool, differentiate: bool = False) -> Rule:
    """Return the lowering rule: both loops, then finish(a, x, S, F [, dS/da, dF/da]).

    slopes: whether the loops also compute dS/da and dF/da.
    differentiate: whether to compute the derivative of the result with respect to a instead.
    """
    by_a = (_start_by_a, _step_by_a) if differentiate else (lambda f: f, lambda f: f)
    close = _finish_by_a(finish) if differentiate else finish

    def run(ctx: Any, start: Rule, step: Rule, a: Any, x: Any, aval: Any) -> list[Any]:
        state = ctx.fun(by_a[0](start), a, x, avals=[aval, aval])
        flags = aval.update(dtype=core.aval_of(True).dtype)
        avals = [flags, *[aval] * (len(state) - 1)]
        return emit_iteration(ctx, by_a[1](step), state, avals, LIMIT)

    def lower(ctx: Any, a: Any, x: Any) -> Any:
        (a, x), aval = widen(ctx, (a, x))
        if slopes:
            s = run(ctx, _start_series_slope, _series_slope_step, a, x, aval)
            f = run(ctx, _start_fraction_slope, _fraction_slope_step, a, x, aval)
            values = [a, x, s[1], f[1], s[3], f[4]]
            if differentiate:  # the second half of each loop's state
                values += [s[-2], s[-1], s[7], f[9], s[9], f[12]]
        else:
            s = run(ctx, _start_series, _series_step, a, x, aval)
            f = run(ctx, _start_fraction, _fraction_step, a, x, aval)
            values = [a, x, s[1], f[1]]
        (out,) = ctx.fun(close, *values, avals=[aval] * len(values))
        return narrow(ctx, out, aval)

    return lower


def _is_invalid(a: Any, x: Any) -> Any:
    """Return where a or x is negative or nan.

    It uses `ne`, because XLA simplifies |x| >= 0 and similar comparisons to true, even for nan.
    """
    negative = bitwise_or(lt(a, const(a, 0)), lt(x, const(x, 0)))
    return bitwise_or(negative, bitwise_or(ne(a, a), ne(x, x)))


def _edges(a: Any, x: Any, inner: Any, below: float, beyond: float) -> Any:
    """Replace values outside of the regions: `below` at x = 0 or a = inf, `beyond` at a = 0
    or x = inf, nan for invalid arguments."""
    infinity, zero = const(x, float("inf")), const(x, 0)
    nan = filled(x, float("nan"))
    high = bitwise_or(eq(a, zero), eq(x, infinity))
    low = bitwise_or(eq(x, zero), bitwise_and(eq(a, infinity), ne(x, infinity)))
    inner = clamp(zero, inner, const(x, 1))  # rounding may lead out
    out = select(high, filled(x, beyond), select(low, filled(x, below), inner))
    nowhere = bitwise_or(_is_invalid(a, x), bitwise_and(eq(a, zero), eq(x, zero)))
    return select(nowhere, nan, out)


def _upper_of_small(a: Any, x: Any) -> Any:
    """Return Q(a, x) for a < 1/2 and x <= 1; for small a it is about a (-gamma - ln x - T).

    Q = 1 - x^a / Gamma(a+1) (1 + a T), T = sum_k>0 (-x)^k / (k! (a+k)) (DLMF 8.7.1)."""
    exponent = sub(mul(a, log(x)), _log_gamma_above_1(a))
    total = filled(x, 0)
    for k in range(18, 0, -1):
        term = div(const(x, (-1) ** k / math.factorial(k)), add(a, const(a, k)))
        total = add(mul(total, x), term)
    return neg(add(expm1(exponent), mul(mul(a, exp(exponent)), mul(total, x))))


def _log_gamma_above_1(a: Any) -> Any:
    """Return ln Gamma(1 + a) for 0 <= a < 1/2, with a relative error (DLMF 5.7.3)."""
    return sub(mul(a, polynomial(a, LOG_GAMMA)), log1p(a))


# 1 minus Euler's constant, then (-1)^k (zeta(k) - 1) / k for k > 1.
LOG_GAMMA = (1 - 0.5772156649015329,) + tuple(
    (-1) ** k * value / k
    for k, value in enumerate(
        [
            0.6449340668482264,
            0.2020569031595943,
            0.08232323371113819,
            0.03692775514336993,
            0.01734306198444914,
            0.008349277381922827,
            0.00407735619794434,
            0.0020083928260822143,
            0.0009945751278180853,
            0.0004941886041194645,
            0.0002460865533080483,
            0.00012271334757848915,
            6.124813505870483e-05,
            3.058823630702049e-05,
            1.528225940865187e-05,
            7.637197637899763e-06,
            3.81729326499984e-06,
            1.908212716553939e-06,
            9.539620338727962e-07,
            4.769329867878064e-07,
            2.38450502727733e-07,
            1.1921992596531106e-07,
            5.960818905125948e-08,
        ],
        2,
    )
)


def _uniform_expansion(a: Any, x: Any) -> tuple[Any, Any]:
    """Return P and Q for a >= `_LARGE`.

    They are half of erfc(-+ eta sqrt(a/2)), -+ the sum of c_k(eta) / a^k times
    exp(-a eta^2 / 2) / sqrt(2 pi a), where eta^2 / 2 is mu - ln(1 + mu), mu = (x - a) / a."""
    mu = div(sub(x, a), a)
    gap = log_gap(mu, div(x, a))
    root = sqrt(mul(gap, const(a, 2)))
    eta = select(lt(mu, const(a, 0)), neg(root), root)
    near = clamp(const(a, -1), eta, const(a, 1))  # outside, its factor is 0
    total = filled(a, 0)
    for coefficients in reversed(_UNIFORM):
        total = add(div(total, a), polynomial(near, coefficients))
    scale = div(exp(neg(mul(a, gap))), sqrt(mul(a, const(a, 2 * math.pi))))
    correction = mul(scale, total)
    s = mul(eta, sqrt(mul(a, const(a, 0.5))))
    half = const(a, 0.5)
    return sub(mul(half, erfc(neg(s))), correction), add(mul(half, erfc(s)), correction)


_LARGE = 1e5
# c_k by powers of eta (DLMF 8.12.10 and 8.12.12): as many as affect the result for large a.
_UNIFORM = (
    (
        -1 / 3,
        1 / 12,
        -2 / 135,
        1 / 864,
        1 / 2835,
        -139 / 777600,
        1 / 25515,
        -571 / 261273600,
        -281 / 151559100,
        163879 / 197522841600,
        -5221 / 29554024500,
        5246819 / 782190452736000,
    ),
    (
        -1 / 540,
        -1 / 288,
        1 / 378,
        -77 / 77760,
        1 / 4860,
        -1 / 2488320,
        -2743 / 151559100,
        41969 / 5486745600,
    ),
    (25 / 6048, -139 / 51840, 1 / 1296, 1 / 497664, -6199 / 57736800),
    (101 / 155520, 571 / 2488320),
)


def _lower_and_upper(a: Any, x: Any, s: Any, f: Any) -> tuple[Any, Any]:
    """Return P and Q inside the regions, not as 1 minus the other if that cancels."""
    large = ge(a, const(a, _LARGE))
    some = filled(a, _LARGE)
    pairs = zip(
        _uniform_expansion(select(large, a, some), select(large, x, some)),
        _from_loops(a, x, s, f),
        strict=True,
    )
    lower, upper = (select(large, *pair) for pair in pairs)
    return lower, upper


def _from_loops(a: Any, x: Any, s: Any, f: Any) -> tuple[Any, Any]:
    one = const(x, 1)
    beyond = _regions(a, x)[1]
    use_small = bitwise_and(lt(a, const(a, 0.5)), bitwise_not(beyond))
    lower = mul(_weight_over_a(a, x), s)
    complement = sub(one, lower)
    use_small = bitwise_and(
        use_small, lt(complement, const(x, 0.15))
    )  # for larger values, less cancels
    upper = select(use_small, _upper_of_small(a, x), complement)
    upper = select(beyond, mul(_weight(a, x), f), upper)
    large = bitwise_or(beyond, lt(upper, const(x, 0.5)))
    return select(large, sub(one, upper), lower), upper


def _igamma_value(a: Any, x: Any, s: Any, f: Any) -> Any:
    return _edges(a, x, _lower_and_upper(a, x, s, f)[0], 0.0, 1.0)


def _igammac_value(a: Any, x: Any, s: Any, f: Any) -> Any:
    return _edges(a, x, _lower_and_upper(a, x, s, f)[1], 1.0, 0.0)


def _slopes(a: Any, x: Any, s: Any, f: Any, ds: Any, df: Any) -> tuple[Any, Any]:
    """Return (dP/da) a / w by the series, and (dP/da) / w by the continued fraction."""
    # w/a contains Gamma(a+1) instead of Gamma(a).
    gap_below = sub(log(x), digamma(add(a, const(a, 1))))
    below = add(mul(s, gap_below), ds)
    return below, neg(add(mul(f, sub(log(x), digamma(a))), df))


def _igamma_grad_a_value(a: Any, x: Any, *values: Any) -> Any:
    below, beyond = _slopes(a, x, *values)
    below = mul(_weight_over_a(a, x), below)
    slope = select(_regions(a, x)[1], mul(_weight(a, x), beyond), below)
    out = select(eq(x, const(x, 0)), filled(x, 0), slope)
    return _nan_outside(a, x, out)


# By itemsize: the least a, and the largest |mu|, for which the series have full precision.
_NEAR = {4: (200.0, 0.4), 8: (1e5, 0.1)}
# eta / mu by powers of mu (the inverse of DLMF 8.12.7's, by Temme).
_ETA_OVER_MU = (1, -1 / 3, 7 / 36, -73 / 540, 1331 / 12960)


def _sample_slope_large(a: Any, x: Any) -> Any:
    """Return dx/da at constant P, for the P of `_uniform_expansion`.

    With T the sum of c_k(eta) / a^k, it is

    x/a (1 - eta/mu (eta/2 + (eta^2/2 + 1/(2a)) T - dT/da) / (1 + eta T - dT/deta / a)).
    """
    one, half = const(a, 1), const(a, 0.5)
    mu, x_over_a = div(sub(x, a), a), div(x, a)
    # eta / mu is 0 / 0 at mu = 0: near it, use the series.
    close = lt(abs(mu), const(a, 1e-3))
    far = select(close, filled(a, 1), mu)
    root = sqrt(mul(log_gap(far, select(close, filled(a, 2), x_over_a)), const(a, 2)))
    ratio = div(root, abs(far))
    ratio = select(close, polynomial(mu, _ETA_OVER_MU), ratio)
    eta = mul(ratio, mu)
    total = by_eta = by_a = filled(a, 0)  # T, dT/deta, -a dT/da
    for k, coefficients in reversed(list(enumerate(_UNIFORM))):
        c = polynomial(eta, coefficients)
        total = add(div(total, a), c)
        slopes = [i * b for i, b in enumerate(coefficients)][1:]
        by_eta = add(div(by_eta, a), polynomial(eta, slopes))
        by_a = add(div(by_a, a), mul(const(a, k), c))
    factor = mul(half, add(square(eta), div(one, a)))
    above = add(add(mul(half, eta), mul(factor, total)), div(by_a, a))
    below = sub(add(one, mul(eta, total)), div(by_eta, a))
    return mul(x_over_a, sub(one, mul(ratio, div(above, below))))


def _random_gamma_grad_value(a: Any, x: Any, *values: Any) -> Any:
    # dP/dx = w / x
    below, beyond = _slopes(a, x, *values)
    slope = neg(mul(x, select(_regions(a, x)[1], beyond, div(below, a))))
    # For large a, all digits of `slope` cancel.
    least, reach = _NEAR[core.aval_of(a).dtype.itemsize]
    mu = div(sub(x, a), a)
    fits = bitwise_and(ge(a, const(a, least)), ge(const(a, reach), abs(mu)))
    some = filled(a, least)
    moved = _sample_slope_large(select(fits, a, some), select(fits, x, some))
    slope = select(fits, moved, slope)
    out = select(eq(x, const(x, 0)), filled(x, 0), slope)
    return _nan_outside(a, x, out)


def _nan_outside(a: Any, x: Any, out: Any) -> Any:
    zero, infinity = const(x, 0), const(x, float("inf"))
    fine = bitwise_and(
        bitwise_and(gt(a, zero), lt(a, infinity)), bitwise_and(ge(x, zero), lt(x, infinity))
    )
    return select(fine, out, filled(x, float("nan")))


# ---- incomplete gamma functions


def _density(a: Any, x: Any) -> Any:
    """Return dP/dx = x^(a-1) e^-x / Gamma(a)."""
    return exp(sub(add(neg(x), mul(sub(a, const(a, 1)), log(x))), lgamma(a)))


igamma_p = nary(
    "igamma",
    [FLOAT, FLOAT],
    lower=_lower_incomplete(_igamma_value, False),
    jvp=[
        lambda t, ans, a, x: mul(t, igamma_grad_a(a, x)),
        lambda t, ans, a, x: mul(t, _density(a, x)),
    ],
)


def igamma(a: Any, x: Any) -> Any:
    r"""Compute the regularized lower incomplete gamma function,
    :math:`P(a, x) = \frac{1}{\Gamma(a)} \int_0^x t^{a-1} e^{-t} dt`.

    Args:
      a: the parameter, above 0: an array of a float dtype.
      x: the end of the integral, from 0, of the same dtype and shape; scalars and axes
        of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, in [0, 1]; nan where a or x is negative.

    Example:
      >>> print(f"{igamma(1.0, 1.0):.5f}")
      0.63212
    """
    return igamma_p.bind(a, x)


igammac_p = nary(
    "igammac",
    [FLOAT, FLOAT],
    lower=_lower_incomplete(_igammac_value, False),
    jvp=[
        lambda t, ans, a, x: neg(mul(t, igamma_grad_a(a, x))),
        lambda t, ans, a, x: neg(mul(t, _density(a, x))),
    ],
)


def igammac(a: Any, x: Any) -> Any:
    r"""Compute the regularized upper incomplete gamma function, :math:`Q = 1 - P(a, x)`.

    Args:
      a: the parameter, above 0: an array of a float dtype.
      x: the start of the integral, from 0, of the same dtype and shape; scalars and
        axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, in [0, 1]; nan where a or x is negative.

    Example:
      >>> print(f"{igammac(1.0, 1.0):.5f}")
      0.36788
    """
    return igammac_p.bind(a, x)


igamma_grad_aa_p = nary(
    "igamma_grad_aa", [FLOAT, FLOAT], lower=_lower_incomplete(_igamma_grad_a_value, True, True)
)
igamma_grad_aa_p.jvp = unsupported("igamma_grad_aa has no derivative rule.")


def _density_slope(a: Any, x: Any) -> Any:
    """Return the derivative of ln dP/dx with respect to a."""
    return sub(log(x), digamma(a))


igamma_grad_a_p = nary(
    "igamma_grad_a",
    [FLOAT, FLOAT],
    lower=_lower_incomplete(_igamma_grad_a_value, True),
    jvp=[
        lambda t, ans, a, x: mul(t, igamma_grad_aa_p.bind(a, x)),
        lambda t, ans, a, x: mul(t, mul(_density(a, x), _density_slope(a, x))),
    ],
)


def igamma_grad_a(a: Any, x: Any) -> Any:
    r"""Differentiate `igamma` by its first argument, :math:`\partial P / \partial a`.

    It can be differentiated once.

    Args:
      a, x: as for `igamma`.

    Returns:
      An array of their joint shape and dtype.

    Example:
      >>> print(f"{igamma_grad_a(1.0, 1.0):.5f}")
      -0.43173
    """
    return igamma_grad_a_p.bind(a, x)


random_gamma_grad_a_p = nary(
    "random_gamma_grad_a",
    [FLOAT, FLOAT],
    lower=_lower_incomplete(_random_gamma_grad_value, True, True),
)
random_gamma_grad_a_p.jvp = unsupported("random_gamma_grad_a has no derivative rule.")


def _random_gamma_grad_x(a: Any, x: Any, grad: Any) -> Any:
    # The derivative of -(dP/da) / (dP/dx), by the derivatives of ln dP/dx.
    fall = sub(div(sub(a, const(a, 1)), x), const(x, 1))
    return neg(add(_density_slope(a, x), mul(grad, fall)))


random_gamma_grad_p = nary(
    "random_gamma_grad",
    [FLOAT, FLOAT],
    lower=_lower_incomplete(_random_gamma_grad_value, True),
    jvp=[
        lambda t, ans, a, x: mul(t, random_gamma_grad_a_p.bind(a, x)),
        lambda t, ans, a, x: mul(t, _random_gamma_grad_x(a, x, ans)),
    ],
)


def random_gamma_grad(*args: Any) -> Any:
    r"""Differentiate a gamma sample with respect to its parameter.

    The result is :math:`\partial x / \partial a` at constant :math:`P(a, x)`.

    It can be differentiated once.

    Args:
      args: two arrays (a, x) of one float dtype and shape: the parameter above 0, and
        the sample.

    Returns:
      An array of their joint shape and dtype.

    Example:
      >>> print(f"{random_gamma_grad(1.0, 1.0):.5f}")
      1.17356

    Source: M. Figurnov, S. Mohamed, A. Mnih, "Implicit Reparameterization Gradients"
    (2018).
    """
    a, x = args
    return random_gamma_grad_p.bind(a, x)
