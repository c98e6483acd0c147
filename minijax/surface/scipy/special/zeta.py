"""Hurwitz's zeta function and the polygamma functions.

Next: complex_gamma.py.
"""

from __future__ import annotations

from typing import Any

from ...numpy._common import check_arraylike
from ._common import *

__all__ = ("digamma", "polygamma")

REAL = "real array or number; integers become floats."


@special(
    r"Digamma function, :math:`\psi(x) = \Gamma'(x) / \Gamma(x)`: nan at 0, -1, -2 ...",
    "1. -> -0.57722", f"x: {REAL}",
)  # fmt: skip
def digamma(x: ArrayLike) -> Any:
    return lax.digamma(*promote_args_inexact("digamma", x))


@special(
    r"Derivatives of the digamma function, :math:`\psi^{(n)}(x)`.",
    "1, 1. -> 1.64493", "n: the order, integers from 0.", f"x: {REAL}",
    raises="ValueError: n is not of an integer dtype, or x complex.",
)  # fmt: skip
def polygamma(n: ArrayLike, x: ArrayLike) -> Any:
    check_arraylike("polygamma", n, x)
    dtype = dtype_of(n)
    if not dtypes.is_integer(dtype):
        raise errors.value_error(
            f"Argument `n` to polygamma must be of integer type. Got dtype {dtype}.",
            why="it counts derivatives.",
        )
    return lax.polygamma(*promote_real("polygamma", n, x))
