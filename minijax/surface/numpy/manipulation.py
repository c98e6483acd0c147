"""Functions that change the shape of arrays, permute axes, and broadcast.

Every function here moves elements without arithmetic.  Arguments that are not arrays
(shapes, axes, counts) become hashable; the rest is one or two primitives.

Next: joining.py, for concatenate, stack and split.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir.core import EVAL, STATE
from ...prims import lax
from ...symbolic.dims import SymbolicDim, inconclusive, is_negative
from ...types.sizes import size_of
from ...types.type_sharding import TypeFlags
from ._common import (
    as_array,
    broadcast_sizes,
    broadcast_together,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    check_sizes,
    not_broadcastable,
    once,
    shape_of,
    static_axis,
    static_shape,
)
from ._common import broadcast_to as repeat_to
from .creation import fits

__all__ = (
    "reshape",
    "ravel",
    "squeeze",
    "expand_dims",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "transpose",
    "permute_dims",
    "matrix_transpose",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "broadcast_to",
    "broadcast_arrays",
    "broadcast_shapes",
    "shape",
    "ndim",
    "size",
)

# ----------------------------------------------------------------------------- reshape

_reshape = once(lax.reshape, "new_sizes")
_transpose = once(lax.transpose, "permutation")


def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Any:
    """Return the same elements in another shape.

    Args:
      a: array or number.
      shape: int or sequence of ints; one of them may be -1, which is inferred.
      order: "C" reads and fills row by row, "F" column by column.
      copy: ignored; arrays are immutable.
      out_sharding: sharding of the result.

    Returns:
      An array of shape `shape` and of `a`'s dtype and weak type.  While a function is
      traced, a NumPy array is reshaped to a NumPy array, so that its values remain
      concrete.

    Raises:
      TypeError: the sizes do not match, or more than one is -1.
      ZeroDivisionError: a -1 together with a size of 0.
      ValueError: an unknown `order`.
      NotImplementedError: `order` is "A".

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.reshape(jnp.arange(4), (2, -1))
      Array([[0, 1],
             [2, 3]], dtype=int32)
    """
    check_arraylike("reshape", a)
    old = shape_of(a)
    new = complete_shape(old, static_shape(shape, "reshape"), shape)
    stays_numpy = isinstance(a, (np.ndarray, np.generic)) and STATE.trace is not EVAL
    if stays_numpy and order in ("C", "F") and out_sharding is None:
        return np.reshape(a, new, order="F" if order == "F" else "C")
    return _shaped(a, new, order, out_sharding)


def _shaped(a: Any, new: tuple[int, ...], order: str, out_sharding: Any) -> Any:
    old = shape_of(a)
    if order == "C":
        if out_sharding is not None:
            return lax.reshape(a, new, out_sharding=out_sharding)
        return as_array(a) if new == old else _reshape(a, new)
    if order == "F":
        return _reshape_columns(a, new)
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


@composite(static="shape")
def _reshape_columns(a: Any, shape: Any) -> Any:
    rank = len(shape_of(a))
    transposed = lax.reshape(a, shape[::-1], tuple(range(rank))[::-1])
    return lax.transpose(transposed, tuple(range(len(shape)))[::-1])


def complete_shape(
    old: tuple[int, ...], new: tuple[int, ...], requested: Any
) -> tuple[int, ...]:
    """Replace the -1 in `new`; TypeError, with the user's `requested`, if the sizes differ."""
    if new == old:
        return new
    size, new_size = math.prod(old), math.prod(new)
    unknown = new.count(-1)
    if unknown == 1:
        known_size = -new_size
        rest = size % known_size if known_size else 0
        if isinstance(rest, SymbolicDim):
            raise inconclusive(
                f"Cannot divide evenly the sizes of shapes {old} and {requested}. The"
                f" remainder {rest} should be 0.",
                f"constraints=['{rest} == 0'] of symbolic_shape",
            )
        if known_size and rest == 0:
            return tuple([size // known_size if n == -1 else n for n in new])
        what = (
            f"cannot reshape array of shape {old} (size {size}) into shape {requested}"
            f" because the product of specified axis sizes ({known_size}) does not evenly"
            f" divide {size}"
        )
        if not known_size:
            raise ZeroDivisionError(what)
    elif unknown:
        what = f"can only specify one unknown axis size with a `-1` value, got {new}"
    elif new_size == size and not is_negative(new):
        return new
    else:
        what = (
            f"cannot reshape array of shape {old} (size {size}) into shape {requested}"
            f" (size {new_size})"
        )
    raise errors.type_error(what, why="reshaping keeps the number of elements.")


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """Return all elements in one axis.

    Args:
      a: array or number.
      order: "C" row by row, "F" column by column.
      out_sharding: sharding of the result.

    Returns:
      An array of shape (a.size,) and of `a`'s dtype and weak type.

    Raises:
      ValueError: an unknown `order`.
      NotImplementedError: `order` is "K" or "A".

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]), order='F')
      Array([1, 3, 2, 4], dtype=int32)
    """
    check_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    if order == "F" and len(shape_of(a)) > 1:
        return _ravel_columns(a)
    return _shaped(a, (math.prod(shape_of(a)),), order, out_sharding)


@composite
def _ravel_columns(a: Any) -> Any:
    shape = shape_of(a)
    return lax.reshape(a, (math.prod(shape),), tuple(range(len(shape)))[::-1])


def squeeze(a: Any, axis: Any = None) -> Any:
    """Remove axes of size 1.

    Args:
      a: array or number.
      axis: int or sequence of ints: the axes to remove.

    Returns:
      An array of `a`'s dtype and elements: without all axes of size 1, or without
      `axis`.

    Raises:
      ValueError: an axis named has another size, or does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.squeeze(jnp.ones((1, 3))).shape
      (3,)
    """
    check_arraylike("squeeze", a)
    shape = shape_of(a)
    if axis is None:
        axes = tuple([i for i, n in enumerate(shape) if n == 1])
    else:
        axes = canonical_axes(axis, len(shape))
    return _squeeze(a, axes) if axes else as_array(a)


_squeeze = once(lax.squeeze, "dimensions")


def expand_dims(a: Any, axis: Any) -> Any:
    """Insert new axes of size 1.

    Args:
      a: array or number.
      axis: int or sequence of ints: positions of the new axes in the result.

    Returns:
      An array of `a`'s dtype, with one additional axis per entry of `axis`.

    Raises:
      ValueError: a position does not exist, or is named twice.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.expand_dims(jnp.ones(3), 0).shape
      (1, 3)
    """
    check_arraylike("expand_dims", a)
    positions = static_axis(axis)
    return _expand_dims(a, (positions,) if isinstance(positions, int) else positions)


_expand_dims = once(lax.expand_dims, "dimensions")


def atleast(rank: int, x: Any) -> Any:
    """Return `x` with axes of size 1 up to `rank`."""
    shape = shape_of(x)
    ndim = len(shape)
    if ndim >= rank:
        return as_array(x)
    if rank == 3 and ndim:
        new = (1, *shape, 1) if ndim == 1 else (*shape, 1)
        return _insert_axes(x, new, tuple(range(1, 2)) if ndim == 1 else (0, 1))
    return _insert_axes(x, (1,) * (rank - ndim) + shape, tuple(range(rank - ndim, rank)))


_insert_axes = once(lax.broadcast_in_dim, "shape", "broadcast_dimensions")


def _atleast(rank: int, arrays: Sequence[Any]) -> Any:
    check_arraylike(f"atleast_{rank}d", *arrays)
    out = [atleast(rank, x) for x in arrays]
    return out[0] if len(out) == 1 else out


def atleast_1d(*arys: Any) -> Any:
    """Return arrays with one axis or more.

    Args:
      arys: arrays or numbers.

    Returns:
      An array of the argument's dtype: of shape (1,) for a scalar, otherwise of its own
      shape; a list of such arrays for several arguments.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.atleast_1d(5.).shape
      (1,)
    """
    return _atleast(1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Return arrays with two axes or more; new ones come first.

    Args:
      arys: arrays or numbers.

    Returns:
      An array of the argument's dtype: of shape (1, 1) for a scalar, (1, n) for (n,),
      otherwise of its own shape; a list of such arrays for several arguments.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.atleast_2d(jnp.ones(3)).shape
      (1, 3)
    """
    return _atleast(2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Return arrays with three axes or more.

    Args:
      arys: arrays or numbers.

    Returns:
      An array of the argument's dtype: of shape (1, 1, 1) for a scalar, (1, n, 1) for
      (n,), (m, n, 1) for (m, n), otherwise of its own shape; a list of such arrays for
      several arguments.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.atleast_3d(jnp.ones(3)).shape
      (1, 3, 1)
    """
    return _atleast(3, arys)


# --------------------------------------------------------------------- order of axes


def transpose(a: Any, axes: Any = None) -> Any:
    """Permute the axes.

    Args:
      a: array or number.
      axes: a permutation of the axes; by default they are reversed.

    Returns:
      An array of `a`'s dtype, whose axis i is axis `axes[i]` of `a`.

    Raises:
      TypeError: `axes` is not a permutation.
      ValueError: an axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.transpose(jnp.ones((2, 3))).shape
      (3, 2)
    """
    check_arraylike("transpose", a)
    rank = len(shape_of(a))
    if axes is None:
        permutation = tuple(range(rank))[::-1]
    else:
        permutation = tuple([canonical_axis(i, rank) for i in axes])
    if permutation == tuple(range(rank)):
        return as_array(a)
    return _transpose(a, permutation)


def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Any:
    """Permute the axes: the array API's name of `transpose`.

    Args:
      a: array or number.
      axes: a permutation of the axes.

    Returns:
      An array of `a`'s dtype, whose axis i is axis `axes[i]` of `a`.

    Raises:
      TypeError: `axes` is not a permutation.
      ValueError: an axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
      (3, 2)
    """
    check_arraylike("permute_dims", a)
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes.

    Args:
      x: array, shape (..., m, n).

    Returns:
      An array of `x`'s dtype, shape (..., n, m).

    Raises:
      ValueError: the rank is below 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.matrix_transpose(jnp.ones((5, 2, 3))).shape
      (5, 3, 2)
    """
    check_arraylike("matrix_transpose", x)
    rank = len(shape_of(x))
    if rank < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={rank}"
        )
    return _transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes.

    Args:
      a: array.
      axis1, axis2: the axes.

    Returns:
      An array of `a`'s dtype, with the sizes of the two axes exchanged.

    Raises:
      ValueError: an axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    check_arraylike("swapaxes", a)
    rank = len(shape_of(a))
    i, j = canonical_axis(axis1, rank), canonical_axis(axis2, rank)
    if i == j:
        return as_array(a)
    permutation = list(range(rank))
    permutation[i], permutation[j] = j, i
    return _transpose(a, tuple(permutation))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other positions; the other axes keep their order.

    Args:
      a: array.
      source: int or sequence of ints: the axes.
      destination: as many ints: the positions of these axes in the result.

    Returns:
      An array of `a`'s dtype and rank; axis `source[i]` of `a` is its `destination[i]`.

    Raises:
      ValueError: an axis does not exist, or the numbers of axes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    check_arraylike("moveaxis", a)
    rank = len(shape_of(a))
    src, dst = canonical_axes(source, rank), canonical_axes(destination, rank)
    if len(src) != len(dst):
        raise ValueError(f"Inconsistent number of elements: {len(src)} vs {len(dst)}")
    axis_order = [i for i in range(rank) if i not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        axis_order.insert(d, s)
    permutation = tuple(axis_order)
    if permutation == tuple(range(rank)):
        return as_array(a)
    return _transpose(a, permutation)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move one axis before another (`moveaxis` is easier to read).

    Args:
      a: array.
      axis: the axis to move.
      start: the axis before which it is placed.

    Returns:
      An array of `a`'s dtype and rank.

    Raises:
      ValueError: `axis` does not exist, or `start` is outside of -ndim .. ndim.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    check_arraylike("rollaxis", a)
    rank = len(shape_of(a))
    start = operator.index(start)
    axis = canonical_axis(axis, rank)
    if not -rank <= start <= rank:
        raise ValueError(f"{start=} must satisfy {-rank}<=start<={rank}")
    start += rank if start < 0 else 0
    return moveaxis(a, axis, start - 1 if start > axis else start)


# ------------------------------------------------------------------------ broadcasting


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """Repeat an array along new axes and axes of size 1, to a shape.

    Args:
      array: array or number.
      shape: int or sequence of ints.
      out_sharding: sharding of the result.

    Returns:
      An array of shape `shape` and of `array`'s dtype and weak type.

    Raises:
      ValueError: the array does not broadcast to `shape`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    check_arraylike("broadcast_to", array)
    shape = static_shape(shape, "broadcast_to")
    old = shape_of(array)
    if old == shape and out_sharding is None:
        return as_array(array)
    check_sizes(shape, "broadcast_to")
    if len(old) > len(shape) or not fits(old, shape):
        raise errors.ShapeError(not_broadcastable(array, shape))
    if out_sharding is not None:
        dims = tuple(range(len(shape) - len(old), len(shape)))
        return lax.broadcast_in_dim(array, shape, dims, out_sharding=out_sharding)
    return _broadcast_to(array, shape)


_broadcast_to = once(repeat_to, "shape")


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Repeat arrays to their common shape.

    Args:
      args: arrays or numbers that broadcast.

    Returns:
      A tuple of arrays of one shape, one per argument and each of its own dtype.

    Raises:
      ValueError: they do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.broadcast_arrays(jnp.ones(3), jnp.ones((2, 1)))]
      [(2, 3), (2, 3)]

    Differs from JAX: the result is a tuple, as in the array API standard, not a list.
    """
    check_arraylike("broadcast_arrays", *args)
    shapes = [shape_of(x) for x in args]
    shape = broadcast_shapes(*shapes)
    if TypeFlags.has_sharded_types:
        return tuple(broadcast_together(shape, *map(as_array, args)))
    return tuple(
        [
            as_array(x) if s == shape else _broadcast_to(x, shape)
            for x, s in zip(args, shapes, strict=True)
        ]
    )


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes broadcast to.

    Args:
      shapes: ints and tuples of ints.

    Returns:
      A tuple of ints; () without arguments.

    Raises:
      ValueError: the shapes do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.broadcast_shapes((2, 1), 3)
      (2, 3)
    """
    if not shapes:
        return ()
    full = [(s,) if np.ndim(s) == 0 else tuple(map(size_of, s)) for s in shapes]
    try:
        return broadcast_sizes(*full)
    except ValueError:
        raise errors.value_error(
            f"Incompatible shapes for broadcasting: shapes={full}",
            why="aligned at the last axis, sizes must be equal or 1.",
        ) from None


# -------------------------------------------------------------------------- queries


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, number or nested sequence.

    Args:
      a: array, number, nested sequence, or an object with a `shape`.

    Returns:
      A tuple of ints, one per axis; () for a number.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.shape(jnp.ones((2, 3)))
      (2, 3)
    """
    if hasattr(a, "__jax_array__"):
        return shape_of(a)
    own_shape = getattr(a, "shape", None)
    return tuple(own_shape) if own_shape is not None else np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of axes of an array, number or nested sequence.

    Args:
      a: array, number, nested sequence, or an object with a `shape`.

    Returns:
      An int; 0 for a number.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ndim(jnp.ones((2, 3)))
      2
    """
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, of all axes or of some.

    Args:
      a: array, number, nested sequence, or an object with a `shape`.
      axis: int or sequence of ints; by default all.

    Returns:
      An int; 1 for a number.

    Raises:
      ValueError: an axis does not exist, or is named twice.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.size(jnp.ones((2, 3)), 1)
      3
    """
    sizes = shape(a)
    if axis is None:
        return math.prod(sizes)
    return math.prod(sizes[i] for i in canonical_axes(axis, len(sizes)))
