"""Indexing: `x[...]`, `take`, `take_along_axis` and `x.at[...].get`.

Subscripts of ints and slices become slices, never gathers.  In eager mode, positions are
operands of the compiled program, so that one program serves all positions.  Positions out
of bounds read the nearest element, unless a `mode` is given.

Next: updates.py, for updates; selection.py, for masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE
from ...prims import lax
from ...prims.shape.shapes import move_axis
from ...runtime.arrays import key_checks
from ...runtime.arrays.array import ArrayImpl
from ...runtime.arrays.row_access import is_row_sharded, local_row
from ...symbolic.dims import SymbolicDim, exceeds, falls_below, max_dim, min_dim
from ...types import dtypes
from . import subscripts
from ._common import *
from .subscripts import ARRAY, NEW, POINT, SCALAR, SPAN, IndexPlan

__all__ = ("take", "take_along_axis")

_PROMISE = lax.GatherScatterMode.PROMISE_IN_BOUNDS
_FILL = lax.GatherScatterMode.FILL_OR_DROP
_CLIP = lax.GatherScatterMode.CLIP
_PROMISED = lax.GatherScatterMode.PROMISE_IN_BOUNDS


MAX_POSITION = 2**31 - 1  # the largest position that is a program's operand

# ------------------------------------------------------------------------------- x[...]


def getitem(x: Any, subscript: Any) -> Any:
    """Return `x[subscript]` with NumPy's rules; out of bounds reads the nearest element."""
    eager = STATE.trace is EVAL
    if subscripts.checked:  # a flag is cheaper than reading the option each time
        subscripts.check_static(subscript, x.shape)
    if eager and type(x) is ArrayImpl:
        if type(subscript) is int:
            # Clamped to int32, the type of the program's operand.
            result = row(x, min(max(subscript, -MAX_POSITION), MAX_POSITION))
            if result is NotImplemented:
                if exceeds_32_bits(x):
                    return _read_with_wide_positions(x, subscript)
                return lax.squeeze(local_row(x, subscript), (0,))
            return result
        plan, leaves = subscripts.parse(subscript, x.aval.shape, True)
        if not leaves and is_full(plan):
            return x
        try:
            return _read(x, leaves, plan)
        except OverflowError:
            if not exceeds_32_bits(x):
                raise
            return _read_with_wide_positions(x, subscript)
    # The key checker identifies single keys only by constant positions.
    positions_are_operands = eager and not key_checks.is_enabled()
    plan, leaves = subscripts.parse(subscript, x.shape, positions_are_operands)
    return read(x, leaves, plan)


def exceeds_32_bits(x: Any) -> bool:
    """Whether 32 bits do not hold all positions along an axis."""
    return any(exceeds(n, MAX_POSITION + 1) for n in x.shape)


def _read_with_wide_positions(x: Any, subscript: Any) -> Any:
    """Return `x[subscript]` with positions that are constants and may have 64 bits."""
    plan, leaves = subscripts.parse(subscript, x.aval.shape, False)
    return _read(x, leaves, plan)


def _accepts_row(x: Any, _: Any) -> bool:
    return type(x) is not ArrayImpl or not (is_row_sharded(x) or exceeds_32_bits(x))


@composite(accepts=_accepts_row)
def row(x: Any, i: Any) -> Any:
    """Return `x[i]` for a Python int `i`, which is an operand of the program.

    Not used for an array that is sharded by rows: its rows need no program.
    """
    shape = x.shape
    if not shape:
        raise subscripts.too_many(1, 0)
    if shape[0] == 0:
        raise IndexError("index is out of bounds for axis 0 with size 0")
    index = lax.convert_element_type(i, dtypes.int32)
    index = lax.select_n(lax.lt(index, np.int32(0)), index, lax.add(index, np.int32(shape[0])))
    starts = (index, *(np.int32(0) for _ in shape[1:]))
    sliced = lax.dynamic_slice_p.bind(x, *starts, slice_sizes=(1, *shape[1:]))
    return lax.squeeze_p.bind(sliced, dimensions=(0,))


