"""Error functions, the normal distribution function, its inverse and its logarithm.

Next: gamma.py.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from ....api.autodiff import jvp
from ...numpy._common import check_arraylike
from ...numpy.creation import asarray
from ._common import *
from .scaled import exp_of_square, log_slope, scaled_erfc

__all__ = ("erf", "erfc", "erfinv", "ndtr", "ndtri", "log_ndtr")

REAL = "x: real array or number; integers become floats."
ROOT_HALF = math.sqrt(0.5)
LOG_ROOT_TAU = math.log(2 * math.pi) / 2

# ----------------------------------------------------------------------- error functions


@special(
    r"Compute the error function, :math:`\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`.",
    "0.5 -> 0.52050",
    REAL,
)
def erf(x: ArrayLike) -> Any:
    return lax.erf(*promote_args_inexact("erf", x))


@special(
    r"Compute the complementary error function, :math:`1 - \mathrm{erf}(x)`, without"
    r" cancellation.",
    "0.5 -> 0.47950",
    REAL,
)
def erfc(x: ArrayLike) -> Any:
    return lax.erfc(*promote_args_inexact("erfc", x))


@special(
    r"Compute the inverse error function, :math:`\mathrm{erf}^{-1}(x)`: infinite at -1"
    r" and 1, nan beyond.",
    "0.5 -> 0.47694",
    REAL,
)
def erfinv(x: ArrayLike) -> Any:
    return lax.erf_inv(*promote_args_inexact("erfinv", x))


# ------------------------------------------------------------------ normal distribution

FLOAT = "array or number of float32 or float64."
WRONG = "TypeError: {} is of another dtype."


def _below(x: Any) -> Any:
    """Return the normal distribution function, without cancellation in any range."""
    half = const(x, ROOT_HALF)
    w = x * half
    z = lax.abs(w)
    tail = lax.erfc(z)
    outer = lax.select_n(lax.gt(w, const(w, 0)), tail, 2 - tail)
    return 0.5 * lax.select_n(lax.lt(z, half), outer, 1 + lax.erf(w))


@special(
    r"Compute the normal distribution function,"
    r" :math:`\Phi(x) = \frac{1}{\sqrt{2\pi}} \int_{-\infty}^x e^{-t^2/2} dt`.",
    "1. -> 0.84134",
    f"x: {FLOAT}",
    raises=WRONG.format("x"),
)
def ndtr(x: ArrayLike) -> Any:
    return _below(_strong(x, ", see docstring for supported types"))


def _strong(x: Any, hint: str = "") -> Any:
    """Convert a number, an array or a sequence to a strong float32 or float64 array."""
    return strip_weak_type(only_float(asarray(x), hint))


# Numerators and denominators of three rational functions, by powers.
# fmt: off
CENTRE = (  # of (p - 1/2) in 0.425^2 - (p - 1/2)^2, for |p - 1/2| <= 0.425
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)
TAIL = (  # in r - 1.6, for r = sqrt(-ln p) <= 5
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
     6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
     5.47593808499534494600e-4, 1.05075007164441684324e-9),
)
FAR = (  # in r - 5, for larger r
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
     1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
     1.42151175831644588870e-7, 2.04426310338993978564e-15),
)
# fmt: on


def _ratio(x: Any, coefficients: Any) -> Any:
    above, below = coefficients
    return polynomial(x, above) / polynomial(x, below)


@custom_jvp
def _ndtri(p: Any) -> Any:
    q = p - 0.5
    near = lax.le(lax.abs(q), const(p, 0.425))
    outer = lax.min(p, 1 - p)
    r = lax.sqrt(-lax.log(choose(near, const(p, 0.5), outer)))
    tail = choose(lax.le(r, const(p, 5)), _ratio(r - 1.6, TAIL), _ratio(r - 5, FAR))
    tail = choose(lax.eq(outer, const(p, 0)), const(p, np.inf), tail)
    tail = choose(lax.lt(q, const(p, 0)), lax.neg(tail), tail)
    return choose(near, q * _ratio(0.180625 - q * q, CENTRE), tail)


@_ndtri.defjvp
def _ndtri_jvp(primals: Any, tangents: Any) -> Any:
    (p,), (t,) = primals, tangents
    return _ndtri(p), t * _ndtri_slope(p)


@custom_jvp
def _ndtri_slope(p: Any) -> Any:
    """Return 1 / density; the density is p times the hazard, which varies slowly."""
    out = _ndtri(p)
    outer = lax.min(p, 1 - p)
    inside = lax.gt(outer, const(p, 0))
    size = choose(inside, lax.abs(out), const(p, 1))
    density = choose(inside, outer, const(p, 1)) * _hazard(-size)
    ends = choose(lax.eq(outer, const(p, 0)), const(p, np.inf), const(p, np.nan))
    return choose(inside, 1 / density, ends)


# The derivative of the expression would have a kink in the middle.
_ndtri_slope.defjvps(lambda t, ans, p: t * (_ndtri(p) * ans * ans))


@special(
    r"Compute the quantiles of the normal distribution, :math:`\Phi^{-1}(p)`: infinite at"
    r" 0 and 1, nan beyond.",
    "0.75 -> 0.67449",
    f"p: {FLOAT}",
    raises=WRONG.format("p"),
    source="Wichura, Algorithm AS 241, Applied Statistics 37 (1988).",
)
def ndtri(p: ArrayLike) -> Any:
    check_arraylike("ndtri", p)
    return _ndtri(strip_weak_type(only_float(p, ", see docstring for supported types")))


def _series(x: Any, order: int) -> Any:
    """Return -x Phi(x) / phi(x) for x towards -inf: the sum of (-1)^n (2n-1)!! / x^(2n)."""
    inverse = 1 / (x * x)
    terms, term = [1.0], 1.0
    for n in range(1, order + 1):
        term *= 1 - 2 * n
        terms.append(term)
    return polynomial(inverse, terms)


def _series_from(order: int, dtype: Any) -> float:
    """Return the |x| from which on the series has the precision of the dtype."""
    left_out = 2.0 * math.prod(range(1, 2 * order + 2, 2))
    return (left_out / float(ml_dtypes.finfo(dtype).eps) * 2) ** (1 / (2 * order + 4))


def _log_below(x: Any, order: int) -> Any:
    tail = const(x, -_series_from(order, dtype_of(x)))
    negative = lax.lt(x, const(x, 0))
    scaled = scaled_erfc(ROOT_HALF * lax.abs(lax.max(x, tail)))
    out = lax.min(x, tail)
    ends = lax.log(_series(out, order) / (-out)) - LOG_ROOT_TAU
    middle = lax.log(scaled) - math.log(2)
    left = choose(lax.gt(x, tail), middle, ends) - x * x / 2
    above = choose(negative, const(x, 0), scaled * exp_of_square(x, -0.5) / 2)
    small = lax.lt(above, const(x, 0.2))  # beyond, the compiler's log1p is less precise
    log = choose(small, lax.log1p(-above), lax.log(1 - above))
    return choose(negative, left, log)


_log_ndtr = custom_jvp(_log_below, nondiff_argnums=(1,))


@_log_ndtr.defjvp
def _log_ndtr_jvp(order: int, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _log_ndtr(x, order), t * _hazard(x)


@custom_jvp
def _hazard(x: Any) -> Any:
    """Return density / distribution function; for x < 0 both have the same scaling."""
    scaled = scaled_erfc(ROOT_HALF * lax.abs(x))
    bell = exp_of_square(x, -0.5)
    above = bell / (math.sqrt(2 * math.pi) * (1 - scaled * bell / 2))
    return choose(lax.lt(x, const(x, 0)), math.sqrt(2 / math.pi) / scaled, above)


def _hazard_slope(t: Any, ans: Any, x: Any) -> Any:
    """Return -h (x + h); far below 0, where x + h cancels, use the slope of h + x."""
    border = const(x, -1)
    far = lax.lt(x, border)
    z = -ROOT_HALF * lax.min(x, border)
    below = jvp(log_slope, (z,), (filled(z, 0.5),))[1] - 1
    inside = lax.bitwise_or(far, lax.eq(ans, const(x, 0)))
    near = choose(inside, const(x, 0), -ans * (choose(inside, const(x, 0), x) + ans))
    return t * choose(far, below, near)


_hazard.defjvps(_hazard_slope)


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Any:
    r"""Compute the logarithm of the normal distribution function, :math:`\ln \Phi(x)`.

    It is precise in both tails.

    Args:
      x: array or number of float32 or float64.
      series_order: the number of terms of the asymptotic series, from 0 to 30.  More terms
        extend the range where the series is used towards 0.

    Returns:
      An array of `x`'s shape and dtype.

    Raises:
      TypeError: x is of another dtype, or `series_order` is not an int.
      ValueError: `series_order` is out of range.

    Example:
      >>> from minijax.scipy import special
      >>> print(f"{special.log_ndtr(-10.):.4f}")
      -53.2313

    Source: NIST Digital Library of Mathematical Functions, 7.12.1, and `erfcx`.
    """
    if not isinstance(series_order, int):
        raise errors.type_error(
            "series_order must be a Python integer.", which=repr(series_order)
        )
    if series_order < 0:
        raise errors.value_error("series_order must be non-negative.", which=repr(series_order))
    if series_order > 30:
        raise errors.value_error("series_order must be <= 30.", which=repr(series_order))
    return _composed_log_ndtr(x, series_order)


@composite(static="order")
def _composed_log_ndtr(x: Any, order: int) -> Any:
    return _log_ndtr(_strong(x), order)
