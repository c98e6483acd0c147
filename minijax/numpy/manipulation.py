"""Changing the shape of arrays, joining and cutting them.

Every function here moves elements and computes nothing.  Arguments that are not arrays
(shapes, axes, counts) are made hashable here; what is left is one or two primitives.

Next: rearrange.py, for pad, roll, repeat, tile and the functions that insert and delete.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..control.jit import composite
from ..core import core
from ..core.core import Tracer
from ..ops import structural
from ._common import (
    as_array,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    check_rank_promotion,
    check_sizes,
    convert,
    no_out,
    once,
    promote_dtypes,
    shape_of,
    static_dtype,
    static_shape,
)
from ._common import broadcast_to as repeat_to
from .creation import fits

# ----------------------------------------------------------------------------- reshape

_reshape = once(structural.reshape, "new_sizes")
_transpose = once(structural.transpose, "permutation")


def reshape(
    a: Any,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Any:
    """The same elements in another shape.

    Args:
      a: array or number.
      shape: int or sequence of ints; one of them may be -1, which stands for what is left.
      order: "C" reads and fills row by row, "F" column by column.
      copy: kept for NumPy's sake: arrays are immutable.
      out_sharding: how to lay the result out.

    Raises:
      TypeError: the sizes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.reshape(jnp.arange(4), (2, -1))
      Array([[0, 1],
             [2, 3]], dtype=int32)
    """
    check_arraylike("reshape", a)
    old = shape_of(a)
    new = complete_shape(old, static_shape(shape, "reshape"))
    if order == "C":
        if out_sharding is not None:
            return structural.reshape(a, new, out_sharding=out_sharding)
        return as_array(a) if new == old else _reshape(a, new)
    if order == "F":
        return _reshape_columns(a, new)
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


@composite(static="shape")
def _reshape_columns(a: Any, shape: Any) -> Any:
    rank = len(shape_of(a))
    turned = structural.reshape(a, shape[::-1], tuple(range(rank))[::-1])
    return structural.transpose(turned, tuple(range(len(shape)))[::-1])


def complete_shape(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """`new` with its -1 replaced; TypeError if the sizes differ."""
    if new == old:
        return new
    size, wanted = math.prod(old), math.prod(new)
    unknown = new.count(-1)
    if unknown == 1:
        known = -wanted
        if known and size % known == 0:
            return tuple([size // known if n == -1 else n for n in new])
        what = (
            f"cannot reshape array of shape {old} (size {size}) into shape {new} because"
            f" the product of specified axis sizes ({known}) does not evenly divide {size}"
        )
        if not known:
            raise ZeroDivisionError(what)
    elif unknown:
        what = f"can only specify one unknown axis size with a `-1` value, got {new}"
    elif wanted == size and not any(n < 0 for n in new):
        return new
    else:
        what = (
            f"cannot reshape array of shape {old} (size {size}) into shape {new}"
            f" (size {wanted})"
        )
    raise TypeError(errors.message(what, why="reshaping keeps the number of elements."))


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """All elements in one axis.

    Args:
      a: array or number.
      order: "C" row by row, "F" column by column.
      out_sharding: how to lay the result out.

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
    return reshape(a, (math.prod(shape_of(a)),), order, out_sharding=out_sharding)


@composite
def _ravel_columns(a: Any) -> Any:
    shape = shape_of(a)
    return structural.reshape(a, (math.prod(shape),), tuple(range(len(shape)))[::-1])


