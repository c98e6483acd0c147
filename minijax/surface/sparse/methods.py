"""The methods of sparse arrays, from the functions of the other files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...base.util import canonical_axis
from ...types import dtypes
from .. import jnp
from .base import add_methods
from .bcoo import BCOO
from .bcoo_dense import bcoo_fromdense, bcoo_todense
from .bcoo_layout import (
    bcoo_eliminate_zeros,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_transpose,
    bcoo_update_layout,
)
from .bcsr import BCSR, from_bcoo, to_bcoo
from .bcsr_ops import bcsr_eliminate_zeros, bcsr_fromdense, bcsr_sum_duplicates, bcsr_todense
from .coo import COO, coo_fromdense, coo_matmat, coo_matvec, coo_todense, matmul
from .csr import CSC, CSR, csr_fromdense, csr_matmat, csr_matvec, csr_todense
from .sparsify import sparsify

__all__ = ()

Method = Callable[..., Any]


def _sparse(fun: Method, swapped: bool = False) -> Method:
    """Return a function of one or two dense arrays as an operator of sparse arrays."""
    lifted = sparsify(fun, use_tracer=True)
    if not swapped:
        return lambda *args: lifted(*args)
    return lambda self, other: sparsify(lambda b, a: fun(a, b), use_tracer=True)(self, other)


# -------------------------------------------------------------------------------- BCOO


def _fromdense(
    cls: type,
    mat: Any,
    *,
    nse: int | None = None,
    index_dtype: Any = np.int32,
    n_dense: int = 0,
    n_batch: int = 0,
) -> BCOO:
    """Return a BCOO array of the nonzeros of a dense array; see `bcoo_fromdense`."""
    return bcoo_fromdense(
        mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
    )


def _from_scipy_sparse(
    cls: type, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
) -> BCOO:
    """Convert a `scipy.sparse` matrix to a BCOO array."""
    if n_dense or n_batch:
        raise NotImplementedError("BCOO.from_scipy_sparse with nonzero n_dense/n_batch.")
    mat = mat.tocoo()
    data = jnp.asarray(mat.data)
    indices = np.column_stack((mat.row, mat.col))
    indices = jnp.asarray(indices.astype(index_dtype or np.int32))
    return BCOO((data, indices), shape=mat.shape)


def _todense(self: BCOO) -> Any:
    """Return the array as a dense one."""
    return bcoo_todense(self)


def _transpose(self: BCOO, axes: Sequence[int] | None = None) -> BCOO:
    """Return the array with permuted axes; by default the order is reversed."""
    permutation = range(self.ndim)[::-1] if axes is None else axes
    if len(tuple(permutation)) == self.ndim:
        permutation = [canonical_axis(a, self.ndim) for a in permutation]
    return bcoo_transpose(self, permutation=tuple(permutation))


def _sort_indices(self: BCOO) -> BCOO:
    """Return the array with the indices of each batch in ascending order."""
    return bcoo_sort_indices(self)


def _sum_duplicates(self: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """Return the array with each position stored once, and without stored zeros."""
    fun = bcoo_eliminate_zeros if remove_zeros else bcoo_sum_duplicates
    return fun(self, nse)


def _update_layout(
    self: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str = "error",
) -> BCOO:
    """Change the numbers of batch and dense axes; see `bcoo_update_layout`."""
    return bcoo_update_layout(
        self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
    )


def _empty(
    cls: type,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    index_dtype: Any = "int32",
    n_dense: int = 0,
    n_batch: int = 0,
    nse: int = 0,
) -> BCOO:
    """Return an array that stores only padding."""
    shape = tuple(shape)
    n_sparse = len(shape) - n_dense - n_batch
    if n_sparse < 0 or n_dense < 0 or n_batch < 0 or nse < 0:
        raise ValueError(
            f"Invalid inputs: shape={shape}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}"
        )
    batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
    data = jnp.zeros((*batch, nse, *shape[n_batch + n_sparse :]), dtype)
    indices = jnp.full((*batch, nse, n_sparse), jnp.asarray(sparse, index_dtype))
    return BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)


def diagonal_of(n: int, m: int, k: int) -> tuple[Any, Any]:
    """Return rows and columns of the k-th diagonal of an (n, m) matrix."""
    size = max(0, min(n + min(k, 0), m - max(k, 0)))
    return np.arange(size) - min(k, 0), np.arange(size) + max(k, 0)


def _eye(
    cls: type,
    N: int,
    M: int,
    k: int,
    *,
    dtype: Any = None,
    index_dtype: Any = "int32",
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO:
    """Return a matrix with ones on the k-th diagonal."""
    n_sparse = 2 - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"Invalid n_batch={n_batch}, n_dense={n_dense} for 2 axes.")
    flags = {"indices_sorted": True, "unique_indices": True}
    rows, columns = diagonal_of(N, M, k)
    if n_sparse == 2:
        indices, data = np.stack([rows, columns], 1), np.ones(len(rows))
    elif n_batch == 0 and n_sparse == 1:
        indices, data = rows[:, None], np.eye(N, M, k)[rows]
    elif n_batch == 1 and n_sparse == 1:
        indices, data = np.full((N, 1, 1), M), np.zeros((N, 1))
        indices[rows, 0, 0] = columns
        data[rows] = 1
        # Rows without a one keep column M, which is padding.
    else:
        batch = (N, M)[:n_batch]
        indices = np.zeros((*batch, 1, 0))
        data = np.eye(N, M, k).reshape((*batch, 1, *(N, M)[n_batch:]))
    return BCOO(
        (
            jnp.asarray(data, dtypes.canonical(dtype or dtypes.float32)),
            jnp.asarray(indices, index_dtype),
        ),
        shape=(N, M),
        **flags,
    )


def _sum(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the sum over axes; see `numpy.sum`."""
    return sparsify(lambda x: x.sum(*args, **kwargs), use_tracer=True)(self)


