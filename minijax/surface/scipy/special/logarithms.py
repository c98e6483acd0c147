"""Products with logarithms, entropies, and transformations by logarithms.

0 log 0 is 0 here, as in entropies; the functions therefore need their own derivative rules.

Next: gaussian.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....prims.special.double_double import exact_product
from ....prims.special.gamma import log_gap
from ._common import *

__all__ = (
    "xlogy",
    "xlog1py",
    "entr",
    "rel_entr",
    "kl_div",
    "boxcox",
    "boxcox1p",
    "logit",
    "expit",
)

REAL = "array or number; integers become floats."

# ------------------------------------------------------------- products with logarithms


def _product(x: Any, y: Any, logarithm: Any) -> Any:
    counts = lax.bitwise_or(lax.ne(x, const(x, 0)), lax.ne(y, y))
    return choose(counts, lax.mul(x, logarithm(y)), const(x, 0))


@custom_jvp
def _share(x: Any, y: Any) -> Any:
    """Return x / y, and 0 for 0 / 0: the slope of a function that is 0 everywhere."""
    ratio = lax.div(x, y)
    both_zero = lax.bitwise_and(lax.eq(x, const(x, 0)), lax.eq(y, const(y, 0)))
    return choose(both_zero, const(x, 0), ratio)


_share.defjvps(lambda t, ans, x, y: lax.div(t, y), lambda t, ans, x, y: -t * _share(ans, y))


def _xlogy(x: Any, y: Any) -> Any:
    return _product(x, y, lax.log)


def _xlog1py(x: Any, y: Any) -> Any:
    return _product(x, y, lax.log1p)


_xlogy.__name__, _xlog1py.__name__ = "xlogy", "xlog1py"
_xlogy = custom_jvp(_xlogy)  # type: ignore[assignment]
_xlogy.defjvps(  # type: ignore[attr-defined]
    lambda t, ans, x, y: t * lax.log(y), lambda t, ans, x, y: t * _share(x, y)
)
_xlog1py = custom_jvp(_xlog1py)  # type: ignore[assignment]
_xlog1py.defjvps(  # type: ignore[attr-defined]
    lambda t, ans, x, y: t * lax.log1p(y), lambda t, ans, x, y: t * _share(x, 1 + y)
)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return _xlogy(x, x)


_xlogx.defjvps(lambda t, ans, x: t * (lax.log(x) + 1))


@special(
    r"Compute x times the logarithm of y, :math:`x \ln y`, and 0 where x is 0.",
    "2., 3. -> 2.19722",
    f"x: {REAL}",
    f"y: {REAL}",
)
def xlogy(x: ArrayLike, y: ArrayLike) -> Any:
    return _xlogy(*promote_args_inexact("xlogy", x, y))


@special(
    r"Compute x times the logarithm of 1 + y, :math:`x \ln(1 + y)`, and 0 where x is 0.",
    "2., 3. -> 2.77259",
    f"x: {REAL}",
    f"y: {REAL}",
)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Any:
    return _xlog1py(*promote_args_inexact("xlog1py", x, y))


# ---------------------------------------------------------------------------- entropies

NO_COMPLEX = "ValueError: an argument is complex."


@special(
    r"Compute the entropy of a probability, :math:`-x \ln x`; 0 at 0, -inf below.",
    "0.5 -> 0.34657",
    f"x: {REAL}",
    raises=NO_COMPLEX,
)
def entr(x: ArrayLike) -> Any:
    (x,) = promote_real("entr", x)
    negative = lax.lt(x, const(x, 0))
    return choose(negative, const(x, -np.inf), lax.neg(_xlogx(x)))


def _relative(p: Any, q: Any, inside: Any, of_none: Any) -> Any:
    """Return `inside(p, q)` if both are positive, `of_none` if p is 0,
    and inf otherwise."""
    zero = const(p, 0)
    both = lax.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    p_is_zero = lax.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    nan = lax.ne(p + q, p + q)
    outside = choose(p_is_zero, of_none, choose(nan, const(p, np.nan), const(p, np.inf)))
    # Evaluate the other branch at 1, where derivatives of the logarithms are finite.
    p, q = choose(both, p, const(p, 1)), choose(both, q, const(q, 1))
    out = choose(both, in_float32(inside)(p, q), outside)
    return strip_weak_type(out) if aval_of(out).shape else out


def _quotient(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Return p / q scaled by a power of two, the logarithm of the scale, and the rounding
    error of the quotient.

    Scaling applies to quotients beyond 2^±(a quarter of the exponent range), and to tiny
    numbers, whose rounding error would underflow.
    """
    quarter = 256 if dtype_of(p) == dtypes.float64 else 32
    one, up, down = (const(p, 2.0 ** (quarter * k)) for k in (0, 2, -2))
    finite = lax.lt(lax.max(p, q), const(p, np.inf))
    above = lax.bitwise_and(lax.gt(p * down, q), finite)
    below = lax.bitwise_and(lax.gt(q * down, p), finite)
    small = choose(lax.lt(p, lax.sqrt(down)), up, one)
    p = p * choose(above, down, choose(below, up, small))
    q = q * choose(above, up, choose(below, down, small))
    ratio = lax.div(p, q)
    product, rest = exact_product(ratio, q)
    size = const(p, math.log(2) * quarter * 4)
    log_scale = choose(above, size, choose(below, -size, const(p, 0)))
    rounding_error = ((p - product) - rest) / p
    is_small = lax.lt(lax.abs(rounding_error), one)  # false for nan, from infinite operands
    return ratio, log_scale, choose(is_small, rounding_error, const(p, 0))


