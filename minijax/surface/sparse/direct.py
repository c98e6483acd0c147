r"""A direct solver for sparse linear systems: `spsolve`.

A matrix that is banded, or becomes banded by reordering, is factored by panels (banded.py).
Any other is factored left-looking: column j of :math:`L` and :math:`U` comes from solving
:math:`L x = a_j` with the previous columns, and the largest element in a row without a
pivot becomes the next pivot.  Only nonzero elements are visited.

With :math:`x = A^{-1} b`, the tangent is :math:`\dot x = A^{-1} (\dot b - \dot A x)`, and
cotangents are multiplied by :math:`A^{-T}`.

Source: Gilbert and Peierls, Sparse Partial Pivoting in Time Proportional to Arithmetic
Operations, SIAM J. Sci. Stat. Comput. 9 (1988).
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from typing import Any

import numpy as np

from ...base import errors
from ...control.callbacks.callbacks import over_lanes, pure_callback
from ...ir.core import ByPlatform, Primitive, aval_of
from ...passes import ad_util
from ...passes.ad_util import Zero, is_linear
from ...prims import lax
from ...prims.linalg.lapack import call
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from .banded import band_of, fits, solve_banded
from .bcoo import index_cotangent, lowers_as
from .bcsr import rows_of, starts_of
from .csr import csr_matvec_p
from .kernels import shape_of
from .orderings import ORDERINGS, graph_of

__all__ = ("spsolve_p", "spsolve")

# -------------------------------------------------------------------- host computation


class Singular(Exception):
    """A matrix has no inverse."""


def factored(
    columns: list[tuple[np.ndarray, np.ndarray]], column_order: list[int], least: float
) -> tuple[list[Any], list[Any], np.ndarray]:
    """Return the columns of L and U, as (rows, values), and the rows of the pivots.

    `columns` are the matrix's columns as (rows, values); `column_order` is their order of
    elimination.  A pivot of size at most `least` counts as 0.
    """
    n = len(columns)
    pivot_index = np.full(n, n)  # the pivot that uses a row; n if none does yet
    lower: list[Any] = []
    upper: list[Any] = []
    pivots = np.zeros(n, np.intp)
    kind = np.result_type(np.float64, *(v.dtype for _, v in columns[:1]))
    work, marked = np.zeros(n, kind), np.zeros(n, bool)
    for j, q in enumerate(column_order):
        rows, values = columns[q]
        np.add.at(work, rows, values)
        touched = [np.unique(rows)]
        marked[touched[0]] = True
        waiting = [k for k in pivot_index[touched[0]].tolist() if k < n]
        heapq.heapify(waiting)
        above: list[int] = []
        while waiting:
            k = heapq.heappop(waiting)
            above.append(k)
            below, factors = lower[k]
            work[below] -= work[pivots[k]] * factors
            new = below[~marked[below]]
            marked[new] = True
            touched.append(new)
            for p in pivot_index[new].tolist():
                if p < n:
                    heapq.heappush(waiting, p)
        rows = np.concatenate(touched)
        free = rows[pivot_index[rows] == n]
        sizes = np.abs(work[free])
        if not len(free) or not sizes.max() > least:
            raise Singular
        pivot = free[sizes.argmax()]
        pivot_index[pivot], pivots[j] = j, pivot
        upper.append((above, work[pivots[above]], work[pivot]))
        below = free[(free != pivot) & (work[free] != 0)]
        lower.append((below, work[below] / work[pivot]))
        work[rows], marked[rows] = 0, False
    return lower, upper, pivots


def _solve_near_diagonal(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, b: np.ndarray, reorder: int
) -> tuple[np.ndarray | None, list[int] | None]:
    """Return the solution if the matrix is banded, directly or after reordering, and the
    order if it was computed."""
    n = len(b)
    if reorder > 1:
        return None, None
    band = band_of(rows, columns)
    # Such a band is so narrow that computing a better order would take longer than it saves.
    if sum(band) <= max(64, 4 * math.isqrt(n)):
        return solve_banded(n, rows, columns, values, b, *band), None
    if not reorder:
        fit = fits(n, *band)
        return solve_banded(n, rows, columns, values, b, *band) if fit else None, None
    column_order = list(ORDERINGS[reorder](graph_of(rows, columns, n)))
    new_index = np.empty(n, np.intp)
    new_index[column_order] = np.arange(n)
    rows, columns = new_index[rows], new_index[columns]
    band = band_of(rows, columns)
    if not fits(n, *band):
        return None, column_order
    by_row = np.argsort(rows, kind="stable")
    x = solve_banded(n, rows[by_row], columns[by_row], values[by_row], b[column_order], *band)
    return None if x is None else x[new_index], column_order


def solved(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    b: np.ndarray,
    *,
    tol: float,
    reorder: int,
) -> np.ndarray:
    """Return the solution of a system in CSR form, or NaN for a singular matrix."""
    data, indices, indptr, b = map(np.asarray, (data, indices, indptr, b))
    n, dtype = len(b), b.dtype
    wide = np.complex128 if np.iscomplexobj(b) else np.float64
    values = data[: indptr[-1]].astype(wide)
    rows = np.repeat(np.arange(n), np.diff(indptr))
    inside = (indices[: len(rows)] >= 0) & (indices[: len(rows)] < n)
    rows, columns_of_elements, values = (
        rows[inside],
        indices[: len(rows)][inside],
        values[inside],
    )
    largest = np.abs(values).max(initial=0)
    if not np.isfinite(largest):
        return np.full(n, np.nan, dtype)
    solution, column_order = _solve_near_diagonal(
        rows, columns_of_elements, values, b.astype(wide), reorder
    )
    if solution is not None:
        return solution.astype(dtype)
    if column_order is None:
        column_order = list(ORDERINGS[reorder](graph_of(rows, columns_of_elements, n)))
    by_column = np.argsort(columns_of_elements, kind="stable")
    ends = np.searchsorted(columns_of_elements[by_column], np.arange(n + 1))
    columns = [
        (rows[by_column[i:j]], values[by_column[i:j]]) for i, j in itertools.pairwise(ends)
    ]
    try:
        least = tol * float(np.finfo(wide).eps) * largest
        lower, upper, pivots = factored(columns, column_order, least)
    except Singular:
        return np.full(n, np.nan, dtype)
    y, x = b.astype(wide), np.zeros(n, wide)
    for (below, factors), pivot in zip(lower, pivots, strict=True):
        y[below] -= y[pivot] * factors
    z = y[pivots]
    for j in range(n - 1, -1, -1):
        above, factors, last = upper[j]
        z[j] /= last
        z[above] -= z[j] * factors
    x[column_order] = z
    return x.astype(dtype)


# ----------------------------------------------------------------------------- primitive

spsolve_p = Primitive("spsolve")


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    r"""Solve a sparse linear system :math:`A x = b` directly.

    Args:
      data: the elements of A, a square matrix in CSR form: (nse,).
      indices: their columns: (nse,).
      indptr: the starts of the rows: (n + 1,).
      b: an array (n,) of the dtype of `data`.
      tol: A counts as singular if a pivot is at most tol times the rounding error of
        its largest element.
      reorder: the order in which unknowns are eliminated: 0 the given order, 1 reverse
        Cuthill-McKee, 2 minimum degree, 3 nested dissection.

    Returns:
      x, (n,); NaN if A is singular.  It is computed on the host, in double precision.

    Raises:
      ValueError: buffers of other shapes or dtypes, or another `reorder`.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.experimental import sparse
      >>> A = sparse.BCSR.fromdense(jnp.array([[2., 0.], [1., 4.]]))
      >>> spsolve(A.data, A.indices, A.indptr, jnp.array([2., 9.]))
      Array([1., 2.], dtype=float32)

    Source: Gilbert and Peierls, Sparse Partial Pivoting in Time Proportional to
    Arithmetic Operations (1988).

    Differs from JAX: `tol` and `reorder` have an effect on CPUs, and `vmap` works.
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    return spsolve_p.bind(data, indices, indptr, b, tol=float(tol), reorder=reorder)


