"""Sparse arrays under `vmap`: the array of one lane, and the array of all lanes.

The shape of a sparse array is part of its treedef, so one lane and all lanes have different
treedefs.  `vmap` uses these functions to convert between them.

Next: tracing.py.
"""

from __future__ import annotations

from typing import Any

from ...api.vmap import lane_kinds
from .bcoo import BCOO
from .bcsr import BCSR

__all__ = ("lane_array", "batch_array")


def lane_array(x: Any, axis: int) -> Any:
    """Return the array of one lane along a batch axis; its buffers still hold all lanes."""
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
    """Return the array of all lanes; the buffers of `x` hold all lanes already."""
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