@custom_jvp
def _log_quotient(p: Any, q: Any) -> Any:
    """Return ln(p / q), precise also for nearly equal p and q."""
    ratio, raised, rest = _quotient(p, q)
    return lax.log(ratio) + rest + raised


_log_quotient.defjvps(lambda t, ans, p, q: t / p, lambda t, ans, p, q: -t / q)


@custom_jvp
def _log_ratio(p: Any, q: Any) -> Any:
    return p * _log_quotient(p, q)


_log_ratio.defjvps(
    lambda t, ans, p, q: t * (_log_quotient(p, q) + 1), lambda t, ans, p, q: -t * (p / q)
)


@custom_jvp
def _excess(p: Any, q: Any) -> Any:
    """Return 1 - p / q."""
    return (q - p) / q


_excess.defjvps(lambda t, ans, p, q: -t / q, lambda t, ans, p, q: t * (p / q) / q)


@custom_jvp
def _divergence(p: Any, q: Any) -> Any:
    ratio, raised, _ = _quotient(q, p)
    far = lax.ne(raised, const(p, 0))
    u = choose(far, const(p, 0), (q - p) / p)
    gap = log_gap(u, ratio)
    return choose(far, q - p - p * (lax.log(ratio) + raised), p * gap)


_divergence.defjvps(
    lambda t, ans, p, q: t * _log_quotient(p, q), lambda t, ans, p, q: t * _excess(p, q)
)


@special(
    r"Compute the relative entropy of two probabilities, :math:`p \ln(p / q)`; 0 where p"
    r" is 0 and q is not negative, inf where one is out of range.",
    "0.5, 0.25 -> 0.34657",
    f"p: {REAL}",
    f"q: {REAL}",
    raises=NO_COMPLEX,
)
def rel_entr(p: ArrayLike, q: ArrayLike) -> Any:
    p, q = promote_real("rel_entr", p, q)
    return _relative(p, q, _log_ratio, const(p, 0))


@special(
    r"Compute the Kullback-Leibler divergence of two probabilities,"
    r" :math:`p \ln(p / q) - p + q`.",
    "0.5, 0.25 -> 0.09657",
    f"p: {REAL}",
    f"q: {REAL}",
    raises=NO_COMPLEX,
)
def kl_div(p: ArrayLike, q: ArrayLike) -> Any:
    p, q = promote_real("kl_div", p, q)
    return _relative(p, q, _divergence, q)


# ------------------------------------------------------------------------ transformations


@custom_jvp
def growth(y: Any) -> Any:
    """Return (e^y - 1) / y."""
    zero = lax.eq(y, const(y, 0))
    return choose(zero, filled(y, 1), lax.expm1(y) / choose(zero, filled(y, 1), y))


def growth_slope(y: Any) -> Any:
    """Return the derivative of `growth`; near 0, where it cancels, by a power series."""
    near = lax.lt(lax.abs(y), const(y, 1))
    terms = 18 if dtype_of(y) == dtypes.float64 else 10
    powers = [(k + 1) / math.factorial(k + 2) for k in range(terms)]
    series = polynomial(choose(near, y, const(y, 0)), powers)
    away = choose(near, filled(y, 1), y)
    return choose(near, series, (lax.exp(away) - growth(away)) / away)


