"""Shape operations on BCOO arrays: broadcast, concatenate, reshape, reverse, squeeze, sum.

None of these densifies the array; cases that would need it raise an error.

Next: bcoo_slicing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...base.util import split_list
from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims import lax
from ...types.avals import shaped
from .base import SparseInfo
from .bcoo import BCOO, buffers, elements
from .bcoo_layout import permutations, set_nse
from .kernels import *

__all__ = (
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_squeeze",
    "bcoo_reduce_sum",
)


def _int_tuple(xs: Any) -> tuple[int, ...]:
    return tuple(map(int, xs))


def bcoo_broadcast_in_dim(
    mat: Any, *, shape: Any, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> Any:
    """Apply `lax.broadcast_in_dim` to a BCOO array.

    Args:
      mat: a BCOO array.
      shape: the shape of the result.
      broadcast_dimensions: which axis of the result each axis of `mat` becomes.
      sharding: without effect on sparse arrays.

    Returns:
      A BCOO array.  New axes before the sparse axes are batch axes, new axes between sparse
      axes are sparse axes of size 1, and new axes after them are dense.

    Raises:
      NotImplementedError: a new sparse axis would be longer than 1.
      ValueError: the axes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(1), jnp.array([[2]])), shape=(3,))
      >>> bcoo_broadcast_in_dim(m, shape=(2, 3), broadcast_dimensions=(1,))
      BCOO(float32[2, 3], nse=1, n_batch=1)
    """
    del sharding
    return _broadcast_in_dim(
        mat, shape=_int_tuple(shape), dims=_int_tuple(broadcast_dimensions)
    )


@composite(static=("shape", "dims"))
def _broadcast_in_dim(mat: Any, shape: Any, dims: Any) -> Any:
    if len(dims) != mat.ndim:
        raise ValueError(
            f"spinfo.shape={mat.shape} and broadcast_dimensions={dims} must have the same"
            " length"
        )
    n, k = mat.n_batch, mat.n_sparse
    batch, sparse, dense = split_list(list(dims), [n, k])
    last = len(shape)
    if max(batch, default=0) > min(sparse, default=last):
        raise ValueError("Cannot mix batch and sparse dimensions during broadcast_in_dim")
    if max(sparse, default=0) > min(dense, default=last):
        raise ValueError("Cannot mix sparse and dense dimensions during broadcast_in_dim")
    new_n = min([*sparse, *dense], default=last)
    new_dense = last - max([*batch, *sparse], default=-1) - 1 if dense else 0
    new_k = last - new_n - new_dense
    added = set(range(new_n, new_n + new_k)) - set(sparse)
    broadcast_axes = [i for i, d in enumerate(sparse) if shape[d] != mat.shape[n + i]]
    if any(shape[i] != 1 for i in added) or broadcast_axes:
        raise NotImplementedError("Adding sparse dimensions with lengths != 1")
    data, indices = mat._bufs
    ds, index = shape_of(data), shape_of(indices)
    batch_shape, dense_shape = shape[:new_n], shape[new_n + new_k :]
    dense_axes = [d - new_k + 1 for d in dense]
    data = lax.broadcast_in_dim(
        data,
        (*_wide(batch_shape, batch, ds), ds[n], *dense_shape),
        (*batch, new_n, *dense_axes),
    )
    indices = lax.broadcast_in_dim(
        indices, (*_wide(batch_shape, batch, index), *index[n:]), (*batch, new_n, new_n + 1)
    )
    if new_k != k:
        zero = lax.full((*shape_of(indices)[:-1], 1), 0, aval_of(indices).dtype)
        columns = [
            lax.slice_in_dim(indices, sparse.index(d), sparse.index(d) + 1, 1, new_n + 1)
            if d in sparse
            else zero
            for d in range(new_n, new_n + new_k)
        ]
        indices = lax.concatenate(columns, new_n + 1)
    return BCOO((data, indices), shape=shape)


def _wide(batch_shape: Sequence[int], batch: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Return the batch axes of a buffer: axes of size 1 keep this size."""
    return [
        1 if i in batch and shape[batch.index(i)] == 1 else n for i, n in enumerate(batch_shape)
    ]