def squeeze(a: Any, axis: Any = None) -> Any:
    """Without the axes of size 1.

    Args:
      a: array or number.
      axis: int or sequence of ints: only these.

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


_squeeze = once(structural.squeeze, "dimensions")


def expand_dims(a: Any, axis: Any) -> Any:
    """With new axes of size 1.

    Args:
      a: array or number.
      axis: int or sequence of ints: where the new axes are in the result.

    Raises:
      ValueError: a place does not exist, or is named twice.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.expand_dims(jnp.ones(3), 0).shape
      (1, 3)
    """
    check_arraylike("expand_dims", a)
    if isinstance(axis, (tuple, list)):
        places = tuple(map(operator.index, axis))
    else:
        places = (operator.index(axis),)
    return _expand_dims(a, places)


_expand_dims = once(structural.expand_dims, "dimensions")


def atleast(rank: int, x: Any) -> Any:
    """`x` with axes of size 1 up to `rank`."""
    shape = shape_of(x)
    ndim = len(shape)
    if ndim >= rank:
        return as_array(x)
    if rank == 3 and ndim:
        new = (1, *shape, 1) if ndim == 1 else (*shape, 1)
        return _insert_axes(x, new, tuple(range(1, 2)) if ndim == 1 else (0, 1))
    return _insert_axes(x, (1,) * (rank - ndim) + shape, tuple(range(rank - ndim, rank)))


_insert_axes = once(structural.broadcast_in_dim, "shape", "broadcast_dimensions")


def _atleast(rank: int, arrays: Sequence[Any]) -> Any:
    check_arraylike(f"atleast_{rank}d", *arrays)
    out = [atleast(rank, x) for x in arrays]
    return out[0] if len(out) == 1 else out


def atleast_1d(*arys: Any) -> Any:
    """Arrays with one axis or more.

    Args:
      arys: arrays or numbers; for several a list is returned.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.atleast_1d(5.).shape
      (1,)
    """
    return _atleast(1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with two axes or more; new ones come first.

    Args:
      arys: arrays or numbers; for several a list is returned.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.atleast_2d(jnp.ones(3)).shape
      (1, 3)
    """
    return _atleast(2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with three axes or more: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1).

    Args:
      arys: arrays or numbers; for several a list is returned.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.atleast_3d(jnp.ones(3)).shape
      (1, 3, 1)
    """
    return _atleast(3, arys)


# --------------------------------------------------------------------- order of axes


def transpose(a: Any, axes: Any = None) -> Any:
    """With the axes in another order.

    Args:
      a: array or number.
      axes: a permutation of the axes; by default they are reversed.

    Raises:
      TypeError: `axes` is not a permutation.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.transpose(jnp.ones((2, 3))).shape
      (3, 2)
    """
    check_arraylike("transpose", a)
    rank = len(shape_of(a))
    if axes is None:
        order = tuple(range(rank))[::-1]
    else:
        order = tuple([canonical_axis(i, rank) for i in axes])
    if order == tuple(range(rank)):
        return as_array(a)
    return _transpose(a, order)


def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Any:
    """With the axes in another order: `transpose` under the array API's name.

    Args:
      a: array or number.
      axes: a permutation of the axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
      (3, 2)
    """
    check_arraylike("permute_dims", a)
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """With the last two axes exchanged.

    Args:
      x: array of rank 2 or more.

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
    """With two axes exchanged.

    Args:
      a: array.
      axis1, axis2: the axes.

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
    order = list(range(rank))
    order[i], order[j] = j, i
    return _transpose(a, tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """With axes moved to other places; the rest keep their order.

    Args:
      a: array.
      source: int or sequence of ints: the axes.
      destination: as many: their places in the result.

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
    order = [i for i in range(rank) if i not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    permutation = tuple(order)
    if permutation == tuple(range(rank)):
        return as_array(a)
    return _transpose(a, permutation)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """With one axis moved before another (`moveaxis` is easier to read).

    Args:
      a: array.
      axis: the axis to move.
      start: the axis before which it comes.

    Raises:
      ValueError: `start` is outside of -ndim .. ndim.

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
    """Repeated along new axes and axes of size 1 to a shape.

    Args:
      array: array or number.
      shape: int or sequence of ints.
      out_sharding: how to lay the result out.

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
    if len(old) > len(shape):
        what = f"Cannot broadcast to shape with fewer dimensions: {old} to {shape}"
        raise ValueError(errors.message(what, tries=["jnp.reshape", "x.sum(axis)"]))
    if not fits(old, shape):
        raise ValueError(
            errors.message(
                f"Incompatible shapes for broadcasting: {old} and requested {shape}",
                why="aligned at the last axis, sizes must be equal or 1.",
                tries=["x[:, None] or jnp.expand_dims to align the axes"],
            )
        )
    if out_sharding is not None:
        dims = tuple(range(len(shape) - len(old), len(shape)))
        return structural.broadcast_in_dim(array, shape, dims, out_sharding=out_sharding)
    return _broadcast_to(array, shape)


_broadcast_to = once(repeat_to, "shape")


def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays repeated to their common shape.

    Args:
      args: arrays or numbers that broadcast.

    Raises:
      ValueError: they do not.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.broadcast_arrays(jnp.ones(3), jnp.ones((2, 1)))]
      [(2, 3), (2, 3)]
    """
    check_arraylike("broadcast_arrays", *args)
    shapes = [shape_of(x) for x in args]
    shape = broadcast_shapes(*shapes)
    if len({len(s) for s in shapes if s}) > 1:
        check_rank_promotion("broadcast_arrays", shapes)
    return [
        as_array(x) if s == shape else _broadcast_to(x, shape)
        for x, s in zip(args, shapes, strict=True)
    ]


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to.

    Args:
      shapes: ints and tuples of ints.

    Raises:
      ValueError: they do not fit together.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.broadcast_shapes((2, 1), 3)
      (2, 3)
    """
    if not shapes:
        return ()
    full = [(s,) if np.ndim(s) == 0 else tuple(map(int, s)) for s in shapes]
    try:
        return np.broadcast_shapes(*full)
    except ValueError:
        raise ValueError(
            errors.message(
                f"Incompatible shapes for broadcasting: shapes={full}",
                why="aligned at the last axis, sizes must be equal or 1.",
            )
        ) from None


