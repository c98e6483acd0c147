"""The error function, its complement and its inverse.

Next: gamma.py.
"""

from __future__ import annotations

import math
from typing import Any

from ..elementwise import FLOAT, derivative_constant, nary
from ..math.algebraic import mul, neg, square
from ..math.elementary import exp
from ..math.wide_lowering import lower_chlo

__all__ = ("erf_p", "erf", "erfc_p", "erfc", "erf_inv_p", "erf_inv")

# ---- error functions


def _bell(t: Any, x: Any, height: float) -> Any:
    """Return height t e^(-x^2)."""
    return mul(derivative_constant(x, height), mul(t, exp(neg(square(x)))))


erf_p = nary(
    "erf",
    [FLOAT],
    lower=lower_chlo("erf"),
    jvp=[lambda t, ans, x: _bell(t, x, 2 / math.sqrt(math.pi))],
    keeps_finite=True,
)


def erf(x: Any) -> Any:
    r"""Compute the error function, :math:`\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.  In [-1, 1].

    Example:
      >>> erf(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return erf_p.bind(x)


erfc_p = nary(
    "erfc",
    [FLOAT],
    lower=lower_chlo("erfc"),
    jvp=[lambda t, ans, x: _bell(t, x, -2 / math.sqrt(math.pi))],
    keeps_finite=True,
)


def erfc(x: Any) -> Any:
    r"""Compute the complementary error function, :math:`1 - \mathrm{erf}(x)`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.  In [0, 2], without
      cancellation for large `x`.

    Example:
      >>> erfc(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return erfc_p.bind(x)


def _erf_inv_tangent(t: Any, ans: Any, x: Any) -> Any:
    return mul(derivative_constant(x, math.sqrt(math.pi) / 2), mul(t, exp(square(ans))))


erf_inv_p = nary("erf_inv", [FLOAT], lower=lower_chlo("erf_inv"), jvp=[_erf_inv_tangent])


def erf_inv(x: Any) -> Any:
    r"""Compute the inverse error function, :math:`\mathrm{erf}^{-1}(x)`.

    Args:
      x: an array of a float dtype, in [-1, 1].

    Returns:
      An array of `x`'s shape and dtype.  -inf and inf at the ends, nan outside.

    Example:
      >>> erf_inv(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return erf_inv_p.bind(x)
