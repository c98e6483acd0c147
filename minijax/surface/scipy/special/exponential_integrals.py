"""Exponential integrals.

E_1 is a Chebyshev expansion minus a logarithm below 1, and times e^-x above 1.  Ei is
computed likewise, with its zero split off.  Coefficients were computed in 40-digit
arithmetic.  E_n of larger order is its power series below 1, and above 1 the continued
fraction, evaluated forwards (NIST Digital Library of Mathematical Functions, 6.6, 6.12,
8.19.8, 8.19.17).

Next: trigonometric_integrals.py.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from ....control.loop_functions.while_loop import while_loop
from ....prims.special.gamma import digamma
from ...numpy.creation import asarray
from ._common import *

__all__ = ("expi", "exp1", "expn")

EULER = 0.5772156649015329
ZERO, ZERO_REST = 0.3725074107813666, 1.3140183414386028e-17  # of Ei

# fmt: off
SMALL = (  # of (E_1(x) + ln x + gamma) / x in T_k(2x - 1), for 0 <= x <= 1
    0.8929826881663436, -0.101460888300299, 0.00530781119573653,
    -0.00023899597694710021, 9.290769396383831e-06, -3.1581738828230066e-07,
    9.510775521324008e-09, -2.566991224055996e-10, 6.27159499700903e-12,
    -1.3988053416635327e-13, 2.8688702680848184e-15, -5.4444045385000516e-17,
    9.61232247830618e-19,
)
LARGE = (  # of (x + 1) e^x E_1(x) in T_k((x - 4) / (x + 2)), for x >= 1
    1.062421314003848, -0.08944777529480638, 0.03222061478411663, -0.006518167587486157,
    0.001611314851549377, -0.0003594868087875015, 8.862874184420737e-05,
    -2.0625566630531385e-05, 5.1576212554409544e-06, -1.22711726684983e-06,
    3.11648295271518e-07, -7.496825491634816e-08, 1.9357534171666858e-08,
    -4.666217911489796e-09, 1.229393484958032e-09, -2.93907622725768e-10,
    7.968684924923627e-11, -1.8593177613431917e-11, 5.281854779201032e-12,
    -1.167816170637905e-12, 3.6075565391325085e-13, -7.11168548180311e-14,
    2.5830223544952705e-14, -3.9420092837314214e-15, 2.0008610101956586e-15,
    -1.5334672626287945e-16, 1.754471133339312e-16, 6.011706820396549e-18,
)
RISING = (  # of (Ei(x) - ln(x / z)) / (x - z) e^-x in T_k(x/3 - 1), for 0 <= x <= 6
    0.33727681594765524, -0.4525076068906478, 0.2090523437694096, -0.0743944993444719,
    0.021555372014280427, -0.005264730701335164, 0.0011106438252691622,
    -0.00020608872723872445, 3.411704316264504e-05, -5.096435167063712e-06,
    6.934155941129699e-07, -8.660431291978029e-08, 9.99483649842807e-09,
    -1.0719313683756776e-09, 1.0736230073250161e-10, -1.0085619945466715e-11,
    8.920149853912878e-13, -7.452978926584112e-14, 5.900524142853923e-15,
    -4.4385118565551224e-16, 3.180097850379622e-17, -2.1750663340009564e-18,
)
MIDDLE = (  # of x e^-x Ei(x) in T_k((96/x - 11) / 5), for 6 <= x <= 16
    1.1680733396026677, 0.10407374192304131, 0.00789965885502367,
    -0.0008252157069900883, -0.0003729267763680881, 2.331920122553071e-05,
    1.4670027820474274e-05, -2.57902435029795e-06, -3.0202399976650966e-07,
    1.794120067590596e-07, -2.318897334676356e-08, -3.5241037171908044e-09,
    2.082796860577049e-09, -3.875449342306865e-10, 3.1997839004861025e-12,
    1.9390049785253573e-11, -6.2238744871933494e-12, 9.731040295252425e-13,
    1.1047497660181232e-14, -5.611528237957154e-14, 1.8836493871170515e-14,
    -3.600937620070161e-15, 2.6610128203774515e-16, 9.979295236810216e-17,
    -5.140637317378683e-17, 1.3726003797112981e-17,
)
FAR = (  # of x e^-x Ei(x) in T_k(32/x - 1), for x >= 16
    1.034784009888041, 0.03608190907916786, 0.0013792466680774694,
    8.925243832231336e-05, 9.022120957820665e-06, 1.308148333990878e-06,
    2.1656910166239489e-07, 2.3069667967471434e-08, -5.8760769150139515e-09,
    -4.479870674593772e-09, -1.1706647457640092e-09, 4.8116930580261587e-11,
    1.406858909109371e-10, 3.274307671909807e-11, -9.129072131987784e-12,
    -6.037869051793647e-12, 1.317512503064898e-13, 8.518781414694222e-13,
    8.635679151656259e-14, -1.1783212027861576e-13, -2.193373628245498e-14,
    1.750389011277893e-14, 4.064335357847865e-15, -2.8950363286736385e-15,
    -6.579910073808595e-16, 5.299704474148736e-16, 9.067476845369998e-17,
    -1.0365432832418048e-16, -7.893699292971297e-18,
)
# fmt: on

REAL = "real array or number; integers become floats."
NO_COMPLEX = "ValueError: an argument is complex."


def _integral(x: Any) -> Any:
    """Return E_1(x) for x > 0."""
    one = const(x, 1)
    low, high = lax.min(x, one), lax.max(x, one)
    below = low * chebyshev(2 * low - 1, SMALL) - EULER - lax.log(low)
    above = chebyshev(1 - 6 / (high + 2), LARGE) * lax.exp(-high) / (high + 1)
    return choose(lax.le(x, one), below, above)


def _principal(x: Any) -> Any:
    """Return Ei(x) for x > 0."""
    low = lax.min(x, const(x, 6))
    away = subtract_precise(low, ZERO, ZERO_REST)
    near = lax.lt(lax.abs(away), const(x, ZERO / 10))
    log = choose(
        near, lax.log1p(choose(near, away, const(x, 0)) / ZERO), lax.log(low) - math.log(ZERO)
    )
    rising = log + away * lax.exp(low) * chebyshev(low / 3 - 1, RISING)
    middle = lax.clamp(const(x, 6), x, const(x, 16))
    scaled = chebyshev((96 / middle - 11) / 5, MIDDLE)
    far = lax.max(x, const(x, 16))
    scaled = choose(lax.lt(x, const(x, 16)), scaled, chebyshev(32 / far - 1, FAR))
    outer = lax.max(x, const(x, 6))
    # Split e^x, which alone would overflow earlier than the product.
    beyond = lax.exp(outer - 8) * (scaled * (math.exp(8) / outer))
    beyond = choose(lax.eq(x, const(x, np.inf)), x, beyond)
    return choose(lax.le(x, const(x, 6)), rising, beyond)


@custom_jvp
@staged
def _expi(x: Any) -> Any:
    size = lax.abs(x)
    return choose(lax.lt(x, const(x, 0)), -_integral(size), _principal(size))


_expi.defjvps(lambda t, ans, x: t * (lax.exp(x) / x))


@special(
    r"Compute the exponential integral,"
    r" :math:`\mathrm{Ei}(x) = -\int_{-x}^\infty \frac{e^{-t}}{t} dt`,"
    " the principal value.",
    "1. -> 1.89512",
    f"x: {REAL}",
    raises=NO_COMPLEX,
)
def expi(x: ArrayLike) -> Any:
    (x,) = promote_real("expi", x)
    return in_float32(_expi)(strip_weak_type(x))


@custom_jvp
@staged
def _exp1(x: Any) -> Any:
    return choose(lax.ge(x, const(x, 0)), _integral(lax.abs(x)), const(x, np.nan))


_exp1.defjvps(lambda t, ans, x: -t * lax.exp(-x) / x)


@special(
    r"Compute the exponential integral,"
    r" :math:`E_1(x) = \int_x^\infty \frac{e^{-t}}{t} dt`; nan for negative numbers.",
    "1. -> 0.21938",
    f"x: {REAL}",
    raises=NO_COMPLEX,
)
def exp1(x: ArrayLike) -> Any:
    (x,) = promote_real("exp1", x)
    return in_float32(_exp1)(strip_weak_type(x))


# --------------------------------------------------------------------- of any order


def _powers(n: Any, x: Any) -> Any:
    """Return E_n(x) for n >= 1 and 0 < x <= 1, by powers of x."""
    terms = 22 if dtype_of(x) == dtypes.float64 else 13
    total = const(x, 0)
    for k in range(terms, -1, -1):
        difference = n - (k + 1)
        is_pole = lax.eq(difference, const(x, 0))
        coefficient = choose(is_pole, const(x, 0), 1 / choose(is_pole, const(x, 1), difference))
        total = total * x + coefficient * ((-1) ** k / math.factorial(k))
    m = n - 1
    log_power = choose(lax.eq(m, const(x, 0)), const(x, 0), m * lax.log(x))
    odd = lax.ne(lax.floor(m / 2) * 2, m)
    special_term = lax.exp(log_power - lax.lgamma(n)) * (digamma(n) - lax.log(x))
    return total + choose(odd, -special_term, special_term)


def _fraction(n: Any, x: Any) -> Any:
    """Return e^x E_n(x) for x >= 1, by Lentz's method."""
    eps = float(ml_dtypes.finfo(dtype_of(x)).eps)

    def step(state: Any) -> Any:
        i, active, f, c, d = state
        top, b = -i * (n + (i - 1)), n + x + 2 * i
        d = 1 / (top * d + b)
        c = b + top / c
        is_changing = lax.gt(lax.abs(c * d - 1), const(x, eps))
        f = choose(active, f * (c * d), f)
        return i + 1, lax.bitwise_and(active, is_changing), f, c, d

    def not_done(state: Any) -> Any:
        some = lax.reduce_or(state[1], tuple(range(aval_of(state[1]).ndim)))
        return lax.bitwise_and(some, lax.lt(state[0], const(x, 400)))

    d = 1 / (n + x)
    one = dtype_of(x).type(1)
    start = (one, lax.eq(d, d), d, filled(d, 1e30), d)
    return while_loop(not_done, step, start)[2]


