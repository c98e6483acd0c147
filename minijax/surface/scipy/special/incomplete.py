"""Regularized incomplete gamma and beta functions.

Their primitives in prims/special describe the algorithms.

Next: zeta.py.
"""

from __future__ import annotations

from typing import Any

from ._common import *

__all__ = ("gammainc", "gammaincc", "betainc")

REAL = "real array or number; integers become floats."


@special(
    r"Compute the lower incomplete gamma function,"
    r" :math:`P(a, x) = \frac{1}{\Gamma(a)} \int_0^x t^{a-1} e^{-t} dt`.",
    "2., 1. -> 0.26424",
    f"a: the parameter, {REAL}",
    f"x: the upper limit, {REAL}",
    returns="An array of their joint shape and dtype; nan where `a` or `x` is negative.",
)
def gammainc(a: ArrayLike, x: ArrayLike) -> Any:
    return lax.igamma(*promote_args_inexact("gammainc", a, x))


@special(
    r"Compute the upper incomplete gamma function, :math:`Q(a, x) = 1 - P(a, x)`, without"
    " cancellation.",
    "2., 1. -> 0.73576",
    f"a: the parameter, {REAL}",
    f"x: the lower limit, {REAL}",
    returns="An array of their joint shape and dtype; nan where `a` or `x` is negative.",
)
def gammaincc(a: ArrayLike, x: ArrayLike) -> Any:
    return lax.igammac(*promote_args_inexact("gammaincc", a, x))


@special(
    r"Compute the incomplete beta function,"
    r" :math:`I_x(a, b) = \frac{1}{B(a, b)} \int_0^x t^{a-1} (1-t)^{b-1} dt`."
    "  It is differentiable only by x.",
    "2., 3., 0.5 -> 0.68750",
    f"a, b: parameters, {REAL}",
    f"x: the upper limit, {REAL}",
    returns="An array of their joint shape and dtype; nan outside the ranges.",
    raises="ValueError: an argument is complex.",
)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Any:
    return lax.betainc(*promote_real("betainc", a, b, x))
