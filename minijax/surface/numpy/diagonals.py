"""Diagonals of matrices, matrices with given diagonals, traces.

Both are primitives, defined in prims/shape/diagonals.py.

Next: linear.py.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.shape import diagonals
from ...prims.sharding_specs import ambiguous_sharding_error
from ...types import dtypes
from ...types.type_sharding import spec_of
from ._common import *
from .reductions import sum_axes, wide_int

__all__ = ("diagonal", "diag", "diagflat", "trace")

# -------------------------------------------------------------------- diagonals, traces


def diagonal_of(x: Any, offset: int = 0) -> Any:
    """Return the diagonal of the matrices in the last two axes."""
    aval = core.aval_of(x)
    if _matrices_are_sharded(aval):
        raise ambiguous_sharding_error(
            "A diagonal is read from unsharded matrices: its sharding could not be"
            " resolved unambiguously (or would require collectives on inputs).",
            [aval],
        )
    return diagonals.diagonal_of(x, offset)


def diagonal_of_replicated(x: Any) -> Any:
    """Return the diagonals of replicated factors and solutions, as a slice."""
    return diagonals.sliced(x, core.aval_of(x).shape, 0)


def _matrices_are_sharded(aval: Any) -> bool:
    """Whether one of the last two axes is sharded along `Explicit` mesh axes."""
    return aval.type_sharding.explicit is not None and any(spec_of(aval)[-2:])


def _diagonal_axes_last(name: str, a: Any, axis1: int, axis2: int) -> Any:
    ndim = core.aval_of(a).ndim
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    if i == j:
        raise ValueError(
            f"{name}: axis1 and axis2 cannot be the same, got {axis1} and {axis2}."
        )
    permutation = (*(k for k in range(ndim) if k not in (i, j)), i, j)
    return a if permutation == tuple(range(ndim)) else lax.transpose(a, permutation)


@composite(static=("offset", "axis1", "axis2"))
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonal of the matrices in two axes.

    Args:
      a: array of at least two axes.
      offset: distance above the main diagonal (negative: below).
      axis1, axis2: the axes of rows and columns.

    Returns:
      Array of the other axes, then the diagonal; of the dtype of `a`.

    Raises:
      ValueError: fewer than two axes, or `axis1` is `axis2`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    check_arraylike("diagonal", a)
    if core.aval_of(a).ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    a, offset = as_array(a), operator.index(offset)
    square = a.ndim == 2 and a.shape[0] == a.shape[1]
    a = convert(a, a.dtype, a.weak_type and not (square and offset == 0))
    return diagonal_of(_diagonal_axes_last("diagonal", a, axis1, axis2), offset)


def diag(v: ArrayLike, k: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix with a given diagonal.

    Args:
      v: array of shape (m, n), whose diagonal is read, or (n,), which becomes a diagonal.
      k: distance above the main diagonal (negative: below).

    Returns:
      For a matrix, the vector on the diagonal; for a vector, a square matrix of size
      n+abs(k) with zeros off the diagonal. The dtype is the dtype of `v`.

    Raises:
      ValueError: `v` does not have one or two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.diag(jnp.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    check_arraylike("diag", v)
    return _diag(v, operator.index(k))


@composite(static=("k",))
def _diag(v: ArrayLike, k: int) -> Any:
    v = as_array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag input must be 1d or 2d, got {errors.type_text(v)}")
    return matrix_of(v, k)


def matrix_of(v: Any, k: int = 0) -> Any:
    """Return the matrix whose diagonal number `k` is `v`: the inverse of `diagonal_of`."""
    n = v.shape[0]
    size = n + abs(k)
    if n == 0:
        wide = lax.broadcast_in_dim(v.dtype.type(0), (size, size), ())
        return convert(wide, v.dtype, v.weak_type)
    wide = diagonals.matrix_of_diagonal(v, (size, size), k)
    return convert(wide, v.dtype, v.weak_type)


def diagflat(v: ArrayLike, k: int = 0) -> Any:
    """Return the matrix whose diagonal number `k` is the flattened `v`.

    Args:
      v: array of any shape, or a number.
      k: distance above the main diagonal (negative: below).

    Returns:
      Square matrix of size v.size+abs(k), of the dtype of `v`, with zeros off the
      diagonal.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.diagflat(jnp.array([1, 2]), 1)
      Array([[0, 1, 0],
             [0, 0, 2],
             [0, 0, 0]], dtype=int32)
    """
    check_arraylike("diagflat", v)
    return _diagflat(v, operator.index(k))


@composite(static=("k",))
def _diagflat(v: ArrayLike, k: int) -> Any:
    flat = lax.reshape(as_array(v), (core.aval_of(v).size,))
    return convert(matrix_of(flat, k), flat.dtype)


def trace(
    a: ArrayLike,
    offset: int | ArrayLike = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Any:
    """Return the sum of a diagonal of the matrices in two axes.

    Args:
      a: array of at least two axes.
      offset: distance above the main diagonal (negative: below); may be traced.
      axis1, axis2: the axes of rows and columns.
      dtype: dtype to sum in; None widens bools and small integers to 32 bits.
      out: not supported.

    Returns:
      Array of the other axes, in the dtype summed in.

    Raises:
      ValueError: an axis is out of bounds, or `axis1` is `axis2`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    no_out("trace", out)
    if isinstance(offset, (int, np.integer)) and offset is not True and offset is not False:
        return _trace(a, int(offset), axis1, axis2, dtype)
    check_arraylike("trace", offset)
    kind = core.aval_of(offset)
    if kind.shape or not dtypes.is_integer(kind.dtype):
        raise ValueError(f"k must be a scalar integer; got {offset}")
    return _trace_at_traced_offset(a, offset, axis1, axis2, dtype)


def _trace_operand(a: Any, axis1: int, axis2: int, dtype: Any) -> Any:
    check_arraylike("trace", a)
    input_dtype = core.aval_of(a).dtype
    dtype = static_dtype(dtype, "trace") or wide_int(input_dtype)
    return _diagonal_axes_last("trace", convert(as_array(a), dtype), axis1, axis2)


@composite(static=("offset", "axis1", "axis2", "dtype"))
def _trace(a: Any, offset: int, axis1: int, axis2: int, dtype: Any) -> Any:
    a = _trace_operand(a, axis1, axis2, dtype)
    if _matrices_are_sharded(core.aval_of(a)):
        return _masked_trace(a, np.int32(offset))
    elements = diagonal_of(a, offset)
    return _total(elements, (elements.ndim - 1,))


def _total(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum over axes, or for bools whether any is true."""
    return (lax.reduce_or if dtypes.is_bool(x.dtype) else sum_axes)(x, axes)


@composite(static=("axis1", "axis2", "dtype"))
def _trace_at_traced_offset(a: Any, offset: Any, axis1: int, axis2: int, dtype: Any) -> Any:
    return _masked_trace(_trace_operand(a, axis1, axis2, dtype), offset)


def _masked_trace(a: Any, offset: Any) -> Any:
    rank = a.ndim
    rows = lax.broadcasted_iota(dtypes.int32, a.shape, rank - 2)
    columns = lax.broadcasted_iota(dtypes.int32, a.shape, rank - 1)
    on = lax.eq(lax.add(rows, convert(offset, dtypes.int32)), columns)
    zeros = lax.full_like(a, 0, a.dtype)
    return _total(lax.select_n(on, zeros, a), (rank - 2, rank - 1))
