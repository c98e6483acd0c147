"""Functions that repeat, roll, reverse and pack elements.

In a traced program, shifts and counts that are Python numbers become slices and
concatenations; in eager mode a shift is an operand, so that one program serves all shifts.

Next: padding.py, for pad.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir.core import EVAL, STATE, Tracer
from ...prims import lax
from ...prims.elementwise import const
from ...prims.reshard import drop_explicit_sharding
from ...runtime.running.device_put import multi_device_sharding
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ...types.sizes import index_of
from ...types.type_sharding import spec_of
from ._common import *
from .elementwise import remainder
from .manipulation import moveaxis, ravel, reshape

__all__ = (
    "tile",
    "repeat",
    "roll",
    "flip",
    "fliplr",
    "flipud",
    "rot90",
    "resize",
    "trim_zeros",
    "packbits",
    "unpackbits",
)


def take_rows(x: Any, index: Any, axis: int) -> Any:
    """Return the slices of `x` at `index` (integers in bounds, rank 1) along an axis."""
    shape = shape_of(x)
    rank = len(shape)
    if not shape[axis]:  # a gather cannot read an empty axis
        return x
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(i for i in range(rank) if i != axis),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    column = lax.broadcast_in_dim(index, (shape_of(index)[0], 1), (0,))
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.gather(x, column, numbers, sizes, mode=mode)


# ------------------------------------------------------------------------------ repeat


def tile(A: Any, reps: Any) -> Any:
    """Return copies of an array, placed side by side.

    Args:
      A: array or number.
      reps: int or sequence of ints: number of copies along each axis; the shorter of `reps`
        and the shape is extended with leading ones.

    Returns:
      An array of `A`'s dtype and weak type, with each size multiplied by its `reps`.

    Raises:
      TypeError: a negative count.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.tile(jnp.array([1, 2]), 2)
      Array([1, 2, 1, 2], dtype=int32)
    """
    check_arraylike("tile", A)
    counts = static_shape(reps, "tile")
    check_sizes(counts, "tile")
    rank = len(shape_of(A))
    counts = (1,) * (rank - len(counts)) + counts
    if len(counts) > rank:
        A = reshape(A, (1,) * (len(counts) - rank) + shape_of(A))
    return _tile(A, counts) if counts else as_array(A)


_tile = once(lax.tile, "reps")


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Repeat each element.

    Args:
      a: array or number.
      repeats: number of repeats: an integer, or one for each element along the axis.
      axis: the axis; None flattens `a` first.
      total_repeat_length: the size of the result along the axis (static), required if
        `repeats` is traced; the result is truncated, or extended with the last element.
      out_sharding: sharding of the result.

    Returns:
      An array of `a`'s dtype and weak type, of size sum(repeats), or
      `total_repeat_length`, along the axis.

    Raises:
      ConcretizationTypeError: `repeats` is traced without `total_repeat_length`.
      ValueError: the numbers of repeats and elements differ, or the axis is sharded along
        an `Explicit` mesh axis and `out_sharding` is None.
      TypeError: `repeats` are not integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.repeat(jnp.array([1, 2]), 2)
      Array([1, 1, 2, 2], dtype=int32)
    """
    check_arraylike("repeat", a, repeats)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)) or 1)
    if not shape_of(a):
        a = reshape(a, (1,))
    if out_sharding is None and spec_of(aval_of(a))[axis] is not None:
        raise errors.value_error(
            "Please pass sharding to `jnp.repeat` via `out_sharding` parameter.",
            which=f"axis {axis} of {aval_of(a).str_short(True)}",
            why="the repeated axis is sharded, so the sharding of the result is ambiguous.",
            tries=["out_sharding= with the sharding of the result"],
        )
    if total_repeat_length is not None:
        total = index_of(total_repeat_length)
        out = _repeat_to_length(a, repeats, axis, total)
    else:
        out = _repeat_concrete(a, repeats, axis)
    return (
        out if out_sharding is None else reshape(out, shape_of(out), out_sharding=out_sharding)
    )


def _repeat_concrete(a: Any, repeats: Any, axis: int) -> Any:
    """Repeat elements by concrete counts."""
    if isinstance(repeats, Tracer):
        repeats = concrete_or_error(
            None,
            repeats,
            "When jit-compiling jnp.repeat, the total number of repeats must be static:"
            " pass total_repeat_length, or static repeats.",
        )
    if isinstance(repeats, SymbolicDim):
        return _repeat_each(a, repeats, axis)
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "biu":
        raise TypeError(f"jnp.repeat: repeats must be integers, got {counts.dtype}.")
    counts = counts.reshape(-1)
    size = shape_of(a)[axis]
    if counts.size == 1:
        n = int(counts[0])
        check_sizes((n,), "repeat")
        return _repeat_each(a, n, axis)
    if counts.size != size:
        raise uneven_repeats(a, counts.size, size)
    index = np.repeat(np.arange(size, dtype=np.int32), counts)
    return _take_rows(a, index, axis)


