"""The entropy of the Poisson distribution: a sum for small means, a series for large ones.

The series is from R. Evans and J. Boersma, "The entropy of a Poisson distribution", SIAM
Review 30 (1988).  Its coefficients follow from Stirling's series of ln k! and the central
moments, in rational arithmetic.
"""

from __future__ import annotations

from typing import Any

from ....ir.core import aval_of
from ....prims import lax
from ....prims.special.log_gamma import polynomial
from ._common import *

__all__ = ("poisson_entropy",)

LARGE = 50  # from this mean on the series has the precision of float64
COUNT = 160  # the number of terms that matter for smaller means
SERIES = (  # by powers of 1 / mu, from the first
    -1 / 12,
    -1 / 24,
    -19 / 360,
    -9 / 80,
    -863 / 2520,
    -1375 / 1008,
    -33953 / 5040,
    -57281 / 1440,
    -3250433 / 11880,
    -378351 / 176,
    -13695779093 / 720720,
    -24466579093 / 131040,
)


def poisson_entropy(mu: Any) -> Any:
    """Return the mean of -ln p for means `mu`, or nan for negative means."""
    small, large = (mu > 0) & (mu < LARGE), mu >= LARGE
    m = choose(small, mu, 1.0)
    dtype, ndim = aval_of(mu).dtype, len(aval_of(mu).shape)
    k = np.arange(COUNT).astype(dtype)
    factorials = np.array([math.lgamma(n + 1) for n in range(COUNT)]).astype(dtype)
    column = (COUNT, *[1] * ndim)
    m = lax.expand_dims(m, (0,))
    log = k.reshape(column) * lax.log(m) - (m + factorials.reshape(column))
    summed = -lax.reduce_sum(lax.exp(log) * log, (0,))
    m = choose(large, mu, float(LARGE))
    inverse = 1 / m
    rest = inverse * polynomial(inverse, SERIES)
    series = (lax.log(m) + math.log(2 * math.pi * math.e)) * 0.5 + rest
    ends = choose(mu == 0, 0.0, NAN)
    return choose(small, summed, choose(large, series, ends))
