"""Operations on BCSR arrays: each converts to BCOO, applies the operation, and converts
back.

Next: coo.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import errors
from ...control.calls.jit import composite
from ...ir.core import Primitive, aval_of
from ...passes.ad_util import Zero
from ...prims import lax
from ...prims.elementwise import linear_in_first
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from .base import SparseInfo
from .bcoo import batched_by, check_bcoo, lowers_as, transposed_by
from .bcoo_dense import bcoo_extract_p, bcoo_fromdense_p, bcoo_todense_p, stored
from .bcoo_dot import bcoo_dot_general_p, bilinear_jvp, canonical_dims, check_axes, product_type
from .bcoo_layout import bcoo_eliminate_zeros, bcoo_sum_duplicates
from .bcoo_shape import bcoo_broadcast_in_dim, bcoo_concatenate
from .bcsr import *
from .kernels import *

__all__ = (
    "bcsr_todense_p",
    "bcsr_todense",
    "bcsr_fromdense_p",
    "bcsr_fromdense",
    "bcsr_extract_p",
    "bcsr_extract",
    "bcsr_dot_general_p",
    "bcsr_dot_general",
    "bcsr_sum_duplicates",
    "bcsr_eliminate_zeros",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
)

# ----------------------------------------------------------------------------- todense

bcsr_todense_p = Primitive("bcsr_todense")


def bcsr_todense(mat: Any) -> Any:
    """Return a BCSR array as a dense one.

    Args:
      mat: a BCSR array.

    Returns:
      An array of its shape and dtype; elements stored several times are added up.

    Example:
      >>> import minijax.numpy as jnp
      >>> bcsr_todense(bcsr_fromdense(jnp.array([[0., 1.], [2., 0.]])))
      Array([[0., 1.],
             [2., 0.]], dtype=float32)
    """
    return bcsr_todense_p.bind(*mat._bufs, spinfo=mat._info)


def _todense_type(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> Any:
    check_bcsr(data, indices, indptr, spinfo.shape)
    return shaped(tuple(spinfo.shape), data.dtype)


def _todense(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> Any:
    return bcoo_todense_p.bind(data, pairs_of(indices, indptr), spinfo=spinfo)


bcsr_todense_p.abstract = _todense_type
linear_in_first(bcsr_todense_p, transposed_by(_todense))
bcsr_todense_p.batch = batched_by(_todense)
lowers_as(bcsr_todense_p, _todense)

# --------------------------------------------------------------------------- fromdense

bcsr_fromdense_p = Primitive("bcsr_fromdense", multiple_results=True)


def bcsr_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = jnp.int32,
) -> Any:
    """Return a BCSR array of the nonzero elements of a dense array.

    Args:
      mat: an array with two axes in addition to batch and dense ones.
      nse: the number of elements to store in each batch; further nonzeros are dropped, and
        missing ones are padding.  None counts them, which needs concrete values.
      n_batch: the number of leading batch axes.
      n_dense: the number of trailing dense axes; a dense block is stored if any of its
        elements is nonzero.
      index_dtype: the dtype of the indices.

    Returns:
      A BCSR array of `mat`'s shape and dtype.

    Raises:
      ValueError: the number of sparse axes is not two.
      ConcretizationTypeError: `nse` is None and `mat` is traced.

    Example:
      >>> import minijax.numpy as jnp
      >>> bcsr_fromdense(jnp.array([[0., 1.], [2., 0.]]))
      BCSR(float32[2, 2], nse=2)
    """
    mat = jnp.asarray(mat)
    if len(shape_of(mat)) - n_batch - n_dense != 2:
        raise ValueError("bcsr_fromdense: must have 2 sparse dimensions.")
    nse = stored(mat, nse, n_batch, n_dense, "bcsr")
    bufs = bcsr_fromdense_p.bind(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    return BCSR(tuple(bufs), shape=shape_of(mat))


def _fromdense_type(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    batch, dense_shape = mat.shape[:n_batch], mat.shape[n_batch + 2 :]
    dtype = dtypes.canonical(index_dtype)
    return [
        shaped((*batch, nse, *dense_shape), mat.dtype),
        shaped((*batch, nse), dtype),
        shaped((*batch, mat.shape[n_batch] + 1), dtype),
    ]


def _fromdense(mat: Any, *, n_batch: int, **params: Any) -> list[Any]:
    data, indices = bcoo_fromdense_p.bind(mat, n_batch=n_batch, **params)
    rows, columns = (
        lax.squeeze(lax.slice_in_dim(indices, i, i + 1, 1, n_batch + 1), (n_batch + 1,))
        for i in (0, 1)
    )
    return [data, columns, starts_of(rows, shape_of(mat)[n_batch])]


bcsr_fromdense_p.abstract = _fromdense_type


def _fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    outs = bcsr_fromdense_p.bind(*primals, **params)
    ts = [Zero(aval_of(x).to_tangent()) for x in outs]
    if type(tangents[0]) is not Zero:
        ts[0] = bcsr_extract_p.bind(outs[1], outs[2], tangents[0])
    return outs, ts


bcsr_fromdense_p.jvp = _fromdense_jvp
bcsr_fromdense_p.batch = batched_by(_fromdense)
lowers_as(bcsr_fromdense_p, _fromdense)

# ----------------------------------------------------------------------------- extract

bcsr_extract_p = Primitive("bcsr_extract")


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """Return the elements of a dense array at the positions of a BCSR array.

    Args:
      indices: columns: (batch..., nse).
      indptr: where rows start: (batch..., rows + 1).
      mat: an array (batch..., rows, columns, dense...).

    Returns:
      The data of a BCSR array: (batch..., nse, dense...).

    Example:
      >>> import minijax.numpy as jnp
      >>> bcsr_extract(jnp.array([1, 0]), jnp.array([0, 1, 2]), jnp.array([[5, 6], [7, 8]]))
      Array([6, 7], dtype=int32)
    """
    return bcsr_extract_p.bind(*map(jnp.asarray, (indices, indptr, mat)))


def _extract_type(indices: Any, indptr: Any, mat: Any) -> Any:
    n_batch, _, nse = check_bcsr(None, indices, indptr, mat.shape)
    batch = span(mat.shape[:n_batch], indices.shape[:n_batch])
    return shaped((*batch, nse, *mat.shape[n_batch + 2 :]), mat.dtype)


def _extract(indices: Any, indptr: Any, mat: Any) -> Any:
    return bcoo_extract_p.bind(pairs_of(indices, indptr), mat, assume_unique=True)


bcsr_extract_p.abstract = _extract_type


def _extract_jvp(primals: Any, tangents: Any) -> Any:
    out = bcsr_extract_p.bind(*primals)
    if type(tangents[2]) is Zero:
        return out, Zero(aval_of(out).to_tangent())
    return out, bcsr_extract_p.bind(*primals[:2], tangents[2])


bcsr_extract_p.jvp = _extract_jvp
bcsr_extract_p.transpose = transposed_by(_extract)
bcsr_extract_p.batch = batched_by(_extract)
lowers_as(bcsr_extract_p, _extract)

# ------------------------------------------------------------------------- dot_general

bcsr_dot_general_p = Primitive("bcsr_dot_general")


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: None = None,
    out_sharding: Any = None,
) -> Any:
    """Compute `lax.dot_general` of a BCSR and a dense array.

    Args:
      lhs: a BCSR or dense array.
      rhs: a dense array.
      dimension_numbers: `((lhs contracting, rhs contracting), (lhs batch, rhs batch))`,
        axes by number; batch axes must be batch axes of `lhs`.
      precision: without effect on sparse products.
      preferred_element_type: the dtype of the result.
      out_sharding: without effect on sparse products.

    Returns:
      A dense array.

    Raises:
      NotImplementedError: `rhs` is sparse, or dense axes are contracted.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = bcsr_fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> bcsr_dot_general(m, jnp.ones(2), dimension_numbers=(([1], [0]), ([], [])))
      Array([2., 3.], dtype=float32)
    """
    del precision, out_sharding
    dims = canonical_dims(dimension_numbers)
    preferred = preferred_element_type
    if preferred is not None:
        preferred = dtypes.canonical(preferred)
    arrays = [not hasattr(x, "todense") for x in (lhs, rhs)]
    if all(arrays):
        return lax.dot_general(lhs, rhs, dims, preferred_element_type=preferred)
    if not (isinstance(lhs, BCSR) and arrays[1]):
        raise NotImplementedError(
            "bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs."
        )
    return bcsr_dot_general_p.bind(
        *lhs._bufs,
        jnp.asarray(rhs),
        dimension_numbers=dims,
        preferred_element_type=preferred,
        lhs_spinfo=lhs._info,
    )


def _dot_type(
    data: Any,
    indices: Any,
    indptr: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    lhs_spinfo: SparseInfo,
) -> Any:
    check_bcsr(data, indices, indptr, lhs_spinfo.shape)
    lhs = shaped(tuple(lhs_spinfo.shape), data.dtype)
    name = "bcsr_dot_general"
    out = product_type(name, lhs, rhs, dimension_numbers, preferred_element_type)
    pairs = shaped((*indices.shape, 2), indices.dtype)
    props = check_bcoo(data, pairs, lhs_spinfo.shape)
    (lhs_c, _), (lhs_b, _) = dimension_numbers
    check_axes(name, lhs_c, lhs_b, props)
    return out


def _dot(data: Any, indices: Any, indptr: Any, rhs: Any, **params: Any) -> Any:
    return bcoo_dot_general_p.bind(data, pairs_of(indices, indptr), rhs, **params)


bcsr_dot_general_p.abstract = _dot_type
bilinear_jvp(bcsr_dot_general_p, 0, 3)
bcsr_dot_general_p.transpose = transposed_by(_dot)
bcsr_dot_general_p.batch = batched_by(_dot)
lowers_as(bcsr_dot_general_p, _dot)

# ------------------------------------------------------------------- through BCOO


def bcsr_sum_duplicates(mat: Any, nse: int | None = None) -> Any:
    """Return a BCSR array that stores each position once.

    Args:
      mat: a BCSR array.
      nse: the number of elements to store in each batch; None counts them, which needs
        concrete indices.

    Returns:
      A BCSR array with the columns of each row in ascending order.

    Example:
      >>> import minijax.numpy as jnp
      >>> parts = jnp.array([1., 2.]), jnp.array([1, 1]), jnp.array([0, 2])
      >>> bcsr_sum_duplicates(BCSR(parts, shape=(1, 2))).data
      Array([3.], dtype=float32)
    """
    return from_bcoo(bcoo_sum_duplicates(to_bcoo(mat), nse))


def bcsr_eliminate_zeros(mat: Any, nse: int | None = None) -> Any:
    """Return a BCSR array without stored zeros and without repeated positions.

    Args:
      mat: a BCSR array.
      nse: the number of elements to store in each batch; None counts them.

    Returns:
      A BCSR array with the columns of each row in ascending order.

    Example:
      >>> import minijax.numpy as jnp
      >>> parts = jnp.array([0., 2.]), jnp.array([0, 1]), jnp.array([0, 2])
      >>> bcsr_eliminate_zeros(BCSR(parts, shape=(1, 2)))
      BCSR(float32[1, 2], nse=1)
    """
    return from_bcoo(bcoo_eliminate_zeros(to_bcoo(mat), nse))


def bcsr_broadcast_in_dim(
    mat: Any, *, shape: Any, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> Any:
    """Apply `lax.broadcast_in_dim` to a BCSR array.

    Args:
      mat: a BCSR array.
      shape: the shape of the result.
      broadcast_dimensions: which axis of the result each axis of `mat` becomes.
      sharding: without effect on sparse arrays.

    Returns:
      A BCSR array: new axes are batch axes or dense ones.

    Raises:
      NotImplementedError: a new axis would be between rows and columns.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = bcsr_fromdense(jnp.eye(2))
      >>> bcsr_broadcast_in_dim(m, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
      BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    return _broadcast_in_dim(
        mat,
        shape=tuple(map(int, shape)),
        dims=tuple(map(int, broadcast_dimensions)),
        sharding=sharding,
    )


@composite(static=("shape", "dims", "sharding"))
def _broadcast_in_dim(mat: Any, shape: Any, dims: Any, sharding: Any) -> Any:
    out = bcoo_broadcast_in_dim(
        to_bcoo(mat), shape=shape, broadcast_dimensions=dims, sharding=sharding
    )
    return from_bcoo(out)


def bcsr_concatenate(operands: Sequence[Any], *, dimension: int) -> Any:
    """Apply `lax.concatenate` to BCSR arrays.

    Args:
      operands: BCSR arrays with the same layout.
      dimension: the axis along which to join them: a batch axis, rows or columns.

    Returns:
      A BCSR array; along rows or columns, all elements of all operands are stored.

    Raises:
      ValueError: the operands are not BCSR arrays, or differ in their layout.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = bcsr_fromdense(jnp.eye(2))
      >>> bcsr_concatenate([m, m], dimension=1).todense()
      Array([[1., 0., 1., 0.],
             [0., 1., 0., 1.]], dtype=float32)
    """
    operands = list(operands)
    if not operands or not all(isinstance(x, BCSR) for x in operands):
        raise errors.value_error(
            "bcsr_concatenate: expected operands to be a sequence of BCSR arrays. Got"
            f" {operands}"
        )
    return _concatenate(operands, dimension=int(dimension))


@composite(static="dimension")
def _concatenate(operands: Any, dimension: int) -> Any:
    return from_bcoo(bcoo_concatenate([to_bcoo(x) for x in operands], dimension=dimension))
