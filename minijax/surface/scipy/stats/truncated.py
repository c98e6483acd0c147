"""The normal distribution between two bounds.

The probability of an interval is computed on the side of 0 where nothing cancels.

Next: discrete.py.
"""

from __future__ import annotations

from typing import Any

from ....prims import lax
from ...nn.activations import log1mexp
from ..special.gaussian import log_ndtr
from ._common import *

__all__ = ("truncnorm",)


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the normal probability between a and b, a < b."""
    mirrored = a > 0
    low, high = choose(mirrored, -b, a), choose(mirrored, -a, b)
    left = (high <= 0) & (low < -1)
    # Both in the left tail: a difference of logarithms.
    top = log_ndtr(choose(left, high, 0.0))
    gap = top - log_ndtr(choose(left, low, -1.0))
    tail = top + log1mexp(gap)
    # Around 0: a sum of two parts.
    half = math.sqrt(0.5)
    low, high = choose(left, -1.0, low), choose(left, 1.0, high)
    mass = (lax.erf(high * half) + lax.erf(-low * half)) * 0.5
    return choose(left, tail, lax.log(mass))


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    return z * z * -0.5 - (math.log(2 * math.pi) / 2 + _log_mass(a, b))


def _outside(z: Any, a: Any, b: Any) -> Any:
    return (z < a) | (z > b)


def _density(ans: Any, z: Any, a: Any, b: Any) -> Any:
    out = _outside(z, a, b)
    return choose(out, 0.0, lax.exp(_logpdf(choose(out, 0.0, z), a, b)))


def _minus_density(*args: Any) -> Any:
    return -_density(*args)


# The fraction of the probability below z, or above it, for a <= z <= b.
_below = sloped(lambda z, a, b: lax.exp(_log_mass(a, z) - _log_mass(a, b)), _density)
_above = sloped(lambda z, a, b: lax.exp(_log_mass(z, b) - _log_mass(a, b)), _minus_density)


def _log_fraction(z: Any, a: Any, b: Any, upper: bool) -> Any:
    """Return the logarithm of the fraction of the probability below z, or above it."""
    below, above = z <= a, z >= b
    end = below | above
    low, high = choose(end, b, z), choose(end, a, z)
    log_fraction = (_log_mass(high, b) if upper else _log_mass(a, low)) - _log_mass(a, b)
    is_nearly_all = (log_fraction > -0.1) & ~end  # near 1 the complement is more precise
    complement = _below(low, a, b) if upper else _above(high, a, b)
    log_fraction = choose(
        is_nearly_all, lax.log1p(-choose(is_nearly_all, complement, 0.5)), log_fraction
    )
    is_all, is_none = (below, above) if upper else (above, below)
    return choose(is_all, 0.0, choose(is_none, -INF, log_fraction))


truncnorm = distribution(
    "truncnorm",
    "normal distribution between two bounds",
    r"\frac{e^{-x^2/2}}{\sqrt{2 \pi} (\Phi(b) - \Phi(a))}, \quad a \le x \le b",
    "logpdf=-0.8438 pdf=0.4301 cdf=0.6509 logcdf=-0.4294 sf=0.3491 logsf=-1.0523",
    "0.5, -1., 2.",
    home=__name__,
    shape={"a": "the lower bound, in standard form.", "b": "the upper one, more than `a`."},
    valid=lambda a, b: a < b,
    outside=_outside,
    inside=0.0,
    logpdf=_logpdf,
    logcdf=lambda z, a, b: _log_fraction(z, a, b, False),
    logsf=lambda z, a, b: _log_fraction(z, a, b, True),
    cdf=sloped(lambda z, a, b: lax.exp(_log_fraction(z, a, b, False)), _density),
    sf=sloped(lambda z, a, b: lax.exp(_log_fraction(z, a, b, True)), _minus_density),
)
