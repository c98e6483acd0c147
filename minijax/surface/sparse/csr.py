"""CSR and CSC: a matrix by compressed rows, or by compressed columns.

A CSR matrix stores `data` and the column of each element, `indices`, both of shape (nse,),
and the start of each row, `indptr` of shape (rows + 1,).  A CSC matrix is the transpose of
a CSR matrix.

Next: sparsify.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import tree
from ...ir.core import Primitive, aval_of
from ...passes.ad_util import Zero
from ...prims import lax
from ...prims.elementwise import linear_in_first
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from .base import JAXSparse, Shape
from .bcoo import batched_by, lowers_as, transposed_by
from .bcoo_dense import bcoo_extract_p, stored
from .bcoo_dot import bilinear_jvp
from .bcsr import rows_of, starts_of
from .coo import check_matrix, columns, dense_of, dense_to_coo, product_of, times
from .kernels import *

__all__ = (
    "CSR",
    "CSC",
    "csr_todense_p",
    "csr_todense",
    "csr_fromdense_p",
    "csr_fromdense",
    "csr_matvec_p",
    "csr_matvec",
    "csr_matmat_p",
    "csr_matmat",
)


class Compressed(JAXSparse):
    """The common base of CSR and CSC matrices: their buffers."""

    indices: Any
    indptr: Any
    # Set by methods.py.
    todense: Callable[..., Any]

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the buffers and the shape."""
        return self._bufs, {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Any:
        """Return a matrix with these buffers, unchecked: they may be any objects."""
        if set(aux_data) != {"shape"}:
            raise ValueError(f"{cls.__name__}.tree_unflatten: invalid aux_data={aux_data}")
        self = object.__new__(cls)
        self.data, self.indices, self.indptr = children
        self.shape = aux_data["shape"]
        return self

    def transpose(self, axes: Any = None) -> Any:
        """Return the transposed matrix, in the other of the two formats."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        other = CSC if isinstance(self, CSR) else CSR
        return other(self._bufs, shape=self.shape[::-1])


@tree.register_pytree_node_class
class CSR(Compressed):
    """A sparse matrix by compressed rows.

    Args:
      args: `(data, indices, indptr)`: elements (nse,), their columns (nse,), and the
        starts of the rows (rows + 1,).
      shape: (rows, columns).

    Example:
      >>> import minijax.numpy as jnp
      >>> parts = jnp.array([1., 2.]), jnp.array([1, 0]), jnp.array([0, 1, 2])
      >>> CSR(parts, shape=(2, 3)) @ jnp.arange(3.)
      Array([1., 0.], dtype=float32)
    """


@tree.register_pytree_node_class
class CSC(Compressed):
    """A sparse matrix by compressed columns.

    Args:
      args: `(data, indices, indptr)`: elements (nse,), their rows (nse,), and the starts
        of the columns (columns + 1,).
      shape: (rows, columns).

    Example:
      >>> import minijax.numpy as jnp
      >>> parts = jnp.array([1., 2.]), jnp.array([1, 0]), jnp.array([0, 1, 2])
      >>> CSC(parts, shape=(3, 2)) @ jnp.arange(2.)
      Array([2., 0., 0.], dtype=float32)
    """


# ----------------------------------------------------------------------------- todense

csr_todense_p = Primitive("csr_todense")


def csr_todense(mat: Any) -> Any:
    """Return a CSR matrix as a dense array.

    Args:
      mat: a CSR matrix.

    Returns:
      An array (rows, columns); elements stored several times are added up.

    Example:
      >>> import minijax.numpy as jnp
      >>> csr_todense(csr_fromdense(jnp.eye(2)))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return csr_todense_p.bind(*mat._bufs, shape=mat.shape)


def _rows(indices: Any, indptr: Any) -> Any:
    return rows_of(indptr, shape_of(indices)[-1])


def _todense(data: Any, indices: Any, indptr: Any, *, shape: Shape) -> Any:
    return dense_of(data, _rows(indices, indptr), indices, shape)


csr_todense_p.abstract = lambda data, indices, indptr, *, shape: shaped(shape, data.dtype)
linear_in_first(csr_todense_p, transposed_by(_todense))
csr_todense_p.batch = batched_by(_todense)
lowers_as(csr_todense_p, _todense)

# --------------------------------------------------------------------------- fromdense

csr_fromdense_p = Primitive("csr_fromdense", multiple_results=True)


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> Any:
    """Return a CSR matrix of the nonzero elements of a dense matrix.

    Args:
      mat: an array (rows, columns).
      nse: the number of elements to store; further nonzeros are dropped, and missing ones
        are padding.  None counts them, which needs concrete values.
      index_dtype: the dtype of the indices.

    Returns:
      A CSR matrix.

    Raises:
      ValueError: `mat` does not have two axes.
      ConcretizationTypeError: `nse` is None and `mat` is traced.

    Example:
      >>> import minijax.numpy as jnp
      >>> csr_fromdense(jnp.array([[0., 1.], [2., 0.]]))
      CSR(float32[2, 2], nse=2)
    """
    mat = jnp.asarray(mat)
    check_matrix("CSR", mat)
    nse = stored(mat, nse, form="csr")
    bufs = csr_fromdense_p.bind(mat, nse=nse, index_dtype=dtypes.canonical(index_dtype))
    return CSR(tuple(bufs), shape=shape_of(mat))


def _fromdense_type(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    index = dtypes.canonical(index_dtype)
    return [
        shaped((nse,), mat.dtype),
        shaped((nse,), index),
        shaped((mat.shape[0] + 1,), index),
    ]


def _fromdense(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    size = shape_of(mat)[0]
    data, row, col = dense_to_coo(mat, nse, index_dtype)
    # Padding gets the row one past the last, so that no row counts it.
    zero = lax.full_like(data, 0)
    row = lax.select(lax.ne(data, zero), row, lax.full_like(row, size))
    return [data, col, starts_of(row, size)]


csr_fromdense_p.abstract = _fromdense_type


def _fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    outs = csr_fromdense_p.bind(*primals, **params)
    ts = [Zero(aval_of(x).to_tangent()) for x in outs]
    if type(tangents[0]) is not Zero:
        pairs = columns(_rows(outs[1], outs[2]), outs[1])
        ts[0] = bcoo_extract_p.bind(pairs, tangents[0], assume_unique=True)
    return outs, ts


csr_fromdense_p.jvp = _fromdense_jvp
csr_fromdense_p.batch = batched_by(_fromdense)
lowers_as(csr_fromdense_p, _fromdense)

# ---------------------------------------------------------------------------- products

csr_matvec_p = Primitive("csr_matvec")
csr_matmat_p = Primitive("csr_matmat")


def csr_matvec(mat: Any, v: Any, transpose: bool = False) -> Any:
    """Multiply a CSR matrix by a vector.

    Args:
      mat: a CSR matrix (n, m).
      v: an array (m,) of the same dtype; (n,) with `transpose`.
      transpose: whether to multiply the transpose of `mat`.

    Returns:
      An array (n,), or (m,).

    Example:
      >>> import minijax.numpy as jnp
      >>> csr_matvec(csr_fromdense(jnp.array([[0., 1.], [2., 0.]])), jnp.array([3., 4.]))
      Array([4., 6.], dtype=float32)
    """
    v = jnp.asarray(v)
    return csr_matvec_p.bind(*mat._bufs, v, shape=mat.shape, transpose=transpose)


def csr_matmat(mat: Any, B: Any, *, transpose: bool = False) -> Any:
    """Multiply a CSR matrix by a dense one.

    Args:
      mat: a CSR matrix (n, m).
      B: an array (m, k) of the same dtype; (n, k) with `transpose`.
      transpose: whether to multiply the transpose of `mat`.

    Returns:
      An array (n, k), or (m, k).

    Example:
      >>> import minijax.numpy as jnp
      >>> csr_matmat(csr_fromdense(jnp.array([[0., 1.], [2., 0.]])), jnp.eye(2))
      Array([[0., 1.],
             [2., 0.]], dtype=float32)
    """
    B = jnp.asarray(B)
    return csr_matmat_p.bind(*mat._bufs, B, shape=mat.shape, transpose=transpose)


def _times(
    data: Any, indices: Any, indptr: Any, v: Any, *, shape: Shape, transpose: bool
) -> Any:
    return times(data, _rows(indices, indptr), indices, v, shape, transpose)


def _define(prim: Primitive, rank: int) -> None:
    of = product_of(prim.name, rank)
    prim.abstract = lambda data, indices, indptr, v, *, shape, transpose: of(
        data, v, shape, transpose
    )
    bilinear_jvp(prim, 0, 3)
    prim.transpose = transposed_by(_times)
    prim.batch = batched_by(_times)
    lowers_as(prim, _times)


_define(csr_matvec_p, 1)
_define(csr_matmat_p, 2)