def bcoo_concatenate(operands: Sequence[Any], *, dimension: int) -> Any:
    """Apply `lax.concatenate` to BCOO arrays.

    Args:
      operands: BCOO arrays with the same layout.
      dimension: the axis along which to join them: a batch or a sparse one.

    Returns:
      A BCOO array; along a sparse axis, all elements of all operands are stored.

    Raises:
      ValueError: the operands are not BCOO arrays, or differ in their layout.
      NotImplementedError: `dimension` is a dense axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(1), jnp.array([[2]])), shape=(3,))
      >>> bcoo_concatenate([m, m], dimension=0).indices
      Array([[2],
             [5]], dtype=int32)
    """
    operands = list(operands)
    if not operands or not all(isinstance(x, BCOO) for x in operands):
        raise errors.value_error(
            "bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got"
            f" {operands}"
        )
    return _concatenate(operands, dimension=int(dimension))


@composite(static="dimension")
def _concatenate(operands: Any, dimension: int) -> Any:
    avals = [shaped(x.shape, x.dtype) for x in operands]
    shape = lax.concatenate_p.abstract(*avals, dimension=dimension).shape
    if len({x.n_dense for x in operands}) > 1:
        raise ValueError("bcoo_concatenate requires inputs to have matching nse dimensions.")
    counts = {x.n_batch for x in operands}
    if counts == {0, 1}:  # indexing with `x[None]` adds a batch axis
        operands = [_last_batch_to_sparse(x) if x.n_batch else x for x in operands]
    elif len(counts) > 1:
        raise ValueError("bcoo_concatenate requires inputs to have matching batch dimensions.")
    n, k = operands[0].n_batch, operands[0].n_sparse
    batches = {shape_of(b)[:n] for x in operands for b in x._bufs}
    if dimension >= n + k:
        raise NotImplementedError("Concatenation along dense dimensions.")
    if dimension < n:
        nse = max(x.nse for x in operands)
        operands = [set_nse(x, nse) for x in operands]
        data, indices = (
            [broadcast_to_batch(x._bufs[i], x.shape[:n]) for x in operands] for i in (0, 1)
        )
        return BCOO(
            (lax.concatenate(data, dimension), lax.concatenate(indices, dimension)), shape=shape
        )
    if len(batches) > 1:
        raise NotImplementedError("concatenation of arrays with broadcasted batch indices")
    start, shifted_indices = 0, []
    for x in operands:
        offset_row = np.zeros(k, aval_of(operands[0].indices).dtype)
        offset_row[dimension - n] = start
        shift = lax.broadcast_in_dim(offset_row, shape_of(x.indices), (n + 1,))
        inside = lax.expand_dims(in_bounds(x.indices, x.shape[n : n + k]), (n + 1,))
        inside = broadcast_to_batch(inside, shape_of(x.indices))
        shifted = lax.add(x.indices, shift)
        padding = ends(x.indices, shape[n : n + k])
        shifted_indices.append(lax.select(inside, shifted, padding))
        start += x.shape[dimension]
    data = lax.concatenate([x.data for x in operands], n)
    return BCOO((data, lax.concatenate(shifted_indices, n)), shape=shape)


def _last_batch_to_sparse(x: Any) -> Any:
    from_zero = lax.full((*shape_of(x.indices)[1:-1], 1), 0, aval_of(x.indices).dtype)
    index = lax.concatenate([from_zero, lax.squeeze(x.indices, (0,))], 1)
    return buffers(lax.squeeze(x.data, (0,)), index, x._info)


