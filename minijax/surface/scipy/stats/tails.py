r"""Logarithms of the gamma and beta distribution functions, in both tails.

In a tail a probability is a power times an exponential times a series, whose logarithms are
added: nothing underflows, and derivatives of every order are those of the terms.

.. math:: \\Gamma(a, x) = x^{a-1} e^{-x} \\sum_k (a-1) \\cdots (a-k) x^{-k}, \\quad
    \\gamma(a, x) = x^a e^{-x} \\sum_k \\frac{x^k}{a (a+1) \\cdots (a+k)}

(NIST Digital Library of Mathematical Functions, 8.11.2, 8.11.4, 8.17.7).

Next: shaped.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....prims import lax
from ....types import dtypes
from ...numpy._common import aval_of, choose
from ..special._common import by_slopes, in_float32
from ..special.incomplete import betainc, gammainc, gammaincc
from .deviances import log_beta_density, log_poisson

__all__ = ("log_gamma_above", "log_gamma_below", "log_lower_beta")

# By the bytes of a number: the terms of a series whose quotients are below 1/3, and where
# the asymptotic series begins to have the digits.
_TERMS = {4: 16, 8: 34}
_FAR = {4: 24.0, 8: 44.0}


def _bytes(x: Any) -> int:
    return 8 if aval_of(x).dtype == dtypes.float64 else 4


@by_slopes
@in_float32
def log_gamma_above(x: Any, a: Any) -> Any:
    """ln Q(a, x) of x >= 0."""
    least = _FAR[_bytes(x)]
    far = (x >= least) & (x >= a * 3) & (x < math.inf)
    z, p = choose(far, x, least), choose(far, a, 1.0)
    inverse, total = 1 / z, 1.0
    for k in range(_TERMS[_bytes(x)], 0, -1):
        total = total * ((p - k) * inverse) + 1
    tail = log_poisson(p - 1, z, p) + lax.log(total)
    x, a = choose(far, 1.0, x), choose(far, 1.0, a)
    return choose(far, tail, lax.log(gammaincc(a, x)))


@by_slopes
@in_float32
def log_gamma_below(x: Any, a: Any) -> Any:
    """ln P(a, x) of x >= 0."""
    near = (x > 0) & (x <= (a + 1) * (1 / 3))
    z, p = choose(near, x, 1.0), choose(near, a, 1.0)
    total = 1.0
    for k in range(_TERMS[_bytes(x)], 0, -1):
        total = total * (z / (p + k)) + 1
    tail = log_poisson(p, z, p + 1) + lax.log(total)
    x, a = choose(near, 1.0, x), choose(near, 1.0, a)
    return choose(near, tail, lax.log(gammainc(a, x)))


@by_slopes
@in_float32
def log_lower_beta(x: Any, a: Any, b: Any) -> Any:
    """ln I_x(a, b) of 0 <= x <= 1."""
    near = (x > 0) & (x <= 1 / 3) & (x * (a + b) <= (a + 1) * (1 / 3))
    z, p, q = choose(near, x, 0.25), choose(near, a, 1.0), choose(near, b, 1.0)
    total = 1.0
    for k in range(_TERMS[_bytes(x)], 0, -1):
        total = total * (z * ((p + q + (k - 1)) / (p + k))) + 1
    tail = log_beta_density(z, p - 1, q - 1, p, q) + lax.log(total)
    tail = tail + lax.log(z) + lax.log1p(-z) - lax.log(p)
    a, b = choose(near, 1.0, a), choose(near, 1.0, b)
    return choose(near, tail, lax.log(betainc(a, b, choose(near, 0.5, x))))