def uneven_repeats(a: Any, count: int, size: int) -> ValueError:
    """Return the error for a number of repeats that differs from the number of elements."""
    return errors.value_error(
        f"jnp.repeat: repeats and the axis are of different sizes: {count} and {size}.",
        which=aval_of(a).str_short(True),
        why="there is one number of repeats for each element along the axis.",
    )


_take_rows = composite(take_rows, static="axis")


def _each(a: Any, n: int, axis: int) -> Any:
    shape = shape_of(a)
    wide = (*shape[: axis + 1], n, *shape[axis + 1 :])
    dims = tuple(i for i in range(len(wide)) if i != axis + 1)
    a = lax.broadcast_in_dim(a, wide, dims)
    return lax.reshape(a, (*shape[:axis], shape[axis] * n, *shape[axis + 1 :]))


_repeat_each = once(_each, "n", "axis")


@composite(static=("axis", "total"))
def _repeat_to_length(a: Any, repeats: Any, axis: int, total: int) -> Any:
    size = shape_of(a)[axis]
    if not size:
        return a
    repeats = convert(repeats, dtypes.int_default())
    flat = lax.reshape(drop_explicit_sharding(repeats), (math.prod(shape_of(repeats)),))
    if shape_of(flat)[0] not in (1, size):
        raise uneven_repeats(a, shape_of(flat)[0], size)
    if shape_of(flat)[0] != size:
        flat = lax.broadcast_in_dim(flat, (size,), (0,))
    # Element i of the result comes from the last row that starts at position i or before.
    starts = lax.sub(lax.cumsum(flat), flat)
    begun = lax.broadcast_in_dim(const(flat, 0), (total,), ())
    positions = lax.expand_dims(starts, (1,))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    ones = lax.broadcast_in_dim(const(flat, 1), shape_of(starts), ())
    mode = lax.GatherScatterMode.FILL_OR_DROP
    begun = lax.scatter_add(begun, positions, ones, numbers, mode=mode)
    return take_rows(a, lax.sub(lax.cumsum(begun), const(begun, 1)), axis)


