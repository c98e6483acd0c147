"""Continuous distributions with parameters of shape.

Next: truncated.py, the truncated normal one; discrete.py.
"""

from __future__ import annotations

import functools
from typing import Any

from ....prims import lax
from ...nn.activations import log1mexp
from ..special._common import by_slopes, in_float32
from ..special.bessel import i0e
from ..special.gamma import betaln
from ..special.incomplete import betainc, gammainc, gammaincc
from ._common import *
from .deviances import log_beta_density, log_poisson
from .tails import beta_above, log_beta_above, log_beta_below, log_gamma_above, log_gamma_below

__all__ = ("beta", "chi2", "gamma", "gennorm", "pareto", "t", "vonmises", "wrapcauchy")

of_shape = functools.partial(distribution, home=__name__)

# ------------------------------------------------------------------ the gamma functions


def _infinite(z: Any, *_: Any) -> Any:
    return z == INF


def _positive(a: Any) -> Any:
    return a > 0


@by_slopes
def _gamma_logpdf(z: Any, a: Any) -> Any:
    return log_poisson(a - 1, z, a)


@in_float32
def _gamma_density(ans: Any, z: Any, a: Any) -> Any:
    end = z == INF
    return choose(end, 0.0, lax.exp(_gamma_logpdf(choose(end, 1.0, z), a)))


# The slopes of their expressions would be exponentials of sums that cancel for large `a`.
_gamma_below = sloped(lambda z, a: gammainc(a, z), _gamma_density)
_gamma_above = sloped(lambda z, a: gammaincc(a, z), lambda *args: -_gamma_density(*args))

gamma = of_shape(
    "gamma",
    "gamma distribution",
    r"\frac{x^{a-1} e^{-x}}{\Gamma(a)}, \quad x \ge 0",
    "logpdf=-1.1931 pdf=0.3033 cdf=0.0902 logcdf=-2.4057 sf=0.9098 logsf=-0.0945",
    "0.5, 2.",
    shape={"a": "the shape."},
    support=(0, None),
    outside=_infinite,
    valid=_positive,
    strong="logpdf pdf cdf logcdf",
    logpdf=_gamma_logpdf,
    cdf=_gamma_below,
    sf=_gamma_above,
    logcdf=log_gamma_below,
    logsf=log_gamma_above,
)

chi2 = of_shape(
    "chi2",
    "chi-squared distribution",
    r"\frac{x^{k/2 - 1} e^{-x/2}}{2^{k/2} \Gamma(k/2)}, \quad x \ge 0, k = df",
    "logpdf=-1.5155 pdf=0.2197 cdf=0.0811 logcdf=-2.5120 sf=0.9189 logsf=-0.0846",
    "0.5, 3.",
    shape={"df": "degrees of freedom."},
    support=(0, None),
    outside=_infinite,
    valid=_positive,
    strong="logpdf pdf cdf logcdf sf logsf",
    logpdf=lambda z, df: _gamma_logpdf(z / 2, df / 2) - math.log(2),
    cdf=lambda z, df: _gamma_below(z / 2, df / 2),
    sf=lambda z, df: _gamma_above(z / 2, df / 2),
    logcdf=lambda z, df: log_gamma_below(z / 2, df / 2),
    logsf=lambda z, df: log_gamma_above(z / 2, df / 2),
)

_beta_logpdf = by_slopes(lambda z, a, b: log_beta_density(z, a - 1, b - 1, a, b))


@in_float32
def _beta_density(ans: Any, z: Any, a: Any, b: Any) -> Any:
    return lax.exp(_beta_logpdf(z, a, b))


beta = of_shape(
    "beta",
    "beta distribution",
    r"\frac{x^{a-1} (1-x)^{b-1}}{B(a, b)}, \quad 0 \le x \le 1",
    "logpdf=0.4055 pdf=1.5000 cdf=0.6875 logcdf=-0.3747 sf=0.3125 logsf=-1.1632",
    "0.5, 2., 3.",
    shape={"a": "the power of x, plus 1.", "b": "the power of 1 - x, plus 1."},
    support=(0, 1),
    inside=0.5,
    valid=lambda a, b: (a > 0) & (b > 0),
    strong="logpdf pdf cdf logcdf sf logsf",
    logpdf=_beta_logpdf,
    cdf=sloped(lambda z, a, b: betainc(a, b, z), _beta_density),
    sf=sloped(beta_above, lambda *args: -_beta_density(*args)),
    logcdf=log_beta_below,
    logsf=log_beta_above,
)

# ------------------------------------------------------------------------------- powers