def bcoo_reshape(
    mat: Any,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> Any:
    """Apply `lax.reshape` to a BCOO array.

    Args:
      mat: a BCOO array.
      new_sizes: the shape of the result.
      dimensions: the order in which to read the axes, within each kind.
      sharding: without effect on sparse arrays.

    Returns:
      A BCOO array; batch axes become batch axes, and sparse axes sparse axes.

    Raises:
      ValueError: axes of different kinds would be joined.
      NotImplementedError: dense axes change, or a buffer's batch axes are broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(1), jnp.array([[1, 2]])), shape=(2, 3))
      >>> bcoo_reshape(m, new_sizes=(6,)).indices
      Array([[5]], dtype=int32)
    """
    del sharding
    permutation = tuple(range(mat.ndim)) if dimensions is None else _int_tuple(dimensions)
    return _reshape(mat, sizes=_int_tuple(new_sizes), permutation=permutation)


@composite(static=("sizes", "permutation"))
def _reshape(mat: Any, sizes: Any, permutation: Any) -> Any:
    n, k, shape = mat.n_batch, mat.n_sparse, mat.shape
    if any(shape_of(b)[:n] != shape[:n] for b in mat._bufs):
        raise NotImplementedError("reshape of arrays with broadcasted batch dimensions.")
    batch, sparse, dense = permutations(permutation, shape, n, k)
    if elements(sizes) != elements(shape):
        raise errors.type_error(
            f"cannot reshape array of shape {shape} (size {elements(shape)}) into shape"
            f" {sizes} (size {elements(sizes)})"
        )
    old_b, old_s, _ = map(elements, mat._axes())
    products = np.cumprod((1, *sizes))
    mixed = f"got shape={shape} new_shape={sizes} with"
    if old_b != 1 and old_b not in products:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix batch and sparse dimensions;"
            f" {mixed} n_batch={n}"
        )
    if old_s != 1 and old_b * old_s not in products:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix sparse and dense dimensions;"
            f" {mixed} n_dense={mat.n_dense}"
        )
    # An axis of size 1 belongs to the kind of the axis before it.
    i = int(np.searchsorted(products, old_b, side="right")) - 1
    j = int(np.searchsorted(products, old_b * old_s, side="right")) - 1
    new_b, new_s, new_d = sizes[:i], sizes[i:j], sizes[j:]
    data = lax.transpose(mat.data, (*batch, n, *(n + 1 + d for d in dense)))
    data = lax.reshape(data, (*new_b, mat.nse, *new_d))
    indices = lax.transpose(columns_of(mat.indices, sparse), (*batch, n, n + 1))
    indices = lax.reshape(indices, (*new_b, mat.nse, k))
    old = [shape[n + d] for d in sparse]
    return BCOO((data, _renumbered(indices, old, new_s)), shape=sizes)


def _renumbered(indices: Any, old: Sequence[int], new: Sequence[int]) -> Any:
    """Convert indices into axes of sizes `old` to indices into axes of sizes `new`."""
    dtype, leading_shape = aval_of(indices).dtype, shape_of(indices)[:-1]
    axis = len(leading_shape)
    if not new:
        return lax.full((*leading_shape, 0), 0, dtype)
    flat = lax.full((*leading_shape, 1), 0, dtype)
    for i, size in enumerate(old):
        column = lax.slice_in_dim(indices, i, i + 1, 1, axis)
        flat = lax.add(lax.mul(flat, lax.full_like(flat, size)), column)
    columns = []
    for size in reversed(new):
        wide = lax.full_like(flat, max(size, 1))
        columns.append(lax.rem(flat, wide))
        flat = lax.div(flat, wide)
    new_indices = lax.concatenate(columns[::-1], axis)
    inside = lax.expand_dims(in_bounds(indices, old), (axis,))
    inside = broadcast_to_batch(inside, shape_of(new_indices))
    return lax.select(inside, new_indices, ends(new_indices, new))


