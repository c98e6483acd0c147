"""Spence's function, the dilogarithm of 1 - x.

It is a Chebyshev expansion for small 1 - x; reflection formulas map other x there (NIST
Digital Library of Mathematical Functions, 25.12.3, 25.12.4, 25.12.6).  Coefficients were
computed in 40-digit arithmetic.

Next: owens.py.
"""

from __future__ import annotations

import math
from typing import Any

from ...numpy.creation import asarray
from ._common import *

__all__ = ("spence",)

# fmt: off
DILOGARITHM = (  # of Li_2(w) / w in T_k(2w), for |w| <= 1/2
    1.0149416064096537, 0.13148012838765802, 0.015313452518102082, 0.002272188943655959,
    0.00038516199300815945, 7.103404374209115e-05, 1.3885622487404779e-05,
    2.8323954583854513e-06, 5.968314737835964e-07, 1.2902312437546724e-07,
    2.8475309127972237e-08, 6.392641519505728e-09, 1.4558235675968631e-09,
    3.356030027905024e-10, 7.818019409066589e-11, 1.8379324194103908e-11,
    4.355524622917214e-12, 1.0395111785603755e-12, 2.496666278162975e-13,
    6.030470288343577e-14, 1.4640624936086265e-14, 3.570903196070032e-15,
    8.746346791364233e-16, 2.1505456792131715e-16, 5.3064798693556575e-17,
    1.3136479985932125e-17,
)
# fmt: on


@custom_jvp
@staged
def _spence(x: Any) -> Any:
    one = const(x, 1)
    low, high = lax.lt(x, const(x, 0.5)), lax.gt(x, const(x, 2))
    large = lax.gt(x, const(x, 1.5))
    safe = lax.max(x, const(x, 0.5))
    w = choose(low, x, choose(high, 1 / safe, choose(large, 1 - 1 / safe, 1 - x)))
    w = lax.clamp(const(x, -0.5), w, const(x, 0.5))
    dilogarithm = w * chebyshev(2 * w, DILOGARITHM)
    positive = choose(lax.gt(x, const(x, 0)), x, one)
    log = lax.log(positive)
    log_operand = choose(lax.bitwise_or(low, high), w, const(x, 0))
    small = lax.lt(log_operand, const(x, 0.1))  # beyond, the compiler's log1p is less precise
    outer = choose(small, lax.log1p(-log_operand), lax.log(1 - log_operand))
    sixth = math.pi**2 / 6
    below = sixth - log * outer - dilogarithm
    beyond = dilogarithm - sixth - log * outer - log * log / 2
    between = choose(large, -dilogarithm - log * log / 2, dilogarithm)
    out = choose(low, below, choose(high, beyond, between))
    return choose(lax.ge(x, const(x, 0)), out, const(x, np.nan))


def _slope(x: Any) -> Any:
    """Return ln(x) / (x - 1), by a power series near 1."""
    u = x - 1
    near = lax.lt(lax.abs(u), const(x, 0.2))
    powers = polynomial(choose(near, u, const(x, 0)), [(-1) ** k / (k + 1) for k in range(22)])
    away = choose(near, const(x, 2), x)
    return choose(near, powers, lax.log(away) / (away - 1))


_spence.defjvps(lambda t, ans, x: -t * _slope(x))


@special(
    r"Compute Spence's function, :math:`\int_1^x \frac{\ln t}{1 - t} dt`; nan for"
    r" negative numbers.",
    "2. -> -0.82247",
    "x: array or number of float32 or float64.",
    raises="TypeError: x is of another dtype.",
)
def spence(x: ArrayLike) -> Any:
    x = only_float(asarray(x), ", see docstring for supported types")
    return _spence(strip_weak_type(x))