# ----------------------------------------------------------------------------- joining


def operands(name: str, arrays: Any) -> list[Any]:
    """The arrays to join: the items of a sequence, or the rows of one array."""
    if isinstance(arrays, (list, tuple)):
        out = list(arrays)
    elif hasattr(arrays, "ndim") or hasattr(arrays, "__jax_array__"):
        return rows_of(arrays)
    elif isinstance(arrays, (str, bytes, dict)) or not hasattr(arrays, "__iter__"):
        raise TypeError(f"{name} takes a sequence of arrays, got {type(arrays)}.")
    else:
        out = list(arrays)
    check_arraylike(name, *out)
    return out


def rows_of(x: Any) -> list[Any]:
    """The elements of an array along its first axis."""
    shape = shape_of(x)
    if not shape:
        raise TypeError("iteration over an array without axes.")
    return list(_unstack(x, 0)) if shape[0] else []


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays joined along an axis that they have.

    Args:
      arrays: a sequence of arrays, or an array (whose rows are joined).
      axis: which; None flattens the arrays first.
      dtype: of the result; by default the common one.

    Raises:
      ValueError: there is no array, an array has no axes, or there is no such axis.
      TypeError: the other axes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.concatenate([jnp.zeros(2), jnp.ones(1)])
      Array([0., 0., 1.], dtype=float32)
    """
    wanted = static_dtype(dtype, "concatenate")
    if axis is not None:
        axis = operator.index(axis)
    if hasattr(arrays, "ndim") and axis is not None and len(shape_of(arrays)) > 1:
        return _merge_rows(arrays, axis, wanted)
    xs = operands("concatenate", arrays)
    if not xs:
        raise ValueError("Need at least one array to concatenate.")
    if not shape_of(xs[0]) and axis is not None:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    if len(xs) == 1 and axis is not None:
        canonical_axis(axis, len(shape_of(xs[0])))
        return as_array(xs[0]) if wanted is None else convert(as_array(xs[0]), wanted)
    return _concatenate(xs, axis, wanted)


@composite(static=("axis", "dtype"))
def _concatenate(xs: list[Any], axis: Any, dtype: Any) -> Any:
    if axis is None:
        xs = [structural.reshape(x, (math.prod(shape_of(x)),)) for x in xs]
        axis = 0
    axis = canonical_axis(axis, len(shape_of(xs[0])))
    return structural.concatenate(common_dtype(xs, dtype), axis)


@composite(static=("axis", "dtype"))
def _merge_rows(x: Any, axis: int, dtype: Any) -> Any:
    """The rows of one array joined along `axis` of the rows."""
    shape = shape_of(x)
    axis = canonical_axis(axis, len(shape) - 1)
    x = structural.move_axis(x, 0, axis)
    merged = (*shape[1 : axis + 1], shape[0] * shape[axis + 1], *shape[axis + 2 :])
    x = structural.reshape(x, merged)
    return x if dtype is None else convert(x, dtype)


def common_dtype(xs: Sequence[Any], dtype: Any) -> Sequence[Any]:
    """Arrays in `dtype`, or in the dtype that they promote to."""
    if dtype is None:
        return promote_dtypes(*xs)
    return [convert(x, dtype) for x in xs]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis that they have: the array API's `concatenate`.

    Args:
      arrays: a sequence of arrays.
      axis: which; None flattens the arrays first.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.concat([jnp.zeros(2), jnp.ones(1)])
      Array([0., 0., 1.], dtype=float32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape joined along a new axis.

    Args:
      arrays: a sequence of arrays, or an array (whose rows are stacked).
      axis: where the new axis is in the result.
      out: not supported.
      dtype: of the result; by default the common one.

    Raises:
      ValueError: there is no array, shapes differ, or there is no such axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.stack([jnp.zeros(2), jnp.ones(2)])
      Array([[0., 0.],
             [1., 1.]], dtype=float32)
    """
    no_out("stack", out)
    wanted = static_dtype(dtype, "stack")
    axis = operator.index(axis)
    if hasattr(arrays, "ndim") and len(shape_of(arrays)) > 0:
        moved = moveaxis(arrays, 0, canonical_axis(axis, len(shape_of(arrays))))
        return moved if wanted is None else convert(moved, wanted)
    xs = operands("stack", arrays)
    if not xs:
        raise ValueError("Need at least one array to stack.")
    shapes = [shape_of(x) for x in xs]
    if any(s != shapes[0] for s in shapes):
        raise stack_error(shapes)
    return _stack(xs, canonical_axis(axis, len(shapes[0]) + 1), wanted)


