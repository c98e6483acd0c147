"""Distributions with only location and scale as parameters.

Next: shaped.py.
"""

from __future__ import annotations

import functools
from typing import Any

from ....control.rules.custom_jvp import custom_jvp
from ....prims import lax
from ....prims.special.double_double import exact_product
from ....prims.stop_gradient import stop_gradient
from ....types import dtypes
from ...nn.activations import log1mexp, log_sigmoid
from ..special._common import by_slopes, strip_weak_type
from ..special.gaussian import log_ndtr, ndtr, ndtri
from ..special.logarithms import expit, growth, logit
from ._common import *

__all__ = ("cauchy", "expon", "gumbel_l", "gumbel_r", "laplace", "logistic", "norm", "uniform")

of_location = functools.partial(distribution, home=__name__)


def _half_square(z: Any) -> tuple[Any, ...]:
    """Return -z^2 / 2 and its rounding error."""
    if aval_of(z).dtype not in (dtypes.float32, dtypes.float64):
        return (z * z * -0.5,)
    square, rest = exact_product(z, z)
    inside = lax.abs(rest) < 1  # false for nan, from overflow
    return square * -0.5, stop_gradient(choose(inside, rest * -0.5, 0.0))


norm = of_location(
    "norm",
    "normal distribution",
    r"\frac{1}{\sqrt{2 \pi}} e^{-x^2/2}",
    "logpdf=-1.0439 pdf=0.3521 cdf=0.6915 logcdf=-0.3689 sf=0.3085 logsf=-1.1759"
    " ppf=-0.6745 isf=0.6745",
    "0.5",
    even=True,
    strong="logpdf pdf",
    analytic="logpdf pdf",
    logpdf=lambda z: z * z * -0.5 - math.log(2 * math.pi) / 2,
    terms=lambda z: (*_half_square(z), -math.log(2 * math.pi) / 2),
    cdf=ndtr,
    logcdf=log_ndtr,
    sf=lambda z: ndtr(-z),
    logsf=lambda z: log_ndtr(-z),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
)

uniform = of_location(
    "uniform",
    "uniform distribution from `loc` to `loc + scale`",
    r"1, \quad 0 \le x \le 1",
    "logpdf=-0.6931 pdf=0.5000 cdf=0.2500 ppf=0.5000",
    "0.5, 0., 2.",
    support=(0, 1),
    inside=0.5,
    strong="cdf",
    logpdf=lambda z: choose(z == z, lax.full_like(z, 0), NAN),
    cdf=strip_weak_type,
    ppf=lambda q: within_one(q, q),
)


def _cauchy_below(z: Any) -> Any:
    """Return the distribution function as an angle, without cancellation in either tail."""
    return lax.atan2(lax.full_like(z, 1), -z) * (1 / math.pi)


@by_slopes
def _cauchy_density(z: Any) -> Any:
    large = lax.abs(z) > 1
    r = choose(large, 1 / choose(large, z, 1.0), z)
    square = r * r
    return choose(large, square, 1.0) * (1 / math.pi) / (1 + square)


@by_slopes
def _cauchy_log_below(z: Any) -> Any:
    above = z > 0
    end = lax.abs(z) == INF  # the slope would be 0 / 0
    tail = _cauchy_below(choose(end, -1.0, choose(above, -z, z)))
    # XLA's log1p loses digits of float64 between -0.34 and 1 - sqrt(2).
    rest = choose(tail > 0.3, lax.log(1 - tail), lax.log1p(-tail))
    return choose(end, choose(above, 0.0, -INF), choose(above, rest, lax.log(tail)))


@by_slopes
def _cauchy_quantile(q: Any) -> Any:
    """Return the tangent of pi (q - 1/2); near 0 and 1 the reciprocal of the cotangent."""
    r = q - 0.5
    near = lax.abs(r) < 0.25
    angle = choose(near, r, choose(r < 0, -q, 1 - q))
    t = lax.tan(angle * math.pi)
    return within_one(q, choose(near, t, 1 / choose(near, 1.0, t)))


cauchy = of_location(
    "cauchy",
    "Cauchy distribution",
    r"\frac{1}{\pi (1 + x^2)}",
    "logpdf=-1.3679 pdf=0.2546 cdf=0.6476 logcdf=-0.4345 sf=0.3524 logsf=-1.0429"
    " ppf=-1.0000 isf=1.0000",
    "0.5",
    strong="logpdf pdf cdf logcdf sf logsf ppf isf",
    analytic="logpdf pdf",
    logpdf=lambda z: -math.log(math.pi) - log1p_square(z),
    pdf=_cauchy_density,
    cdf=_cauchy_below,
    sf=lambda z: _cauchy_below(-z),
    logcdf=_cauchy_log_below,
    logsf=lambda z: _cauchy_log_below(-z),
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)

expon = of_location(
    "expon",
    "exponential distribution",
    r"e^{-x}, \quad x \ge 0",
    "logpdf=-0.5000 pdf=0.6065 cdf=0.3935 logcdf=-0.9328 sf=0.6065 logsf=-0.5000 ppf=0.2877",
    "0.5",
    support=(0, None),
    logpdf=lambda z: -z,
    terms=lambda z: (-z,),
    logsf=lambda z: -z,
    cdf=lambda z: -lax.expm1(-z),
    logcdf=log1mexp,
    ppf=lambda q: within_one(q, -lax.log1p(-q)),
)


