"""The gamma function of complex numbers, by its logarithm.

Right of 1/2 the logarithm is Stirling's series, after a few steps of the recurrence for
small numbers, and a Taylor series about its zeros 1 and 2.  Left of 1/2 it uses the
reflection formula (NIST Digital Library of Mathematical Functions, 5.11.1, 5.5.1, 5.7.3 and
5.5.3; branches as in D. E. G. Hare, "Computing the principal branch of log-Gamma", J.
Algorithms 25, 1997).

Next: gamma.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....prims.special.gamma import LOG_GAMMA, stirling_rest
from ._common import *

__all__ = ("complex_gamma", "complex_loggamma")

STEPS = 8


def _squared(z: Any) -> Any:
    return lax.square(lax.real(z)) + lax.square(lax.imag(z))


def _right(z: Any) -> Any:
    """Return ln Gamma(z), right of 1/2."""
    x = lax.real(z)
    first = lax.lt(x, const(x, 1.5))
    a = z - choose(first, const(z, 1), const(z, 2))
    near = lax.lt(_squared(a), const(x, 0.25))
    a = choose(near, a, const(z, 0))
    taylor = a * polynomial(a, LOG_GAMMA) - choose(first, lax.log1p(a), const(z, 0))
    far = lax.ge(_squared(z), const(x, (STEPS + 1) ** 2))
    low = choose(far, const(z, 1), z)
    w = choose(far, z, z + STEPS)
    series = (w - 0.5) * lax.log(w) - w + math.log(2 * math.pi) / 2 + stirling_rest(w)
    # The arguments of two factors add up to less than pi, so pairs stay on the branch.
    steps = [(low + k) * (low + (k + 1)) for k in range(0, STEPS, 2)]
    log_product = lax.log(steps[0])
    for step in steps[1:]:
        log_product = log_product + lax.log(step)
    return choose(near, taylor, choose(far, series, series - log_product))


def _log_sine(z: Any) -> Any:
    """Return ln sin(pi z) left of 1/2, on the branch of the reflection formula."""
    x, y = lax.real(z), lax.imag(z)
    below = lax.lt(y, const(y, 0))
    size = lax.abs(y)
    turns = x - 2 * lax.round(x * 0.5)  # in [-1, 1]
    decay = lax.exp(-2 * math.pi * size)
    sine = lax.sin(math.pi * turns) * (1 + decay)
    cosine = lax.cos(math.pi * turns) * -lax.expm1(-2 * math.pi * size)
    scaled = lax.complex(sine, choose(below, -cosine, cosine))
    branch = 2 * math.pi * lax.floor(x * 0.5 + 0.25)
    offset = choose(below, branch, -branch)
    return lax.log(scaled) + lax.complex(math.pi * size - math.log(2), offset)


def complex_loggamma(z: Any) -> Any:
    """Return ln Gamma(z), or nan at the poles."""
    x = lax.real(z)
    zero = const(x, 0)
    pole = lax.bitwise_and(
        lax.bitwise_and(lax.le(x, zero), lax.eq(x, lax.floor(x))), lax.eq(lax.imag(z), zero)
    )
    z = choose(pole, const(z, 1), z)
    left = lax.lt(lax.real(z), const(x, 0.5))
    right = _right(choose(left, 1 - z, z))
    mirrored = choose(left, z, const(z, 0.5))
    out = choose(left, math.log(math.pi) - _log_sine(mirrored) - right, right)
    return choose(pole, const(z, complex(math.nan, math.nan)), out)


def complex_gamma(z: Any) -> Any:
    """Return Gamma(z), or nan at the poles."""
    return lax.exp(complex_loggamma(z))