@composite(static=("axis", "dtype"))
def _stack(xs: list[Any], axis: int, dtype: Any) -> Any:
    return structural.stack_p.bind(*common_dtype(xs, dtype), axis=axis)


def stack_error(shapes: Sequence[tuple[int, ...]]) -> ValueError:
    """The error for arrays of different shapes."""
    text = ", ".join(map(str, shapes[:8]))
    what = f"All input arrays must have the same shape. Got {text}."
    if len({len(s) for s in shapes}) > 1:
        what = f"Cannot stack arrays with different numbers of dimensions: got {text}."
    return ValueError(
        errors.message(
            what,
            why="stack makes a new axis, of which each array is one element.",
            tries=["jnp.concatenate joins along an axis that exists"],
        )
    )


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The elements of an array along an axis, as arrays without that axis.

    Args:
      x: array of rank 1 or more.
      axis: which.

    Raises:
      ValueError: there is no such axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unstack(jnp.array([1, 2]))
      (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    check_arraylike("unstack", x)
    axis = canonical_axis(axis, len(shape_of(x)))
    return tuple(_unstack(x, axis)) if shape_of(x)[axis] else ()


_unstack = once(structural.unstack, "axis")


def _joined(name: str, tup: Any, rank: int, axis_of: Callable[[int], int], dtype: Any) -> Any:
    """hstack, vstack and dstack: lift to `rank`, then concatenate."""
    xs = [atleast(rank, x) for x in operands(name, tup)]
    if not xs:
        raise ValueError(f"{name}: need at least one array.")
    return concatenate(xs, axis_of(len(shape_of(xs[0]))), dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the first axis; those of one axis are rows.

    Args:
      tup: a sequence of arrays.
      dtype: of the result.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.vstack([jnp.zeros(2), jnp.ones(2)])
      Array([[0., 0.],
             [1., 1.]], dtype=float32)
    """
    return _joined("vstack", tup, 2, lambda rank: 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the second axis, or the only one.

    Args:
      tup: a sequence of arrays.
      dtype: of the result.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.hstack([jnp.zeros(2), jnp.ones(1)])
      Array([0., 0., 1.], dtype=float32)
    """
    return _joined("hstack", tup, 1, lambda rank: int(rank > 1), dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the third axis.

    Args:
      tup: a sequence of arrays.
      dtype: of the result.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.dstack([jnp.zeros(2), jnp.ones(2)]).shape
      (1, 2, 2)
    """
    return _joined("dstack", tup, 3, lambda rank: 2, dtype)


def column_stack(tup: Any) -> Any:
    """Arrays of one axis as columns of a matrix; matrices are joined side by side.

    Args:
      tup: a sequence of arrays of rank 1 or 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.column_stack([jnp.zeros(2), jnp.ones(2)])
      Array([[0., 1.],
             [0., 1.]], dtype=float32)
    """
    xs = operands("column_stack", tup)
    if not xs:
        raise ValueError("column_stack: need at least one array.")
    columns = [x if len(shape_of(x)) > 1 else transpose(atleast(2, x)) for x in xs]
    return concatenate(columns, 1)


def block(arrays: Any) -> Any:
    """A block matrix from nested lists: the innermost are joined along the last axis.

    Args:
      arrays: an array, or lists of one depth of them.

    Raises:
      ValueError: depths differ, a list is empty, or a tuple is used.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.block([[jnp.zeros((1, 1)), jnp.ones((1, 2))]])
      Array([[0., 1., 1.]], dtype=float32)
    """
    depth = block_depth(arrays)
    check_arraylike("block", *block_leaves(arrays))
    return _block(arrays, depth)


def block_depth(x: Any) -> int:
    """How deep lists are nested."""
    if isinstance(x, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {x!r}"[:160])
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    depths = {block_depth(item) for item in x}
    if len(depths) > 1:
        raise ValueError(
            errors.message(
                "Mismatched list depths in jax.numpy.block",
                why=f"depths {sorted(depths)} lie side by side.",
                tries=["put every array at the same depth of lists"],
            )
        )
    return depths.pop() + 1


def block_leaves(x: Any) -> list[Any]:
    """The arrays in nested lists."""
    if not isinstance(x, list):
        return [x]
    return [leaf for item in x for leaf in block_leaves(item)]


@composite(static="depth")
def _block(arrays: Any, depth: int) -> Any:
    rank = max(depth, max(len(shape_of(x)) for x in block_leaves(arrays)))

    def join(x: Any, level: int) -> Any:
        if not isinstance(x, list):
            shape = shape_of(x)
            lead = rank - len(shape)
            dims = tuple(range(lead, rank))
            x = as_array(x)
            return structural.broadcast_in_dim(x, (1,) * lead + shape, dims) if lead else x
        rows = [join(item, level - 1) for item in x]
        return structural.concatenate(promote_dtypes(*rows), rank - level)

    return join(arrays, depth)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Two arrays joined.

    Args:
      arr, values: arrays.
      axis: along which; None flattens both first.

    Raises:
      TypeError: the other axes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.append(jnp.array([1, 2]), 3)
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("append", arr, values)
    return concatenate([arr, values], axis)


# ----------------------------------------------------------------------------- cutting


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """An array cut into parts along an axis.

    Args:
      ary: array.
      indices_or_sections: a number of equal parts, or the places where to cut.
      axis: which.

    Raises:
      ValueError: the axis does not divide into equal parts, or the places to cut do not
        rise from 0 to its size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.split(jnp.arange(4), 2)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return cut("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """An array cut along an axis into parts whose sizes differ by at most one.

    Args:
      ary: array.
      indices_or_sections: a number of parts, or the places where to cut.
      axis: which.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.array_split(jnp.arange(5), 2)]
      [(3,), (2,)]
    """
    return cut("array_split", ary, indices_or_sections, axis)


def cut(name: str, x: Any, where: Any, axis: Any) -> list[Any]:
    """`split` and `array_split`."""
    check_arraylike(name, x)
    axis = canonical_axis(
        core.concrete_or_error(operator.index, axis, f"in jax.numpy.{name} argument `axis`"),
        len(shape_of(x)),
    )
    sizes = part_sizes(name, where, shape_of(x)[axis])
    return list(_split(x, sizes, axis))


_split = once(structural.split, "sizes", "axis")


def part_sizes(name: str, where: Any, size: int) -> tuple[int, ...]:
    """The sizes of the parts of an axis."""
    if isinstance(where, Tracer):
        context = f"in jax.numpy.{name} argument `indices_or_sections`"
        where = core.concrete_or_error(None, where, context)
    if isinstance(where, (list, tuple)) or np.ndim(where):
        cuts = [0, *(int(core.concrete_or_error(operator.index, i)) for i in where), size]
        sizes = tuple([b - a for a, b in zip(cuts, cuts[1:], strict=False)])
        if any(n < 0 for n in sizes):
            raise ValueError(
                errors.message(
                    f"Sizes passed to split must be nonnegative, got {list(sizes)}",
                    which=f"cuts at {cuts[1:-1]} of an axis of size {size}",
                    why="places to cut must rise from 0 to the size of the axis.",
                )
            )
        return sizes
    parts = int(where)
    each, rest = divmod(size, parts)
    if rest and name != "array_split":
        raise ValueError(
            errors.message(
                f"array split does not result in an equal division: rest is {rest}",
                which=f"an axis of size {size} in {parts} parts",
                tries=["jnp.array_split, whose parts may differ by one"],
            )
        )
    return (each + 1,) * rest + (each,) * (parts - rest)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """An array cut along its first axis: see `split`.

    Args:
      ary: array.
      indices_or_sections: as in `split`.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.vsplit(jnp.ones((2, 3)), 2)]
      [(1, 3), (1, 3)]
    """
    return cut("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """An array cut along its second axis, or its only one: see `split`.

    Args:
      ary: array.
      indices_or_sections: as in `split`.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.hsplit(jnp.ones((2, 4)), 2)]
      [(2, 2), (2, 2)]
    """
    check_arraylike("hsplit", ary)
    return cut("hsplit", ary, indices_or_sections, int(len(shape_of(ary)) > 1))


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """An array cut along its third axis: see `split`.

    Args:
      ary: array of rank 3 or more.
      indices_or_sections: as in `split`.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.dsplit(jnp.ones((1, 2, 4)), 2)]
      [(1, 2, 2), (1, 2, 2)]
    """
    return cut("dsplit", ary, indices_or_sections, 2)


# --------------------------------------------------------------------------- asking


def shape(a: Any) -> tuple[int, ...]:
    """The shape of an array, number or nested sequence.

    Args:
      a: array, number, nested sequence, or anything with a `shape`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.shape(jnp.ones((2, 3)))
      (2, 3)
    """
    found = getattr(a, "shape", None)
    return tuple(found) if found is not None else np.shape(a)


def ndim(a: Any) -> int:
    """The number of axes of an array, number or nested sequence.

    Args:
      a: array, number, nested sequence, or anything with a `shape`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ndim(jnp.ones((2, 3)))
      2
    """
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, in all or along some axes.

    Args:
      a: array, number, nested sequence, or anything with a `shape`.
      axis: int or sequence of ints; by default all.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.size(jnp.ones((2, 3)), 1)
      3
    """
    sizes = shape(a)
    if axis is None:
        return math.prod(sizes)
    return math.prod(sizes[i] for i in canonical_axes(axis, len(sizes)))
