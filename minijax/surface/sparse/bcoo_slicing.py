"""Slices of BCOO arrays: static slices, dynamic slices, and `gather`.

A slice stores at most as many elements as it can hold.

Next: bcoo_products.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api.vmap import vmap
from ...base import errors
from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims import lax
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from .base import SparseInfo
from .bcoo import BCOO, elements
from .bcoo_layout import bcoo_sum_duplicates_p, bcoo_transpose, bcoo_update_layout
from .bcoo_shape import bcoo_squeeze
from .kernels import *

__all__ = ("bcoo_slice", "bcoo_dynamic_slice", "bcoo_gather")


def bcoo_slice(
    mat: Any,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Apply `lax.slice` to a BCOO array.

    Args:
      mat: a BCOO array.
      start_indices: the first index along each axis.
      limit_indices: one past the last index along each axis.
      strides: the steps along each axis, at least 1; None means 1.

    Returns:
      A BCOO array that stores at most as many elements as it has.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: indices are out of bounds, or their number is wrong.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(2), jnp.array([[0], [3]])), shape=(4,))
      >>> bcoo_slice(m, start_indices=[2], limit_indices=[4]).todense()
      Array([0., 1.], dtype=float32)
    """
    _check_bcoo(mat, "bcoo_slice")
    starts = tuple(map(operator.index, start_indices))
    limits = tuple(map(operator.index, limit_indices))
    steps = (1,) * mat.ndim if strides is None else tuple(map(operator.index, strides))
    if len(starts) != mat.ndim or len(limits) != mat.ndim:
        raise errors.value_error(f"bcoo_slice: indices must have size mat.ndim={mat.ndim}")
    if len(steps) != mat.ndim:
        raise errors.value_error(f"len(strides) = {len(steps)}; expected {mat.ndim}")
    if any(s <= 0 for s in steps):
        raise errors.value_error(
            f"strides must be a sequence of positive integers; got {steps}"
        )
    bounds = zip(starts, limits, mat.shape, strict=True)
    if not all(0 <= start <= limit <= n for start, limit, n in bounds):
        raise errors.value_error(
            f"bcoo_slice: invalid indices. Got start_indices={starts},"
            f" limit_indices={limits} and shape={mat.shape}"
        )
    return _slice(mat, starts=starts, limits=limits, steps=steps)


def _check_bcoo(mat: Any, name: str) -> None:
    if not isinstance(mat, BCOO):
        raise errors.type_error(
            f"{name}: input should be BCOO array, got type(mat)={type(mat)}"
        )


