"""Eigenvalues of tridiagonal Hermitian matrices, by bisection.

The number of negative pivots of T - x is the number of eigenvalues below x (W. Barth, R.
Martin and J. Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal matrix
by the method of bisection", Numerische Mathematik 9, 1967).  The intervals of all
eigenvalues are halved together.  Eigenvectors, and derivatives, which need them, come from
`eigh` of the full matrix.

Next: functions.py.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import ml_dtypes
import numpy as np

from ....api.autodiff import jvp
from ....base import errors, util
from ....control.calls.jit import composite
from ....control.loop_functions.while_loop import fori_loop, while_loop
from ....control.rules.custom_jvp import custom_jvp
from ....prims import lax, lax_linalg
from ....types import dtypes
from ... import jnp
from ...numpy._common import ArrayLike
from .common import *

__all__ = ("eigh_tridiagonal",)


def _below(d: Any, squares: Any, x: Any) -> Any:
    """Return the number of eigenvalues below each x, by counting negative pivots."""
    tiny = d.dtype.type(ml_dtypes.finfo(d.dtype).tiny)

    def count(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        pivot, num_negative = state
        pivot = d[i] - x - squares[i] / pivot
        pivot = jnp.where(jnp.abs(pivot) <= tiny, -tiny, pivot)  # avoid division by zero
        return pivot, num_negative + (pivot < 0)

    start = jnp.ones_like(x), jnp.zeros(x.shape, np.int32)
    return fori_loop(0, d.shape[0], count, start)[1]


def _bisect(d: Any, e: Any, first: int, last: int, tol: float | None) -> Any:
    """Return the eigenvalues first .. last, in ascending order."""
    size = jnp.maximum(jnp.abs(d).max(), jnp.abs(e).max())
    size = jnp.where(size == 0, 1, size)
    d, e = d / size, e / size  # so that squares neither overflow nor vanish
    squares = jnp.concatenate([jnp.zeros(1, e.dtype), e * e])
    radius = jnp.pad(e, (0, 1)) + jnp.pad(e, (1, 0))  # of Gershgorin's circles
    bits = ml_dtypes.finfo(d.dtype).nmant + 4
    least = jnp.full(last - first + 1, jnp.min(d - radius))
    most = jnp.full(last - first + 1, jnp.max(d + radius))
    indices = np.arange(first, last + 1)
    gap = 0 if tol is None else d.dtype.type(tol) / size

    def not_done(state: Any) -> Any:
        step, low, high = state
        return (step < bits) & jnp.any(high - low > gap)

    def halve(state: Any) -> Any:
        step, low, high = state
        middle = (low + high) / 2
        above = _below(d, squares, middle) > indices
        low, high = jnp.where(above, low, middle), jnp.where(above, middle, high)
        return step + 1, low, high

    _, low, high = while_loop(not_done, halve, (np.int32(0), least, most))
    return (low + high) / 2 * size


def _dense(d: Any, e: Any, first: int, last: int) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of the full matrix."""
    below = jnp.conj(e)
    matrix = jnp.diag(d.astype(e.dtype)) + jnp.diag(below, -1) + jnp.diag(e, 1)
    vectors, values = lax_linalg.eigh(
        matrix, symmetrize_input=False, subset_by_index=(first, last + 1)
    )
    return values, vectors


# Cached, because a new function object in each call would be traced and compiled again.
@util.cached(256)
def _values(first: int, last: int, tol: float | None) -> Any:
    @custom_jvp
    def values(d: Any, e: Any) -> Any:
        return _bisect(d, jnp.abs(e), first, last, tol)

    @values.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        _, values_dot = jvp(lambda d, e: _dense(d, e, first, last)[0], primals, tangents)
        return values(*primals), values_dot

    return values


def _indices(select: str, select_range: Any, n: int) -> tuple[int, int]:
    """Return the indices of the first and last requested eigenvalue."""
    if select == "a":
        return 0, n - 1
    if select == "v":
        raise NotImplementedError(
            "eigh_tridiagonal(..., select='v') is not implemented.\nWhy: the number of"
            " eigenvalues in an interval is unknown while tracing.\nTry:"
            " select='i'"
        )
    if select != "i":
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    if select_range is None:
        raise ValueError("for select='i', select_range must be specified.")
    first, last = (operator.index(i) for i in select_range)
    if first > last:
        raise ValueError("Got empty index range in select_range.")
    if not 0 <= first <= last < n:
        raise ValueError(f"select_range must lie within [0, {n - 1}], got {select_range}.")
    return first, last


@composite(static=("eigvals_only", "select", "select_range", "tol"))
def _eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool, select: str, select_range: Any, tol: float | None
) -> Any:
    d, e = jnp.asarray(d), jnp.asarray(e)
    if d.dtype != e.dtype:
        raise TypeError(
            "diagonal and off-diagonal values must have same dtype, got"
            f" {d.dtype} and {e.dtype}"
        )
    if dtypes.real_of(d.dtype) not in (dtypes.float32, dtypes.float64):
        raise errors.type_error(
            "Only float32 and float64 inputs are supported as inputs to"
            f" jax.scipy.linalg.eigh_tridiagonal, got {d.dtype} and {e.dtype}",
            tries=["d.astype(float), e.astype(float)"],
        )
    if d.ndim == 0 or e.ndim == 0 or e.shape[-1] != max(d.shape[-1] - 1, 0):
        raise errors.type_error(
            f"eigh_tridiagonal got incompatible shapes {d.shape}, {e.shape}.",
            why="a matrix of n rows has n diagonal and n - 1 off-diagonal elements.",
        )
    n = d.shape[-1]
    real = lax.real(d) if is_complex(d) else d
    if n <= 1:
        if eigvals_only:
            return real
        return real, jnp.broadcast_to(jnp.ones((n, n), e.dtype), (*d.shape, n))
    first, last = _indices(select, select_range, n)
    if eigvals_only:
        return jnp.vectorize(_values(first, last, tol), signature="(n),(m)->(k)")(real, e)
    pairs = functools.partial(_dense, first=first, last=last)
    return jnp.vectorize(pairs, signature="(n),(m)->(k),(n,k)")(real, e)


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Compute eigenvalues, ascending, and eigenvectors of tridiagonal Hermitian matrices:
    :math:`T V = V \\, diag(w)`.

    Args:
      d: the diagonal, shape (..., n), float32 or float64, or the real part if complex.
      e: the off-diagonal T[i, i + 1], shape (..., n - 1), of the same dtype.
      eigvals_only: return only the eigenvalues.
      select: 'a' for all eigenvalues, 'i' for a range of indices.
      select_range: (first, last) index, both included, for 'i'.
      tol: the absolute error of the eigenvalues (None: the precision of the dtype).
      key: the key for JAX's start vectors of eigenvectors; not used here.

    Returns:
      (w, V), or w: real, shape (..., k), and of `e`'s dtype, shape (..., n, k).

    Raises:
      TypeError: the dtype is not supported, or shapes do not fit.
      ValueError: `select` is unknown, or `select_range` is empty, missing or out of range.
      NotImplementedError: `select` is 'v'.

    Example:
      >>> import minijax.numpy as jnp
      >>> eigh_tridiagonal(jnp.array([4., 4.]), jnp.array([3.]), eigvals_only=True)
      Array([1., 7.], dtype=float32)

    Source: W. Barth, R. Martin, J. Wilkinson, bisection (1967).
    """
    index_range = None if select_range is None else tuple(select_range)
    tol = None if tol is None else float(tol)
    return _eigh_tridiagonal(d, e, bool(eigvals_only), select, index_range, tol)
