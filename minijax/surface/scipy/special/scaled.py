"""The complementary error function scaled by e^(x^2), for real numbers.

(1 + 2x) erfcx(x) is a smooth function of (x - 4) / (x + 4) from 0 to infinity, so one
Chebyshev expansion suffices (M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation
of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", Mathematics of Computation 36, 1981).
Its coefficients were computed in 60-digit arithmetic.

Next: gaussian.py, faddeeva.py.
"""

from __future__ import annotations

import math
from typing import Any

from ._common import *

__all__ = ("scaled_erfc", "log_slope", "erfcx_of_real", "exp_of_square")

# fmt: off
ERFCX = (  # of (1 + 2x) erfcx(x) in T_k((x - 4) / (x + 4)), for x >= 0
    1.1774832005374487, -0.007260796620301901, -0.081265123236185, 0.06009212804122225,
    -0.02875393558027666, 0.01059566336347286, -0.003136927294554264,
    0.0007456494372536184, -0.0001369696503010054, 1.7183861600300937e-05,
    -7.158364623450346e-07, -2.4261399442449534e-07, 5.5765709395703566e-08,
    -2.1057869513809494e-09, -1.1717889351884957e-09, 1.9098355172456688e-10,
    1.408871764208813e-11, -6.901108320480815e-12, 9.167958364111294e-14,
    2.1454508286554553e-13, -1.4716575027010623e-14, -6.668675118770408e-15,
    7.504598509880083e-16, 2.22009300666632e-16, -3.1704898956330886e-17,
    -8.193570309884333e-18,
)
# fmt: on


def scaled_erfc(x: Any) -> Any:
    """Return e^(x^2) erfc(x) for x >= 0."""
    return chebyshev(1 - 8 / (x + 4), ERFCX) / (1 + 2 * x)


# The Chebyshev coefficients of the derivative of ERFCX.
_SLOPES = tuple(
    sum(2 * n * c for n, c in enumerate(ERFCX) if n > k and (n - k) % 2) / (1 if k else 2)
    for k in range(len(ERFCX) - 1)
)


def log_slope(x: Any) -> Any:
    """Return the derivative of ln(e^(x^2) erfc(x)) for x >= 0.

    For large x, all terms of this form and of its derivatives decay like powers of 1/x and
    have one sign; the closed form 2x - 2 / (sqrt(pi) erfcx(x)) would cancel there.
    """
    inverse = 1 / (x + 4)
    t = 1 - 8 * inverse
    t_slope = 8 * inverse * inverse
    return t_slope * (chebyshev(t, _SLOPES) / chebyshev(t, ERFCX)) - 2 / (1 + 2 * x)


def exp_of_square(x: Any, factor: float = 1.0) -> Any:
    """Return e^(factor x^2), with the square split in two parts,
    the first of them exact."""
    # Beyond 64 the result is 0 or infinite.
    x = lax.clamp(const(x, 0), lax.abs(x), const(x, 64))
    wide = dtype_of(x) == dtypes.float64
    # With half of the mantissa bits, `head * head` is exact.
    head = lax.reduce_precision(x, 11 if wide else 8, 25 if wide else 11)
    rest = (x - head) * (x + head)
    exp_head = lax.exp(head * head * factor)
    # Not exp(a) * exp(b): the compiler would merge the product into exp(a + b).
    exp_rest = exp_head * lax.expm1(rest * factor)
    return choose(lax.eq(exp_head, const(x, np.inf)), exp_head, exp_head + exp_rest)


@custom_jvp
def erfcx_of_real(x: Any) -> Any:
    """Return e^(x^2) erfc(x) for any real number."""
    above = scaled_erfc(lax.abs(x))
    return choose(lax.lt(x, const(x, 0)), 2 * exp_of_square(x) - above, above)


def _erfcx_slope(t: Any, ans: Any, x: Any) -> Any:
    one = const(x, 1)
    near = 2 * x * ans - const(x, 2 / math.sqrt(math.pi))
    return t * choose(lax.lt(x, one), near, ans * log_slope(lax.max(x, one)))


erfcx_of_real.defjvps(_erfcx_slope)
