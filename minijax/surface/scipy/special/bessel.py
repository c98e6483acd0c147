"""Bessel functions of integer order.

The modified ones are primitives, scaled (prims/math/bessel.py).

Next: legendre.py.
"""

from __future__ import annotations

from typing import Any

from ._common import *

__all__ = ("i0", "i0e", "i1", "i1e")

REAL = "x: real array or number; integers become floats."


@special("Modified Bessel function of order 0, :math:`I_0(x)`.", "1. -> 1.26607", REAL)
def i0(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("i0", x)
    return lax.exp(lax.abs(x)) * lax.bessel_i0e(x)


@special(
    "Modified Bessel function of order 0, scaled: :math:`e^{-|x|} I_0(x)`.",
    "1. -> 0.46576", REAL,
)  # fmt: skip
def i0e(x: ArrayLike) -> Any:
    return lax.bessel_i0e(*promote_args_inexact("i0e", x))


@special("Modified Bessel function of order 1, :math:`I_1(x)`.", "1. -> 0.56516", REAL)
def i1(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("i1", x)
    return lax.exp(lax.abs(x)) * lax.bessel_i1e(x)


@special(
    "Modified Bessel function of order 1, scaled: :math:`e^{-|x|} I_1(x)`.",
    "1. -> 0.20791", REAL,
)  # fmt: skip
def i1e(x: ArrayLike) -> Any:
    return lax.bessel_i1e(*promote_args_inexact("i1e", x))
