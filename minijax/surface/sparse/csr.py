"""CSR and CSC: a matrix by compressed rows, or by compressed columns.

Stored are `data`, the column of each element, `indices`, both of shape (nse,), and where
each row starts, `indptr` of shape (rows + 1,).  A CSC matrix is the transpose of such a
one.

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
from .coo import columns, dense_of, dense_to_coo, check_matrix, product_of, times
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
    """What CSR and CSC matrices have in common: their buffers."""

    indices: Any
    indptr: Any
    # Given by methods.py.
    todense: Callable[..., Any]

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The buffers, and the shape."""
        return self._bufs, {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Any:
        """A matrix of these buffers, unchecked: they may be anything."""
        if set(aux_data) != {"shape"}:
            raise ValueError(f"{cls.__name__}.tree_unflatten: invalid aux_data={aux_data}")
        self = object.__new__(cls)
        self.data, self.indices, self.indptr = children
        self.shape = aux_data["shape"]
        return self

    def transpose(self, axes: Any = None) -> Any:
        """The matrix with rows and columns exchanged: the other of the two formats."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        other = CSC if isinstance(self, CSR) else CSR
        return other(self._bufs, shape=self.shape[::-1])


@tree.register_pytree_node_class
class CSR(Compressed):
    """A sparse matrix by compressed rows.

    Args:
      args: `(data, indices, indptr)`: elements (nse,), their columns (nse,), and where
        rows start (rows + 1,).
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
      args: `(data, indices, indptr)`: elements (nse,), their rows (nse,), and where
        columns start (columns + 1,).
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
    """All elements of a CSR matrix.

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
    """The CSR form of a matrix: its elements that are not 0, and where they are.

    Args:
      mat: an array (rows, columns).
      nse: how many elements to store: at most so many are kept, and the rest is padding.
        None counts them, which needs concrete numbers.
      index_dtype: the dtype of the indices.

    Returns:
      A CSR matrix.

    Raises:
      ValueError: `mat` has not two axes.
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
    # Padding belongs to no row.
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
    """The product of a CSR matrix and a vector.

    Args:
      mat: a CSR matrix (n, m).
      v: an array (m,) of its dtype; (n,) if it is transposed.
      transpose: whether to multiply with the transpose of `mat`.

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
    """The product of a CSR matrix and a dense one.

    Args:
      mat: a CSR matrix (n, m).
      B: an array (m, k) of its dtype; (n, k) if it is transposed.
      transpose: whether to multiply with the transpose of `mat`.

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
