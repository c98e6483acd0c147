"""Conversions between BCOO and dense arrays: `todense`, `fromdense`, `extract`.

`extract` reads a dense array at the positions of a BCOO array.  Each operation is linear
in its data: `todense` and `extract` are transposes of each other, and `fromdense` is
`extract` at the nonzero positions.

Next: bcoo_layout.py.
"""

from __future__ import annotations

import operator
from typing import Any

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir.core import Primitive, aval_of
from ...passes.ad_util import Zero
from ...prims import lax
from ...prims.elementwise import linear_in_first
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from .base import SparseInfo
from .bcoo import (
    BCOO,
    buffers,
    check_bcoo,
    check_indices,
    elements,
    in_front,
    index_cotangent,
    infos_in_front,
    lowers_as,
)
from .kernels import *

__all__ = (
    "bcoo_todense_p",
    "bcoo_todense",
    "bcoo_fromdense_p",
    "bcoo_fromdense",
    "bcoo_extract_p",
    "bcoo_extract",
    "stored",
    "fromdense_flat",
)

# ----------------------------------------------------------------------------- todense

bcoo_todense_p = Primitive("bcoo_todense")


def bcoo_todense(mat: Any) -> Any:
    """Return a BCOO array as a dense one.

    Args:
      mat: a BCOO array.

    Returns:
      An array of its shape and dtype; elements stored several times are added up.

    Example:
      >>> import minijax.numpy as jnp
      >>> bcoo_todense(BCOO((jnp.ones(2), jnp.array([[0], [2]])), shape=(3,)))
      Array([1., 0., 1.], dtype=float32)
    """
    return bcoo_todense_p.bind(mat.data, mat.indices, spinfo=mat._info)