def is_full(plan: IndexPlan) -> bool:
    """Whether a plan selects the entire array in its own shape."""
    for e, n in zip(plan.entries, plan.operand, strict=False):
        if e != (SPAN, 0, n, 1, False):
            return False
    return len(plan.entries) == len(plan.operand)


def read(
    x,
    leaves: Sequence[Any],
    plan: IndexPlan,
    mode: lax.GatherScatterMode | None = None,
    fill_value=None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
):
    """Return the elements of `x` that a plan and its leaves select."""
    if plan.arrays or (mode is _FILL and may_be_out_of_bounds(plan)):
        flags = (mode, fill_value, indices_are_sorted, unique_indices)
        return _read_by_gather(x, leaves, plan, *flags)
    return _read_by_slice(x, leaves, plan, mode is _CLIP)


_read = composite(
    read, static=("plan", "mode", "fill_value", "indices_are_sorted", "unique_indices")
)


def _read_first(xs: Sequence[Any], plan: IndexPlan, *flags: Any) -> Any:
    return read(xs[0], xs[1:], plan, *flags)


def may_be_out_of_bounds(plan: IndexPlan) -> bool:
    """Whether a position might be out of bounds."""
    axis = 0
    for e in plan.entries:
        if e[0] == NEW:
            continue
        if e[0] == POINT and e[1] is not None:
            if not falls_below(-1, e[1]) or not falls_below(e[1], plan.operand[axis]):
                return True
        elif e[0] != SPAN:
            return True
        axis += 1
    return False


def _read_by_slice(x: Any, leaves: Sequence[Any], plan: IndexPlan, clip: bool) -> Any:
    """Read a plan without index arrays: slice, reverse, drop and add axes.

    Positions out of bounds are clamped; only with `clip` did the user request that.
    """
    remaining_leaves = iter(leaves)
    starts: list[Any] = []
    stops, strides, sizes = [], [], []
    dropped_axes, new, flips = [], [], []
    is_dynamic = False
    axis = result_axis = 0
    for e in plan.entries:
        kind = e[0]
        if kind == NEW:
            new.append(result_axis)
            result_axis += 1
            continue
        n = plan.operand[axis]
        if kind == SPAN:
            _, start, size, step, flip = e
            if flip:
                flips.append(axis)
            result_axis += 1
        else:
            start, size, step = e[1] if kind == POINT else None, 1, 1
            dropped_axes.append(axis)
            symbolic = isinstance(n, SymbolicDim) or isinstance(start, SymbolicDim)
            if start is not None and (clip or symbolic):
                start = min_dim(max_dim(start, 0), n - 1)
            elif start is not None and not 0 <= start < n:
                is_dynamic = True  # the program clamps it, where index checks find it
                start = np.int32(min(max(start, -(2**31)), 2**31 - 1))
        if start is None:
            is_dynamic = True
            start = next(remaining_leaves)
            if kind == SCALAR:
                start = subscripts.wrap(start, n if plan.wrap else 0)
                if clip:
                    start = lax.convert_element_type(start, dtypes.int32)
                    start = lax.clamp(np.int32(0), start, np.int32(n - 1))
            stops.append(n)
        elif type(start) is np.int32:
            stops.append(n)
        else:
            stops.append(_stop(start, size, step, n))
        starts.append(start)
        sizes.append(size)
        strides.append(step)
        axis += 1
    x = (
        dynamic_slice(x, starts, sizes, strides, stops)
        if is_dynamic
        else static_slice(x, starts, strides, stops)
    )
    if flips:
        x = lax.rev(x, tuple(flips))
    if dropped_axes:
        x = lax.squeeze_p.bind(x, dimensions=tuple(dropped_axes))
    return lax.expand_dims(x, tuple(new)) if new else x


def _stop(start: Any, size: Any, step: int, n: Any) -> Any:
    """Return the stop of a slice: past its last element, or at the end of the axis."""
    if isinstance(size, SymbolicDim) and (n - start + step - 1) // step == size:
        return n  # even if the slice is empty
    return min_dim(start + (size - 1) * step + 1, n) if size else start


