"""Slices with static bounds.

Negative bounds of a NumPy slice count from the end.  Slices whose starts may be traced are
in ../gather/dynamic_slicing.py.

Basic indexing (`x[1:, i]`) is implemented by these operations in surface/.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from ...base.util import canonical_axis
from ...ir import core
from ...ir.facts import KeyUse
from ...types.avals import shaped
from ..sharding_specs import slice_specs
from .concatenation import pad
from .creation import zero_array
from .shapes import (
    int_tuple,
    primitive,
    problem,
    size_of,
    squeeze,
    type_problem,
)

__all__ = (
    "slice_p",
    "slice",
    "slice_in_dim",
    "index_in_dim",
)

# ------------------------------------------------------------------------------ slice


def _slice_type(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    start, limit = start_indices, limit_indices
    steps = (1,) * len(start) if strides is None else strides
    text = f"got start_indices {start} and limit_indices {limit} for shape {x.shape}"
    if len(start) != len(x.shape):
        what = "start_indices must have length equal to the number of dimensions of the"
        what += f" operand, got indices {start} for operand shape {x.shape}"
        why = "Each axis needs a start"
    elif len(limit) != len(start):
        what = f"limit_indices must have the same length as start_indices, {text}"
        why = "Each axis needs a limit"
    elif len(steps) != len(start):
        what = "strides must have length equal to the number of dimensions of the"
        what += f" operand, got strides {strides} for operand shape {x.shape}"
        why = "Each axis needs a stride"
    elif any(i < 0 for i in start):
        what = f"start_indices must have every element be nonnegative, got {start}"
        why = "lax counts from the start of an axis"
    elif any(i < 0 for i in limit):
        what = f"limit_indices must have every element be nonnegative, got {limit}"
        why = "lax counts from the start of an axis"
    elif any(i > n for i, n in zip(limit, x.shape, strict=True)):
        what = "limit_indices must be less than or equal to operand shape, got"
        what += f" limit_indices {limit} for operand shape {x.shape}"
        why = "The elements must exist"
    elif any(a > b for a, b in zip(start, limit, strict=True)):
        what = f"limit_indices must be greater than or equal to start_indices, {text}"
        why = "A size cannot be negative"
    elif any(s <= 0 for s in steps):
        what, why = f"strides must be positive, got {strides}", "lax.rev reverses axes"
    else:
        shape = tuple((b - a + s - 1) // s for a, b, s in zip(start, limit, steps, strict=True))
        return shaped(shape, x.dtype, x.weak_type)
    raise type_problem(
        f"slice {what}.",
        x,
        why=why + ".",
        tries=["x[a:b:c], which accepts negative bounds and steps"],
    )


def _slice_transpose(ct, x, *, start_indices, limit_indices, strides) -> list[Any]:
    shape, size = x.aval.shape, core.aval_of(ct).shape
    steps = strides or (1,) * len(shape)
    config = []
    for n, m, start, step in zip(shape, size, start_indices, steps, strict=True):
        covered = (m - 1) * step + 1 if m else 0
        config.append((start, n - start - covered, step - 1))
    return [pad(ct, zero_array(shaped((), core.aval_of(ct).dtype)), config)]


def _slice_batch(axis, args, dims, *, start_indices, limit_indices, strides):
    lane = dims[0]

    def insert(values: Any, new: int) -> Any:
        return (*values[:lane], new, *values[lane:])

    out = slice_p.bind(
        args[0],
        start_indices=insert(start_indices, 0),
        limit_indices=insert(limit_indices, axis.size),
        strides=None if strides is None else insert(strides, 1),
    )
    return out, lane


def _slice_lower(ctx, x, *, start_indices, limit_indices, strides):
    return ctx.op(
        "slice",
        ctx.avals_out[0],
        x,
        start_indices=ctx.i64s(start_indices),
        limit_indices=ctx.i64s(limit_indices),
        strides=ctx.i64s(strides or (1,) * len(start_indices)),
    )


def _sliced_keys(ins: Any, params: Any) -> KeyUse:
    is_used = np.zeros(ins[0].shape, bool)
    ends = (params["start_indices"], params["limit_indices"])
    steps = params["strides"] or (1,) * is_used.ndim
    is_used[tuple(map(builtins.slice, *ends, steps))] = True
    return KeyUse({0: is_used}, frozenset({0}))


slice_p = primitive(
    "slice",
    type=_slice_type,
    transpose=_slice_transpose,
    batch=_slice_batch,
    lower=_slice_lower,
    specs=slice_specs,
    data_movement="moved",
    makes_no_nans=True,
    keeps_finite=True,
    uses_keys=_sliced_keys,
)


def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    """Slice an array along all axes.

    Args:
      operand: an array of any shape and dtype.
      start_indices: for each axis the first index.
      limit_indices: for each axis the index after the last.
      strides: for each axis the step (None: 1).

    Returns:
      An array of `operand`'s rank and dtype; axis i has size
      `ceil((limit - start) / stride)`.

    Raises:
      TypeError: the bounds do not match the shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> slice(jnp.arange(6), (1,), (6,), (2,))
      Array([1, 3, 5], dtype=int32)
    """
    return slice_p.bind(
        operand,
        start_indices=int_tuple(start_indices, "start_indices"),
        limit_indices=int_tuple(limit_indices, "limit_indices"),
        strides=None if strides is None else int_tuple(strides, "strides"),
    )


def slice_in_dim(
    operand: Any, start_index: Any, limit_index: Any, stride: int = 1, axis: int = 0
) -> Any:
    """Slice an array along one axis.

    Args:
      operand: an array of any shape and dtype.
      start_index, limit_index: the first index, and the index after the last; negative ones
        count from the end; None: the start, or the end, of the axis.
      stride: the step.
      axis: the axis; a negative one counts from the end.

    Returns:
      An array of `operand`'s rank and dtype, sliced along `axis`.

    Example:
      >>> import minijax.numpy as jnp
      >>> slice_in_dim(jnp.arange(6), 1, -1)
      Array([1, 2, 3, 4], dtype=int32)
    """
    shape = core.aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    n = shape[axis]
    start = 0 if start_index is None else size_of(start_index, "start_index")
    limit = n if limit_index is None else size_of(limit_index, "limit_index")
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + n if start < 0 else start
    limits[axis] = limit + n if limit < 0 else limit
    strides[axis] = size_of(stride, "stride")
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Return the elements at one static index along an axis.

    Args:
      operand: an array of any shape and dtype.
      index: the index, an int; a negative one counts from the end.
      axis: the axis; a negative one counts from the end.
      keepdims: whether to keep the axis, with size 1.

    Returns:
      An array of `operand`'s dtype, without `axis` or with size 1 there.

    Raises:
      IndexError: the index is out of bounds.

    Example:
      >>> import minijax.numpy as jnp
      >>> index_in_dim(jnp.arange(6), -1, keepdims=False)
      Array(5, dtype=int32)
    """
    shape = core.aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    n, i = shape[axis], operator.index(index)
    if not -n <= i < n:
        raise problem(
            IndexError,
            f"index {i} is out of bounds for axis {axis} with size {n}",
            core.aval_of(operand),
            why="A static index must exist.",
        )
    i += n if i < 0 else 0
    out = slice_in_dim(operand, i, i + 1, 1, axis)
    return out if keepdims else squeeze(out, (axis,))
