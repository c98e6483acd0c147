"""COO: a matrix by coordinates, the simplest format.

A matrix stores `data`, `row` and `col`, all of shape (nse,).  Operations are carried out on
BCOO arrays of the same elements.

Next: csr.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base import tree
from ...ir.core import Primitive, aval_of
from ...passes.ad_util import Zero
from ...prims import lax
from ...prims.elementwise import linear_in_first
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from ..numpy._common import promote_dtypes
from .base import JAXSparse, Shape, SparseInfo
from .bcoo import batched_by, lowers_as, transposed_by
from .bcoo_dense import bcoo_extract_p, bcoo_todense_p, fromdense_flat, stored
from .bcoo_dot import bcoo_dot_general_p, bilinear_jvp
from .kernels import *

__all__ = (
    "COO",
    "COOInfo",
    "coo_todense_p",
    "coo_todense",
    "coo_fromdense_p",
    "coo_fromdense",
    "coo_matvec_p",
    "coo_matvec",
    "coo_matmat_p",
    "coo_matmat",
    "columns",
    "dense_of",
    "times",
    "product_of",
    "dense_to_coo",
    "matmul",
    "check_matrix",
)


class COOInfo(NamedTuple):
    """Static information about a COO matrix: everything except its buffers."""

    shape: Shape
    rows_sorted: bool = False
    cols_sorted: bool = False


@tree.register_pytree_node_class
class COO(JAXSparse):
    """A sparse matrix by coordinates.

    Args:
      args: `(data, row, col)`, each of shape (nse,).
      shape: (rows, columns).
      rows_sorted: promises that `row` ascends.
      cols_sorted: promises that `col` ascends.

    Example:
      >>> import minijax.numpy as jnp
      >>> parts = jnp.array([1., 2.]), jnp.array([0, 1]), jnp.array([1, 0])
      >>> COO(parts, shape=(2, 3)) @ jnp.arange(3.)
      Array([1., 0.], dtype=float32)
    """

    row: Any
    col: Any
    # Set by methods.py.
    todense: Callable[..., Any]

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Shape,
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        self.data, self.row, self.col = map(jnp.asarray, args)
        self._rows_sorted = rows_sorted
        self._cols_sorted = cols_sorted
        super().__init__(args, shape=shape)

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.row, self.col

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the buffers and the static information."""
        return self._bufs, self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Any:
        """Return a matrix with these buffers, unchecked: they may be any objects."""
        if set(aux_data) != set(COOInfo._fields):
            raise ValueError(f"COO.tree_unflatten: invalid aux_data={aux_data}")
        self = object.__new__(cls)
        self.data, self.row, self.col = children
        self.shape = aux_data["shape"]
        self._rows_sorted = aux_data["rows_sorted"]
        self._cols_sorted = aux_data["cols_sorted"]
        return self

    def transpose(self, axes: Any = None) -> COO:
        """Return the transposed matrix."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )

    def _sort_indices(self) -> COO:
        """Return the matrix with elements sorted by row, then by column."""
        if self._rows_sorted:
            return self
        row, col, data = lax.sort((self.row, self.col, self.data), num_keys=2)
        return COO((data, row, col), shape=self.shape, rows_sorted=True)


# --------------------------------------------------- helpers for all formats of matrices


def columns(row: Any, col: Any) -> Any:
    """Return the indices of a BCOO array, (nse, 2), from rows and columns."""
    row, col = promote_dtypes(row, col)
    axis = len(shape_of(row))
    return lax.concatenate([lax.expand_dims(x, (axis,)) for x in (row, col)], axis)


def dense_of(data: Any, row: Any, col: Any, shape: Shape) -> Any:
    """Return a matrix as a dense array."""
    info = SparseInfo(tuple(shape))
    return bcoo_todense_p.bind(data, columns(row, col), spinfo=info)


def times(data: Any, row: Any, col: Any, v: Any, shape: Shape, transpose: bool) -> Any:
    """Multiply a matrix, or its transpose, by a vector or a matrix."""
    side = 0 if transpose else 1
    dims = (((side,), (0,)), ((), ()))
    return bcoo_dot_general_p.bind(
        data,
        columns(row, col),
        v,
        dimension_numbers=dims,
        lhs_spinfo=SparseInfo(tuple(shape)),
        preferred_element_type=None,
    )


def product_of(name: str, rank: int) -> Callable[..., Any]:
    """Return the type rule of a product with an array of `rank` axes."""

    def rule(data: Any, v: Any, shape: Shape, transpose: bool) -> Any:
        rows, size = shape[::-1] if transpose else shape
        if len(v.shape) != rank or v.shape[0] != size:
            raise TypeError(
                f"{name} requires contracting dimensions to have the same shape, got"
                f" ({size},) and {v.shape[:1]}."
            )
        if data.dtype != v.dtype:
            raise TypeError(f"{name} requires equal dtypes, got {data.dtype}, {v.dtype}.")
        return shaped((rows, *v.shape[1:]), data.dtype)

    return rule


def dense_to_coo(mat: Any, nse: int, index_dtype: Any) -> list[Any]:
    """Return data, rows and columns of a dense matrix; they are 0 for padding."""
    flat, is_stored = fromdense_flat(mat, nse)
    width = lax.full_like(flat, max(shape_of(mat)[1], 1))
    zero = lax.full_like(flat, 0)
    row = lax.select(is_stored, lax.div(flat, width), zero)
    col = lax.select(is_stored, lax.rem(flat, width), zero)
    pairs = columns(row, col)
    data = bcoo_extract_p.bind(pairs, mat, assume_unique=True)
    data = lax.select(is_stored, data, lax.full_like(data, 0))
    dtype = dtypes.canonical(index_dtype)
    return [data, *(lax.convert_element_type(x, dtype) for x in (row, col))]


def check_matrix(name: str, mat: Any) -> None:
    """Raise ValueError unless `mat` has two axes."""
    if len(shape_of(mat)) != 2:
        raise ValueError(f"{name} must have ndim=2; got shape={shape_of(mat)}")


def matmul(mat: Any, other: Any, vector: Any, matrix: Any) -> Any:
    """Compute `mat @ other` by `vector(mat, v)` or `matrix(mat, B)`."""
    if isinstance(other, JAXSparse):
        raise NotImplementedError("matmul between two sparse objects.")
    other = jnp.asarray(other)
    data, other = promote_dtypes(mat.data, other)
    leaves, aux_data = mat.tree_flatten()
    mat = type(mat).tree_unflatten(aux_data, (data, *leaves[1:]))
    if other.ndim == 1:
        return vector(mat, other)
    if other.ndim == 2:
        return matrix(mat, other)
    raise NotImplementedError(f"matmul with object of shape {other.shape}")


# ----------------------------------------------------------------------------- todense

coo_todense_p = Primitive("coo_todense")


def coo_todense(mat: Any) -> Any:
    """Return a COO matrix as a dense array.

    Args:
      mat: a COO matrix.

    Returns:
      An array (rows, columns); elements stored several times are added up.

    Example:
      >>> import minijax.numpy as jnp
      >>> coo_todense(coo_fromdense(jnp.eye(2)))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return coo_todense_p.bind(*mat._bufs, spinfo=mat._info)