def _reshape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Reshape the array; see `bcoo_reshape`."""
    return sparsify(lambda x: x.reshape(*args, **kwargs), use_tracer=True)(self)


def _astype(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert the array to another dtype."""
    return sparsify(lambda x: x.astype(*args, **kwargs), use_tracer=True)(self)


def _getitem(self: Any, idx: Any) -> Any:
    """Index the array; see `bcoo_slice` and `bcoo_gather`."""
    out = sparsify(lambda x: x[idx], use_tracer=True)(self)
    if isinstance(self, BCOO) and not isinstance(out, BCOO) and not out.size:
        return bcoo_fromdense(out)
    return out


def _iter(self: Any) -> Iterator[Any]:
    """Iterate over the slices along the first axis."""
    return (self[i] for i in range(self.shape[0]))


add_methods(
    BCOO,
    fromdense=classmethod(_fromdense),
    from_scipy_sparse=classmethod(_from_scipy_sparse),
    todense=_todense,
    transpose=_transpose,
    sort_indices=_sort_indices,
    sum_duplicates=_sum_duplicates,
    update_layout=_update_layout,
    _empty=classmethod(_empty),
    _eye=classmethod(_eye),
    sum=_sum,
    reshape=_reshape,
    astype=_astype,
    __getitem__=_getitem,
    __iter__=_iter,
)

_BINARY = {
    "matmul": jnp.matmul,
    "mul": jnp.multiply,
    "truediv": jnp.divide,
    "add": jnp.add,
    "sub": jnp.subtract,
    "pow": jnp.power,
}
for name, fun in _BINARY.items():
    add_methods(
        BCOO, **{f"__{name}__": _sparse(fun), f"__r{name}__": _sparse(fun, swapped=True)}
    )
_OTHERS = {
    "abs": jnp.abs,
    "neg": jnp.negative,
    "pos": jnp.positive,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "eq": jnp.equal,
    "ne": jnp.not_equal,
}
add_methods(BCOO, **{f"__{name}__": _sparse(fun) for name, fun in _OTHERS.items()})

# -------------------------------------------------------------------------------- BCSR


def _bcsr_fromdense(
    cls: type,
    mat: Any,
    *,
    nse: int | None = None,
    index_dtype: Any = np.int32,
    n_dense: int = 0,
    n_batch: int = 0,
) -> BCSR:
    """Return a BCSR array of the nonzeros of a dense array; see `bcsr_fromdense`."""
    return bcsr_fromdense(
        mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
    )


def _bcsr_from_scipy_sparse(
    cls: type, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
) -> BCSR:
    """Convert a `scipy.sparse` matrix to a BCSR array."""
    if n_dense or n_batch:
        raise NotImplementedError("BCSR from_scipy_sparse with nonzero n_dense/n_batch.")
    if len(mat.shape) != 2:
        raise ValueError(f"BCSR from_scipy_sparse requires 2D array; {mat.ndim}D is given.")
    mat = mat.tocsr()
    data = jnp.asarray(mat.data)
    indices, indptr = (
        jnp.asarray(x.astype(index_dtype or np.int32)) for x in (mat.indices, mat.indptr)
    )
    return BCSR((data, indices, indptr), shape=mat.shape)


