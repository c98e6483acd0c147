r"""Logarithms of the gamma and beta distribution functions, in both tails.

In a tail a probability is a power times an exponential times a continued fraction or a
series.  Their logarithms are added, so nothing underflows, and derivatives of every order
differentiate the terms.  Some standard deviations from the mean, a few terms suffice for
full precision.

.. math:: \\Gamma(a, x) = x^a e^{-x} \\left/ \\left( x + 1 - a - \\frac{1 (1-a)}{x + 3 - a -
    \\frac{2 (2-a)}{x + 5 - a - \\cdots}} \\right) \\right., \\quad
    \\gamma(a, x) = x^a e^{-x} \\left/ \\left( a - x + \\frac{1 x}{a + 1 - x +
    \\frac{2 x}{a + 2 - x + \\cdots}} \\right) \\right.
    = x^a e^{-x} \\sum_k \\frac{x^k}{a (a+1) \\cdots (a+k)}

(NIST Digital Library of Mathematical Functions, 8.9.2, 8.9.1, 8.11.4, 8.17.7, 8.17.22).

Next: shaped.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....prims import lax
from ....types import dtypes
from ...numpy._common import aval_of, choose
from ..special._common import by_slopes, in_float32
from ..special.incomplete import betainc, gammainc, gammaincc
from .deviances import log_beta_density, log_poisson

__all__ = (
    "beta_above",
    "log_beta_above",
    "log_beta_below",
    "log_gamma_above",
    "log_gamma_below",
)

# Keyed by the bytes of a number: the number of terms of a series with ratios below 1/3; and
# for fractions above and below the mean, the number of terms that are fully precise beyond
# the given number of standard deviations.
_TERMS = {4: 16, 8: 34}
_FAR_ABOVE = {4: (8, 4.0), 8: (16, 6.0)}
_FAR_BELOW = {4: (5, 6.0), 8: (6, 10.0)}


def _bytes(x: Any) -> int:
    return 8 if aval_of(x).dtype == dtypes.float64 else 4


def _log_complement(p: Any) -> Any:
    """Return ln(1 - p) for p up to 2/3."""
    # XLA's log1p loses digits of float64 between -0.34 and 1 - sqrt(2).
    return choose(p > 0.3, lax.log(1 - p), lax.log1p(-p))


def _least_below(x: Any, a: Any) -> Any:
    """Whether P(a, x) is at most 2/3 and usually less than Q(a, x)."""
    power = a * lax.log(choose(x > 0, x, 1.0))
    return (x <= a) & ((a >= 1) | (power < -1) | (x <= 0))


@by_slopes
@in_float32
def log_gamma_above(x: Any, a: Any) -> Any:
    """Return ln Q(a, x) for x >= 0."""
    count, deviations = _FAR_ABOVE[_bytes(x)]
    far = (x >= a + deviations * (lax.sqrt(a) + 1)) & (x < math.inf)
    z, p = choose(far, x, 20.0), choose(far, a, 1.0)
    below = z + (2 * count + 1 - p)
    for k in range(count, 0, -1):
        below = z + (2 * k - 1 - p) - (k - p) * k / below
    tail = log_poisson(p - 1, z, p) + lax.log(z / below)
    lower = _least_below(x, a)
    x, a = choose(far, 1.0, x), choose(far, 1.0, a)
    rest = _log_complement(gammainc(choose(lower, a, 1.0), choose(lower, x, 1.0)))
    upper = lax.log(gammaincc(choose(lower, 1.0, a), choose(lower, 1.0, x)))
    return choose(far, tail, choose(lower, rest, upper))


@by_slopes
@in_float32
def log_gamma_below(x: Any, a: Any) -> Any:
    """Return ln P(a, x) for x >= 0."""
    count, deviations = _FAR_BELOW[_bytes(x)]
    far = x <= a - deviations * (lax.sqrt(a) + 1)
    tail = (far | (x <= (a + 1) * (1 / 3))) & (x > 0) & (a < math.inf)
    z, p = choose(tail, x, 1.0), choose(tail, a, 1.0)
    total = 1.0
    for k in range(_TERMS[_bytes(x)], 0, -1):
        total = total * (z / (p + k)) + 1
    # The same by a fraction; the other lanes use a point where it is finite.
    y, m = choose(far, z, 10.0), choose(far, p, 400.0)
    below = m - y + count
    for k in range(count, 0, -1):
        below = m - y + (k - 1) + y * k / below
    total = choose(far, m / below, total)
    series = log_poisson(p, z, p + 1) + lax.log(total)
    x, a = choose(tail, 1.0, x), choose(tail, 1.0, a)
    upper = (x > a) & ((a >= 1) | (x >= 1))
    rest = _log_complement(gammaincc(choose(upper, a, 1.0), choose(upper, x, 1.0)))
    lower = lax.log(gammainc(choose(upper, 1.0, a), choose(upper, 1.0, x)))
    return choose(tail, series, choose(upper, rest, lower))


def _lesser_beta(x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return whether x is at most the mean, and I_x(a, b) if it is, or 1 - I_x(a, b)."""
    below = x * (a + b) <= a
    p, q = choose(below, a, b), choose(below, b, a)
    return below, betainc(p, q, choose(below, x, 1 - x))


