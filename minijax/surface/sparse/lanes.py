"""Sparse arrays under `vmap`: one lane of a batch of them, and all lanes together.

The shape of a sparse array is part of its tree, so that a lane's tree is another one than
that of all lanes.  `vmap` asks here.

Next: tracing.py.
"""

from __future__ import annotations

from typing import Any

from ...api.vmap import lane_kinds
from .bcoo import BCOO
from .bcsr import BCSR

__all__ = ("lane_array", "batch_array")


def lane_array(x: Any, axis: int) -> Any:
    """The array of one lane of all, along a batch axis; its buffers are still of all."""
    name = type(x).__name__
    axis = axis + len(x.shape) if axis < 0 else axis
    if axis >= x.n_batch:
        raise ValueError(
            f"Cannot map in_axis={axis} for {name} array with n_batch={x.n_batch}."
            f" in_axes for batched {name} operations must correspond to a batch"
            " dimension."
        )
    return _with_shape(x, (*x.shape[:axis], *x.shape[axis + 1 :]))


def batch_array(x: Any, axis: int, size: int) -> Any:
    """The array of all lanes, whose buffers these are already."""
    name, n_batch = type(x).__name__, x.n_batch - 1
    if axis > n_batch or axis < 0:
        raise ValueError(
            f"{name}: cannot add out_axis={axis} for {name} array with n_batch={n_batch}."
            f" {name} batch axes must be a contiguous block of leading dimensions."
        )
    return _with_shape(x, (*x.shape[:axis], size, *x.shape[axis:]))


def _with_shape(x: Any, shape: tuple[int, ...]) -> Any:
    leaves, aux_data = x.tree_flatten()
    return type(x).tree_unflatten({**aux_data, "shape": shape}, leaves)


for kind in (BCOO, BCSR):
    lane_kinds[kind] = lane_array, batch_array
