"""Positions: of nonzero elements, of values in sorted arrays, flat and by axis.

The number of nonzero elements determines a shape, so `nonzero` of a traced array needs a
`size`.  `searchsorted` is a binary search, or a method without a loop.

Next: selection.py, which selects by masks.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...control.loop_functions.while_loop import fori_loop
from ...ir import core
from ...prims import lax, promotion
from ...prims.elementwise import const
from ...prims.reshard import drop_explicit_sharding, reshard_to_aval
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import NamedSharding
from ...symbolic.dims import SymbolicDim, exceeds, max_dim
from ...types import dtypes
from ...types.sizes import index_of
from . import indexing, updates
from ._common import *
from .creation import asarray
from .subscripts import ARRAY, IndexPlan

__all__ = (
    "nonzero",
    "flatnonzero",
    "argwhere",
    "searchsorted",
    "digitize",
    "unravel_index",
    "ravel_multi_index",
)

# ----------------------------------------------------------------------------- nonzero


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of the nonzero elements, one index array per axis.

    Args:
      a: array of at least one axis.
      size: number of positions to return, required for traced arrays: the first ones,
        followed by `fill_value` for missing ones.
      fill_value: a number, or one for each axis (default: 0); floats make the positions
        floats.

    Returns:
      A tuple of arrays of the default integer dtype, one per axis, shape (count,) or
      (size,), in row-major order.

    Raises:
      ValueError: a scalar.
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.nonzero(jnp.array([3, 0, 5, 0]), size=3, fill_value=-1)
      (Array([ 0,  2, -1], dtype=int32),)
    """
    check_arraylike("nonzero", a)
    if not core.aval_of(a).shape:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use"
            " jnp.atleast_1d(scalar).nonzero() instead."
        )
    if size is None:
        concrete_or_error(
            None,
            a,
            "The size argument of jnp.nonzero must be statically specified to"
            " use jnp.nonzero within JAX transformations.",
        )
        x = as_array(a)
        indices = np.nonzero(np.asarray(x))
        sharding = x.sharding if x.committed else None
        if isinstance(sharding, NamedSharding):  # replicate the positions
            sharding = sharding.with_spec(PartitionSpec())
        return tuple(
            [asarray(i.astype(dtypes.int_default()), device=sharding) for i in indices]
        )
    size = index_of(size)
    shape = core.aval_of(a).shape
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * len(shape)
    if len(fills) != len(shape) or any(map(np.ndim, fills)):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {len(shape)};"
            f" got {fill_value!r}."
        )
    return _nonzero(a, tuple([0 if f is None else f for f in fills]), size)


@composite(static=("size",))
def _nonzero(a: Any, fills: Any, size: int) -> Any:
    aval = core.aval_of(a)
    dtype = dtypes.int_default()
    shape, n = aval.shape, aval.size
    if n == 0 or size == 0:
        none = broadcast_to(typed_constant(0, dtype), (size,))
        return tuple([choose(np.bool_(True), f, none) for f in fills])
    # Compare before flattening: of a sharded array, the mask has fewer bytes to gather.
    mask = a if dtypes.is_bool(aval.dtype) else lax.ne(a, const(a, 0))
    mask = lax.reshape(mask, (n,))
    counts = lax.cumsum(lax.convert_element_type(mask, dtype))
    # The k-th nonzero element is written to slot k; all others are dropped.
    position = lax.sub(counts, dtype.type(1))
    position = choose(mask, position, typed_constant(size, dtype))
    slots = lax.broadcast_in_dim(typed_constant(n, dtype), (size,), ())
    plan = IndexPlan(((ARRAY,),), (size,), True, False)
    flat = updates.write(
        slots, (position,), lax.iota(dtype, n), plan, "min", updates._DROP, False, False
    )
    missing = lax.eq(flat, typed_constant(n, dtype))
    out = []
    for i, fill in enumerate(fills):
        at = component(flat, shape, i)
        out.append(choose(missing, fill, at))
    return tuple(out)


