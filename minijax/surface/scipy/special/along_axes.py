"""The softmax functions of `nn`, with all axes as the default.

Next: logarithms.py.
"""

from __future__ import annotations

from typing import Any

from ...nn import normalization
from ...numpy._common import static_axis
from ._common import *

__all__ = ("softmax", "log_softmax")


def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Any:
    r"""Compute the softmax :math:`e^{x_i} / \sum_j e^{x_j}` along axes.

    Args:
      x: array or number; integers become floats.
      axis: axes to sum over; None for all of them.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import special
      >>> special.softmax(jnp.zeros((2, 2)))
      Array([[0.25, 0.25],
             [0.25, 0.25]], dtype=float32)
    """
    return normalization.softmax(x, static_axis(axis))


def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Any:
    r"""Compute the logarithm of the softmax, :math:`x_i - \ln \sum_j e^{x_j}`, along axes.

    Args:
      x: array or number; integers become floats.
      axis: axes to sum over; None for all of them.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import special
      >>> special.log_softmax(jnp.array([1000., 0.]))
      Array([    0., -1000.], dtype=float32)
    """
    return normalization.log_softmax(x, static_axis(axis))
