"""Unique elements and sets: unique, union, intersection, difference, isin.

The number of elements of a set determines a shape, so traced arrays need a `size`.  Missing
elements up to `size` are filled with `fill_value`, by default the first element.

Next: sorting.py, which all of them use.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.elementwise import const
from ...prims.shape import shapes
from ...symbolic.dims import SymbolicDim, falls_below, min_dim
from ...types import dtypes
from . import indexing, searching
from ._common import *
from .creation import asarray
from .sorting import with_positions
from .subscripts import ARRAY, SPAN, IndexPlan

__all__ = (
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "union1d",
    "setdiff1d",
    "setxor1d",
    "intersect1d",
    "isin",
)

# ------------------------------------------------------------------------------ unique


class Runs(NamedTuple):
    """Sorted rows, and the starts of runs of equal ones."""

    rows: Any  # (n, ...): sorted
    first: Any  # (n,) bools: whether a row differs from the previous one
    sorted_indices: Any  # (n,) positions of the rows before sorting


def take_rows(x: Any, at: Any) -> Any:
    """Return `x[at]` for positions within bounds."""
    spans = tuple((SPAN, 0, n, 1, False) for n in x.shape[1:])
    return indexing.read(x, (at,), IndexPlan(((ARRAY,), *spans), x.shape, True, False))


def runs_of(x: Any, equal_nan: bool) -> Runs:
    """Sort the rows of `x` by their elements in turn."""
    n = x.shape[0]
    if dtypes.is_complex(x.dtype):  # nans come last, regardless of the other part
        x = lax.select_n(lax.ne(x, x), x, lax.full_like(x, np.nan))
    if x.ndim == 1:
        rows, sorted_indices = with_positions(x, 0, True)
    else:
        flat = lax.reshape(x, (n, math.prod(x.shape[1:])))
        keys = [flat[:, j] for j in range(flat.shape[1])]
        at = lax.iota(dtypes.int_default(), n)
        *_, sorted_indices = lax.sort((*keys, at), dimension=0, num_keys=max(len(keys), 1))
        rows = take_rows(x, sorted_indices)
    start = lax.broadcast_in_dim(np.bool_(True), (min_dim(n, 1),), ())
    if falls_below(n, 2):
        return Runs(rows, start, sorted_indices)
    after, before = rows[1:], rows[:-1]
    differ = lax.ne(after, before)
    if equal_nan and dtypes.is_inexact(x.dtype):
        nans = lax.bitwise_and(lax.ne(after, after), lax.ne(before, before))
        differ = lax.bitwise_and(differ, lax.bitwise_not(nans))
    differ = lax.reduce_or(differ, tuple(range(1, x.ndim)))
    return Runs(rows, lax.concatenate([start, differ], 0), sorted_indices)


_runs = composite(runs_of, static=("equal_nan",))


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements (or slices along an axis), sorted.

    Args:
      ar: array.
      return_index: also return the first position of each.
      return_inverse: also return, for each element, its position among the unique ones.
      return_counts: also return the number of occurrences of each.
      axis: the axis whose slices are compared; None for elements.
      equal_nan: count all nans as one.
      size: number of elements to return, required for traced arrays.
      fill_value: the value of missing elements, up to `size` (default: the first element).
      sorted: ignored; the result is always sorted.

    Returns:
      The unique elements, or a tuple that starts with them.

    Raises:
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unique(jnp.array([3, 1, 3]), return_counts=True)
      (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    check_arraylike("unique", ar)
    if size is None:
        concrete_or_error(
            None,
            ar,
            "The error arose for the first argument of jnp.unique(). To make"
            " jnp.unique() compatible with JIT and other transforms, you can specify a"
            " concrete value for the size argument.",
        )
    else:
        size = operator.index(size)
    x = as_array(ar)
    shape = x.shape
    if axis is None:
        x = lax.reshape(x, (x.size,))
    else:
        x = shapes.move_axis(x, canonical_axis(axis, x.ndim), 0)
    requested = (return_index, return_inverse, return_counts)
    out, *rest = _unique_rows(x, equal_nan, size, fill_value, requested)
    if axis is not None:
        out = shapes.move_axis(out, 0, canonical_axis(axis, len(shape)))
    if not any(requested):
        return out
    if return_inverse and axis is None:
        rest[int(return_index)] = lax.reshape(rest[int(return_index)], shape)
    return (out, *rest)


def _unique_rows(
    x: Any, equal_nan: bool, size: int | None, fill_value: Any, requested: tuple[bool, ...]
) -> list[Any]:
    """Return unique rows, then index, inverse and counts as requested."""
    n = x.shape[0]
    dtype = dtypes.int_default()
    if n == 0:
        return _unique_of_none(x, size, fill_value, requested)
    runs = _runs(x, equal_nan)
    fill = size is not None
    # One more start, of the run after the last: differences of starts are the counts.
    more = None if size is None else size + 1
    (ends,) = searching.nonzero(runs.first, size=more, fill_value=n)
    if size is None:
        size = ends.shape[0]
        ends = lax.pad(ends, ends.dtype.type(n), [(0, 1, 0)])
    return list(_unique_results(x, tuple(runs), ends, fill_value, size, fill, requested, dtype))


@composite(static=("size", "fill", "requested", "dtype"))
def _unique_results(
    x, run_arrays, ends, fill_value, size: int, fill: bool, requested: tuple[bool, ...], dtype
):
    runs = Runs(*run_arrays)
    n = x.shape[0]
    limit = n.of_dtype(ends.dtype) if isinstance(n, SymbolicDim) else ends.dtype.type(n)
    valid = lax.lt(ends[:size], limit)
    starts = choose(valid, ends[:size], typed_constant(0, ends.dtype))
    out = [take_rows(runs.rows, starts)]
    if fill and fill_value is not None and size:
        values = broadcast_to(convert(fill_value, x.dtype), out[0].shape)
        shown = lax.broadcast_in_dim(valid, out[0].shape, (0,))
        out[0] = lax.select_n(shown, values, out[0])
    index, inverse, counts = requested
    if index:
        out.append(take_rows(runs.sorted_indices, starts))
    if inverse:
        number = lax.sub(lax.cumsum(lax.convert_element_type(runs.first, dtype)), dtype.type(1))
        back = lax.sort((runs.sorted_indices, number), num_keys=1)[1]
        out.append(back)
    if counts:
        out.append(convert(lax.sub(ends[1:], ends[:-1]), dtype))
    return tuple(out)


def _unique_of_none(x: Any, size: Any, fill_value: Any, requested: Any) -> list[Any]:
    dtype = dtypes.int_default()
    if size and fill_value is None:
        raise ValueError(
            "jnp.unique: for zero-sized input with nonzero size argument, fill_value"
            " must be specified"
        )
    shape = (size or 0, *x.shape[1:])
    filler = x.dtype.type(0) if fill_value is None else convert(fill_value, x.dtype)
    none = lax.broadcast_in_dim(typed_constant(0, dtype), (0,), ())
    return [broadcast_to(filler, shape), *([none] * sum(requested))]


class _UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueAllResult:
    """Return unique elements, their positions, the inverse and the counts.

    Args:
      x: array, which is flattened; nans all differ.
      size: number of elements to return, required for traced arrays.
      fill_value: the value of missing elements, up to `size` (default: the first element).

    Returns:
      A `_UniqueAllResult`: the values, sorted, of `x`'s dtype; the first position of each;
      for each element (shape of `x`) its position among the values; the number of
      occurrences of each.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unique_all(jnp.array([3, 1, 3])).values
      Array([1, 3], dtype=int32)
    """
    check_arraylike("unique_all", x)
    return _UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueCountsResult:
    """Return unique elements and how often each occurs.

    Args:
      x: array, which is flattened; nans all differ.
      size: number of elements to return, required for traced arrays.
      fill_value: the value of missing elements, up to `size` (default: the first element).

    Returns:
      A `_UniqueCountsResult`: the values, sorted, of `x`'s dtype, and their counts.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    check_arraylike("unique_counts", x)
    options: dict[str, Any] = {"size": size, "fill_value": fill_value}
    return _UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, **options))


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueInverseResult:
    """Return unique elements, and for each element the position of its equal.

    Args:
      x: array, which is flattened; nans all differ.
      size: number of elements to return, required for traced arrays.
      fill_value: the value of missing elements, up to `size` (default: the first element).

    Returns:
      A `_UniqueInverseResult`: the values, sorted, of `x`'s dtype, and integers of the
      shape of `x`, with values[inverse_indices] equal to `x`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    check_arraylike("unique_inverse", x)
    options: dict[str, Any] = {"size": size, "fill_value": fill_value}
    return _UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, **options))


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Any:
    """Return unique elements, sorted.

    Args:
      x: array, which is flattened; nans all differ.
      size: number of elements to return, required for traced arrays.
      fill_value: the value of missing elements, up to `size` (default: the first element).

    Returns:
      An array of `x`'s dtype, shape (count,) or (size,).

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unique_values(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    check_arraylike("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# -------------------------------------------------------------------------------- sets


def _flat_pair(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    check_arraylike(name, ar1, ar2)
    x, y = promote_dtypes(as_array(ar1), as_array(ar2))
    return lax.reshape(x, (x.size,)), lax.reshape(y, (y.size,))


def union1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Return the elements of either array, once each, sorted.

    Args:
      ar1, ar2: arrays, which are flattened.
      size, fill_value: as for `unique`.

    Returns:
      An array of the common dtype, shape (count,) or (size,).

    Raises:
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.union1d(jnp.array([3, 1]), jnp.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    x, y = _flat_pair("union1d", ar1, ar2)
    return unique(lax.concatenate([x, y], 0), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Return the elements of `ar1` that are not in `ar2`, sorted.

    Args:
      ar1, ar2: arrays, which are flattened.
      assume_unique: keep `ar1` unsorted, with repeated elements.
      size, fill_value: as for `unique`; the default filler is 0.

    Returns:
      An array of `ar1`'s dtype, shape (count,) or (size,).

    Raises:
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.setdiff1d(jnp.array([3, 1, 2]), jnp.array([2]))
      Array([1, 3], dtype=int32)
    """
    check_arraylike("setdiff1d", ar1, ar2)
    x = lax.reshape(as_array(ar1), (core.aval_of(ar1).size,))
    if size is None:
        concrete_or_error(None, x, "jnp.setdiff1d of traced arrays needs a size.")
        if not assume_unique:
            x = unique(x)
        return x[isin(x, ar2, invert=True)]
    keep = isin(x, ar2, invert=True)
    if not assume_unique and x.size:
        runs = _runs(x, True)
        x = runs.rows
        keep = lax.bitwise_and(runs.first, isin(x, ar2, invert=True))
    if fill_value is None:
        return select_padded(x, keep, size, const(x, 0))
    filler = asarray(fill_value, x.dtype)
    return select_padded(x, keep, size, convert(filler, x.dtype, core.aval_of(x).weak_type))


def select_padded(x: Any, keep: Any, size: int, fill_value: Any) -> Any:
    """Return the elements where a mask is true, then the filler, in an array of `size`."""
    n = x.shape[0]
    at = searching.nonzero(keep, size=size, fill_value=n)[0]
    taken = indexing.take(x, at, mode="clip") if n else convert(at, x.dtype)
    return choose(at < n, taken, fill_value)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Return the elements of exactly one of two arrays, sorted.

    Args:
      ar1, ar2: arrays, which are flattened.
      assume_unique: whether both arrays have distinct elements.
      size, fill_value: as for `unique`.

    Returns:
      An array of the common dtype, shape (count,) or (size,).

    Raises:
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
      Array([1, 3], dtype=int32)
    """
    x, y = _flat_pair("setxor1d", ar1, ar2)
    if not assume_unique:
        only_x, only_y = _first_of_each(x), _first_of_each(y)
        x, y = only_x[0], only_y[0]
        valid = lax.concatenate([only_x[1], only_y[1]], 0)
    else:
        valid = lax.broadcast_in_dim(np.bool_(True), (x.size + y.size,), ())
    joint = lax.concatenate([x, y], 0)
    if joint.size == 0:
        return (
            joint
            if size is None
            else select_padded(joint, joint, size, 0 if fill_value is None else fill_value)
        )
    # Invalid elements are sorted last; an element that differs from its neighbours occurs
    # in only one array.
    away = lax.bitwise_not(valid)
    away, joint = lax.sort((away, joint), num_keys=2)
    same = lax.bitwise_and(joint[1:] == joint[:-1], lax.bitwise_not(away[1:]))
    no = lax.broadcast_in_dim(np.bool_(False), (1,), ())
    paired = lax.concatenate([no, same], 0) | lax.concatenate([same, no], 0)
    keep = lax.bitwise_not(lax.bitwise_or(paired, away))
    if size is None:
        concrete_or_error(None, joint, "jnp.setxor1d of traced arrays needs a size.")
        return joint[keep]
    filler = fill_value if fill_value is not None else _first_selected(joint, keep)
    return select_padded(joint, keep, size, filler)


def _first_selected(x: Any, keep: Any) -> Any:
    """Return the first element where a mask is true, or 0 if there is none."""
    if not x.shape[0]:
        return x.dtype.type(0)
    at = searching.nonzero(keep, size=1, fill_value=0)[0][0]
    return lax.select_n(lax.reduce_or(keep, (0,)), x.dtype.type(0), x[at])


def _first_of_each(x: Any) -> tuple[Any, Any]:
    """Return a sorted array, and which of its elements differ from the one before."""
    if x.size == 0:
        return x, lax.broadcast_in_dim(np.bool_(True), (0,), ())
    runs = _runs(x, True)
    return runs.rows, runs.first


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Return the elements of both arrays, once each, sorted.

    Args:
      ar1, ar2: arrays, which are flattened.
      assume_unique: whether both arrays have distinct elements.
      return_indices: also return the first position of each in either array.
      size: number of elements to return, required for traced arrays.
      fill_value: the value of missing elements, up to `size` (default: the smallest common
        element).

    Returns:
      The elements, or (elements, positions in ar1, positions in ar2).

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3]))
      Array([2, 3], dtype=int32)
    """
    x, y = _flat_pair("intersect1d", ar1, ar2)
    elements, keep, at_x, at_y = _common_elements(x, y, assume_unique)
    if size is None:
        concrete_or_error(None, keep, "jnp.intersect1d of traced arrays needs a size.")
        out = elements[keep], at_x[keep], at_y[keep]
    else:
        filler = fill_value if fill_value is not None else _first_selected(elements, keep)
        out = (
            select_padded(elements, keep, size, filler),
            select_padded(at_x, keep, size, x.size),
            select_padded(at_y, keep, size, y.size),
        )
    return out if return_indices else out[0]


@composite(static=("assume_unique",))
def _common_elements(x: Any, y: Any, assume_unique: bool) -> Any:
    """Return all elements sorted, a mask of the common ones, and their first positions.

    An element is common if the binary search finds an equal one in the other array.
    """
    m, k = x.size, y.size
    dtype = dtypes.int_default()
    if not m or not k:
        none = lax.broadcast_in_dim(np.bool_(False), (m,), ())
        at = lax.iota(dtype, m)
        return x, none, at, at
    runs_x, runs_y = runs_of(x, False), runs_of(y, False)
    position = searching._searchsorted(runs_y.rows, runs_x.rows, "left", "scan")
    position = lax.min(position, typed_constant(k - 1, dtypes.int32))
    keep = lax.eq(take_rows(runs_y.rows, position), runs_x.rows)
    if not assume_unique:
        keep = lax.bitwise_and(keep, runs_x.first)
    return runs_x.rows, keep, runs_x.sorted_indices, take_rows(runs_y.sorted_indices, position)


_ISIN = ("compare_all", "binary_search", "sort", "auto")


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Whether each element occurs among others.

    Args:
      element: array.
      test_elements: the elements to look for.
      assume_unique: has no effect.
      invert: return whether it does not occur.
      method: 'compare_all', 'binary_search', 'sort' or 'auto'.

    Returns:
      Bool array of the shape of `element`; False for nan.

    Raises:
      ValueError: an unknown method.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1]))
      Array([ True, False,  True], dtype=bool)
    """
    del assume_unique
    if method not in _ISIN:
        raise ValueError(
            f"{method=} is not implemented; options are 'compare_all', 'binary_search',"
            " 'sort', and 'auto'"
        )
    return _isin(element, test_elements, invert, method)


@composite(static=("invert", "method"))
def _isin(element: Any, test_elements: Any, invert: bool, method: str) -> Any:
    check_arraylike("isin", element, test_elements)
    x, tests = promote_dtypes(as_array(element), as_array(test_elements))
    shape = x.shape
    flat, tests = (lax.reshape(x, (x.size,)), lax.reshape(tests, (tests.size,)))
    if not flat.size or not tests.size:
        return lax.broadcast_in_dim(np.bool_(invert), shape, ())
    if method == "auto":
        method = "compare_all" if tests.size <= 64 else "binary_search"
    if method == "compare_all":
        left = lax.broadcast_in_dim(flat, (flat.size, 1), (0,))
        right = lax.broadcast_in_dim(tests, (1, tests.size), (1,))
        is_member = lax.reduce_or(lax.eq(left, right), (1,))
    else:
        how = "scan" if method == "binary_search" else "sort"
        (ordered, _) = with_positions(tests, 0, False)
        at = searching._searchsorted(ordered, flat, "left", how)
        at = lax.min(at, at.dtype.type(tests.size - 1))
        is_member = lax.eq(take_rows(ordered, at), flat)
    if invert:
        is_member = lax.bitwise_not(is_member)
    return lax.reshape(is_member, shape)