growth.defjvps(lambda t, ans, y: t * growth_slope(y))


@custom_jvp
def _box_cox(logarithm: Any, lmbda: Any) -> Any:
    flat = lax.eq(lmbda, const(lmbda, 0))
    power = choose(flat, const(lmbda, 1), lmbda)
    return choose(flat, logarithm, lax.expm1(power * logarithm) / power)


def _box_cox_by_power(t: Any, ans: Any, logarithm: Any, lmbda: Any) -> Any:
    """Return L^2 times the slope of (e^y - 1) / y at y = L lmbda, for L = `logarithm`."""
    bounded = lax.lt(lax.abs(logarithm), const(lmbda, np.inf))
    size = choose(bounded, logarithm, filled(logarithm, 1))
    inner = size * (size * growth_slope(lmbda * size))
    return t * choose(bounded, inner, -ans / choose(bounded, filled(lmbda, 1), lmbda))


_box_cox.defjvps(
    lambda t, ans, logarithm, lmbda: t * lax.exp(lmbda * logarithm), _box_cox_by_power
)


@special(
    r"Compute the Box-Cox transformation, :math:`(x^\lambda - 1) / \lambda`; for λ = 0,"
    r" :math:`\ln x`.",
    "4., 0.5 -> 2.00000",
    f"x: {REAL}",
    f"lmbda: the power λ, {REAL}",
    source="Box and Cox, An analysis of transformations (1964).",
)
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Any:
    x, lmbda = promote_args_inexact("boxcox", x, lmbda)
    return _box_cox(*broadcast_pair(lax.log(x), lmbda))


@special(
    r"Compute the Box-Cox transformation of 1 + x,"
    r" :math:`((1 + x)^\lambda - 1) / \lambda`; for λ = 0, :math:`\ln(1 + x)`.",
    "3., 0.5 -> 2.00000",
    f"x: {REAL}",
    f"lmbda: the power λ, {REAL}",
    source="Box and Cox, An analysis of transformations (1964).",
)
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Any:
    x, lmbda = promote_args_inexact("boxcox1p", x, lmbda)
    return _box_cox(*broadcast_pair(lax.log1p(x), lmbda))


def _logit(x: Any) -> Any:
    """Return the logit: near 1/2 by the series of 2 atanh(2x - 1),
    otherwise by a quotient."""
    if dtypes.is_complex(dtype_of(x)):
        out = lax.log(x / (1 - x))
        return strip_weak_type(out) if aval_of(out).shape else out
    gap = 2 * x - 1
    near = lax.lt(lax.abs(gap), const(x, 0.25))
    square = gap * gap
    terms = 12 if dtype_of(x) == dtypes.float64 else 5
    series = polynomial(square, [2 / (2 * k + 1) for k in range(1, terms + 1)])
    odds = lax.div(x, lax.sub(const(x, 1), x))
    out = choose(near, 2 * gap + gap * (square * series), lax.log(odds))
    return strip_weak_type(out) if aval_of(out).shape else out


@custom_jvp
def _logit_slope(x: Any) -> Any:
    """Return 1 / (x (1 - x)) as an array, since a Python number cannot be divided by 0."""
    return lax.div(const(x, 1), lax.mul(x, lax.sub(const(x, 1), x)))


# (2x - 1) slope^2, multiplied in an order in which no intermediate product overflows.
_logit_slope.defjvps(lambda t, ans, x: t * (ans * ((x - (1 - x)) * ans)))

_logit.__name__ = "logit"
_logit = custom_jvp(_logit)  # type: ignore[assignment]
_logit.defjvps(lambda t, ans, x: t * _logit_slope(x))  # type: ignore[attr-defined]


@special(
    r"Compute the logarithm of the odds, :math:`\ln(x / (1 - x))`, the inverse of `expit`.",
    "0.75 -> 1.09861",
    f"x: {REAL}",
)
def logit(x: ArrayLike) -> Any:
    return _logit(*promote_args_inexact("logit", x))


@special(
    "Compute the logistic function, :math:`1 / (1 + e^{-x})`, the inverse of `logit`.",
    "1. -> 0.73106",
    f"x: {REAL}",
)
def expit(x: ArrayLike) -> Any:
    return lax.logistic(*promote_args_inexact("expit", x))
