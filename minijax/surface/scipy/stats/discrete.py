"""Distributions of integers.

Logarithms of binomial coefficients use `betaln`, which avoids cancellation.

Next: vectors.py.
"""

from __future__ import annotations

import functools
from typing import Any

from ....prims import lax
from ....prims.stop_gradient import stop_gradient
from ..special._common import by_slopes
from ..special.gamma import betaln
from ..special.incomplete import gammaincc
from ..special.logarithms import xlog1py, xlogy
from ._common import *
from .deviances import log_beta_density, log_poisson
from .poisson_entropy import poisson_entropy

__all__ = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson")

of_numbers = functools.partial(distribution, home=__name__, first="k", scaled=False, inside=0.0)
SUCCESS = "the probability of success."


def _log_choices(n: Any, k: Any) -> Any:
    """Return the logarithm of the binomial coefficient of n and k."""
    out = -lax.log1p(n) - betaln(n - k + 1, k + 1)
    one = (k == 0) | (k == n)
    # Exactly 0 for k = 0 and k = n, with the slopes of the expression.
    return out - choose(one, stop_gradient(choose(one, out, 0.0)), 0.0)


def _up_to(k: Any, n: Any, *_: Any) -> Any:
    """Whether k is outside of 0 .. n."""
    return (k < 0) | (k > n)


def _with_ends(inside: Any, p: Any, up: Any, down: Any, ways: Any = 0.0) -> Any:
    """Return a probability e^ways p^up (1-p)^down, which is `inside` for 0 < p < 1.

    At p = 0 and 1 it differentiates the powers, because slopes of logarithms are infinite.
    """
    end = (p == 0) | (p == 1)
    r = choose(end, p, 0.5)
    # High powers have slope 0 there, so their factor can be replaced by 1.
    size = lax.exp(choose(end & (choose(p == 0, up, down) <= 3), ways, 0.0))
    power = size * lax.pow(r, up) * lax.pow(1 - r, down)
    return choose(end, power, inside(choose(end, 0.5, p)))


# --------------------------------------------------------------------- Bernoulli's trial


def _is_probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def _bernoulli_cdf(k: Any, p: Any) -> Any:
    return choose(k < 0, 0.0, choose(k < 1, 1 - p, choose(k != k, NAN, 1.0)))


def _bernoulli_quantile(q: Any, p: Any) -> Any:
    above = choose(q == q, lax.full_like(q, 1), NAN)
    return within_one(q, choose(q <= 1 - p, 0.0, above))


bernoulli = of_numbers(
    "bernoulli",
    "Bernoulli distribution",
    r"p^k (1-p)^{1-k}, \quad k = 0, 1",
    "logpmf=-1.2040 pmf=0.3000 cdf=1.0000 ppf=0.0000",
    "1., 0.3",
    fixed=("cdf", "ppf"),
    strong="logpmf pmf cdf ppf",
    shape={"p": SUCCESS},
    outside=lambda k, p: (k < 0) | (k > 1),
    valid=_is_probability,
    logpmf=lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
    pmf=by_slopes(lambda k, p: lax.pow(p, k) * lax.pow(1 - p, 1 - k)),
    cdf=_bernoulli_cdf,
    ppf=_bernoulli_quantile,
)

# ------------------------------------------------------------------ numbers of successes


def _with_slope(value: Any, formula: Any, k: Any, *params: Any) -> Any:
    """Return `value`, which is exact for one `k`, with the slope of a formula by k."""
    slope_value = formula(k, *map(stop_gradient, params))
    slope_value = choose(lax.abs(slope_value) < INF, slope_value, 0.0)
    # The difference is 0 and has the slope of the formula.
    return value + (slope_value - stop_gradient(slope_value))


def _some_successes(k: Any, n: Any, p: Any) -> Any:
    return log_beta_density(p, k, n - k, k + 1, n - k + 1) - lax.log1p(n)


@by_slopes
def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    is_zero, is_n = k == 0, k == n
    is_certain = is_zero | is_n
    out = _some_successes(k, n, choose(is_certain, 0.5, p))
    r = choose(is_certain, p, 0.5)
    exact = choose(
        is_zero, xlog1py(n, -choose(is_zero, r, 0.5)), xlogy(n, choose(is_zero, 0.5, r))
    )
    return choose(is_certain, _with_slope(exact, _some_successes, k, n, r), out)


@by_slopes
def _binom_pmf(k: Any, n: Any, p: Any) -> Any:
    inside = lambda p: lax.exp(_binom_logpmf(k, n, p))
    return _with_ends(inside, p, k, n - k, _log_choices(n, k))


binom = of_numbers(
    "binom",
    "binomial distribution",
    r"\binom{n}{k} p^k (1-p)^{n-k}, \quad 0 \le k \le n",
    "logpmf=-1.1754 pmf=0.3087",
    "2., 5., 0.3",
    shape={"n": "the number of trials.", "p": SUCCESS},
    outside=_up_to,
    valid=lambda n, p: (n >= 0) & (n < INF) & _is_probability(p),
    logpmf=_binom_logpmf,
    pmf=_binom_pmf,
)