def bcoo_rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Apply `lax.rev` to a BCOO array: reverse axes.

    Args:
      operand: a BCOO array.
      dimensions: the axes to reverse.

    Returns:
      A BCOO array of the same shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(1), jnp.array([[2]])), shape=(3,))
      >>> bcoo_rev(m, (0,)).todense()
      Array([1., 0., 0.], dtype=float32)
    """
    return _rev(operand, dimensions=_int_tuple(dimensions))


@composite(static="dimensions")
def _rev(mat: Any, dimensions: Any) -> Any:
    n, k = mat.n_batch, mat.n_sparse
    lax.rev_p.abstract(shaped(mat.shape, mat.dtype), dimensions=dimensions)
    data, indices = mat._bufs
    batch = [d for d in dimensions if d < n]
    sparse = [d - n for d in dimensions if n <= d < n + k]
    dense = [d - k + 1 for d in dimensions if d >= n + k]
    data = lax.rev(data, (*batch, *dense)) if batch or dense else data
    indices = lax.rev(indices, batch) if batch else indices
    if sparse:
        sizes = mat.shape[n : n + k]
        inside = lax.expand_dims(in_bounds(indices, sizes), (n + 1,))
        is_reversed = np.isin(np.arange(k), sparse)
        is_reversed = lax.broadcast_in_dim(is_reversed, shape_of(indices), (n + 1,))
        is_reversed = lax.bitwise_and(
            is_reversed, broadcast_to_batch(inside, shape_of(indices))
        )
        last = lax.sub(ends(indices, sizes), lax.full_like(indices, 1))
        indices = lax.select(is_reversed, lax.sub(last, indices), indices)
    info = SparseInfo(mat.shape, False, mat.unique_indices)
    return buffers(data, indices, info)


def bcoo_squeeze(arr: Any, *, dimensions: Sequence[int]) -> Any:
    """Apply `lax.squeeze` to a BCOO array: remove axes of size 1.

    Args:
      arr: a BCOO array.
      dimensions: the axes to remove.

    Returns:
      A BCOO array of the same elements.

    Raises:
      ValueError: an axis has a size other than 1.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(1), jnp.array([[0, 2]])), shape=(1, 3))
      >>> bcoo_squeeze(m, dimensions=(0,)).indices
      Array([[2]], dtype=int32)
    """
    return _squeeze(arr, dimensions=_int_tuple(dimensions))


@composite(static="dimensions")
def _squeeze(mat: Any, dimensions: Any) -> Any:
    dimensions = tuple(d % mat.ndim for d in dimensions)
    if any(mat.shape[d] != 1 for d in dimensions):
        raise errors.value_error(
            "cannot select an axis to squeeze out which has size not equal to one, got"
            f" shape={mat.shape} and dimensions={dimensions}"
        )
    n, k = mat.n_batch, mat.n_sparse
    batch = tuple(d for d in dimensions if d < n)
    remaining_axes = [i for i in range(k) if i + n not in dimensions]
    dense = tuple(d - k + 1 for d in dimensions if d >= n + k)
    data, indices = _without_columns(mat, remaining_axes)
    shape = tuple(s for i, s in enumerate(mat.shape) if i not in dimensions)
    data, indices = lax.squeeze(data, (*batch, *dense)), lax.squeeze(indices, batch)
    return BCOO((data, indices), shape=shape)


def _without_columns(mat: Any, remaining_axes: Sequence[int]) -> tuple[Any, Any]:
    """Return the buffers with the indices of some sparse axes; padding stays padding."""
    n, k = mat.n_batch, mat.n_sparse
    data, indices = mat._bufs
    if len(remaining_axes) == k:
        return data, indices
    sizes = mat.shape[n : n + k]
    inside = lax.expand_dims(in_bounds(indices, sizes), (n + 1,))
    if remaining_axes:
        remaining_indices = columns_of(indices, remaining_axes)
        inside = broadcast_to_batch(inside, shape_of(remaining_indices))
        return data, lax.select(
            inside,
            remaining_indices,
            ends(remaining_indices, [sizes[i] for i in remaining_axes]),
        )
    # Without indices, padding cannot be distinguished from stored elements: set it to 0.
    inside = lax.expand_dims(inside, range(n + 2, n + 1 + mat.n_dense))
    shape = span(shape_of(data), shape_of(inside)[: len(shape_of(data))])
    if not mat.n_dense:
        inside = lax.squeeze(inside, (n + 1,))
    inside, data = broadcast_to_batch(inside, shape), broadcast_to_batch(data, shape[:n])
    data = lax.select(inside, data, lax.full_like(data, 0))
    return data, columns_of(indices, [])


def bcoo_reduce_sum(mat: Any, *, axes: Sequence[int]) -> Any:
    """Return the sum of a BCOO array over axes.

    Args:
      mat: a BCOO array.
      axes: the axes to sum over.

    Returns:
      A BCOO array without these axes.  Sums over sparse axes are not carried out: such
      elements are stored at the same position, and duplicates count as their sum.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(2), jnp.array([[0, 1], [1, 1]])), shape=(2, 3))
      >>> bcoo_reduce_sum(m, axes=(0,)).todense()
      Array([0., 2., 0.], dtype=float32)
    """
    return _reduce_sum(mat, axes=_int_tuple(axes))


@composite(static="axes")
def _reduce_sum(mat: Any, axes: Any) -> Any:
    axes = {a % mat.ndim for a in axes}
    n, k = mat.n_batch, mat.n_sparse
    remaining_axes = [i for i in range(k) if i + n not in axes]
    data, indices = _without_columns(mat, remaining_axes)
    dense = [a - k + 1 for a in axes if a >= n + k]
    data = full_sum(data, dense)
    if summed_axes := [a for a in range(n) if a in axes]:
        batch = [
            mat.shape[i] if i in summed_axes else m
            for i, m in enumerate(span(shape_of(data)[:n], shape_of(indices)[:n]))
        ]
        data, indices = (
            merged(broadcast_to_batch(x, batch), summed_axes, n) for x in (data, indices)
        )
    shape = tuple(m for i, m in enumerate(mat.shape) if i not in axes)
    return BCOO((data, indices), shape=shape)