def static_slice(x, starts: Sequence[int], strides: Sequence[int], stops: Sequence[int]):
    """Slice at fixed positions; return `x` itself if the slice covers it."""
    unit_strides = all(s == 1 for s in strides)
    if unit_strides and not any(starts) and tuple(stops) == x.shape:
        return x
    return lax.slice_p.bind(
        x,
        start_indices=tuple(starts),
        limit_indices=tuple(stops),
        strides=None if unit_strides else tuple(strides),
    )


def dynamic_slice(
    x, starts: Sequence[Any], sizes: Sequence[int], strides: Sequence[int], stops: Sequence[int]
):
    """Slice at positions that may be values; axes with such positions have stride 1."""
    shape = x.shape
    fixed = [isinstance(s, int) for s in starts]
    if any(s != 1 for s in strides):
        x = static_slice(
            x,
            [s if f else 0 for s, f in zip(starts, fixed, strict=True)],
            strides,
            [e if f else n for e, f, n in zip(stops, fixed, shape, strict=True)],
        )
        starts = [0 if f else s for s, f in zip(starts, fixed, strict=True)]
    wide = any(core.aval_of(s).dtype == dtypes.int64 for s in starts)
    dtype = dtypes.int64 if wide and dtypes.int_default() == dtypes.int64 else dtypes.int32
    operands = [
        dtype.type(s) if f else lax.convert_element_type(s, dtype)
        for s, f in zip(starts, fixed, strict=True)
    ]
    return lax.dynamic_slice_p.bind(x, *operands, slice_sizes=tuple(sizes))


def _read_by_gather(
    x,
    leaves: Sequence[Any],
    plan: IndexPlan,
    mode: lax.GatherScatterMode | None,
    fill_value,
    indices_are_sorted: bool,
    unique_indices: bool,
):
    """Read a plan with index arrays, or one with a fill value for out-of-bounds positions."""
    at = subscripts.locate(plan, leaves)
    if len(x.shape) != len(plan.operand):
        x = lax.reshape(x, plan.operand)
    if 0 in at.shape:
        x = lax.full_like(x, 0, shape=at.shape)
    else:
        numbers = lax.GatherDimensionNumbers(
            offset_dims=at.windows,
            collapsed_slice_dims=at.collapsed,
            start_index_map=at.indexed,
        )
        x = lax.gather(
            x,
            at.indices,
            numbers,
            at.sizes,
            indices_are_sorted=indices_are_sorted or at.distinct,
            unique_indices=unique_indices or at.distinct,
            mode=_PROMISE if mode is None else mode,
            fill_value=fill_value,
        )
    if at.reversed:
        x = lax.rev(x, at.reversed)
    return lax.expand_dims(x, at.new) if at.new else x


# ------------------------------------------------------------------------------- modes


def mode_of(mode: Any, default: lax.GatherScatterMode | None) -> lax.GatherScatterMode | None:
    """Return the gather or scatter mode for a user's `mode`."""
    if mode is None:
        return default
    if isinstance(mode, lax.GatherScatterMode):
        return mode
    return lax.GatherScatterMode.from_any(mode)


def get(
    x: Any,
    subscript: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
    wrap_negative_indices: bool,
    out_sharding: Any,
) -> Any:
    """Return `x.at[subscript].get(...)`."""
    mode = None if mode is None else mode_of(mode, _FILL)
    eager = STATE.trace is EVAL and type(x) is ArrayImpl
    if subscripts.checked and (mode is None or mode is _PROMISED):
        subscripts.check_static(subscript, x.shape, wrap_negative_indices)
    plan, leaves = subscripts.parse(subscript, x.shape, eager, wrap_negative_indices)
    fill_value = None if mode is None else host_fill(fill_value)
    flags = (mode, fill_value, indices_are_sorted, unique_indices)
    if out_sharding is not None:
        xs = [x, *leaves]
        return call_with_out_sharding("gather", out_sharding, _read_first, xs, plan, *flags)
    return (_read if eager else read)(x, leaves, plan, *flags)