def _pareto_quantile(q: Any, b: Any) -> Any:
    return within_one(q, lax.exp(-lax.log1p(-q) / b))


pareto = of_shape(
    "pareto",
    "Pareto distribution",
    r"\frac{b}{x^{b+1}}, \quad x \ge 1",
    "logpdf=-1.3863 pdf=0.2500 cdf=0.7500 logcdf=-0.2877 sf=0.2500 logsf=-1.3863 ppf=1.1547",
    "2., 2.",
    shape={"b": "the shape."},
    support=(1, None),
    inside=2.0,
    valid=_positive,
    logpdf=lambda z, b: lax.log(b) - (b + 1) * lax.log(z),
    logsf=lambda z, b: -b * lax.log(z),
    logcdf=by_slopes(lambda z, b: log1mexp(b * lax.log(z))),
    cdf=by_slopes(lambda z, b: -lax.expm1(-b * lax.log(z))),
    ppf=_pareto_quantile,
    strong="logpdf pdf cdf sf logsf ppf",
)


@by_slopes
def _t_logpdf(z: Any, df: Any) -> Any:
    size = -betaln(df * 0.5, 0.5) - lax.log(df) * 0.5
    return size - (df + 1) * 0.5 * log1p_square(z / lax.sqrt(df))


t = of_shape(
    "t",
    "t distribution of Student",
    r"\frac{(1 + x^2/k)^{-(k+1)/2}}{\sqrt{k} B(1/2, k/2)}, \quad k = df",
    "logpdf=-1.1610 pdf=0.3132",
    "0.5, 3.",
    shape={"df": "degrees of freedom."},
    strong="logpdf pdf",
    valid=_positive,
    logpdf=_t_logpdf,
)


@by_slopes
def _gennorm_logpdf(x: Any, beta: Any) -> Any:
    size = lax.log(beta * 0.5) - lax.lgamma(1 / beta)
    return size - lax.pow(lax.abs(x), beta)


@by_slopes
def _gennorm_cdf(x: Any, beta: Any) -> Any:
    zero = x == 0  # powers are not differentiable there
    z = choose(zero, 1.0, x)
    tail = gammaincc(1 / beta, lax.pow(lax.abs(z), beta)) * 0.5
    return choose(zero, 0.5, choose(x < 0, tail, 1 - tail))


gennorm = of_shape(
    "gennorm",
    "generalized normal distribution",
    r"\frac{\beta}{2 \Gamma(1/\beta)} e^{-|x|^\beta}",
    "logpdf=-0.9444 pdf=0.3889 cdf=0.7417",
    "0.5, 1.5",
    shape={"beta": "the power; 2 for a normal distribution."},
    located=False,
    scaled=False,
    valid=_positive,
    logpdf=_gennorm_logpdf,
    cdf=sloped(_gennorm_cdf, lambda ans, x, beta: lax.exp(_gennorm_logpdf(x, beta))),
)

# ------------------------------------------------------------------------------- angles


def _square_of_sine(x: Any) -> Any:
    """Return (1 - cos x) / 2."""
    sine = lax.sin(x * 0.5)
    return sine * sine


vonmises = of_shape(
    "vonmises",
    "von Mises distribution, of angles",
    r"\frac{e^{\kappa \cos x}}{2 \pi I_0(\kappa)}",
    "logpdf=-0.9067 pdf=0.4039",
    "0.5, 2.",
    shape={"kappa": "the concentration."},
    located=False,
    scaled=False,
    valid=lambda kappa: kappa >= 0,
    logpdf=lambda x, kappa: (
        kappa * _square_of_sine(x) * -2 - (lax.log(i0e(kappa)) + math.log(2 * math.pi))
    ),
)


@by_slopes
def _wrapcauchy_logpdf(x: Any, c: Any) -> Any:
    near = 1 - c
    return lax.log1p(-c * c) - (
        lax.log(near * near + c * 4 * _square_of_sine(x)) + math.log(2 * math.pi)
    )


wrapcauchy = of_shape(
    "wrapcauchy",
    "wrapped Cauchy distribution, of angles",
    r"\frac{1 - c^2}{2 \pi (1 + c^2 - 2 c \cos x)}, \quad 0 \le x \le 2 \pi",
    "logpdf=-1.1378 pdf=0.3205",
    "0.5, 0.5",
    shape={"c": "the concentration, between 0 and 1."},
    located=False,
    scaled=False,
    valid=lambda c: (c > 0) & (c < 1),
    outside=lambda x, c: (x < 0) | (x > 2 * math.pi),
    logpdf=_wrapcauchy_logpdf,
)