def _some_failures(k: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of n / (n + k) times the probability of n out of n + k."""
    total = n + k
    log_ratio = lax.log(n) - lax.log(total) - lax.log1p(total)
    return log_beta_density(p, n, k, n + 1, k + 1) + log_ratio


@by_slopes
def _nbinom_logpmf(k: Any, n: Any, p: Any) -> Any:
    is_zero = k == 0
    out = _some_failures(k, n, choose(is_zero, 0.5, p))
    r = choose(is_zero, p, 0.5)
    return choose(is_zero, _with_slope(xlogy(n, r), _some_failures, k, n, r), out)


@by_slopes
def _nbinom_pmf(k: Any, n: Any, p: Any) -> Any:
    inside = lambda p: lax.exp(_nbinom_logpmf(k, n, p))
    return _with_ends(inside, p, n, k, _log_choices(n + k - 1, k))


nbinom = of_numbers(
    "nbinom",
    "negative binomial distribution, of failures before the n-th success",
    r"\binom{n+k-1}{k} p^n (1-p)^k, \quad k \ge 0",
    "logpmf=-4.0252 pmf=0.0179",
    "2., 5., 0.3",
    shape={"n": "the number of successes.", "p": SUCCESS},
    strong="logpmf pmf",
    outside=lambda k, n, p: (k < 0) | (k == INF),
    valid=lambda n, p: (n > 0) & (n < INF) & _is_probability(p),
    logpmf=_nbinom_logpmf,
    pmf=_nbinom_pmf,
)


def _geom_logpmf(k: Any, p: Any) -> Any:
    return xlog1py(k - 1, -p) + lax.log(p)


geom = of_numbers(
    "geom",
    "geometric distribution, of trials up to the first success",
    r"p (1-p)^{k-1}, \quad k \ge 1",
    "logpmf=-1.5606 pmf=0.2100",
    "2., 0.3",
    shape={"p": SUCCESS},
    inside=1.0,
    strong="logpmf pmf",
    outside=lambda k, p: k <= 0,
    valid=_is_probability,
    logpmf=_geom_logpmf,
    pmf=by_slopes(
        lambda k, p: _with_ends(lambda p: lax.exp(_geom_logpmf(k, p)), p, 1.0, k - 1)
    ),
)


@by_slopes
def _betabinom_logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    k = lax.floor(k)
    return _log_choices(n, k) + betaln(k + a, n - k + b) - betaln(a, b)


betabinom = of_numbers(
    "betabinom",
    "beta-binomial distribution: a binomial distribution with random p",
    r"\binom{n}{k} \frac{B(k+a, n-k+b)}{B(a, b)}, \quad 0 \le k \le n",
    "logpmf=-1.4351 pmf=0.2381",
    "2., 5., 2., 3.",
    shape={
        "n": "the number of trials.",
        "a": "the first parameter of the beta distribution of p.",
        "b": "its second parameter.",
    },
    strong="logpmf pmf",
    outside=_up_to,
    logpmf=_betabinom_logpmf,
    valid=lambda n, a, b: (n >= 0) & (n < INF) & (a > 0) & (b > 0),
)

# ------------------------------------------------------------------------------ Poisson


def _poisson_cdf(k: Any, mu: Any) -> Any:
    below = k < 0
    shape_param = lax.floor(choose(below, 0.0, k)) + 1
    return choose(below, 0.0, gammaincc(shape_param, mu))


@by_slopes
def _poisson_logpmf(k: Any, mu: Any) -> Any:
    return log_poisson(k, mu, k + 1)


@by_slopes
def _poisson_pmf(k: Any, mu: Any) -> Any:
    is_zero = mu == 0  # differentiate a power there, since log(mu) is infinite
    r = choose(is_zero, mu, 1.0)
    power = lax.pow(r, k) * lax.exp(-(r + lax.lgamma(choose(is_zero, k + 1, 1.0))))
    return choose(is_zero, power, lax.exp(_poisson_logpmf(k, choose(is_zero, 1.0, mu))))


poisson = of_numbers(
    "poisson",
    "Poisson distribution",
    r"\frac{\mu^k e^{-\mu}}{k!}, \quad k \ge 0",
    "logpmf=-1.3069 pmf=0.2707 cdf=0.6767 entropy=1.7049",
    "2., 2.",
    shape={"mu": "the mean."},
    strong="cdf",
    valid=lambda mu: mu >= 0,
    outside=lambda k, mu: (k < 0) | (k == INF) | (lax.floor(k) < k),
    logpmf=_poisson_logpmf,
    pmf=_poisson_pmf,
    cdf=_poisson_cdf,
    entropy=poisson_entropy,
)