# --------------------------------------------------------------------- roll and reverse


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Roll elements along axes; those that leave one end enter at the other.

    Args:
      a: array or number.
      shift: the shift, an integer or one per axis; may be traced.
      axis: int or sequence of ints; None rolls the flattened array.

    Returns:
      An array of `a`'s shape, dtype and weak type.

    Raises:
      ValueError: an axis does not exist, or the numbers of shifts and axes do not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.roll(jnp.arange(4), 1)
      Array([3, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a)
    shift = tuple(shift) if isinstance(shift, range) else shift
    if isinstance(shift, (tuple, list)):
        check_arraylike("roll", *shift)
    else:
        check_arraylike("roll", shift)
    shape = shape_of(a)
    if not isinstance(shift, (tuple, list)) and len(shape_of(shift)) > 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    if axis is None:
        return reshape(roll(ravel(a), _total_shift(shift), 0), shape) if shape else as_array(a)
    axis_items = axis if has_items(axis) else (axis,)
    axes = tuple([canonical_axis(i, len(shape)) for i in axis_items])
    shifts = _shifts(shift, len(axes))
    if len(axes) < len(shifts):
        axes = axes * len(shifts)
    if aval_of(a).size == 0:
        return as_array(a)
    # For sharded arrays, a constant shift tells the compiler which shards must move.
    fixed = STATE.trace is not EVAL or multi_device_sharding(a) is not None
    if fixed and all(isinstance(s, (int, np.integer)) for s in shifts):
        return _roll_fixed(a, tuple(map(int, shifts)), axes)
    return _roll(a, shifts, axes)


def _total_shift(shift: Any) -> Any:
    """Return the total of the shifts, for a flat array."""
    if isinstance(shift, (tuple, list)) or np.ndim(shift):
        return sum(shift[i] for i in range(len(shift)))
    return shift


def _shifts(shift: Any, n: int) -> list[Any]:
    """Return one scalar shift per axis."""
    if isinstance(shift, (tuple, list)):
        items = list(shift)
    elif shape_of(shift):
        items = [shift[i] for i in range(shape_of(shift)[0])]
    else:
        items = [shift]
    if len(items) == 1:
        return items * n
    if n not in (1, len(items)):
        raise ValueError(
            f"jnp.roll: {len(items)} shifts and {n} axes do not broadcast together."
        )
    return items


@composite(static=("shifts", "axes"))
def _roll_fixed(a: Any, shifts: Sequence[int], axes: Sequence[int]) -> Any:
    for s, axis in zip(shifts, axes, strict=True):
        size = shape_of(a)[axis]
        split_point = (-s) % size
        if split_point:
            pieces = [
                lax.slice_in_dim(a, split_point, size, axis=axis),
                lax.slice_in_dim(a, 0, split_point, axis=axis),
            ]
            a = lax.concatenate(pieces, axis)
    return as_array(a)


@composite(static="axes")
def _roll(a: Any, shifts: Any, axes: Any) -> Any:
    for s, axis in zip(shifts, axes, strict=True):
        size = shape_of(a)[axis]
        s = convert(s, dtypes.int_default())
        start = lax.sub(const(s, size), remainder(s, const(s, size)))
        twice = lax.concatenate([a, a], axis)
        a = lax.dynamic_slice_in_dim(twice, start, size, axis, allow_negative_indices=False)
    return a


_flip = once(lax.rev, "dimensions")


def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the elements along axes.

    Args:
      m: array or number.
      axis: int or sequence of ints; None means all axes.

    Returns:
      An array of `m`'s shape, dtype and weak type.

    Raises:
      ValueError: an axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.flip(jnp.arange(3))
      Array([2, 1, 0], dtype=int32)
    """
    check_arraylike("flip", m)
    axes = canonical_axes(axis, len(shape_of(m)))
    return _flip(m, axes) if axes else as_array(m)


def fliplr(m: Any) -> Any:
    """Reverse the elements along the second axis.

    Args:
      m: array of rank 2 or more.

    Returns:
      An array of `m`'s shape and dtype.

    Raises:
      ValueError: the rank is below 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fliplr(jnp.array([[1, 2]]))
      Array([[2, 1]], dtype=int32)
    """
    check_arraylike("fliplr", m)
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Reverse the elements along the first axis.

    Args:
      m: array of rank 1 or more.

    Returns:
      An array of `m`'s shape and dtype.

    Raises:
      ValueError: the rank is 0.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.flipud(jnp.array([1, 2]))
      Array([2, 1], dtype=int32)
    """
    check_arraylike("flipud", m)
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Rotate an array by right angles in the plane of two axes.

    Args:
      m: array of rank 2 or more.
      k: number of right angles, from the first axis towards the second.
      axes: the two axes.

    Returns:
      An array of `m`'s dtype, with the sizes of the two axes exchanged for odd `k`.

    Raises:
      ValueError: the two axes are the same, or the rank is below 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    check_arraylike("rot90", m)
    shape = shape_of(m)
    if len(shape) < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first"
            f" argument of shape {shape}, which has ndim {len(shape)}"
        )
    first, second = (canonical_axis(i, len(shape)) for i in axes)
    if first == second:
        raise ValueError("Axes must be different")
    turns = concrete_or_error(None, k, "It is the `k` of jnp.rot90.") % 4
    return _rot90(m, operator.index(turns), first, second)


@composite(static=("k", "first", "second"))
def _rot90(m: Any, k: int, first: int, second: int) -> Any:
    if k == 0:
        return as_array(m)
    if k == 2:
        return lax.rev(m, (first, second))
    permutation = list(range(len(shape_of(m))))
    permutation[first], permutation[second] = second, first
    if k == 1:
        return lax.transpose(lax.rev(m, (second,)), permutation)
    return lax.rev(lax.transpose(m, permutation), (second,))


def resize(a: Any, new_shape: Any) -> Any:
    """Return an array of a shape, filled with the repeated elements of another.

    Args:
      a: array or number.
      new_shape: int or sequence of ints.

    Returns:
      An array of shape `new_shape` and of `a`'s dtype; zeros if `a` is empty.

    Raises:
      ValueError: a size is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.resize(jnp.array([1, 2]), (2, 3))
      Array([[1, 2, 1],
             [2, 1, 2]], dtype=int32)
    """
    check_arraylike("resize", a)
    shape = static_shape(new_shape, "resize")
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    return _resize(a, shape)


