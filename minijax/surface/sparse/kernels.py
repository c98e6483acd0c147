"""Gathers and scatter-adds at stored positions, which all sparse formats use.

Buffers have the axes (batch..., n, ...): n stored elements per batch, then k indices
(indices) or the dense axes (data).  A batch axis of size 1 is broadcast over all batches.
A position out of bounds is padding: it reads 0 and adds 0.

This module is independent of the formats.  Next: bcoo.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.core import aval_of
from ...prims import lax
from ...symbolic.dims import broadcast_sizes
from ...types import dtypes

__all__ = (
    "shape_of",
    "columns_of",
    "merged",
    "multiplied",
    "ends",
    "fetch",
    "add_up",
    "span",
    "broadcast_to_batch",
    "first_set",
    "in_bounds",
    "lexicographic",
    "starts_group",
    "sparse_einsum",
    "sampled_einsum",
    "sum_to_shape",
    "full_sum",
)

Shape = tuple[int, ...]


def shape_of(x: Any) -> Shape:
    """Return the shape of a value or a type."""
    return tuple(x.shape)


def span(*shapes: Sequence[int]) -> Shape:
    """Return the shape that batch axes broadcast to."""
    return broadcast_sizes(*map(tuple, shapes))


def broadcast_to_batch(x: Any, batch: Sequence[int]) -> Any:
    """Broadcast the leading axes of `x` to `batch`."""
    shape = shape_of(x)
    wide = (*batch, *shape[len(batch) :])
    if shape == wide:
        return x
    return lax.broadcast_in_dim(x, wide, tuple(range(len(shape))))


def sum_to_shape(x: Any, shape: Sequence[int]) -> Any:
    """Sum `x` over the axes that have size 1 in `shape` but are longer in `x`."""
    x_shape = shape_of(x)
    axes = tuple(i for i, (m, n) in enumerate(zip(x_shape, shape, strict=True)) if m != n)
    return lax.reshape(lax.reduce_sum(x, axes), shape) if axes else x


def full_sum(x: Any, axes: Sequence[int]) -> Any:
    """Return the sum over axes; for bools, whether any element is true."""
    if not axes:
        return x
    if aval_of(x).dtype == dtypes.bool_:
        return lax.reduce_or(x, tuple(axes))
    return lax.reduce_sum(x, tuple(axes))


def fetch(x: Any, index: Any, n_batch: int) -> Any:
    """Gather the slices of `x` at positions along the axes after its batch axes.

    x: (batch..., size_1 ... size_k, window...); index: (batch..., n, k).
    Returns (batch..., n, window...).
    """
    xs, js = shape_of(x), shape_of(index)
    n, k = js[-2:]
    batch = span(xs[:n_batch], js[:n_batch])
    window = xs[n_batch + k :]
    out = (*batch, n, *window)
    if not k:
        dims = (*range(n_batch), *range(n_batch + 1, len(out)))
        return lax.broadcast_in_dim(x, out, dims)
    if not math.prod(xs[n_batch : n_batch + k]) or not math.prod(out):
        return lax.full(out, 0, aval_of(x).dtype)
    index = broadcast_to_batch(index, batch)
    # `gather` needs equal batch axes.  Drop those over which x is broadcast instead of
    # copying x.
    kept_axes = [i for i in range(n_batch) if xs[i] != 1 or batch[i] == 1]
    x = lax.reshape(x, (*(xs[i] for i in kept_axes), *xs[n_batch:]))
    num_batching = len(kept_axes)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(n_batch + 1, len(out))),
        collapsed_slice_dims=tuple(range(num_batching, num_batching + k)),
        start_index_map=tuple(range(num_batching, num_batching + k)),
        operand_batching_dims=tuple(range(num_batching)),
        start_indices_batching_dims=tuple(kept_axes),
    )
    sizes = (*(1,) * (num_batching + k), *window)
    return lax.gather(x, index, numbers, sizes, mode="fill", fill_value=0)


def add_up(
    data: Any,
    index: Any,
    batch: Shape,
    sizes: Shape,
    indices_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """Return the dense array of elements scattered to positions and added there.

    data: (batch..., n, window...); index: (batch..., n, k); sizes: of the k axes.
    Returns (batch..., sizes..., window...).
    """
    ds, js, n_batch = shape_of(data), shape_of(index), len(batch)
    if aval_of(data).dtype == dtypes.bool_:  # bools have no `scatter_add`: count instead
        counts = lax.convert_element_type(data, dtypes.int32)
        out = add_up(counts, index, batch, sizes, indices_sorted, unique_indices)
        return lax.ne(out, lax.full_like(out, 0))
    if not sizes:
        return broadcast_to_batch(full_sum(data, (n_batch,)), batch)
    buffer_batch = span(ds[:n_batch], js[:n_batch])
    data, index = (
        broadcast_to_batch(data, buffer_batch),
        broadcast_to_batch(index, buffer_batch),
    )
    window, k = ds[n_batch + 1 :], len(sizes)
    zeros = lax.full((*buffer_batch, *sizes, *window), 0, aval_of(data).dtype)
    if not math.prod(shape_of(zeros)) or not math.prod(shape_of(data)):
        return broadcast_to_batch(zeros, batch)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(n_batch + 1, len(ds))),
        inserted_window_dims=tuple(range(n_batch, n_batch + k)),
        scatter_dims_to_operand_dims=tuple(range(n_batch, n_batch + k)),
        operand_batching_dims=tuple(range(n_batch)),
        scatter_indices_batching_dims=tuple(range(n_batch)),
    )
    dense = lax.scatter_add(
        zeros,
        index,
        data,
        numbers,
        indices_are_sorted=indices_sorted,
        unique_indices=unique_indices,
        mode="drop",
    )
    return broadcast_to_batch(dense, batch)


def first_set(mask: Any, n: int) -> Any:
    """Return positions of the first n true elements of the last axis,
    padded by its size."""
    *batch, size = shape_of(mask)
    # The result also contains `size` itself, for missing elements.
    wide = dtypes.int32 if size < 2**31 else dtypes.int64
    rank = lax.cumsum(lax.convert_element_type(mask, wide), len(batch))
    rank = lax.select(mask, lax.sub(rank, wide.type(1)), lax.full_like(rank, n))
    numbers_along_axis = lax.broadcasted_iota(wide, (*batch, size), len(batch))
    positions = lax.full((*batch, n), size, wide)
    if not size or not math.prod((*batch, n)):
        return positions
    batch_axes = tuple(range(len(batch)))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(),
        inserted_window_dims=(len(batch),),
        scatter_dims_to_operand_dims=(len(batch),),
        operand_batching_dims=batch_axes,
        scatter_indices_batching_dims=batch_axes,
    )
    scatter_indices = lax.broadcast_in_dim(
        rank, (*batch, size, 1), tuple(range(len(batch) + 1))
    )
    return lax.scatter(positions, scatter_indices, numbers_along_axis, numbers, mode="drop")


def in_bounds(index: Any, sizes: Sequence[int]) -> Any:
    """Return the mask (..., n) of positions (..., n, k) that are not padding."""
    shape = shape_of(index)
    if not sizes:
        return lax.full(shape[:-1], True, dtypes.bool_)
    top = ends(index, sizes)
    return lax.reduce_and(lax.lt(index, top), (len(shape) - 1,))


def ends(index: Any, sizes: Sequence[int]) -> Any:
    """Return the position one past the end of each axis, in the shape of `index`."""
    dtype, shape = aval_of(index).dtype, shape_of(index)
    last = np.minimum(sizes, np.iinfo(dtype).max).astype(dtype)
    return lax.broadcast_in_dim(last, shape, (len(shape) - 1,))


def lexicographic(index: Any, *more: Any) -> list[Any]:
    """Sort positions (..., n, k) in ascending order, together with arrays (..., n)."""
    shape = shape_of(index)
    k, axis = shape[-1], len(shape) - 2
    columns = [
        lax.squeeze(lax.slice_in_dim(index, i, i + 1, 1, axis + 1), (axis + 1,))
        for i in range(k)
    ]
    out = lax.sort((*columns, *more), dimension=axis, num_keys=k)
    sorted_columns = [lax.expand_dims(c, (axis + 1,)) for c in out[:k]]
    return [lax.concatenate(sorted_columns, axis + 1), *out[k:]]


def starts_group(ordered: Any) -> Any:
    """Return the mask (..., n) of sorted positions that differ from their predecessor."""
    shape = shape_of(ordered)
    axis, n = len(shape) - 2, shape[-2]
    if n < 2:
        return lax.full(shape[:-1], True, dtypes.bool_)
    following = lax.slice_in_dim(ordered, 1, n, 1, axis)
    preceding = lax.slice_in_dim(ordered, 0, n - 1, 1, axis)
    differs = lax.reduce_or(lax.ne(following, preceding), (axis + 1,))
    first = lax.full((*shape[:-2], 1), True, dtypes.bool_)
    return lax.concatenate([first, differs], axis)


# ---------------------------------------------------------------------------- products
#
# Axes of operands have labels, like the letters of an einsum: 0, 1, 2 ... are the axes of
# the sparse array, and higher labels belong to dense arrays only.


def arranged(x: Any, labels: Sequence[int], target_labels: Sequence[int]) -> Any:
    """Permute the axes of `x` to the order of `target_labels`; missing axes have size 1."""
    present = [a for a in target_labels if a in labels]
    x = lax.transpose(x, tuple(list(labels).index(a) for a in present))
    missing = [i for i, a in enumerate(target_labels) if a not in labels]
    return lax.expand_dims(x, missing) if missing else x


def columns_of(index: Any, which: Sequence[int]) -> Any:
    """Return the columns of positions that belong to some of the axes."""
    shape = shape_of(index)
    if list(which) == list(range(shape[-1])):
        return index
    if not which:
        return lax.full((*shape[:-1], 0), 0, aval_of(index).dtype)
    axis = len(shape) - 1
    columns = [lax.slice_in_dim(index, i, i + 1, 1, axis) for i in which]
    return lax.concatenate(columns, axis)


def merged(x: Any, axes: Sequence[int], at: int) -> Any:
    """Merge `axes` of `x` into axis `at`, which comes after the other leading axes."""
    shape = shape_of(x)
    front = [i for i in range(at) if i not in axes]
    back = list(range(at + 1, len(shape)))
    x = lax.transpose(x, (*front, *axes, at, *back))
    joined = math.prod(shape[i] for i in (*axes, at))
    return lax.reshape(x, (*(shape[i] for i in front), joined, *(shape[i] for i in back)))


def multiplied(x: Any, y: Any, dtype: Any) -> Any:
    """Return the broadcast product of two arrays in `dtype`."""
    shape = span(shape_of(x), shape_of(y))
    x, y = (broadcast_to_batch(lax.convert_element_type(z, dtype), shape) for z in (x, y))
    return lax.bitwise_and(x, y) if dtype == dtypes.bool_ else lax.mul(x, y)


def sparse_einsum(
    data: Any,
    index: Any,
    shape: Shape,
    rhs: Any,
    rhs_labels: Sequence[int],
    out_labels: Sequence[int],
    dtype: Any,
) -> Any:
    """Multiply a sparse and a dense array, summing over labels absent from the result.

    `shape` is the shape of the sparse array, whose labels are 0, 1, 2 ...
    """
    n_batch, n_sparse = len(shape_of(index)) - 2, shape_of(index)[-1]
    rank = len(shape)
    sparse = range(n_batch, n_batch + n_sparse)
    dense_labels = list(range(n_batch + n_sparse, rank))
    rhs_only = [a for a in rhs_labels if a >= rank]
    indexed = [a for a in sparse if a in rhs_labels]
    rest = [a for a in sparse if a in out_labels]
    # The factor of each stored element: (batch..., n, dense axes..., axes of rhs only...).
    rhs = arranged(rhs, rhs_labels, [*range(n_batch), *indexed, *dense_labels, *rhs_only])
    if indexed:
        rhs = fetch(rhs, columns_of(index, [a - n_batch for a in indexed]), n_batch)
    else:
        rhs = lax.expand_dims(rhs, (n_batch,))
    data = lax.expand_dims(data, range(len(shape_of(data)), len(shape_of(rhs))))
    # Axes of the product: batch axes, n (as -1), dense axes, axes of rhs.
    axes = [*range(n_batch), -1, *dense_labels, *rhs_only]
    summed_batch = [a for a in range(n_batch) if a not in out_labels]
    if not rest:
        summed = [-1, *(a for a in axes if a >= 0 and a not in out_labels)]
        result_labels = [a for a in axes if a not in summed]
        wide = {a: shape[a] for a in range(n_batch)}
        out = contracted(data, rhs, axes, summed, result_labels, wide, dtype)
        return lax.transpose(out, tuple(result_labels.index(a) for a in out_labels))
    product = multiplied(data, rhs, dtype)
    summed_dense = [a for a in dense_labels if a not in out_labels]
    product = full_sum(product, [axes.index(a) for a in summed_dense])
    axes = [a for a in axes if a not in summed_dense]
    columns = columns_of(index, [a - n_batch for a in rest])
    if summed_batch:
        batch = [
            shape[a] if a in summed_batch else n
            for a, n in enumerate(span(shape_of(product)[:n_batch], shape_of(index)[:-2]))
        ]
        product, columns = (
            broadcast_to_batch(product, batch),
            broadcast_to_batch(columns, batch),
        )
        product, columns = (merged(x, summed_batch, n_batch) for x in (product, columns))
    remaining_batch = [a for a in range(n_batch) if a not in summed_batch]
    sizes = tuple(shape[a] for a in rest)
    out = add_up(product, columns, tuple(shape[a] for a in remaining_batch), sizes)
    result_labels = [*remaining_batch, *rest, *axes[n_batch + 1 :]]
    return lax.transpose(out, tuple(result_labels.index(a) for a in out_labels))


def contracted(
    x: Any,
    y: Any,
    axes: Sequence[int],
    summed: Sequence[int],
    result_labels: Sequence[int],
    full_sizes: dict[int, int],
    dtype: Any,
) -> Any:
    """Return the sum of a product over some axes, as one `dot_general`.

    Both operands have all axes, with size 1 where they are broadcast; `full_sizes` gives
    the sizes of the axes that may have size 1 in both.
    """
    xs, ys = shape_of(x), shape_of(y)
    size = {a: max(m, n) for a, m, n in zip(axes, xs, ys, strict=True)}
    size = {a: 0 if 0 in (m, n) else size[a] for a, m, n in zip(axes, xs, ys, strict=True)}
    # An axis that only one operand has becomes its free axis: no broadcast is needed.
    left = [a for a in result_labels if ys[axes.index(a)] == 1 and size[a] != 1]
    right = [a for a in result_labels if xs[axes.index(a)] == 1 and a not in left]
    both = [a for a in result_labels if a not in left and a not in right]
    scale = math.prod(
        full_sizes[a] for a in summed if a in full_sizes and size[a] == 1 and full_sizes[a] != 1
    )
    for i in (axes.index(a) for a in summed if xs[axes.index(a)] != ys[axes.index(a)]):
        shape = tuple(1 if j == i else n for j, n in enumerate(shape_of(x)))
        if xs[i] == 1:
            y = lax.reshape(full_sum(y, (i,)), (*shape_of(y)[:i], 1, *shape_of(y)[i + 1 :]))
        else:
            x = lax.reshape(full_sum(x, (i,)), shape)
    x = lax.squeeze(x, [axes.index(a) for a in right])
    y = lax.squeeze(y, [axes.index(a) for a in left])
    x_axes = [a for a in axes if a not in right]
    y_axes = [a for a in axes if a not in left]
    if dtype == dtypes.bool_:
        x, y = (lax.convert_element_type(z, dtypes.int32) for z in (x, y))
    out = lax.dot_general(
        x,
        y,
        (
            (tuple(map(x_axes.index, summed)), tuple(map(y_axes.index, summed))),
            (tuple(map(x_axes.index, both)), tuple(map(y_axes.index, both))),
        ),
        preferred_element_type=dtypes.int32 if dtype == dtypes.bool_ else dtype,
    )
    if dtype == dtypes.bool_:
        out = lax.ne(out, lax.full_like(out, 0))
    if scale != 1:
        out = lax.mul(out, lax.full_like(out, scale))
    current_labels = [
        *both,
        *(a for a in x_axes if a in left),
        *(a for a in y_axes if a in right),
    ]
    out = lax.transpose(out, tuple(current_labels.index(a) for a in result_labels))
    sizes = [full_sizes.get(a, n) for a, n in zip(result_labels, shape_of(out), strict=True)]
    return broadcast_to_batch(out, sizes)


def sampled_einsum(
    x: Any,
    x_labels: Sequence[int],
    y: Any,
    y_labels: Sequence[int],
    index: Any,
    rank: int,
    dtype: Any,
) -> Any:
    """Return the elements of a product of dense arrays at stored positions.

    `rank` is the rank of the product, whose axes have the labels 0, 1, 2 ...; other labels
    are summed over.  The result is the data for `index`.
    """
    n_batch, n_sparse = len(shape_of(index)) - 2, shape_of(index)[-1]
    dense_labels = list(range(n_batch + n_sparse, rank))
    summed = [a for a in x_labels if a >= rank]

    def read(z: Any, labels: Sequence[int]) -> Any:
        indexed = [a for a in range(n_batch, n_batch + n_sparse) if a in labels]
        z = arranged(z, labels, [*range(n_batch), *indexed, *summed, *dense_labels])
        if not indexed:
            return lax.expand_dims(z, (n_batch,))
        return fetch(z, columns_of(index, [a - n_batch for a in indexed]), n_batch)

    product = multiplied(read(x, x_labels), read(y, y_labels), dtype)
    first = n_batch + 1
    out = full_sum(product, range(first, first + len(summed)))
    n = shape_of(index)[-2]
    out_shape = shape_of(out)
    batch = span(out_shape[:n_batch], shape_of(index)[:-2])
    return broadcast_to_batch(out, (*batch, n))