def _laplace_below(z: Any) -> Any:
    negative = z < 0
    tail = lax.exp(choose(negative, z, -z)) * 0.5
    return choose(negative, tail, 1 - tail)


laplace = of_location(
    "laplace",
    "Laplace distribution",
    r"\frac{1}{2} e^{-|x|}",
    "logpdf=-1.1931 pdf=0.3033 cdf=0.6967",
    "0.5",
    strong="logpdf pdf cdf",
    logpdf=lambda z: -math.log(2) - lax.abs(z),
    cdf=_laplace_below,
    terms=lambda z: (-lax.abs(z), -math.log(2)),
)


@custom_jvp
def _logistic_logpdf(z: Any) -> Any:
    return log_sigmoid(z) + log_sigmoid(-z)


@custom_jvp
def _logistic_pdf(z: Any) -> Any:
    return expit(z) * expit(-z)


_logistic_logpdf.defjvps(lambda t, ans, z: -t * lax.tanh(z * 0.5))
_logistic_pdf.defjvps(lambda t, ans, z: -t * (ans * lax.tanh(z * 0.5)))

logistic = of_location(
    "logistic",
    "logistic distribution",
    r"\frac{e^{-x}}{(1 + e^{-x})^2}",
    "logpdf=-1.4482 pdf=0.2350 cdf=0.6225 sf=0.3775 ppf=-1.0986 isf=1.0986",
    "0.5",
    probability="x",
    strong="logpdf pdf ppf isf",
    analytic="logpdf pdf cdf sf ppf isf",
    logpdf=_logistic_logpdf,
    pdf=_logistic_pdf,
    cdf=expit,
    sf=lambda z: expit(-z),
    ppf=logit,
    isf=lambda q: -logit(q),
)


# Below this z, e^-z is so large that e^(-e^-z) and all its derivatives are 0.
_FALLEN = -7.0


@custom_jvp
def _gumbel_logpdf(z: Any) -> Any:
    return -lax.exp(-z) - choose(z == -INF, 0.0, z)  # avoid infinity minus infinity


@custom_jvp
def _gumbel_pdf(z: Any) -> Any:
    fallen = z < _FALLEN
    return choose(fallen, 0.0, lax.exp(_gumbel_logpdf(choose(fallen, 0.0, z))))


@custom_jvp
def _gumbel_below(z: Any) -> Any:
    """Return e^(-e^-z)."""
    return lax.exp(-lax.exp(-z))


@custom_jvp
def _gumbel_above(z: Any) -> Any:
    """Return 1 - e^(-e^-z)."""
    return -lax.expm1(-lax.exp(-z))


# e^-z - 1 is `expm1`, since the difference would cancel near 0.
_gumbel_logpdf.defjvps(lambda t, ans, z: t * lax.expm1(-z))
_gumbel_pdf.defjvps(lambda t, ans, z: t * (ans * lax.expm1(-choose(z < _FALLEN, 0.0, z))))
_gumbel_below.defjvps(lambda t, ans, z: t * _gumbel_pdf(z))
_gumbel_above.defjvps(lambda t, ans, z: -t * _gumbel_pdf(z))


@by_slopes
def _gumbel_log_tail(z: Any) -> Any:
    """Return log(1 - e^-u) for u = e^-z; for large z as -z + log((1 - e^-u) / u)."""
    far, fallen = z > 0, z < _FALLEN
    above = choose(far, z, 0.0)
    tail = lax.log(growth(-lax.exp(-above))) - above
    inner = log1mexp(lax.exp(-choose(far | fallen, 0.0, z)))
    return choose(far, tail, choose(fallen, 0.0, inner))


gumbel_r = of_location(
    "gumbel_r",
    "Gumbel distribution of largest values",
    "e^{-x - e^{-x}}",
    "logpdf=-1.1065 pdf=0.3307 cdf=0.5452 logcdf=-0.6065 sf=0.4548 logsf=-0.7880 ppf=-0.3266",
    "0.5",
    probability="p",
    strong="sf",
    logpdf=_gumbel_logpdf,
    pdf=_gumbel_pdf,
    cdf=_gumbel_below,
    logcdf=lambda z: -lax.exp(-z),
    sf=_gumbel_above,
    logsf=_gumbel_log_tail,
    ppf=lambda q: -lax.log(-lax.log(q)),
)

gumbel_l = of_location(
    "gumbel_l",
    "Gumbel distribution of smallest values",
    "e^{x - e^x}",
    "logpdf=-1.1487 pdf=0.3170 cdf=0.8077 logcdf=-0.2136 sf=0.1923 logsf=-1.6487 ppf=-1.2459",
    "0.5",
    probability="p",
    logpdf=lambda z: _gumbel_logpdf(-z),
    pdf=lambda z: _gumbel_pdf(-z),
    logcdf=lambda z: _gumbel_log_tail(-z),
    cdf=lambda z: _gumbel_above(-z),
    sf=lambda z: _gumbel_below(-z),
    logsf=lambda z: -lax.exp(z),
    ppf=lambda q: lax.log(-lax.log1p(-q)),
)
