"""Changes of the storage of a BCOO array: permuted axes, sorted indices, duplicates added,
and other numbers of batch and dense axes.

Next: bcoo_dot.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...base.util import split_list
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import Primitive, aval_of
from ...prims import lax
from ...types import dtypes
from ...types.avals import shaped
from .base import SparseEfficiencyError, SparseEfficiencyWarning, SparseInfo
from .bcoo import (
    BCOO,
    buffers,
    check_bcoo,
    elements,
    in_front,
    infos_in_front,
    linear_in_data,
    lowers_as,
)
from .kernels import *

__all__ = (
    "bcoo_transpose_p",
    "bcoo_transpose",
    "bcoo_sort_indices_p",
    "bcoo_sort_indices",
    "bcoo_sum_duplicates_p",
    "bcoo_sum_duplicates",
    "bcoo_eliminate_zeros",
    "bcoo_update_layout",
    "set_nse",
    "permutations",
)

# --------------------------------------------------------------------------- transpose

bcoo_transpose_p = Primitive("bcoo_transpose", multiple_results=True)


def bcoo_transpose(mat: Any, *, permutation: Sequence[int]) -> Any:
    """Return a BCOO array with permuted axes; see `lax.transpose`.

    Args:
      mat: a BCOO array.
      permutation: the source of each axis of the result; it permutes batch axes, sparse
        axes and dense axes separately.

    Returns:
      A BCOO array; its indices are no longer sorted.

    Raises:
      TypeError: `permutation` is not a permutation of the axes.
      NotImplementedError: it mixes axes of different kinds.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(1), jnp.array([[0, 2]])), shape=(2, 3))
      >>> bcoo_transpose(m, permutation=(1, 0)).indices
      Array([[2, 0]], dtype=int32)
    """
    permutation = tuple(map(int, permutation))
    info = mat._info
    outs = bcoo_transpose_p.bind(*mat._bufs, permutation=permutation, spinfo=info)
    shape = tuple(info.shape[i] for i in permutation)
    return buffers(outs[0], outs[1], SparseInfo(shape, False, info.unique_indices))


def permutations(permutation: Any, shape: Any, n_batch: int, n_sparse: int) -> Any:
    """Split a permutation of axes into those of batch, sparse and dense axes."""
    if not isinstance(permutation, (tuple, list, np.ndarray)):
        raise TypeError(
            f"transpose permutation must be a tuple/list/ndarray, got {type(permutation)}."
        )
    if sorted(permutation) != list(range(len(shape))):
        raise errors.type_error(
            "transpose permutation isn't a permutation of operand dimensions, got"
            f" permutation {permutation} for shape {tuple(shape)}."
        )
    by_kind = split_list(list(permutation), [n_batch, n_sparse])
    batch, sparse, dense = by_kind
    n_dense = len(dense)
    prefix = "transpose permutation cannot permute"
    if sorted(batch) != list(range(n_batch)):
        raise NotImplementedError(
            f"{prefix} batch axes with non-batch axes; got permutation"
            f" {tuple(permutation)}, with n_batch={n_batch}."
        )
    if sorted(dense) != list(range(n_batch + n_sparse, len(shape))):
        raise NotImplementedError(
            f"{prefix} dense axes with non-dense axes; got permutation"
            f" {tuple(permutation)}, with n_dense={n_dense}."
        )
    sparse = [i - n_batch for i in sparse]
    return batch, sparse, [i - n_batch - n_sparse for i in dense]


def _transpose_type(data: Any, indices: Any, *, permutation: Any, spinfo: Any) -> Any:
    props = check_bcoo(data, indices, spinfo.shape)
    n = props.n_batch
    batch, _, dense = permutations(permutation, spinfo.shape, n, props.n_sparse)
    data_batch = tuple(data.shape[i] for i in batch)
    data_dense = tuple(data.shape[n + 1 + i] for i in dense)
    index_batch = tuple(indices.shape[i] for i in batch)
    return [
        shaped((*data_batch, props.nse, *data_dense), data.dtype),
        shaped((*index_batch, *indices.shape[n:]), indices.dtype),
    ]


def _transpose(data: Any, indices: Any, *, permutation: Any, spinfo: Any) -> Any:
    n_batch, n_sparse, _, _ = check_bcoo(data, indices, spinfo.shape)
    permutations_by_kind = permutations(permutation, spinfo.shape, n_batch, n_sparse)
    batch, sparse, dense = permutations_by_kind
    indices = lax.transpose(columns_of(indices, sparse), (*batch, n_batch, n_batch + 1))
    dense_axes = (n_batch + 1 + i for i in dense)
    return [lax.transpose(data, (*batch, n_batch, *dense_axes)), indices]


bcoo_transpose_p.abstract = _transpose_type


linear_in_data(bcoo_transpose_p, _transpose)


def _transpose_batch(axis: Any, args: Any, dims: Any, *, permutation: Any, spinfo: Any):
    data, indices = map(lambda x, d: in_front(axis, x, d), args, dims)
    permutation = (0, *(i + 1 for i in permutation))
    spinfo = infos_in_front(axis, spinfo)
    params = {"permutation": permutation, "spinfo": spinfo}
    outs = bcoo_transpose_p.bind(data, indices, **params)
    return [broadcast_to_batch(x, (axis.size,)) for x in outs], [0, 0]


bcoo_transpose_p.batch = _transpose_batch
lowers_as(bcoo_transpose_p, _transpose)

# ------------------------------------------------------------------------ sort_indices

bcoo_sort_indices_p = Primitive("bcoo_sort_indices", multiple_results=True)


def bcoo_sort_indices(mat: Any) -> Any:
    """Return a BCOO array with the indices of each batch in ascending order.

    Args:
      mat: a BCOO array.

    Returns:
      A BCOO array; equal indices keep their order.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.array([1., 2.]), jnp.array([[2], [0]])), shape=(3,))
      >>> bcoo_sort_indices(m).data
      Array([2., 1.], dtype=float32)
    """
    outs = bcoo_sort_indices_p.bind(*mat._bufs, spinfo=mat._info)
    return buffers(outs[0], outs[1], mat._info._replace(indices_sorted=True))


def _common(data: Any, indices: Any) -> tuple[Any, Any]:
    """Broadcast both buffers to the same batch axes."""
    n_batch = len(shape_of(indices)) - 2
    batch = span(shape_of(data)[:n_batch], shape_of(indices)[:n_batch])
    return broadcast_to_batch(data, batch), broadcast_to_batch(indices, batch)


def _common_types(data: Any, indices: Any, nse: int) -> list[Any]:
    n_batch = len(indices.shape) - 2
    batch = span(data.shape[:n_batch], indices.shape[:n_batch])
    return [
        shaped((*batch, nse, *data.shape[n_batch + 1 :]), data.dtype),
        shaped((*batch, nse, indices.shape[-1]), indices.dtype),
    ]


def _sort_type(data: Any, indices: Any, *, spinfo: SparseInfo) -> list[Any]:
    props = check_bcoo(data, indices, spinfo.shape)
    return _common_types(data, indices, props.nse)


def _sort(data: Any, indices: Any, *, spinfo: SparseInfo) -> list[Any]:
    n_batch, n_sparse, _, nse = check_bcoo(data, indices, spinfo.shape)
    data, indices = _common(data, indices)
    if not n_sparse or nse < 2:
        return [data, indices]
    positions = lax.broadcasted_iota(dtypes.int32, shape_of(indices)[:-1], n_batch)
    indices, positions = lexicographic(indices, positions)
    return [fetch(data, lax.expand_dims(positions, (n_batch + 1,)), n_batch), indices]


bcoo_sort_indices_p.abstract = _sort_type


linear_in_data(bcoo_sort_indices_p, _sort)


def _sort_batch(axis: Any, args: Any, dims: Any, *, spinfo: SparseInfo, **p: Any) -> Any:
    data, indices = map(lambda x, d: in_front(axis, x, d), args, dims)
    spinfo = infos_in_front(axis, spinfo)
    return bcoo_sort_indices_p.bind(data, indices, spinfo=spinfo, **p), [0, 0]


bcoo_sort_indices_p.batch = _sort_batch
lowers_as(bcoo_sort_indices_p, _sort)

# ---------------------------------------------------------------------- sum_duplicates

bcoo_sum_duplicates_p = Primitive("bcoo_sum_duplicates", multiple_results=True)

_TRACED = (
    "bcoo_sum_duplicates: nse must be specified when using the function within jit,"
    " vmap, and other transformations requiring abstract evaluation."
)


def bcoo_sum_duplicates(mat: Any, nse: int | None = None) -> Any:
    """Return a BCOO array that stores each position once.

    Args:
      mat: a BCOO array.
      nse: the number of elements to store in each batch: the first positions in ascending
        order, then padding.  None counts the positions, which needs concrete indices.

    Returns:
      A BCOO array with sorted and unique indices; duplicates are added.

    Raises:
      ValueError: `nse` is None and the indices are traced.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.array([1., 2., 4.]), jnp.array([[2], [0], [2]])), shape=(3,))
      >>> bcoo_sum_duplicates(m).data
      Array([2., 5.], dtype=float32)
    """
    if nse is None:
        if not core.is_concrete(mat.indices):
            raise ValueError(_TRACED)
        nse = int(_count_unique(mat.indices, shape=mat.shape))
    outs = bcoo_sum_duplicates_p.bind(*mat._bufs, spinfo=mat._info, nse=nse)
    return buffers(outs[0], outs[1], SparseInfo(mat.shape, True, True))


@composite(static=("shape",))
def _count_unique(indices: Any, shape: Any) -> Any:
    """Return the largest number of distinct positions in a batch, without padding."""
    n_batch, n_sparse = len(shape_of(indices)) - 2, shape_of(indices)[-1]
    if not n_sparse or not elements(shape_of(indices)[:-1]):
        return dtypes.int32.type(min(1, *shape_of(indices)[:-1]))
    ordered = _normalize_padding(indices, shape)
    ordered = lexicographic(ordered)[0]
    sizes = shape[n_batch : n_batch + n_sparse]
    new = lax.bitwise_and(starts_group(ordered), in_bounds(ordered, sizes))
    counts = lax.reduce_sum(lax.convert_element_type(new, dtypes.int32), (n_batch,))
    return lax.reduce_max(counts, tuple(range(n_batch)))


def _normalize_padding(indices: Any, shape: Any) -> Any:
    """Return indices with all padding equal: one past the end of each axis."""
    n_batch, n_sparse = len(shape_of(indices)) - 2, shape_of(indices)[-1]
    sizes = shape[n_batch : n_batch + n_sparse]
    inside = lax.expand_dims(in_bounds(indices, sizes), (n_batch + 1,))
    inside = broadcast_to_batch(inside, shape_of(indices))
    return lax.select(inside, indices, ends(indices, sizes))


def _sum_type(data: Any, indices: Any, *, spinfo: SparseInfo, nse: Any) -> list[Any]:
    if nse is None:
        raise ValueError(_TRACED)
    check_bcoo(data, indices, spinfo.shape)
    return _common_types(data, indices, nse)


def _sum(data: Any, indices: Any, *, spinfo: SparseInfo, nse: int) -> list[Any]:
    n_batch, n_sparse, _, old = check_bcoo(data, indices, spinfo.shape)
    data, indices = _common(data, indices)
    batch = shape_of(indices)[:n_batch]
    if not n_sparse or not old:
        first = lax.full((*batch, old, 1), 0, dtypes.int32)
        return [
            add_up(data, first, batch, (nse,)),
            ends_everywhere((*batch, nse, n_sparse), indices, spinfo.shape),
        ]
    ordered, group, positions = _groups(indices, spinfo.shape)
    data = fetch(data, positions, n_batch)
    out_indices = ends_everywhere((*batch, nse, n_sparse), indices, spinfo.shape)
    batch_axes = tuple(range(n_batch))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(n_batch + 1,),
        inserted_window_dims=(n_batch,),
        scatter_dims_to_operand_dims=(n_batch,),
        operand_batching_dims=batch_axes,
        scatter_indices_batching_dims=batch_axes,
    )
    if nse and elements(shape_of(out_indices)):
        out_indices = lax.scatter(out_indices, group, ordered, numbers, mode="drop")
    return [add_up(data, group, batch, (nse,), indices_sorted=True), out_indices]


def _groups(indices: Any, shape: Any) -> tuple[Any, Any, Any]:
    """Return sorted positions, the group number of each, and its original position.

    Padding gets the largest int32 as its group number, so that it belongs to no group.
    """
    n_batch, n_sparse = len(shape_of(indices)) - 2, shape_of(indices)[-1]
    positions = lax.broadcasted_iota(dtypes.int32, shape_of(indices)[:-1], n_batch)
    ordered, positions = lexicographic(_normalize_padding(indices, shape), positions)
    is_new = lax.convert_element_type(starts_group(ordered), dtypes.int32)
    group = lax.sub(lax.cumsum(is_new, n_batch), lax.full_like(is_new, 1))
    inside = in_bounds(ordered, shape[n_batch : n_batch + n_sparse])
    no_group = lax.full_like(group, np.iinfo(np.int32).max)
    group = lax.expand_dims(lax.select(inside, group, no_group), (n_batch + 1,))
    return ordered, group, lax.expand_dims(positions, (n_batch + 1,))


def ends_everywhere(out_shape: Any, indices: Any, shape: Any) -> Any:
    """Return indices of padding only, in the shape `out_shape`, for an array of `shape`."""
    n_batch, n_sparse = len(shape_of(indices)) - 2, shape_of(indices)[-1]
    padding = lax.full(out_shape, 0, aval_of(indices).dtype)
    if not n_sparse:
        return padding
    return ends(padding, shape[n_batch : n_batch + n_sparse])


bcoo_sum_duplicates_p.abstract = _sum_type


linear_in_data(bcoo_sum_duplicates_p, _sum)


def _sum_batch(axis: Any, args: Any, dims: Any, *, spinfo: SparseInfo, **p: Any) -> Any:
    data, indices = map(lambda x, d: in_front(axis, x, d), args, dims)
    spinfo = infos_in_front(axis, spinfo)
    return bcoo_sum_duplicates_p.bind(data, indices, spinfo=spinfo, **p), [0, 0]


bcoo_sum_duplicates_p.batch = _sum_batch
lowers_as(bcoo_sum_duplicates_p, _sum)


def bcoo_eliminate_zeros(mat: Any, nse: int | None = None) -> Any:
    """Return a BCOO array without stored zeros and without repeated positions.

    Args:
      mat: a BCOO array.
      nse: the number of elements to store in each batch; None counts them.

    Returns:
      A BCOO array with sorted and unique indices.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.array([1., 0.]), jnp.array([[2], [0]])), shape=(3,))
      >>> bcoo_eliminate_zeros(m)
      BCOO(float32[3], nse=1)
    """
    indices = _without_zeros(mat.data, mat.indices, shape=mat.shape)
    return bcoo_sum_duplicates(buffers(mat.data, indices, mat._info), nse)


@composite(static=("shape",))
def _without_zeros(data: Any, indices: Any, shape: Any) -> Any:
    """Replace the indices of stored zeros by padding."""
    n_batch, n_sparse, n_dense, _ = check_bcoo(data, indices, shape)
    if not n_sparse:
        return indices
    is_nonzero = lax.ne(data, lax.full_like(data, 0))
    is_nonzero = full_sum(is_nonzero, range(n_batch + 1, n_batch + 1 + n_dense))
    batch = span(shape_of(is_nonzero)[:n_batch], shape_of(indices)[:n_batch])
    indices = broadcast_to_batch(indices, batch)
    is_nonzero = lax.expand_dims(broadcast_to_batch(is_nonzero, batch), (n_batch + 1,))
    is_nonzero = broadcast_to_batch(is_nonzero, shape_of(indices))
    sizes = shape[n_batch : n_batch + n_sparse]
    return lax.select(is_nonzero, indices, ends(indices, sizes))


def set_nse(mat: Any, nse: int) -> Any:
    """Pad or truncate a BCOO array to `nse` stored elements."""
    old, n = mat.nse, mat.n_batch
    if old == nse:
        return mat
    if nse < old:
        data = lax.slice_in_dim(mat.data, 0, nse, 1, n)
        indices = lax.slice_in_dim(mat.indices, 0, nse, 1, n)
    else:
        padding_config = [(0, 0, 0)] * len(shape_of(mat.data))
        padding_config[n] = (0, nse - old, 0)
        data = lax.pad(mat.data, mat.dtype.type(0), padding_config)
        index = shape_of(mat.indices)
        padding = ends_everywhere((*index[:n], nse - old, index[-1]), mat.indices, mat.shape)
        indices = lax.concatenate([mat.indices, padding], n)
    return buffers(data, indices, mat._info)


# ----------------------------------------------------------------------- update_layout


def bcoo_update_layout(
    mat: Any,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> Any:
    """Return a BCOO array with other numbers of batch and dense axes.

    Args:
      mat: a BCOO array.
      n_batch: the number of batch axes; None leaves it unchanged.
      n_dense: the number of dense axes; None leaves it unchanged.
      on_inefficient: what to do if the result may store many more elements: 'error',
        'warn' or None.

    Returns:
      A BCOO array of the same elements.

    Raises:
      SparseEfficiencyError: the result may store many more elements, and `on_inefficient`
        is 'error'.
      ValueError: the layout or `on_inefficient` is invalid.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones((2, 1)), jnp.array([[[0]], [[2]]])), shape=(2, 3))
      >>> m, bcoo_update_layout(m, n_batch=0)
      (BCOO(float32[2, 3], nse=1, n_batch=1), BCOO(float32[2, 3], nse=2))
    """
    n_batch = mat.n_batch if n_batch is None else int(n_batch)
    n_dense = mat.n_dense if n_dense is None else int(n_dense)
    if (n_batch, n_dense) == (mat.n_batch, mat.n_dense):
        return mat
    n_sparse = mat.ndim - n_batch - n_dense
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"on_inefficent={on_inefficient!r}; expected one of ['error', 'warn', None]."
        )
    if n_batch < 0:
        raise ValueError(f"n_batch must be non-negative; got {n_batch}")
    if n_dense < 0:
        raise ValueError(f"n_dense must be non-negative; got {n_dense}")
    if n_sparse < 0:
        raise ValueError(
            f"sum of n_batch={n_batch} and n_dense={n_dense} cannot be larger than"
            f" mat.ndim={mat.ndim}."
        )
    new_dense = mat.shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]
    new_batch = mat.shape[mat.n_batch : n_batch]
    for name, old, new, sizes in (
        ("n_dense", mat.n_dense, n_dense, new_dense),
        ("n_batch", mat.n_batch, n_batch, new_batch),
    ):
        if new > old and any(d > 1 for d in sizes):
            _report_inefficient(mat.shape, name, old, new, on_inefficient)
    return _change_layout(mat, n_batch=n_batch, n_dense=n_dense)


def _report_inefficient(shape: Any, name: str, old: int, new: int, action: str | None) -> None:
    text = f"For matrix of shape {shape}, increasing {name} from {old} to {new}"
    text += " results in inefficient storage."
    advice = "set the on_inefficient argument of bcoo_update_layout to"
    if action == "error":
        text += f" To disable this error, {advice} 'warn' or None."
        raise SparseEfficiencyError(text)
    if action == "warn":
        text += f" To disable this warning, {advice} None."
        warnings.warn(text, SparseEfficiencyWarning, stacklevel=3)


@composite(static=("n_batch", "n_dense"))
def _change_layout(mat: Any, n_batch: int, n_dense: int) -> Any:
    data, indices = mat._bufs
    if n_dense < mat.n_dense:
        data, indices = _dense_to_sparse(data, indices, mat.n_batch, mat.n_dense - n_dense)
    if n_dense > mat.n_dense:
        data, indices = _sparse_to_dense(
            data, indices, mat.n_batch, mat.shape, n_dense - mat.n_dense
        )
    if n_batch < mat.n_batch:
        data, indices = _batch_to_sparse(data, indices, mat.shape, n_batch)
    if n_batch > mat.n_batch:
        data, indices = _sparse_to_batch(data, indices, mat.shape, n_batch)
    return BCOO((data, indices), shape=mat.shape)


def _dense_to_sparse(data: Any, indices: Any, n: int, num_moved: int) -> tuple[Any, Any]:
    """Convert the first dense axes to sparse ones: each of their elements gets an index."""
    shape, index = shape_of(data), shape_of(indices)
    sizes = shape[n + 1 : n + 1 + num_moved]
    count, dtype = elements(sizes), aval_of(indices).dtype
    data = lax.reshape(data, (*shape[:n], shape[n] * count, *shape[n + 1 + num_moved :]))
    wide = (*index[:n], index[n], *sizes)
    kept_axes = (*range(n), n)
    old = [
        lax.broadcast_in_dim(
            lax.squeeze(lax.slice_in_dim(indices, i, i + 1, 1, n + 1), (n + 1,)),
            wide,
            kept_axes,
        )
        for i in range(index[-1])
    ]
    new = [lax.broadcasted_iota(dtype, wide, n + 1 + i) for i in range(num_moved)]
    flat = (*index[:n], index[n] * count, 1)
    columns = [lax.reshape(c, flat) for c in (*old, *new)]
    return data, lax.concatenate(columns, n + 1)


def _sparse_to_dense(
    data: Any, indices: Any, n: int, shape: Any, num_moved: int
) -> tuple[Any, Any]:
    """Convert the last sparse axes to dense ones: each element becomes a dense block."""
    data, indices = _common(data, indices)
    ds, index = shape_of(data), shape_of(indices)
    k = index[-1]
    sizes = shape[n + k - num_moved : n + k]
    # Treat each stored element as a batch of one element, indexed by its last indices.
    block_indices = lax.expand_dims(columns_of(indices, range(k - num_moved, k)), (n + 1,))
    data = lax.expand_dims(data, (n + 1,))
    data = add_up(data, block_indices, ds[: n + 1], tuple(sizes))
    return data, columns_of(indices, range(k - num_moved))


def _batch_to_sparse(data: Any, indices: Any, shape: Any, n: int) -> tuple[Any, Any]:
    """Convert the last batch axes to sparse ones."""
    old = len(shape_of(indices)) - 2
    moved_axes = list(range(n, old))
    batch = span(shape_of(data)[:n], shape_of(indices)[:n])
    batch = (*batch, *shape[n:old])
    data, indices = broadcast_to_batch(data, batch), broadcast_to_batch(indices, batch)
    wide, dtype = (*batch, shape_of(indices)[-2], 1), aval_of(indices).dtype
    numbers = [lax.broadcasted_iota(dtype, wide, i) for i in moved_axes]
    indices = lax.concatenate([*numbers, indices], old + 1)
    return merged(data, moved_axes, old), merged(indices, moved_axes, old)


def _sparse_to_batch(data: Any, indices: Any, shape: Any, n: int) -> tuple[Any, Any]:
    """Convert the first sparse axes to batch ones: each batch stores all elements."""
    old = len(shape_of(indices)) - 2
    new, k = n - old, shape_of(indices)[-1]
    data, indices = _common(data, indices)
    batch = shape_of(indices)[:old]
    wide = (*batch, *shape[old:n])
    first, rest = columns_of(indices, range(new)), columns_of(indices, range(new, k))
    new_axes = tuple(range(old, n))
    data = broadcast_to_batch(lax.expand_dims(data, new_axes), wide)
    rest = broadcast_to_batch(lax.expand_dims(rest, new_axes), wide)
    first = broadcast_to_batch(lax.expand_dims(first, new_axes), wide)
    dtype = aval_of(indices).dtype
    batch_indices = [
        lax.broadcasted_iota(dtype, (*wide, shape_of(first)[-2], 1), i) for i in new_axes
    ]
    in_batch = lax.reduce_and(lax.eq(first, lax.concatenate(batch_indices, n + 1)), (n + 1,))
    sizes = shape[n : n + k - new]
    # Each batch stores its own elements first; the others follow as padding.
    stored_first = first_set(in_batch, shape_of(in_batch)[-1])
    stored_first = lax.expand_dims(stored_first, (n + 1,))
    data, remaining_indices = fetch(data, stored_first, n), fetch(rest, stored_first, n)
    if sizes:
        is_stored = in_bounds(stored_first, shape_of(in_batch)[-1:])
        is_stored = broadcast_to_batch(
            lax.expand_dims(is_stored, (n + 1,)), shape_of(remaining_indices)
        )
        remaining_indices = lax.select(
            is_stored, remaining_indices, ends(remaining_indices, sizes)
        )
    return data, remaining_indices
