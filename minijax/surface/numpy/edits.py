"""Removal and insertion of elements: delete and insert.

Both are one gather along an axis.  For concrete indices, the host computes the positions to
read; traced indices are sorted and counted in the program.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import Tracer
from ...prims import lax
from ...prims.elementwise import const
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ._common import *
from .manipulation import moveaxis, ravel
from .rearrange import _take_rows, take_rows

__all__ = ("delete", "insert")


def _line(name: str, arr: Any, axis: int | None) -> tuple[Any, int]:
    """Return the array and the axis; None flattens the array."""
    if axis is None:
        return ravel(arr), 0
    return arr, canonical_axis(operator.index(axis), len(shape_of(arr)))


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """Return an array without some elements.

    Args:
      arr: array.
      obj: the elements: an integer, an array of integers or bools, or a slice.  It must be
        concrete, unless `assume_unique_indices`.
      axis: the axis; None flattens `arr` first.
      assume_unique_indices: promise that integers in `obj` are distinct, so that the
        size of the result is known and `obj` may be traced.

    Returns:
      Array of the dtype of `arr`, with fewer elements along `axis` (or one axis).

    Raises:
      IndexError: an index of an array is out of bounds.
      ConcretizationTypeError: `obj` is traced, without `assume_unique_indices`.
      ValueError: a single index is out of bounds, or `obj` holds neither integers nor
        bools.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.delete(jnp.array([5, 6, 7]), 1)
      Array([5, 7], dtype=int32)
    """
    check_arraylike("delete", arr)
    arr, axis = _line("delete", arr, axis)
    size = shape_of(arr)[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    check_arraylike("delete", obj)
    obj = core.unwrapped(obj)
    distinct = assume_unique_indices and dtypes.is_integer(aval_of(obj).dtype)
    if isinstance(obj, Tracer) and distinct:
        return _delete_distinct(arr, obj, axis)
    value = concrete_or_error(None, obj, "'obj' array argument of jnp.delete()")
    keep = _keep_mask(np.asarray(value), size)
    removed = np.flatnonzero(~keep)
    if removed.size and removed[-1] - removed[0] + 1 == removed.size:
        return _without(arr, int(removed[0]), int(removed[-1]) + 1, axis)
    return _take_rows(arr, np.flatnonzero(keep).astype(np.int32), axis)


@composite(static=("start", "stop", "axis"))
def _without(arr: Any, start: int, stop: int, axis: int) -> Any:
    """Remove one contiguous range of an axis."""
    before = lax.slice_in_dim(arr, 0, start, axis=axis)
    after = lax.slice_in_dim(arr, stop, shape_of(arr)[axis], axis=axis)
    pieces = [p for p in (before, after) if shape_of(p)[axis]]
    return lax.concatenate(pieces or [before], axis)


def _keep_mask(obj: Any, size: int) -> Any:
    """Return a mask of the elements along an axis that are not deleted."""
    keep = np.ones(size, bool)
    if obj.dtype.kind == "b" and obj.shape != (size,):
        raise ValueError(
            f"boolean array argument obj to delete must be one-dimensional and of"
            f" length {size}, got shape {obj.shape}"
        )
    if obj.dtype.kind not in "biu":
        raise ValueError(
            f"np.delete(arr, obj): got obj.dtype={obj.dtype}; must be integer or bool."
        )
    if not obj.shape and not -size <= int(obj) < size:
        raise ValueError(f"axis {int(obj)} is out of bounds for array of dimension {size}")
    keep[obj] = False
    return keep


@composite(static="axis")
def _delete_distinct(arr: Any, obj: Any, axis: int) -> Any:
    """Delete k distinct traced indices: row i skips the deleted ones at or before it."""
    size = shape_of(arr)[axis]
    k = math.prod(shape_of(obj))
    index = convert(lax.reshape(obj, (k,)), dtypes.int32)
    index = choose(lax.lt(index, const(index, 0)), lax.add(index, const(index, size)), index)
    gaps = lax.sub(lax.sort(index), lax.iota(dtypes.int32, k))
    row = lax.iota(dtypes.int32, max(size - k, 0))
    passed = lax.le(
        lax.broadcast_in_dim(gaps, (shape_of(row)[0], k), (1,)),
        lax.broadcast_in_dim(row, (shape_of(row)[0], k), (0,)),
    )
    skipped = lax.reduce_sum(convert(passed, dtypes.int32), (1,))
    return take_rows(arr, lax.add(row, skipped), axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Return an array with elements inserted before given positions.

    Args:
      arr: array.
      obj: positions: an integer, an array of integers, or a slice; positions past the ends
        are clipped to them.
      values: the values to insert; they broadcast, and are converted to the dtype of `arr`.
      axis: the axis; None flattens `arr` first.

    Returns:
      Array of the dtype of `arr`, longer along `axis` (or of one axis) by the number of
      inserted elements.

    Raises:
      ValueError: positions are not integers, or have several axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.insert(jnp.array([5, 6]), 1, 9)
      Array([5, 9, 6], dtype=int32)
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    arr, axis = _line("insert", arr, axis)
    size = shape_of(arr)[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    obj = core.unwrapped(obj)
    if not dtypes.is_integer(aval_of(obj).dtype):
        raise errors.value_error(
            f"jnp.insert(): index array must be integer typed; got"
            f" {aval_of(obj).str_short(True)}",
            tries=["jnp.flatnonzero(mask) for a mask"],
        )
    if len(shape_of(obj)) > 1:
        raise ValueError(
            "jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar"
        )
    if isinstance(obj, Tracer) or isinstance(size, SymbolicDim):
        return _insert_traced(arr, obj, values, axis)
    value = np.asarray(obj)
    positions = tuple(value.reshape(-1).tolist())
    return _insert_known(arr, values, positions, not value.shape, axis)


def _rows_to_insert(arr: Any, values: Any, k: int, scalar: bool, axis: int) -> Any:
    """Return `values` as rows along the axis: k rows, or all of them for a scalar position."""
    rank = len(shape_of(arr))
    values = convert(values, aval_of(arr).dtype, aval_of(arr).weak_type)
    missing = rank - len(shape_of(values))
    if missing > 0:
        shape = (1,) * missing + shape_of(values)
        values = lax.broadcast_in_dim(values, shape, tuple(range(missing, rank)))
    if scalar:
        values = moveaxis(values, 0, axis)
        k = shape_of(values)[axis]
    shape = tuple(k if i == axis else n for i, n in enumerate(shape_of(arr)))
    return lax.broadcast_in_dim(values, shape, tuple(range(rank)))


@composite(static=("positions", "scalar", "axis"))
def _insert_known(arr: Any, values: Any, positions: Any, scalar: bool, axis: int) -> Any:
    size = shape_of(arr)[axis]
    rows = _rows_to_insert(arr, values, len(positions), scalar, axis)
    count = shape_of(rows)[axis]
    at = np.asarray(positions * count if scalar else positions, np.int64)
    at = np.clip(np.where(at < 0, at + size, at), 0, size)
    sorted_indices = np.argsort(at, kind="stable")
    new = at[sorted_indices] + np.arange(count)
    source = np.zeros(size + count, np.int32)
    is_new = np.zeros(size + count, bool)
    is_new[new] = True
    source[new] = size + sorted_indices
    source[~is_new] = np.arange(size)
    both = lax.concatenate(promote_dtypes(arr, rows), axis)
    return take_rows(both, source, axis)


@composite(static="axis")
def _insert_traced(arr: Any, obj: Any, values: Any, axis: int) -> Any:
    size = shape_of(arr)[axis]
    scalar = not shape_of(obj)
    k = 1 if scalar else shape_of(obj)[0]
    rows = _rows_to_insert(arr, values, k, scalar, axis)
    count = shape_of(rows)[axis]
    at = convert(obj, dtypes.int32)
    if scalar:
        at = lax.broadcast_in_dim(at, (count,), ())
    low, high = const(at, 0), const(at, size)
    at = choose(lax.lt(at, low), lax.add(at, high), at)
    at = lax.min(lax.max(at, low), high)
    at, sorted_indices = lax.sort_key_val(at, lax.iota(dtypes.int32, count))
    new = lax.expand_dims(lax.add(at, lax.iota(dtypes.int32, count)), (1,))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    total = size + count
    old = lax.full((total,), 1, dtypes.int32)
    zeros = lax.full((count,), 0, dtypes.int32)
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    old = lax.scatter(old, new, zeros, numbers, unique_indices=True, mode=mode)
    source = lax.sub(lax.cumsum(old), const(old, 1))
    moved = lax.add(sorted_indices, const(sorted_indices, size))
    source = lax.scatter(source, new, moved, numbers, unique_indices=True, mode=mode)
    both = lax.concatenate(promote_dtypes(arr, rows), axis)
    return take_rows(both, source, axis)