def _type(data: Any, indices: Any, indptr: Any, b: Any, *, tol: float, reorder: int) -> Any:
    shapes = (
        f"data.shape={data.shape} indices.shape={indices.shape} indptr.shape={indptr.shape}"
    )
    if not data.ndim == indices.ndim == indptr.ndim == b.ndim == 1:
        raise errors.value_error(
            f"Arrays must be one-dimensional. Got {shapes} b.shape={b.shape}"
        )
    if data.shape != indices.shape or indptr.size != b.size + 1:
        raise errors.value_error(f"Invalid CSR buffer sizes: {shapes}")
    if not all(dtypes.is_integer(x.dtype) for x in (indices, indptr)):
        raise errors.value_error(
            f"index arrays must be integer typed; got indices.dtype={indices.dtype}"
            f" indptr.dtype={indptr.dtype}"
        )
    if data.dtype != b.dtype or not dtypes.is_inexact(data.dtype):
        raise errors.value_error(
            f"data types do not match: data.dtype={data.dtype} b.dtype={b.dtype}"
        )
    if reorder not in ORDERINGS:
        raise errors.value_error(
            f"reorder={reorder} not valid, must be one of {list(ORDERINGS)}"
        )
    return shaped(b.shape, b.dtype)


def _solve(data: Any, indices: Any, indptr: Any, b: Any, **params: Any) -> Any:
    if not shape_of(b)[0]:
        return b
    fun = functools.partial(solved, **params)
    return pure_callback(fun, aval_of(b), data, indices, indptr, b)