def host_fill(fill_value: Any) -> Any:
    """Return a fill value as a hashable host number."""
    if fill_value is None or isinstance(fill_value, (bool, int, float, complex, np.generic)):
        return fill_value
    if np.shape(fill_value):
        raise ValueError(
            "fill_value argument to indexed get() must be a scalar; got one of shape"
            f" {np.shape(fill_value)}."
        )
    return concrete_or_error(np.asarray, fill_value, "the fill_value of a gather")[()]


# ------------------------------------------------------------------------------- take

_TAKE_MODES = ("fill", "clip", "wrap", "promise_in_bounds")


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Return the elements (or slices along an axis) at positions.

    Args:
      a: array.
      indices: integers.
      axis: the axis that they index; None for the flattened array.
      out: not supported.
      mode: for positions out of bounds: 'fill' (the default), 'clip' (which also clips
        negative ones to 0) or 'wrap'.
      unique_indices, indices_are_sorted: promises to the compiler.
      fill_value: for 'fill'; by default nan, or the least (unsigned: largest) integer.

    Returns:
      Array of the dtype of `a`, and of its shape with `axis` replaced by the shape of
      `indices`.

    Raises:
      ValueError: indices that are not integers, an unknown mode.
      IndexError: the axis is empty, but `indices` is not.
      NotImplementedError: mode 'raise'.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0]))
      Array([30, 10], dtype=int32)

    Differs from NumPy: positions out of bounds are not an error.
    """
    no_out("take", out)
    if axis is not None and type(axis) is not int:
        axis = static_axis(axis)
    flags = (mode, unique_indices, indices_are_sorted, host_fill(fill_value))
    return _take(a, indices, axis, *flags)


@composite(static=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(a, indices, axis, mode, unique_indices: bool, indices_are_sorted: bool, fill_value):
    check_arraylike("take", a, indices)
    x, i = as_array(a), as_array(indices)
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    if dtypes.is_bool(i.dtype) or not i.size:
        i = lax.convert_element_type(i, dtypes.int_default())
    elif not dtypes.is_integer(i.dtype):
        raise ValueError(f"indices must have an integer type, got {errors.type_text(i)}")
    if mode == "raise":
        raise NotImplementedError(
            "The 'raise' mode to jnp.take is not supported.\n"
            "Why: a compiled program does not stop for a value.\nTry: mode='fill'."
        )
    if mode is not None and mode not in _TAKE_MODES:
        raise ValueError(f"Invalid mode {mode!r} for np.take")
    n = x.shape[axis]
    if n == 0 and i.size:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    if mode == "wrap":
        i, mode = i % n, "promise_in_bounds"
    entries: list[Any] = [(SPAN, 0, m, 1, False) for m in x.shape]
    entries[axis] = (ARRAY,) if i.ndim else (SCALAR,)
    plan = IndexPlan(tuple(entries), x.shape, bool(i.ndim), mode in (None, "fill"))
    how = lax.GatherScatterMode.from_any(mode)
    return _read_by_gather(x, (i,), plan, how, fill_value, indices_are_sorted, unique_indices)


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """Return elements at positions that vary with the other axes, such as `argsort`'s.

    Args:
      arr: array.
      indices: integers, of the same rank; axes other than `axis` broadcast.
      axis: the axis that they index; None for the flattened array.
      mode: for positions out of bounds: 'fill' (the default), 'clip',
        'promise_in_bounds' or 'one_hot', which multiplies by one-hot vectors instead
        of gathering: it returns 0 out of bounds, and nan if the row contains nan.
      fill_value: for 'fill'; by default nan, or the least (unsigned: largest) integer.
      wrap_negative_indices: whether negative positions count from the end (default: True,
        except for 'promise_in_bounds').

    Returns:
      Array of the dtype of `arr` and the broadcast shape, with the size of `indices` along
      `axis`.

    Raises:
      TypeError: indices that are not integers.
      ValueError: different ranks, or sizes that do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.array([[3, 1, 2]])
      >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
      Array([[1, 2, 3]], dtype=int32)
    """
    if axis is not None and type(axis) is not int:
        axis = static_axis(axis)
    mode = mode_of(mode, _FILL)
    wrap = wrap_negative_indices
    wrap = mode is not _PROMISE if wrap is None else wrap
    return _take_along_axis(arr, indices, axis, mode, host_fill(fill_value), wrap)


@composite(static=("axis", "mode", "fill_value", "wrap"))
def _take_along_axis(arr, indices, axis, mode, fill_value, wrap: bool):
    check_arraylike("take_along_axis", arr, indices)
    x, i = as_array(arr), as_array(indices)
    if not dtypes.is_integer(i.dtype):
        raise TypeError(f"take_along_axis indices must be of integer type, got {i.dtype}")
    if axis is None:
        if i.ndim != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got {i.shape}")
        x, axis = lax.reshape(x, (x.size,)), 0
    if x.ndim != i.ndim:
        raise ValueError(
            f"indices and arr must have the same number of dimensions; {i.ndim} vs. {x.ndim}"
        )
    axis = canonical_axis(axis, x.ndim)
    lanes, windows, out_shape = _lanes_along(x.shape, i.shape, axis)
    if 0 in out_shape or not x.shape[axis]:
        return lax.full_like(x, 0, shape=out_shape)
    if mode is lax.GatherScatterMode.ONE_HOT:
        return _take_one_hot(x, subscripts.wrap(i, x.shape[axis] if wrap else 0), axis)
    # Axes of only one operand: the array's become windows, the indices' stay in place.
    dropped = tuple(
        [d for d in range(x.ndim) if d != axis and d not in lanes and d not in windows]
    )
    i = subscripts.wrap(i, x.shape[axis] if wrap else 0)
    index_shape = [n for d, n in enumerate(i.shape) if d not in windows]
    at = {d: k for k, d in enumerate(d for d in range(x.ndim) if d not in windows)}
    numbers = lax.GatherDimensionNumbers(
        offset_dims=windows,
        collapsed_slice_dims=tuple(sorted((axis, *dropped))),
        start_index_map=(axis,),
        operand_batching_dims=lanes,
        start_indices_batching_dims=tuple([at[d] for d in lanes]),
    )
    sizes = tuple([n if d in windows else 1 for d, n in enumerate(x.shape)])
    i = lax.reshape(i, (*index_shape, 1))
    return lax.gather(x, i, numbers, sizes, mode=mode, fill_value=fill_value)


def _take_one_hot(x: Any, i: Any, axis: int) -> Any:
    """Return elements along an axis, as products with one-hot vectors."""
    rank, n = x.ndim, x.shape[axis]
    if dtypes.is_bool(x.dtype):
        return lax.ne(
            _take_one_hot(lax.convert_element_type(x, dtypes.int32), i, axis), np.int32(0)
        )
    x, i = move_axis(x, axis, rank - 1), move_axis(i, axis, rank - 1)
    batch_shape = broadcast_sizes(x.shape[:-1], i.shape[:-1])
    x = broadcast_to(x, (*batch_shape, n))
    i = broadcast_to(lax.convert_element_type(i, dtypes.int32), (*batch_shape, i.shape[-1]))
    positions = lax.broadcasted_iota(dtypes.int32, (*i.shape, n), rank)
    hot = lax.eq(lax.broadcast_in_dim(i, positions.shape, tuple(range(rank))), positions)
    lanes = tuple(range(rank - 1))
    numbers = (((rank,), (rank - 1,)), (lanes, lanes))
    out = lax.dot_general(lax.convert_element_type(hot, x.dtype), x, numbers)
    return move_axis(out, rank - 1, axis)


def _lanes_along(
    shape: tuple[int, ...], other: tuple[int, ...], axis: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return batch axes, axes of the array alone, and the shape of the result."""
    lanes, windows, out = [], [], []
    for d, (m, n) in enumerate(zip(shape, other, strict=True)):
        if d == axis:
            out.append(n)
        elif m == n:
            lanes.append(d)
            out.append(m)
        elif n == 1:
            windows.append(d)
            out.append(m)
        elif m == 1:
            out.append(n)
        else:
            raise errors.value_error(
                f"Incompatible shapes for broadcasting: shapes=[{other}, {shape}]",
                where="take_along_axis",
                why=f"axis {d} has sizes {m} and {n}.",
            )
    return tuple(lanes), tuple(windows), tuple(out)