@composite(static=("starts", "limits", "steps"))
def _slice(mat: Any, starts: Any, limits: Any, steps: Any) -> Any:
    n, k = mat.n_batch, mat.n_sparse
    shape = tuple(
        -(-(limit - start) // step)
        for start, limit, step in zip(starts, limits, steps, strict=True)
    )

    def slice_buffer(x: Any, axes: Sequence[int | None]) -> Any:
        """Slice the axes of `x` that are as long as the corresponding array axes."""
        sizes = shape_of(x)
        is_full = [
            a is None
            or (sizes[i] != mat.shape[a])
            or (starts[a], limits[a], steps[a]) == (0, mat.shape[a], 1)
            for i, a in enumerate(axes)
        ]
        if all(is_full):
            return x
        start, limit, step = (
            [d if w else xs[a] for d, w, a in zip(default, is_full, axes, strict=True)]  # type: ignore[index]
            for default, xs in (
                ([0] * len(sizes), starts),
                (sizes, limits),
                ([1] * len(sizes), steps),
            )
        )
        return lax.slice(x, start, limit, step)

    data = slice_buffer(mat.data, [*range(n), None, *range(n + k, mat.ndim)])
    indices = slice_buffer(mat.indices, [*range(n), None, None])
    if k:
        sparse_bounds = (xs[n : n + k] for xs in (starts, limits, steps))
        data, indices = _shift_to_range(data, indices, n, *sparse_bounds)
    return fitted(data, indices, shape)


def _shift_to_range(
    data: Any, indices: Any, n: int, starts: Any, limits: Any, steps: Any
) -> tuple[Any, Any]:
    """Shift the indices of a range to start at 0; other elements become padding."""
    dtype = aval_of(indices).dtype
    wide = lambda xs: lax.broadcast_in_dim(
        np.minimum(xs, np.iinfo(dtype).max).astype(dtype), shape_of(indices), (n + 1,)
    )
    start, limit = wide(starts), wide(limits)
    shifted = lax.sub(indices, lax.min(start, indices))
    inside = lax.bitwise_and(lax.ge(indices, start), lax.lt(indices, limit))
    if any(s != 1 for s in steps):
        step = wide(steps)
        on_step = lax.eq(lax.rem(shifted, step), lax.full_like(shifted, 0))
        inside, shifted = lax.bitwise_and(inside, on_step), lax.div(shifted, step)
    sizes = [-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
    return _masked(data, shifted, inside, n, sizes)


def _masked(data: Any, indices: Any, inside: Any, n: int, sizes: Any) -> Any:
    """Return the buffers with padding wherever an index is outside."""
    inside = lax.reduce_and(inside, (n + 1,))
    index_mask = broadcast_to_batch(lax.expand_dims(inside, (n + 1,)), shape_of(indices))
    indices = lax.select(index_mask, indices, ends(indices, sizes))
    more = range(n + 1, len(shape_of(data)))
    batch = span(shape_of(data)[:n], shape_of(inside)[:n])
    data = broadcast_to_batch(data, batch)
    inside = broadcast_to_batch(lax.expand_dims(inside, more), shape_of(data))
    return lax.select(inside, data, lax.full_like(data, 0)), indices


def fitted(data: Any, indices: Any, shape: tuple[int, ...]) -> Any:
    """Return the array of these buffers, with at most as many elements as its size."""
    n, k = len(shape_of(indices)) - 2, shape_of(indices)[-1]
    max_nse = elements(shape[n : n + k])
    if k and shape_of(indices)[-2] > max_nse:
        info = SparseInfo(shape)
        outs = bcoo_sum_duplicates_p.bind(data, indices, spinfo=info, nse=max_nse)
        data, indices = outs
    return BCOO((data, indices), shape=shape)


def bcoo_dynamic_slice(
    mat: Any, start_indices: Sequence[Any], slice_sizes: Sequence[int]
) -> Any:
    """Apply `lax.dynamic_slice` to a BCOO array.

    Args:
      mat: a BCOO array.
      start_indices: the first index along each axis, integer scalars; they are clamped so
        that the slice is in bounds.
      slice_sizes: the shape of the result.

    Returns:
      A BCOO array that stores at most as many elements as it has.

    Raises:
      TypeError: `mat` is not a BCOO array, an index is not an integer scalar, or the slice
        is larger than `mat`.
      ValueError: the number of indices is wrong.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(2), jnp.array([[0], [3]])), shape=(4,))
      >>> bcoo_dynamic_slice(m, [jnp.array(2)], [2]).todense()
      Array([0., 1.], dtype=float32)
    """
    _check_bcoo(mat, "bcoo_dynamic_slice")
    starts = [jnp.asarray(i) for i in start_indices]
    for i in starts:
        if shape_of(i) or not dtypes.is_integer(aval_of(i).dtype):
            raise errors.type_error(
                "bcoo_dynamic_slice: start indices must be integer scalars, got"
                f" {aval_of(i).str_short(True)}."
            )
    if len(starts) != mat.ndim:
        raise errors.value_error(
            f"bcoo_dynamic_slice: indices must have size mat.ndim={mat.ndim}"
        )
    sizes = tuple(map(operator.index, slice_sizes))
    if not all(0 <= m <= n for m, n in zip(sizes, mat.shape, strict=True)):
        raise errors.type_error(
            "slice_sizes must be less than or equal to operand shape, got slice_sizes"
            f" {sizes} for operand shape {mat.shape}"
        )
    return _dynamic_slice(mat, starts, sizes=sizes)


@composite(static="sizes")
def _dynamic_slice(mat: Any, starts: Any, sizes: Any) -> Any:
    n, k = mat.n_batch, mat.n_sparse
    starts = [
        lax.clamp(lax.full_like(i, 0), i, lax.full_like(i, size - m))
        for i, m, size in zip(starts, sizes, mat.shape, strict=True)
    ]
    data, indices = mat._bufs

    def slice_buffer(x: Any, axes: Sequence[int | None]) -> Any:
        buffer_shape = shape_of(x)
        is_sliced = [
            a is not None and buffer_shape[i] == mat.shape[a] for i, a in enumerate(axes)
        ]
        if not any(is_sliced):
            return x
        zero = dtypes.int32.type(0)
        at = [
            lax.convert_element_type(starts[a], dtypes.int32) if w and a is not None else zero
            for w, a in zip(is_sliced, axes, strict=True)
        ]
        size = [
            sizes[a] if w and a is not None else m
            for w, a, m in zip(is_sliced, axes, buffer_shape, strict=True)
        ]
        return lax.dynamic_slice(x, at, size)

    data = slice_buffer(data, [*range(n), None, *range(n + k, mat.ndim)])
    indices = slice_buffer(indices, [*range(n), None, None])
    if k:
        dtype = aval_of(indices).dtype
        row = lax.concatenate(
            [lax.reshape(lax.convert_element_type(i, dtype), (1,)) for i in starts[n : n + k]],
            0,
        )
        start = lax.broadcast_in_dim(row, shape_of(indices), (n + 1,))
        shifted = lax.sub(indices, lax.min(start, indices))
        inside = lax.bitwise_and(
            lax.ge(indices, start), lax.lt(shifted, ends(shifted, sizes[n : n + k]))
        )
        data, indices = _masked(data, shifted, inside, n, sizes[n : n + k])
    return fitted(data, indices, sizes)


def bcoo_gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Apply `lax.gather` to a BCOO array.

    Args:
      operand: a BCOO array.
      start_indices: integers; index vectors are along the last axis.
      dimension_numbers: a `lax.GatherDimensionNumbers`.
      slice_sizes: the size of a window along each axis of `operand`.
      unique_indices: promises that no element is read twice; has no effect.
      indices_are_sorted: promises that index vectors ascend; has no effect.
      mode: 'clip' moves windows into bounds; None promises that they are in bounds.
      fill_value: for mode 'fill', which is not supported.

    Returns:
      A BCOO array; its first batch axes are the batch axes of the index vectors.

    Raises:
      NotImplementedError: another mode, or window axes before the index vectors' axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(2), jnp.array([[0], [3]])), shape=(4,))
      >>> dims = lax.GatherDimensionNumbers((), (0,), (0,))
      >>> bcoo_gather(m, jnp.array([[3], [1]]), dims, (1,)).todense()
      Array([1., 0.], dtype=float32)
    """
    del unique_indices, indices_are_sorted, fill_value
    modes = lax.GatherScatterMode
    parsed = modes.PROMISE_IN_BOUNDS if mode is None else modes.from_any(mode)
    if parsed not in (modes.PROMISE_IN_BOUNDS, modes.CLIP):
        raise NotImplementedError(f"bcoo_gather: mode={mode} not yet supported.")
    sizes = tuple(map(operator.index, slice_sizes))
    start_indices = jnp.asarray(start_indices)
    dims = dimension_numbers
    if dims.operand_batching_dims:
        raise NotImplementedError("bcoo_gather with batching dimensions.")
    out = lax.gather_p.abstract(
        shaped(operand.shape, operand.dtype),
        aval_of(start_indices),
        dimension_numbers=dims,
        slice_sizes=sizes,
    )
    return _gather(operand, start_indices, dims=dims, sizes=sizes, rank=len(out.shape))


@composite(static=("dims", "sizes", "rank"))
def _gather(mat: Any, start: Any, dims: Any, sizes: Any, rank: int) -> Any:
    def window(at: Any) -> Any:
        starts = [lax.full_like(lax.index_in_dim(at, 0, 0, False), 0)] * mat.ndim
        for i, d in enumerate(dims.start_index_map):
            starts[d] = lax.index_in_dim(at, i, 0, False)
        window_array = _dynamic_slice(mat, starts, sizes=sizes)
        return bcoo_squeeze(window_array, dimensions=dims.collapsed_slice_dims)

    for _ in range(len(shape_of(start)) - 1):
        window = vmap(window)
    out = window(start)
    batch_axes = [i for i in range(rank) if i not in dims.offset_dims]
    current_axes = [*batch_axes, *dims.offset_dims]
    permutation = tuple(current_axes.index(i) for i in range(rank))
    if permutation == tuple(range(rank)):
        return out
    if sorted(permutation[: out.n_batch]) != list(range(out.n_batch)):
        out = bcoo_update_layout(out, n_batch=0)
    return bcoo_transpose(out, permutation=permutation)