spsolve_p.abstract = _type


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    data, indices, indptr, _ = primals
    x = spsolve_p.bind(*primals, **params)
    rhs_tangent: Any = tangents[3]
    if type(tangents[0]) is not Zero:
        n = shape_of(x)[0]
        change = csr_matvec_p.bind(
            tangents[0], indices, indptr, x, shape=(n, n), transpose=False
        )
        rhs_tangent = ad_util.add(rhs_tangent, lax.neg(change))
    if type(rhs_tangent) is Zero:
        return x, Zero(aval_of(x).to_tangent())
    return x, spsolve_p.bind(data, indices, indptr, rhs_tangent, **params)


spsolve_p.jvp = _jvp


def _transposed(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any, Any]:
    """Return the transpose of a square CSR matrix; padding has a column out of bounds."""
    (nse,), (ends,) = shape_of(indices), shape_of(indptr)
    rows = rows_of(indptr, nse)
    columns, rows, data = lax.sort((indices, rows, data), num_keys=2)
    return data, rows, starts_of(columns, ends - 1)


def _transpose(ct: Any, data: Any, indices: Any, indptr: Any, b: Any, **params: Any):
    index_cotangent(indices, indptr)
    if is_linear(data):
        raise TypeError("spsolve is not linear in data.")
    transposed_buffers = _transposed(data, indices, indptr)
    return [None, None, None, spsolve_p.bind(*transposed_buffers, ct, **params)]


spsolve_p.transpose = _transpose


def _batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    one = lambda *xs: [spsolve_p.bind(*xs, **params)]
    outs, out_dims = over_lanes(one, axis, args, dims, unrolled=False)
    return outs[0], out_dims[0]


spsolve_p.batch = _batch
lowers_as(spsolve_p, _solve)


_lower = spsolve_p.lower


def _lower_cuda(ctx: Any, *operands: Any, tol: float, reorder: int) -> Any:
    """Lower to cuSOLVER's QR solver, which supports only 32-bit indices."""
    _, indices, indptr, b = ctx.avals_in
    if not b.size or {indices.dtype, indptr.dtype} != {dtypes.int32}:
        return _lower(ctx, *operands, tol=tol, reorder=reorder)
    return call(
        ctx,
        "cusolver_csrlsvqr_ffi",
        operands,
        ctx.avals_in,
        ctx.avals_out,
        f"reorder = {reorder} : i32, tol = {tol:e} : f64",
        batch=0,
    )[0]


spsolve_p.lower = ByPlatform(_lower, cuda=_lower_cuda)