def component(flat: Any, shape: tuple[int, ...], i: int) -> Any:
    """Return the index along axis `i` of row-major positions, which are not negative."""
    after = math.prod(shape[i + 1 :])
    if after != 1:
        flat = lax.div(flat, typed_constant(max_dim(after, 1), flat.dtype))
    if i == 0:
        return flat
    return lax.rem(flat, typed_constant(max_dim(shape[i], 1), flat.dtype))


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of the nonzero elements in the flattened array.

    Args:
      a: array or number.
      size: number of positions to return, required for traced arrays: the first ones,
        followed by `fill_value` for missing ones.
      fill_value: a number (default: 0); a float makes the positions floats.

    Returns:
      An array of the default integer dtype, shape (count,) or (size,).

    Raises:
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.flatnonzero(jnp.array([[0, 1], [2, 0]]))
      Array([1, 2], dtype=int32)
    """
    check_arraylike("flatnonzero", a)
    flat = lax.reshape(as_array(a), (core.aval_of(a).size,))
    return nonzero(flat, size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of the nonzero elements, one row per position.

    Args:
      a: array or number.
      size: number of positions to return, required for traced arrays: the first ones,
        followed by `fill_value` for missing ones.
      fill_value: a number, or one for each axis (default: 0); floats make the positions
        floats.

    Returns:
      An array of the default integer dtype, shape (count, a.ndim) or (size, a.ndim).

    Raises:
      ConcretizationTypeError: a traced array without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.argwhere(jnp.array([[0, 1], [2, 0]]))
      Array([[0, 1],
             [1, 0]], dtype=int32)
    """
    check_arraylike("argwhere", a)
    a = as_array(a)
    rank = a.ndim
    if rank == 0:
        a = lax.reshape(a, (1,))
    indices = nonzero(a, size=size, fill_value=fill_value)
    n = indices[0].shape[0]
    if rank == 0:
        return lax.broadcast_in_dim(typed_constant(0, dtypes.int_default()), (n, 0), ())
    return lax.stack(list(promote_dtypes(*indices)), 1)


# ------------------------------------------------------------------------ searchsorted

_METHODS = ("compare_all", "scan", "scan_unrolled", "sort")


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Any:
    """Return the positions at which values would be inserted into a sorted array.

    Args:
      a: sorted array of one axis; nans come last.
      v: values.
      side: 'left' to insert before equal elements, 'right' to insert after them.
      sorter: positions that sort `a`, if it is not sorted.
      method: 'scan' (binary search in a loop), 'scan_unrolled' (without the loop),
        'sort' (sorts `a` and `v` together) or 'compare_all' (compares all pairs).

    Returns:
      Integer array of the shape of `v`.

    Raises:
      ValueError: `a` is not a vector, or an unknown side or method.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.searchsorted(jnp.array([1, 2, 4]), jnp.array([0, 2, 3]))
      Array([0, 1, 2], dtype=int32)
    """
    if sorter is not None:
        check_arraylike("searchsorted", a, v, sorter)
        a = as_array(a)
        if a.ndim != 1:
            raise ValueError(f"a should be 1-dimensional, got {errors.type_text(a)}")
        a = a[as_array(sorter)]
    return _searchsorted(a, v, side, method)


