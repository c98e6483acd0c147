"""The Hurwitz zeta function and the polygamma functions.

Next: complex_gamma.py.
"""

from __future__ import annotations

from typing import Any

from ....api.autodiff import jvp
from ....prims.elementwise import FLOAT, check_kind
from ...numpy._common import check_arraylike
from ._common import *

__all__ = ("digamma", "polygamma", "zeta")

REAL = "real array or number; integers become floats."


@special(
    r"Compute the digamma function, :math:`\psi(x) = \Gamma'(x) / \Gamma(x)`; nan at 0,"
    r" -1, -2 ...",
    "1. -> -0.57722",
    f"x: {REAL}",
)
def digamma(x: ArrayLike) -> Any:
    return lax.digamma(*promote_args_inexact("digamma", x))


@special(
    r"Compute the derivatives of the digamma function, :math:`\psi^{(n)}(x)`.",
    "1, 1. -> 1.64493",
    "n: the order, integers from 0.",
    f"x: {REAL}",
    raises="ValueError: n is not of an integer dtype, or x is complex.",
)
def polygamma(n: ArrayLike, x: ArrayLike) -> Any:
    check_arraylike("polygamma", n, x)
    dtype = dtype_of(n)
    if not dtypes.is_integer(dtype):
        raise errors.value_error(
            f"Argument `n` to polygamma must be of integer type. Got dtype {dtype}.",
            why="n is the order of a derivative.",
        )
    return lax.polygamma(*promote_real("polygamma", n, x))


STEPS = 12  # terms summed directly
# B_2k / (2k)!
CORRECTIONS = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)


def _summed(x: Any, q: Any) -> Any:
    """Return the sum of (q + k)^-x by the Euler-Maclaurin formula (DLMF 25.11.28)."""
    total = lax.pow(q, -x)
    for k in range(1, STEPS):
        total = total + lax.pow(q + k, -x)
    end = q + STEPS
    power = lax.pow(end, -x)
    total = total + power * (end / (x - 1) + 0.5)
    rising = x / end
    for k, correction in enumerate(CORRECTIONS):
        total = total + power * rising * correction
        rising = rising * ((x + (2 * k + 1)) / end) * ((x + (2 * k + 2)) / end)
    return total


@custom_jvp
def _zeta(x: Any, q: Any) -> Any:
    return lax.zeta(x, q)


def _by_exponent(x: Any, q: Any) -> Any:
    return jvp(lambda x: _summed(x, q), (x,), (filled(x, 1),))[1]


_zeta.defjvps(
    lambda t, ans, x, q: t * _by_exponent(x, q), lambda t, ans, x, q: t * (-x * _zeta(x + 1, q))
)


@special(
    r"Compute the Hurwitz zeta function, :math:`\zeta(x, q) = \sum_{k \ge 0} (k + q)^{-x}`.",
    "2., 1. -> 1.64493",
    f"x: the exponent, {REAL}",
    f"q: the offset, {REAL}",
    returns="An array of their joint shape and dtype: inf at x = 1, nan below.",
    raises="NotImplementedError: `q` is None.",
)
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Any:
    if q is None:
        raise NotImplementedError(
            errors.message(
                "Riemann zeta function not implemented; pass q != None to compute the"
                " Hurwitz Zeta function.",
                tries=["zeta(x, 1), the Riemann zeta function"],
            )
        )
    x, q = promote_args_inexact("zeta", x, q)
    check_kind("zeta", aval_of(x), FLOAT, 0, 2)
    return _zeta(x, q)