def _todense(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    return dense_of(data, row, col, spinfo.shape)


coo_todense_p.abstract = lambda data, row, col, *, spinfo: shaped(spinfo.shape, data.dtype)
linear_in_first(coo_todense_p, transposed_by(_todense))
coo_todense_p.batch = batched_by(_todense)
lowers_as(coo_todense_p, _todense)

# --------------------------------------------------------------------------- fromdense

coo_fromdense_p = Primitive("coo_fromdense", multiple_results=True)


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> Any:
    """Return a COO matrix of the nonzero elements of a dense matrix.

    Args:
      mat: an array (rows, columns).
      nse: the number of elements to store; further nonzeros are dropped, and missing ones
        are padding.  None counts them, which needs concrete values.
      index_dtype: the dtype of the indices.

    Returns:
      A COO matrix, its rows sorted.

    Raises:
      ValueError: `mat` does not have two axes.
      ConcretizationTypeError: `nse` is None and `mat` is traced.

    Example:
      >>> import minijax.numpy as jnp
      >>> coo_fromdense(jnp.array([[0., 1.], [2., 0.]]))
      COO(float32[2, 2], nse=2)
    """
    mat = jnp.asarray(mat)
    check_matrix("COO", mat)
    nse = stored(mat, nse, form="coo")
    bufs = coo_fromdense_p.bind(mat, nse=nse, index_dtype=index_dtype)
    return COO(tuple(bufs), shape=shape_of(mat), rows_sorted=True)


def _fromdense_type(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    index = shaped((nse,), dtypes.canonical(index_dtype))
    return [shaped((nse,), mat.dtype), index, index]


coo_fromdense_p.abstract = _fromdense_type


def _fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    outs = coo_fromdense_p.bind(*primals, **params)
    ts = [Zero(aval_of(x).to_tangent()) for x in outs]
    if type(tangents[0]) is not Zero:
        pairs = columns(*outs[1:])
        extracted = bcoo_extract_p.bind(pairs, tangents[0], assume_unique=True)
        # Padding is stored at (0, 0) and has no tangent.
        is_stored = lax.ne(outs[0], lax.full_like(outs[0], 0))
        ts[0] = lax.select(is_stored, extracted, lax.full_like(extracted, 0))
    return outs, ts


coo_fromdense_p.jvp = _fromdense_jvp
coo_fromdense_p.batch = batched_by(dense_to_coo)
lowers_as(coo_fromdense_p, dense_to_coo)

# ---------------------------------------------------------------------------- products

coo_matvec_p = Primitive("coo_matvec")
coo_matmat_p = Primitive("coo_matmat")


def coo_matvec(mat: Any, v: Any, transpose: bool = False) -> Any:
    """Multiply a COO matrix by a vector.

    Args:
      mat: a COO matrix (n, m).
      v: an array (m,) of the same dtype; (n,) with `transpose`.
      transpose: whether to multiply the transpose of `mat`.

    Returns:
      An array (n,), or (m,).

    Example:
      >>> import minijax.numpy as jnp
      >>> coo_matvec(coo_fromdense(jnp.array([[0., 1.], [2., 0.]])), jnp.array([3., 4.]))
      Array([4., 6.], dtype=float32)
    """
    v = jnp.asarray(v)
    return coo_matvec_p.bind(*mat._bufs, v, spinfo=mat._info, transpose=transpose)


def coo_matmat(mat: Any, B: Any, *, transpose: bool = False) -> Any:
    """Multiply a COO matrix by a dense one.

    Args:
      mat: a COO matrix (n, m).
      B: an array (m, k) of the same dtype; (n, k) with `transpose`.
      transpose: whether to multiply the transpose of `mat`.

    Returns:
      An array (n, k), or (m, k).

    Example:
      >>> import minijax.numpy as jnp
      >>> coo_matmat(coo_fromdense(jnp.array([[0., 1.], [2., 0.]])), jnp.eye(2))
      Array([[0., 1.],
             [2., 0.]], dtype=float32)
    """
    B = jnp.asarray(B)
    return coo_matmat_p.bind(*mat._bufs, B, spinfo=mat._info, transpose=transpose)


def _times(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool) -> Any:
    return times(data, row, col, v, spinfo.shape, transpose)


def _define(prim: Primitive, rank: int) -> None:
    of = product_of(prim.name, rank)
    prim.abstract = lambda data, row, col, v, *, spinfo, transpose: of(
        data, v, spinfo.shape, transpose
    )
    bilinear_jvp(prim, 0, 3)
    prim.transpose = transposed_by(_times)
    prim.batch = batched_by(_times)
    lowers_as(prim, _times)


_define(coo_matvec_p, 1)
_define(coo_matmat_p, 2)
