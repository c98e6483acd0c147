"""Removal of trends from samples: means and least-squares lines.

Next: spectra.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ....base import errors
from ....base.util import canonical_axis
from ....control.calls.jit import composite
from ... import jnp
from ...numpy._common import aval_of, check_arraylike, promote_dtypes_inexact

__all__ = ("detrend",)

ArrayLike = Any


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: None = None,
) -> Any:
    r"""Remove the trend from samples.

    .. math:: y_i = x_i - a - b i

    Here a and b minimize the sum of squares ('linear'), or a is the mean and b is 0.

    Args:
      data: array of samples.
      axis: the time axis.
      type: 'linear' or 'constant'.
      bp: the index or indices where a new line begins (static; only for 'linear').
      overwrite_data: not supported: arrays are immutable.

    Returns:
      An array of the shape of `data`, of its float or complex dtype.

    Raises:
      ValueError: the type is unknown, or a breakpoint is beyond the samples.
      NotImplementedError: `overwrite_data` is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> detrend(jnp.array([1., 2., 4., 5.]), type="constant")
      Array([-2., -1.,  1.,  2.], dtype=float32)
    """
    if overwrite_data is not None:
        raise errors.error(
            NotImplementedError,
            "overwrite_data argument not implemented.",
            why="arrays are immutable.",
            tries=["use the result"],
        )
    if type not in ("constant", "linear"):
        raise ValueError(f"Trend type must be 'linear' or 'constant', got {type!r}.")
    data = data if hasattr(data, "shape") else jnp.asarray(data)
    check_arraylike("detrend", data)
    shape = aval_of(data).shape
    axis = canonical_axis(axis, len(shape))
    if type == "constant":
        return _detrend(data, axis, None)
    breaks = np.unique(np.r_[0, bp, shape[axis]]).tolist()
    if breaks[0] < 0 or breaks[-1] > shape[axis]:
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given"
            f" axis. Got {bp} for {shape[axis]} samples."
        )
    return _detrend(data, axis, tuple(breaks))


@composite(static=("axis", "breaks"))
def _detrend(data, axis: int, breaks: tuple[int, ...] | None):
    (x,) = promote_dtypes_inexact(jnp.asarray(data))
    if breaks is None:
        return x - x.mean(axis, keepdims=True)
    x = jnp.moveaxis(x, axis, -1)
    pieces = [without_line(x[..., a:b]) for a, b in pairwise(breaks)]
    return jnp.moveaxis(jnp.concatenate(pieces, -1) if pieces else x, -1, axis)


def without_line(x: Any) -> Any:
    """Subtract the least-squares line from x along the last axis."""
    n = x.shape[-1]
    t = np.arange(n) - (n - 1) / 2  # orthogonal to constants
    x = x - x.mean(-1, keepdims=True)
    if n < 2:
        return x
    t = jnp.asarray(t / np.linalg.norm(t), x.dtype)
    return x - t * (x * t).sum(-1, keepdims=True)