def _todense_type(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    check_bcoo(data, indices, spinfo.shape)
    return shaped(tuple(spinfo.shape), data.dtype)


def _todense(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    n_batch, n_sparse, _, _ = check_indices(indices, spinfo.shape)
    batch, sizes = spinfo.shape[:n_batch], spinfo.shape[n_batch : n_batch + n_sparse]
    return add_up(
        data, indices, tuple(batch), tuple(sizes), spinfo.indices_sorted, spinfo.unique_indices
    )


bcoo_todense_p.abstract = _todense_type


def _todense_transpose(ct: Any, data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    index_cotangent(indices)
    data_ct = bcoo_extract_p.bind(indices, ct, assume_unique=True)
    return [sum_to_shape(data_ct, data.aval.shape), None]


linear_in_first(bcoo_todense_p, _todense_transpose)


def _todense_batch(axis: Any, args: Any, dims: Any, *, spinfo: SparseInfo) -> Any:
    data, indices = map(lambda x, d: in_front(axis, x, d), args, dims)
    spinfo = infos_in_front(axis, spinfo)
    return bcoo_todense_p.bind(data, indices, spinfo=spinfo), 0


bcoo_todense_p.batch = _todense_batch
lowers_as(bcoo_todense_p, _todense)

# ----------------------------------------------------------------------------- extract

bcoo_extract_p = Primitive("bcoo_extract")


def bcoo_extract(sparr: Any, arr: Any, *, assume_unique: bool | None = None) -> Any:
    """Return the elements of a dense array at the positions of a BCOO array.

    Args:
      sparr: a BCOO array; its data is not read.
      arr: an array of the same shape.
      assume_unique: whether each position is read as often as it is stored.  If not, a
        repeated position is read once and is 0 otherwise, so that `todense` restores the
        elements.  None means `sparr.unique_indices`.

    Returns:
      A BCOO array with the positions of `sparr` and the elements of `arr`.

    Raises:
      TypeError: `sparr` is not a BCOO array.
      ValueError: the shapes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(2), jnp.array([[0], [2]])), shape=(3,))
      >>> bcoo_extract(m, jnp.array([5., 6., 7.])).todense()
      Array([5., 0., 7.], dtype=float32)
    """
    if not isinstance(sparr, BCOO):
        raise errors.type_error(
            "First argument to bcoo_extract should be a BCOO array. Got"
            f" type(sparr)={type(sparr)}"
        )
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise errors.value_error(
            f"shape mismatch: sparr.shape={sparr.shape} a.shape={arr.shape}"
        )
    if assume_unique is None:
        assume_unique = sparr.unique_indices
    data = bcoo_extract_p.bind(sparr.indices, arr, assume_unique=assume_unique)
    return buffers(data, sparr.indices, sparr._info)


def _extract_type(indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    n_batch, n_sparse, _, nse = check_indices(indices, arr.shape)
    batch = span(arr.shape[:n_batch], indices.shape[:n_batch])
    return shaped((*batch, nse, *arr.shape[n_batch + n_sparse :]), arr.dtype)


def _extract(indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    n_batch, n_sparse, n_dense, nse = check_indices(indices, shape_of(arr))
    if not n_sparse and not assume_unique:
        # The one position is stored nse times.
        first = lax.eq(lax.iota(dtypes.int32, nse), dtypes.int32.type(0))
        first = lax.expand_dims(first, range(n_batch))
    data = fetch(arr, indices, n_batch)
    if assume_unique:
        return data
    if n_sparse:
        first = _is_first(indices)
    wide = lax.expand_dims(first, range(n_batch + 1, n_batch + 1 + n_dense))
    wide = broadcast_to_batch(wide, shape_of(data))
    return lax.select(wide, data, lax.full_like(data, 0))


def _is_first(indices: Any) -> Any:
    """Return the mask (..., n) of positions (..., n, k) that occur for the first time."""
    shape = shape_of(indices)[:-1]
    axis = len(shape) - 1
    positions = lax.broadcasted_iota(dtypes.int32, shape, axis)
    ordered, positions = lexicographic(indices, positions)
    is_new = starts_group(ordered)
    return lax.sort((positions, is_new), dimension=axis, num_keys=1)[1]


bcoo_extract_p.abstract = _extract_type


def _extract_jvp(primals: Any, tangents: Any, *, assume_unique: bool) -> Any:
    indices, arr = primals
    out = bcoo_extract_p.bind(indices, arr, assume_unique=assume_unique)
    t = tangents[1]
    if type(t) is Zero:
        return out, Zero(aval_of(out).to_tangent())
    return out, bcoo_extract_p.bind(indices, t, assume_unique=assume_unique)


bcoo_extract_p.jvp = _extract_jvp


def _extract_transpose(ct: Any, indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    index_cotangent(indices)
    info = SparseInfo(arr.aval.shape)
    if not assume_unique:
        n_dense = len(shape_of(ct)) - len(shape_of(indices)) + 1
        first = lax.expand_dims(
            _is_first(indices), range(len(shape_of(ct)) - n_dense, len(shape_of(ct)))
        )
        ct = lax.select(broadcast_to_batch(first, shape_of(ct)), ct, lax.full_like(ct, 0))
    return [None, bcoo_todense_p.bind(ct, indices, spinfo=info)]


bcoo_extract_p.transpose = _extract_transpose


def _extract_batch(axis: Any, args: Any, dims: Any, *, assume_unique: bool) -> Any:
    indices, arr = map(lambda x, d: in_front(axis, x, d), args, dims)
    arr = broadcast_to_batch(arr, (axis.size,))
    return bcoo_extract_p.bind(indices, arr, assume_unique=assume_unique), 0


bcoo_extract_p.batch = _extract_batch
lowers_as(bcoo_extract_p, _extract)

# --------------------------------------------------------------------------- fromdense

bcoo_fromdense_p = Primitive("bcoo_fromdense", multiple_results=True)


def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = jnp.int32,
) -> Any:
    """Return a BCOO array of the nonzero elements of a dense array.

    Args:
      mat: an array.
      nse: the number of elements to store in each batch; further nonzeros are dropped, and
        missing ones are padding.  None counts them, which needs concrete values.
      n_batch: the number of leading batch axes.
      n_dense: the number of trailing dense axes; a dense block is stored if any of its
        elements is nonzero.
      index_dtype: the dtype of the indices.

    Returns:
      A BCOO array of `mat`'s shape and dtype, its indices sorted and unique.

    Raises:
      ValueError: `n_batch + n_dense` exceeds the number of axes.
      ConcretizationTypeError: `nse` is None and `mat` is traced.

    Example:
      >>> import minijax.numpy as jnp
      >>> bcoo_fromdense(jnp.array([[0., 1.], [2., 0.]]))
      BCOO(float32[2, 2], nse=2)
    """
    mat = jnp.asarray(mat)
    nse = stored(mat, nse, n_batch, n_dense)
    params = {"nse": nse, "n_batch": n_batch, "n_dense": n_dense}
    data, indices = bcoo_fromdense_p.bind(mat, **params, index_dtype=index_dtype)
    info = SparseInfo(shape_of(mat), indices_sorted=True, unique_indices=True)
    return buffers(data, indices, info)


_TRACED_NSE = (
    "The error arose for the nse argument of {0}_fromdense. In order for {1}.fromdense()"
    " to be used in traced/compiled code, you must pass a concrete value to the nse"
    " (number of stored elements) argument."
)


def stored(mat: Any, nse: Any, n_batch: int = 0, n_dense: int = 0, form: str = "bcoo") -> int:
    """Return the number of elements to store: `nse`, or the number of nonzeros."""
    check_layout(shape_of(mat), n_batch, n_dense)
    text = _TRACED_NSE.format(form, form.upper())
    if nse is None:
        concrete_or_error(None, mat, text)
        nse = _count(mat, n_batch, n_dense)
    return operator.index(concrete_or_error(None, nse, text))


def check_layout(shape: Any, n_batch: int, n_dense: int) -> None:
    """Raise ValueError unless the numbers of batch and dense axes fit the shape."""
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(shape):
        raise errors.value_error(
            f"Invalid n_batch={n_batch}, n_dense={n_dense} for shape={shape}",
            why="the array has fewer axes than its batch and dense axes together.",
        )


@composite(static=("n_batch", "n_dense"))
def _count(mat: Any, n_batch: int, n_dense: int) -> Any:
    mask = _mask(mat, n_batch, n_dense)
    counts = lax.reduce_sum(lax.convert_element_type(mask, dtypes.int32), (n_batch,))
    batch_axes = tuple(range(n_batch))
    return lax.reduce_max(counts, batch_axes) if elements(shape_of(counts)) else 0


def _mask(mat: Any, n_batch: int, n_dense: int) -> Any:
    """Return the mask of nonzero positions, sparse axes flattened: (batch..., size)."""
    shape = shape_of(mat)
    mask = lax.ne(mat, lax.full_like(mat, 0))
    dense_axes = tuple(range(len(shape) - n_dense, len(shape)))
    mask = lax.reduce_or(mask, dense_axes) if dense_axes else mask
    sparse = shape[n_batch : len(shape) - n_dense]
    return lax.reshape(mask, (*shape[:n_batch], elements(sparse)))


def _fromdense_type(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    check_layout(mat.shape, n_batch, n_dense)
    n_sparse = len(mat.shape) - n_batch - n_dense
    batch, dense_shape = mat.shape[:n_batch], mat.shape[n_batch + n_sparse :]
    dtype = dtypes.canonical(index_dtype)
    return [
        shaped((*batch, nse, *dense_shape), mat.dtype),
        shaped((*batch, nse, n_sparse), dtype),
    ]


def fromdense_flat(mat: Any, nse: int, n_batch: int = 0, n_dense: int = 0) -> tuple[Any, Any]:
    """Return flat positions of the first `nse` nonzeros, and which of them exist.

    Positions count along all sparse axes; both results are (batch..., nse).
    """
    mask = _mask(mat, n_batch, n_dense)
    flat = first_set(mask, nse)
    return flat, lax.lt(flat, lax.full_like(flat, shape_of(mask)[-1]))


def _fromdense(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    shape = shape_of(mat)
    sparse = shape[n_batch : len(shape) - n_dense]
    flat, is_stored = (
        lax.expand_dims(x, (n_batch + 1,)) for x in fromdense_flat(mat, nse, n_batch, n_dense)
    )
    index_dtype_wide, columns, quotient = aval_of(flat).dtype, [], flat
    for n in reversed(sparse):
        size = lax.full_like(flat, n)
        column = lax.rem(quotient, lax.full_like(quotient, max(n, 1)))
        quotient = lax.div(quotient, lax.full_like(quotient, max(n, 1)))
        columns.append(lax.select(is_stored, column, size))
    if columns:
        indices = lax.concatenate(columns[::-1], n_batch + 1)
        data = fetch(mat, indices, n_batch)
    else:
        indices = lax.full((*shape_of(flat)[:-1], 0), 0, index_dtype_wide)
        data = fetch(mat, indices, n_batch)
        mask = lax.squeeze(is_stored, (n_batch + 1,))
        more = range(n_batch + 1, len(shape_of(data)))
        mask = broadcast_to_batch(lax.expand_dims(mask, more), shape_of(data))
        data = lax.select(mask, data, lax.full_like(data, 0))
    dtype = dtypes.canonical(index_dtype)
    return [data, lax.convert_element_type(indices, dtype)]


bcoo_fromdense_p.abstract = _fromdense_type


def _fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    data, indices = bcoo_fromdense_p.bind(*primals, **params)
    zero_tangent = Zero(aval_of(indices).to_tangent())
    if type(tangents[0]) is Zero:
        return [data, indices], [Zero(aval_of(data).to_tangent()), zero_tangent]
    data_tangent = bcoo_extract_p.bind(indices, tangents[0], assume_unique=True)
    return [data, indices], [data_tangent, zero_tangent]


bcoo_fromdense_p.jvp = _fromdense_jvp


def _fromdense_batch(axis: Any, args: Any, dims: Any, *, n_batch: int, **p: Any) -> Any:
    mat = in_front(axis, args[0], dims[0])
    return bcoo_fromdense_p.bind(mat, n_batch=n_batch + 1, **p), [0, 0]


bcoo_fromdense_p.batch = _fromdense_batch
lowers_as(bcoo_fromdense_p, _fromdense)