@by_slopes
@in_float32
def beta_above(x: Any, a: Any, b: Any) -> Any:
    """Return 1 - I_x(a, b); small x are used directly, since 1 - x would be rounded."""
    below, probability = _lesser_beta(x, a, b)
    return choose(below, 1 - probability, probability)


@by_slopes
@in_float32
def log_beta_below(x: Any, a: Any, b: Any) -> Any:
    """Return ln I_x(a, b) for 0 <= x <= 1."""
    tail, series = _log_tail(x, a, b)
    a, b = choose(tail, 1.0, a), choose(tail, 1.0, b)
    below, probability = _lesser_beta(choose(tail, 0.5, x), a, b)
    log_lesser = lax.log(choose(below, probability, 0.5))
    rest = choose(below, log_lesser, _log_complement(choose(below, 0.5, probability)))
    return choose(tail, series, rest)


@by_slopes
@in_float32
def log_beta_above(x: Any, a: Any, b: Any) -> Any:
    """Return ln(1 - I_x(a, b)) for 0 <= x <= 1."""
    tail, series = _log_tail(1 - x, b, a)
    a, b = choose(tail, 1.0, a), choose(tail, 1.0, b)
    below, probability = _lesser_beta(choose(tail, 0.5, x), a, b)
    log_lesser = lax.log(choose(below, 0.5, probability))
    rest = choose(below, _log_complement(choose(below, probability, 0.5)), log_lesser)
    return choose(tail, series, rest)


def _log_tail(x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return where a series or a fraction computes ln I_x(a, b), and its value there."""
    count, deviations = _FAR_BELOW[_bytes(x)]
    mean = a / (a + b + deviations)
    far = x <= mean - lax.sqrt(mean * (1 - mean) / (a + b)) * deviations
    near = (x <= 1 / 3) & (x * (a + b) <= (a + 1) * (1 / 3))
    tail = (far | near) & (x > 0) & (a + b < math.inf)
    far = far & tail & ~near
    z, p, q = choose(tail, x, 0.25), choose(tail, a, 1.0), choose(tail, b, 1.0)
    y, m, n = choose(far, 0.25, z), choose(far, 1.0, p), choose(far, 1.0, q)
    total = 1.0
    for k in range(_TERMS[_bytes(x)], 0, -1):
        total = total * (y * ((m + n + (k - 1)) / (m + k))) + 1
    y, m, n = choose(far, z, 0.25), choose(far, p, 400.0), choose(far, q, 400.0)
    below = 1.0
    for k in range(count, -1, -1):
        below = 1 - y * ((m + k) / (m + 2 * k)) * ((m + n + k) / (m + 2 * k + 1)) / below
        if k:
            below = y * (k / (m + 2 * k - 1)) * ((n - k) / (m + 2 * k)) / below + 1
    total = choose(far, 1 / below, total)
    t = p + q
    series = log_beta_density(z, p, q, p + 1, q + 1) + lax.log(total)
    return tail, series + (lax.log(q / (t + 1)) - lax.log(t))