@custom_jvp
@staged
def _expn(n: Any, x: Any) -> Any:
    zero, one = const(x, 0), const(x, 1)
    least = const(x, float(ml_dtypes.finfo(dtype_of(x)).tiny))
    order, low = lax.max(n, one), lax.clamp(least, x, one)
    high = lax.clamp(one, x, const(x, 1000))
    inner = choose(lax.lt(x, one), _powers(order, low), lax.exp(-x) * _fraction(order, high))
    out = choose(lax.eq(n, zero), lax.exp(-x) / x, inner)
    at_zero = choose(lax.gt(n, one), 1 / (n - 1), const(x, np.inf))
    out = choose(lax.eq(x, zero), at_zero, out)
    is_integer = lax.eq(n, lax.floor(n))
    is_valid = lax.bitwise_and(is_integer, lax.bitwise_and(lax.ge(n, zero), lax.ge(x, zero)))
    return choose(is_valid, out, const(x, np.nan))


def _slope(ans: Any, n: Any, x: Any) -> Any:
    is_order_zero = lax.eq(n, const(n, 0))
    lower = _expn(choose(is_order_zero, const(n, 0), n - 1), x)
    return -choose(is_order_zero, (lax.exp(-x) + ans) / x, lower)


_expn.defjvps(None, lambda t, ans, n, x: t * _slope(ans, n, x))


@special(
    r"Compute the exponential integral of an order,"
    r" :math:`E_n(x) = \int_1^\infty \frac{e^{-xt}}{t^n} dt`; nan for negative numbers.  It"
    " is differentiable only by x.",
    "2, 1. -> 0.14850",
    "n: the order, integers from 0.",
    f"x: {REAL}",
    returns="An array of their joint shape and dtype.",
    raises=NO_COMPLEX,
)
def expn(n: ArrayLike, x: ArrayLike) -> Any:
    n, x = promote_real("expn", asarray(n), asarray(x))
    return in_float32(_expn)(strip_weak_type(n), strip_weak_type(x))