def _bcsr_sum_duplicates(self: BCSR, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
    """Return the array with each position stored once, and without stored zeros."""
    fun = bcsr_eliminate_zeros if remove_zeros else bcsr_sum_duplicates
    return fun(self, nse)


def _bcsr_empty(
    cls: type,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    index_dtype: Any = "int32",
    n_dense: int = 0,
    n_batch: int = 0,
    nse: int = 0,
) -> BCSR:
    """Return an array that stores only padding."""
    shape = tuple(shape)
    if n_dense < 0 or n_batch < 0 or nse < 0:
        raise ValueError(
            f"Invalid inputs: shape={shape}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}"
        )
    if len(shape) - n_dense - n_batch != 2:
        raise ValueError("BCSR sparse.empty: must have 2 sparse dimensions.")
    batch, (rows, size) = shape[:n_batch], shape[n_batch : n_batch + 2]
    data = jnp.zeros((*batch, nse, *shape[n_batch + 2 :]), dtype)
    indices = jnp.full((*batch, nse), size, index_dtype)
    indptr = jnp.zeros((*batch, rows + 1), index_dtype)
    return BCSR((data, indices, indptr), shape=shape)


def _bcsr_eye(
    cls: type,
    N: int,
    M: int,
    k: int,
    *,
    dtype: Any = None,
    index_dtype: Any = "int32",
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCSR:
    """Return a matrix with ones on the k-th diagonal."""
    if n_batch or n_dense:
        raise ValueError("BCSR sparse.eye: must have 2 sparse dimensions.")
    return from_bcoo(_eye(BCOO, N, M, k, dtype=dtype, index_dtype=index_dtype))


def _bcsr_from_bcoo(cls: Any, arr: BCOO) -> BCSR:
    """Convert a BCOO array with two sparse axes to BCSR."""
    return from_bcoo(arr)


add_methods(
    BCSR,
    fromdense=classmethod(_bcsr_fromdense),
    from_scipy_sparse=classmethod(_bcsr_from_scipy_sparse),
    from_bcoo=classmethod(_bcsr_from_bcoo),
    to_bcoo=to_bcoo,
    todense=bcsr_todense,
    sum_duplicates=_bcsr_sum_duplicates,
    _empty=classmethod(_bcsr_empty),
    _eye=classmethod(_bcsr_eye),
    __getitem__=_getitem,
    __matmul__=_sparse(jnp.matmul),
    __rmatmul__=_sparse(jnp.matmul, swapped=True),
)

# ---------------------------------------------------------------------------- matrices


def _coo_fromdense(
    cls: type, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32
) -> COO:
    """Return a COO matrix of the nonzero elements of a dense one."""
    return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)


def _coo_empty(
    cls: type, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32"
) -> COO:
    """Return a matrix without stored elements."""
    shape = _matrix_shape("COO", shape)
    data, index = jnp.zeros(0, dtype), jnp.zeros(0, index_dtype)
    return COO((data, index, index), shape=shape, rows_sorted=True, cols_sorted=True)


def _matrix_shape(name: str, shape: Sequence[int]) -> tuple[int, int]:
    shape = tuple(shape)
    if len(shape) != 2:
        raise ValueError(f"{name} must have ndim=2; got shape={shape}")
    return shape


def _coo_eye(
    cls: type, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32"
) -> COO:
    """Return a matrix with ones on the k-th diagonal."""
    rows, columns = diagonal_of(N, M, k)
    data = jnp.ones(len(rows), dtype)
    buffers = (data, jnp.asarray(rows, index_dtype), jnp.asarray(columns, index_dtype))
    return COO(buffers, shape=(N, M), rows_sorted=True, cols_sorted=True)


add_methods(
    COO,
    fromdense=classmethod(_coo_fromdense),
    _empty=classmethod(_coo_empty),
    _eye=classmethod(_coo_eye),
    todense=coo_todense,
    __matmul__=lambda self, other: matmul(self, other, coo_matvec, coo_matmat),
)


def _csr_fromdense(
    cls: type, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32
) -> CSR:
    """Return a CSR matrix of the nonzero elements of a dense one."""
    return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)


def _csc_fromdense(
    cls: type, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32
) -> CSC:
    """Return a CSC matrix of the nonzero elements of a dense one."""
    return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T


def _csr_empty(
    cls: Any, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32"
) -> Any:
    """Return a matrix without stored elements."""
    shape = _matrix_shape(cls.__name__, shape)
    data, index = jnp.zeros(0, dtype), jnp.zeros(0, index_dtype)
    outer = shape[0] if cls is CSR else shape[1]
    return cls((data, index, jnp.zeros(outer + 1, index_dtype)), shape=shape)


def _csr_eye(
    cls: type, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32"
) -> CSR:
    """Return a matrix with ones on the k-th diagonal."""
    rows, columns = diagonal_of(N, M, k)
    starts = np.searchsorted(rows, np.arange(N + 1))
    data = jnp.ones(len(rows), dtype)
    buffers = (data, jnp.asarray(columns, index_dtype), jnp.asarray(starts, index_dtype))
    return CSR(buffers, shape=(N, M))


def _csc_eye(
    cls: type, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32"
) -> CSC:
    """Return a matrix with ones on the k-th diagonal."""
    return _csr_eye(CSR, M, N, -k, dtype=dtype, index_dtype=index_dtype).T


def _csc_todense(self: CSC) -> Any:
    """Return the matrix as a dense array."""
    return csr_todense(self.T).T


add_methods(
    CSR,
    fromdense=classmethod(_csr_fromdense),
    _empty=classmethod(_csr_empty),
    _eye=classmethod(_csr_eye),
    todense=csr_todense,
    __matmul__=lambda self, other: matmul(self, other, csr_matvec, csr_matmat),
)
add_methods(
    CSC,
    fromdense=classmethod(_csc_fromdense),
    _empty=classmethod(_csr_empty),
    _eye=classmethod(_csc_eye),
    todense=_csc_todense,
    __matmul__=lambda self, other: matmul(
        self,
        other,
        lambda m, v: csr_matvec(m.T, v, transpose=True),
        lambda m, B: csr_matmat(m.T, B, transpose=True),
    ),
)