@composite(static=("side", "method"))
def _searchsorted(a: Any, v: Any, side: str, method: str) -> Any:
    check_arraylike("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"invalid argument side={side!r}, expected 'left' or 'right'")
    if method not in _METHODS:
        raise ValueError(
            f"invalid argument method={method!r}, expected one of {list(_METHODS)}"
        )
    if core.aval_of(a).ndim != 1:
        raise ValueError(f"a should be 1-dimensional, got {errors.type_text(a)}")
    a, v = promote_dtypes(as_array(a), as_array(v))
    n = a.shape[0]
    dtype = dtypes.canonical(dtypes.int64) if exceeds(n, 2**31 - 2) else dtypes.int32
    if n == 0:
        return lax.broadcast_in_dim(typed_constant(0, dtype), v.shape, ())
    if method == "sort":
        return _search_by_sorting(a, v, side, dtype)
    if method == "compare_all":
        left = lax.broadcast_in_dim(a, (*(1 for _ in v.shape), n), (v.ndim,))
        right = lax.broadcast_in_dim(v, (*v.shape, 1), tuple(range(v.ndim)))
        before = lax.bitwise_not(goes_left(right, left, side))
        return lax.reduce_sum(lax.convert_element_type(before, dtype), (v.ndim,))
    return _search_by_halves(a, v, side, dtype, method == "scan_unrolled")


def goes_left(v: Any, element: Any, side: str) -> Any:
    """Whether `v` is inserted before an element; nans are larger than all other values."""
    if dtypes.is_complex(v.dtype):
        parts = (lax.real, lax.imag)
        (re_v, im_v), (re, im) = ([part(x) for part in parts] for x in (v, element))
        ahead = lax.bitwise_not(goes_left(re, re_v, "left"))
        level = lax.bitwise_and(goes_left(re_v, re, "left"), goes_left(im_v, im, side))
        return lax.bitwise_or(ahead, level)
    floats = dtypes.is_inexact(v.dtype)
    if side == "left":
        out = lax.le(v, element)
        return lax.bitwise_or(out, lax.ne(element, element)) if floats else out
    out = lax.lt(v, element)
    if not floats:
        return out
    above = lax.bitwise_and(lax.ne(element, element), lax.eq(v, v))
    return lax.bitwise_or(out, above)


def _everywhere(v: Any, n: Any, dtype: Any) -> Any:
    if not isinstance(n, SymbolicDim):
        return lax.full_like(v, n, dtype)
    return lax.broadcast_in_dim(n.of_dtype(dtype), v.shape, ())


def _search_by_halves(a: Any, v: Any, side: str, dtype: Any, unroll: bool) -> Any:
    n = a.shape[0]
    plan = IndexPlan(((ARRAY,),), (n,), True, False)

    def halve(_: Any, bounds: Any) -> Any:
        # The result is in [low, high].
        low, high = bounds
        middle = lax.div(lax.add(low, high), dtype.type(2))
        if v.ndim:  # give the elements the sharding of v
            element = reshard_to_aval(
                indexing.read(a, (drop_explicit_sharding(middle),), plan), core.aval_of(v)
            )
        else:
            element = a[middle]
        left = goes_left(v, element, side)
        after = lax.min(lax.add(middle, dtype.type(1)), high)
        return lax.select_n(left, after, low), lax.select_n(left, high, middle)

    bounds = lax.full_like(v, 0, dtype), _everywhere(v, n, dtype)
    is_static = not isinstance(n, SymbolicDim)
    steps = int(np.ceil(np.log2(n + 1))) if is_static else 8 * dtype.itemsize - 1
    if unroll:
        for i in range(steps):
            bounds = halve(i, bounds)
    else:
        bounds = fori_loop(0, steps, halve, bounds)
    return bounds[1]


def _search_by_sorting(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """Return the rank of each value among all, minus its rank among the values."""
    m, n = v.size, a.shape[0]
    flat = lax.reshape(v, (m,))
    operands = [flat, a] if side == "left" else [a, flat]
    joint = ranks(lax.concatenate(operands, 0), dtype)
    start = 0 if side == "left" else n
    own = joint[start : start + m]
    return lax.reshape(lax.sub(own, ranks(flat, dtype)), v.shape)


def ranks(x: Any, dtype: Any) -> Any:
    """Return the position of each element of `x` after a stable sort."""
    positions = lax.iota(dtype, x.shape[0])
    _, perm = lax.sort((x, positions), dimension=0, is_stable=True, num_keys=1)
    _, sorted_positions = lax.sort((perm, positions), dimension=0, is_stable=True, num_keys=1)
    return sorted_positions


@composite(static=("right", "method"))
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Any:
    """Return the number of the bin that contains each value.

    Args:
      x: values.
      bins: edges, increasing or decreasing.
      right: whether bins contain their right edge instead of their left one.
      method: the search method; see `searchsorted`.

    Returns:
      Integer array: 0 before the first edge, len(bins) after the last.

    Raises:
      ValueError: `bins` is not a vector.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.digitize(jnp.array([0.5, 1.5, 9.]), jnp.array([0., 1., 2.]))
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("digitize", x, bins)
    bins = as_array(bins)
    if bins.ndim != 1:
        raise ValueError(
            f"digitize: bins must be a 1-dimensional array; got bins={errors.type_text(bins)}"
        )
    n = bins.shape[0]
    if n == 0:
        zero = dtypes.int32.type(0)
        return lax.broadcast_in_dim(zero, core.aval_of(x).shape, ())
    side, how = "left" if right else "right", method or "scan"
    up = _searchsorted(bins, x, side, how)
    down = _searchsorted(lax.rev(bins, (0,)), x, side, how)
    down = lax.sub(typed_constant(n, up.dtype), down)
    return lax.select_n(bins[-1] >= bins[0], down, up)


# --------------------------------------------------------------- flat and by axis


def unravel_index(indices: ArrayLike, shape: Any) -> Any:
    """Convert positions in a flattened array to one index array per axis.

    Args:
      indices: integers; negative ones count from the end, and those out of bounds are
        clipped.  Fractions of floats stay in the last axis.
      shape: the shape of the array; its sizes may be traced.

    Returns:
      A tuple of arrays of the shape of `indices`, one for each axis: of their dtype, or of
      the dtype that they promote to with traced sizes.

    Raises:
      TypeError: `indices` are complex, or not numbers.
      ValueError: `shape` has more than one axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unravel_index(jnp.array([1, 5]), (2, 3))
      (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    check_arraylike("unravel_index", indices)
    if isinstance(shape, (tuple, list)):
        sizes = tuple(shape)
    elif not np.shape(shape):
        sizes = (shape,)
    elif len(np.shape(shape)) == 1:
        sizes = tuple(shape)
    else:
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    is_integer = dtypes.is_integer(core.aval_of(indices).dtype)
    if is_integer and not any(isinstance(n, core.Tracer) for n in sizes):
        try:
            return _unravel_index(indices, tuple(map(index_of, sizes)))
        except TypeError:  # sizes are floats
            pass
    return _unravel_by_values(indices, sizes)


@composite
def _unravel_by_values(indices: Any, sizes: tuple[Any, ...]) -> Any:
    """Do the same for sizes that are traced, or for positions that are not integers."""
    total = functools.reduce(operator.mul, map(as_array, sizes), 1)
    flat = as_array(indices)
    narrow = dtypes.is_integer(flat.dtype) and flat.dtype.itemsize < 4
    wide = convert(flat, dtypes.int_default()) if narrow else flat
    wide = choose(wide < 0, convert(wide + total, wide.dtype), wide)
    wide = choose(wide < 0, const(wide, 0), wide)
    wide = choose(wide >= total, convert(total - 1, wide.dtype), wide)
    flat = convert(wide, flat.dtype, flat.aval.weak_type)
    out = []
    for n in sizes[::-1]:
        flat, coordinate = divmod(flat, as_array(n))
        out.append(coordinate)
    return tuple(out[::-1])


@composite(static=("shape",))
def _unravel_index(indices: Any, shape: tuple[int, ...]) -> Any:
    flat = as_array(indices)
    if not shape:
        return ()
    total = math.prod(shape)
    dtype = flat.dtype
    if exceeds(total, ml_dtypes.iinfo(dtype).max):  # use more bits
        flat = lax.convert_element_type(flat, dtypes.int_default())
    none, all_, last = (
        typed_constant(n, flat.dtype) for n in (0, total, max_dim(total - 1, 0))
    )
    if dtypes.is_signed(flat.dtype):
        flat = lax.select_n(lax.lt(flat, none), flat, lax.add(flat, all_))
    flat = lax.clamp(none, flat, last)
    weak = core.aval_of(indices).weak_type
    return tuple([convert(component(flat, shape, i), dtype, weak) for i in range(len(shape))])


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Any:
    """Convert index arrays, one per axis, to positions in the flattened array.

    Args:
      multi_index: integer arrays.
      dims: the shape of the array.
      mode: for indices out of bounds: 'raise' (concrete ones only), 'clip' or 'wrap';
        'ignore' skips the check.
      order: 'C' for row-major positions, 'F' for column-major ones.
      dtype: of the result.

    Returns:
      An array of `dtype`, or of the indices' common dtype, of the shape to which they
      broadcast.

    Raises:
      AssertionError: the numbers of index arrays and axes differ.
      TypeError: index arrays of a dtype that is not an integer dtype.
      ValueError: indices out of bounds; unknown mode or order; a dtype that is not an
        integer dtype, or cannot count the elements of the array.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3))
      Array([1, 5], dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise AssertionError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    sizes = tuple(operator.index(d) for d in dims)
    check_arraylike("ravel_multi_index", *multi_index)
    indices = [as_array(i) for i in multi_index]
    if any(dtypes.is_bool(i.dtype) for i in indices):
        raise TypeError("only int indices permitted")
    if dtype is None and not indices:
        kind = dtypes.int_default()
    elif dtype is None:
        kind = promotion.promote(tuple((i.dtype, i.aval.weak_type) for i in indices))[0]
    else:
        kind = static_dtype(dtype, "ravel_multi_index")
    for d in (*(i.dtype for i in indices), kind):
        if not dtypes.is_integer(d):
            raise ValueError(f"dtype={d!r} is not an integer type.")
    if math.prod(sizes) - 1 > ml_dtypes.iinfo(kind).max:
        raise ValueError(
            f"jnp.ravel_multi_index: dtype={kind} not large enough to hold flattened"
            f" index for dims={sizes}. Use the dtype argument to pass a suitable dtype."
        )
    if mode == "raise":
        for i, n in zip(indices, sizes, strict=True):
            concrete_or_error(
                None,
                i,
                "jnp.ravel_multi_index with mode='raise' needs its indices;"
                " use mode='wrap' or mode='clip'.",
            )
            values = np.asarray(i)
            if ((values < 0) | (values >= n)).any():
                raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        indices = [i.clip(0, n - 1) for i, n in zip(indices, sizes, strict=True)]
    elif mode == "wrap":
        indices = [i % n for i, n in zip(indices, sizes, strict=True)]
    elif mode != "ignore":
        raise ValueError(
            f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'."
        )
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    if order == "F":
        indices, sizes = indices[::-1], sizes[::-1]
    out: Any = kind.type(0)
    for i, n in zip(indices, sizes, strict=True):
        out = out * n + convert(i, kind)
    return as_array(out)