@composite(static="shape")
def _resize(a: Any, shape: Any) -> Any:
    size, new_size = aval_of(a).size, math.prod(shape)
    if size == 0 or new_size == 0:
        return lax.broadcast_in_dim(const(a, 0), shape, ())
    flat = lax.reshape(a, (size,))
    times = -(-new_size // size)
    if times > 1:
        flat = lax.tile(flat, (times,))
    if times * size > new_size:
        flat = lax.slice_in_dim(flat, 0, new_size)
    return lax.reshape(flat, shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Remove the zeros at the edges.

    Args:
      filt: concrete array: the size of the result depends on its values.
      trim: "f" at the front, "b" at the back, "fb" at both.
      axis: int or sequence of ints; None means all axes.

    Returns:
      An array of `filt`'s dtype and rank; empty if all elements are zero.

    Raises:
      ConcretizationTypeError: the array is traced.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.trim_zeros(jnp.array([0, 1, 0]))
      Array([1], dtype=int32)
    """
    check_arraylike("trim_zeros", filt)
    value = concrete_or_error(None, filt, "Error arose in the `filt` argument of trim_zeros()")
    host = np.asarray(value)
    if not host.shape:
        return as_array(value)
    axes = canonical_axes(axis, host.ndim)
    nonzero_indices = np.nonzero(host)
    start, stop = [0] * host.ndim, list(host.shape)
    for i in axes:
        positions = nonzero_indices[i]
        if "f" in trim.lower():
            start[i] = int(positions.min()) if positions.size else host.shape[i]
        if "b" in trim.lower():
            stop[i] = max(int(positions.max()) + 1 if positions.size else 0, start[i])
    out = as_array(value)
    for i in axes:
        out = lax.slice_in_dim(out, start[i], stop[i], axis=i)
    return out


# --------------------------------------------------------------------------------- bits


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Pack eight bits into each byte.

    Args:
      a: array of integers or bools: nonzero elements are set bits.
      axis: the axis; None flattens.
      bitorder: "big": the first element is the highest bit; "little": the lowest.

    Returns:
      An array of uint8, with an eighth of the size, rounded up, along the axis.

    Raises:
      TypeError: any other dtype.
      ValueError: an unknown `bitorder`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.packbits(jnp.array([1, 0, 1]))
      Array([160], dtype=uint8)
    """
    check_arraylike("packbits", a)
    if dtypes.kind(aval_of(a).dtype) not in ("int", "uint", "bool"):
        raise TypeError("Expected an input array of integer or boolean data type")
    _check_order(bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    return _packbits(a, canonical_axis(axis, len(shape_of(a))), bitorder)


def _check_order(bitorder: str) -> None:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")


def _bit_positions(bitorder: str) -> Any:
    positions = np.arange(8, dtype=np.uint8)
    return positions[::-1].copy() if bitorder == "big" else positions


@composite(static=("axis", "bitorder"))
def _packbits(a: Any, axis: int, bitorder: str) -> Any:
    bits = convert(lax.ne(a, const(a, 0)), dtypes.uint8)
    bits = moveaxis(bits, axis, -1)
    shape = shape_of(bits)
    missing = -shape[-1] % 8
    if missing:
        edges = [(0, 0, 0)] * (len(shape) - 1) + [(0, missing, 0)]
        bits = lax.pad(bits, const(bits, 0), edges)
    bits = lax.reshape(bits, (*shape[:-1], (shape[-1] + missing) // 8, 8))
    bit_positions = lax.broadcast_in_dim(
        _bit_positions(bitorder), shape_of(bits), (len(shape),)
    )
    bits = lax.shift_left(bits, bit_positions)
    packed = lax.reduce_sum(bits, (len(shape),))  # all bits differ, so + is |
    return moveaxis(packed, -1, axis)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """Unpack bytes into bits, as zeros and ones.

    Args:
      a: array of uint8.
      axis: the axis; None flattens.
      count: number of bits to return; a negative one drops bits at the end.
      bitorder: "big": the highest bit comes first; "little": the lowest.

    Returns:
      An array of uint8, with `count`, or eight times the size, along the axis.

    Raises:
      TypeError: any other dtype.
      ValueError: an unknown `bitorder`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unpackbits(jnp.array([160], jnp.uint8), count=3)
      Array([1, 0, 1], dtype=uint8)
    """
    check_arraylike("unpackbits", a)
    if aval_of(a).dtype != dtypes.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    _check_order(bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    count = None if count is None else operator.index(count)
    return _unpackbits(a, canonical_axis(axis, len(shape_of(a))), count, bitorder)


@composite(static=("axis", "count", "bitorder"))
def _unpackbits(a: Any, axis: int, count: int | None, bitorder: str) -> Any:
    a = moveaxis(a, axis, -1)
    shape = shape_of(a)
    wide = lax.broadcast_in_dim(a, (*shape, 8), tuple(range(len(shape))))
    bit_positions = lax.broadcast_in_dim(_bit_positions(bitorder), (*shape, 8), (len(shape),))
    bits = lax.bitwise_and(lax.shift_right_logical(wide, bit_positions), const(wide, 1))
    size = shape[-1] * 8
    bits = lax.reshape(bits, (*shape[:-1], size))
    if count is not None:
        n_bits = count if count >= 0 else max(size + count, 0)
        if n_bits < size:
            bits = lax.slice_in_dim(bits, 0, n_bits, axis=len(shape) - 1)
        elif n_bits > size:
            edges = [(0, 0, 0)] * (len(shape) - 1) + [(0, n_bits - size, 0)]
            bits = lax.pad(bits, const(bits, 0), edges)
    return moveaxis(bits, -1, axis)
