r"""Powers divided by gamma functions, by deviances, so that no large terms cancel.

.. math:: m \ln z - z - \ln \Gamma(m+1) = -m D(z / m) - \tfrac12 \ln(2 \pi m) - r(m)

where :math:`D(y) = y - 1 - \ln y` and r is the remainder of Stirling's formula.  The same
holds for beta functions (C. Loader, "Fast and Accurate Computation of Binomial
Probabilities", 2000).  The densities of the gamma, chi-squared and beta distributions and
the probabilities of the Poisson and binomial distributions use it.

Next: shaped.py, discrete.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....prims import lax
from ....prims.special.gamma import log_gap, stirling_rest
from ....prims.stop_gradient import stop_gradient
from ...numpy._common import choose
from ..special._common import in_float32
from ..special.logarithms import xlog1py, xlogy

__all__ = ("log_beta_density", "log_poisson")

LARGE = 10.0  # above this Stirling's formula is precise
HALF_LOG = math.log(2 * math.pi) / 2


def _deviance(m: Any, z: Any, gap: Any) -> Any:
    """Return z - m - m ln(z / m), for gap = z - m."""
    return m * log_gap(gap / m, z / m)


@in_float32
def log_poisson(m: Any, z: Any, a: Any) -> Any:
    """Return the logarithm of z^m e^-z / Gamma(a), for a = m + 1."""
    large = (m >= LARGE) & (m < math.inf)
    size = lax.lgamma(choose(large, LARGE, a))
    # Exactly 0 for a = 1 and 2, with the slopes of `lgamma`.
    size = choose((a == 1) | (a == 2), size - stop_gradient(size), size)
    near = xlogy(m, z) - (z + size)
    m, z = choose(large, m, LARGE), choose(large, z, LARGE)
    far = -_deviance(m, z, z - m) - (lax.log(m) * 0.5 + HALF_LOG) - stirling_rest(m)
    return choose(large, far, near)


@in_float32
def log_beta_density(x: Any, k: Any, m: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of x^k (1-x)^m / B(a, b), for a = k + 1, b = m + 1."""
    both = (k >= LARGE) & (m >= LARGE)
    swap = a > b
    small, other = choose(swap, b, a), choose(swap, a, b)
    one = other >= LARGE
    first = lax.lgamma(small)
    q = choose(one, 1.0, other)
    size = first + (lax.lgamma(q) - lax.lgamma(small + q))
    # Exactly 0 for k = m = 0, with the slopes of the expression.
    size = choose((k == 0) & (m == 0), size - stop_gradient(size), size)
    near = xlogy(k, x) + xlog1py(m, -x) - size
    # One parameter is large: combine its power with the other one's, so that neither
    # overflows.
    q, p = choose(one, other, LARGE), small
    low = choose(swap, m, k)
    z = choose(one & ~both, x, 0.25)  # a point with finite slopes
    y = choose(swap & (z >= 0.5), 1 - z, choose(swap, 1.0, z))
    tiny = choose(swap & (z < 0.5), z, 0.0)  # 1 - z would be rounded
    power = xlogy(low, y * q) + xlog1py(low, -tiny) + lax.log(q)
    rest = choose(swap, xlogy(q - 1, z), xlog1py(q - 1, -z))
    t = p + q
    growth = (t - 0.5) * lax.log1p(p / q) - p
    mixed = power + (rest + growth) - (first + (stirling_rest(q) - stirling_rest(t)))
    # Both parameters are large.
    k, m = choose(both, k, LARGE), choose(both, m, LARGE)
    n = k + m
    x = choose(both, x, 0.5)
    gap = n * x - k
    deviances = _deviance(k, n * x, gap) + _deviance(m, n * (1 - x), -gap)
    root = lax.log(k) * 0.5 + (lax.log(m / n) * 0.5 + HALF_LOG)
    left = stirling_rest(n) - stirling_rest(k) - stirling_rest(m)
    far = lax.log1p(n) + left - deviances - root
    return choose(both, far, choose(one, mixed, near))
