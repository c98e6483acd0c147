"""Functions that join and split arrays: concatenate, stack, block, split and variants.

Instead of a sequence of arrays, one array stands for its rows.  Dtypes promote; in eager
mode each call is one compiled program.

Next: rearrange.py, for roll, repeat and tile; padding.py, for pad.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir.core import Tracer
from ...prims import lax
from ...prims.shape import shapes
from ...symbolic.dims import falls_below
from ...types.sizes import index_of
from ._common import *
from .manipulation import atleast, moveaxis, transpose

__all__ = (
    "concatenate",
    "concat",
    "stack",
    "unstack",
    "vstack",
    "hstack",
    "dstack",
    "column_stack",
    "block",
    "append",
    "split",
    "array_split",
    "vsplit",
    "hsplit",
    "dsplit",
)

# ----------------------------------------------------------------------------- joining


def axis_number(name: str, axis: Any) -> int:
    """Return the axis to join along; TypeError if it is a second array."""
    if hasattr(axis, "ndim") and axis.ndim:
        raise errors.type_error(
            f"{name}: Only integer scalar arrays can be converted to a scalar index:"
            f" axis is an array of shape {axis.shape}.",
            why="the arrays to join are one argument, a list.",
            tries=[f"jnp.{name}([a, b]) instead of jnp.{name}(a, b)"],
        )
    return operator.index(axis)


def operands(name: str, arrays: Any) -> list[Any]:
    """Return the arrays to join: the items of a sequence, or the rows of one array."""
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
    """Return the elements of an array along its first axis."""
    shape = shape_of(x)
    if not shape:
        raise errors.ShapeError("iteration over an array without axes.")
    return list(_unstack(x, 0)) if shape[0] else []


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays along an existing axis.

    Args:
      arrays: a sequence of arrays, or an array (whose rows are joined).
      axis: the axis; None flattens the arrays first.
      dtype: of the result; by default the common dtype.

    Returns:
      Array of the shape of each, except that sizes along `axis` add up; of one axis if
      `axis` is None.

    Raises:
      ValueError: zero arrays, a scalar, or an axis that does not exist.
      TypeError: other axes differ in size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.concatenate([jnp.zeros(2), jnp.ones(1)])
      Array([0., 0., 1.], dtype=float32)
    """
    requested_dtype = static_dtype(dtype, "concatenate")
    if axis is not None:
        axis = axis_number("concatenate", axis)
    if hasattr(arrays, "ndim") and shape_of(arrays)[:1] == (0,):
        raise ValueError("Need at least one array to concatenate.")
    if hasattr(arrays, "ndim") and axis is not None and len(shape_of(arrays)) > 1:
        return _merge_rows(arrays, axis, requested_dtype)
    xs = operands("concatenate", arrays)
    if not xs:
        raise ValueError("Need at least one array to concatenate.")
    if not shape_of(xs[0]) and axis is not None:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    if len(xs) == 1 and axis is not None:
        canonical_axis(axis, len(shape_of(xs[0])))
        return (
            as_array(xs[0])
            if requested_dtype is None
            else convert(as_array(xs[0]), requested_dtype)
        )
    return _concatenate(xs, axis, requested_dtype)


@composite(static=("axis", "dtype"))
def _concatenate(xs: list[Any], axis: Any, dtype: Any) -> Any:
    if axis is None:
        xs = [lax.reshape(x, (math.prod(shape_of(x)),)) for x in xs]
        axis = 0
    axis = canonical_axis(axis, len(shape_of(xs[0])))
    return lax.concatenate(common_dtype(xs, dtype), axis)


@composite(static=("axis", "dtype"))
def _merge_rows(x: Any, axis: int, dtype: Any) -> Any:
    """Join the rows of one array along `axis` of the rows."""
    shape = shape_of(x)
    axis = canonical_axis(axis, len(shape) - 1)
    x = shapes.move_axis(x, 0, axis)
    merged = (*shape[1 : axis + 1], shape[0] * shape[axis + 1], *shape[axis + 2 :])
    x = lax.reshape(x, merged)
    return x if dtype is None else convert(x, dtype)


def common_dtype(xs: Sequence[Any], dtype: Any) -> Sequence[Any]:
    """Convert arrays to `dtype`, or to the dtype that they promote to."""
    if dtype is None:
        return promote_dtypes(*xs)
    return [convert(x, dtype) for x in xs]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Join arrays along an existing axis: the array API's `concatenate`.

    Args:
      arrays: a sequence of arrays, or an array (whose rows are joined).
      axis: the axis; None flattens the arrays first.

    Returns:
      Array of the common dtype, as for `concatenate`.

    Raises:
      ValueError: zero arrays, a scalar, or an axis that does not exist.
      TypeError: other axes differ in size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.concat([jnp.zeros(2), jnp.ones(1)])
      Array([0., 0., 1.], dtype=float32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Join arrays of one shape along a new axis.

    Args:
      arrays: a sequence of arrays, or an array (whose rows are stacked).
      axis: position of the new axis in the result.
      out: not supported.
      dtype: of the result; by default the common dtype.

    Returns:
      Array with one axis more than each; its size is the number of arrays.

    Raises:
      ValueError: zero arrays, different shapes, or an axis that does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.stack([jnp.zeros(2), jnp.ones(2)])
      Array([[0., 0.],
             [1., 1.]], dtype=float32)
    """
    no_out("stack", out)
    requested_dtype = static_dtype(dtype, "stack")
    axis = axis_number("stack", axis)
    if hasattr(arrays, "ndim") and len(shape_of(arrays)) > 0 and shape_of(arrays)[0]:
        moved = moveaxis(arrays, 0, canonical_axis(axis, len(shape_of(arrays))))
        return moved if requested_dtype is None else convert(moved, requested_dtype)
    xs = operands("stack", arrays)
    if not xs:
        raise ValueError("Need at least one array to stack.")
    shapes = [shape_of(x) for x in xs]
    if any(s != shapes[0] for s in shapes):
        raise stack_error(shapes)
    return _stack(xs, canonical_axis(axis, len(shapes[0]) + 1), requested_dtype)


@composite(static=("axis", "dtype"))
def _stack(xs: list[Any], axis: int, dtype: Any) -> Any:
    return lax.stack_p.bind(*common_dtype(xs, dtype), axis=axis)


def stack_error(shapes: Sequence[tuple[int, ...]]) -> errors.ShapeError:
    """Return the error for arrays of different shapes."""
    text = ", ".join(map(str, shapes[:8]))
    what = f"All input arrays must have the same shape. Got {text}."
    if len({len(s) for s in shapes}) > 1:
        what = f"Cannot stack arrays with different numbers of dimensions: got {text}."
    return errors.shape_error(
        what,
        why="stack makes a new axis, and each array becomes one element along it.",
        tries=["jnp.concatenate joins along an axis that exists"],
    )


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the elements of an array along an axis, as arrays without that axis.

    Args:
      x: array of rank 1 or more.
      axis: the axis.

    Returns:
      Tuple of arrays of the dtype of `x`, one for each index along `axis`.

    Raises:
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unstack(jnp.array([1, 2]))
      (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    check_arraylike("unstack", x)
    axis = canonical_axis(axis, len(shape_of(x)))
    return tuple(_unstack(x, axis)) if shape_of(x)[axis] else ()


_unstack = once(lax.unstack, "axis")


def _join_at_rank(name: str, tup, rank: int, axis_of: Callable[[int], int], dtype):
    """Join operands of hstack, vstack or dstack, expanded to `rank` axes."""
    if hasattr(tup, "ndim") and len(shape_of(tup)) > 1 and shape_of(tup)[0]:
        rows = tup
        if shape_of(tup)[1:] and len(shape_of(tup)) <= rank:
            n, *row = shape_of(tup)
            lifted = (1, *row, 1)[:rank] if len(row) == 1 else (*row, 1)
            rows = lax.reshape(tup, (n, *lifted))
        return concatenate(rows, axis_of(len(shape_of(rows)) - 1), dtype)
    xs = [atleast(rank, x) for x in operands(name, tup)]
    if not xs:
        raise ValueError(f"{name}: need at least one array.")
    return concatenate(xs, axis_of(len(shape_of(xs[0]))), dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Join arrays along the first axis; arrays of one axis are rows.

    Args:
      tup: a sequence of arrays, or an array (whose rows are joined).
      dtype: of the result; by default the common dtype.

    Returns:
      Array of rank 2 or more.

    Raises:
      ValueError: zero arrays.
      TypeError: other axes differ in size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.vstack([jnp.zeros(2), jnp.ones(2)])
      Array([[0., 0.],
             [1., 1.]], dtype=float32)
    """
    return _join_at_rank("vstack", tup, 2, lambda rank: 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Join arrays along the second axis, or along the only one.

    Args:
      tup: a sequence of arrays, or an array (whose rows are joined).
      dtype: of the result; by default the common dtype.

    Returns:
      Array of the rank of the operands, at least 1.

    Raises:
      ValueError: zero arrays.
      TypeError: other axes differ in size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.hstack([jnp.zeros(2), jnp.ones(1)])
      Array([0., 0., 1.], dtype=float32)
    """
    return _join_at_rank("hstack", tup, 1, lambda rank: int(rank > 1), dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Join arrays along the third axis.

    Args:
      tup: a sequence of arrays, or an array (whose rows are joined).  Vectors (n,)
        count as (1, n, 1), matrices (m, n) as (m, n, 1).
      dtype: of the result; by default the common dtype.

    Returns:
      Array of rank 3 or more.

    Raises:
      ValueError: zero arrays.
      TypeError: other axes differ in size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.dstack([jnp.zeros(2), jnp.ones(2)]).shape
      (1, 2, 2)
    """
    return _join_at_rank("dstack", tup, 3, lambda rank: 2, dtype)


def column_stack(tup: Any) -> Any:
    """Join arrays of one axis as columns of a matrix, and matrices side by side.

    Args:
      tup: a sequence of arrays of rank 1 or 2 (or an array: its rows).

    Returns:
      Array of rank 2, of the common dtype.

    Raises:
      ValueError: zero arrays.
      TypeError: the numbers of rows differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.column_stack([jnp.zeros(2), jnp.ones(2)])
      Array([[0., 1.],
             [0., 1.]], dtype=float32)
    """
    if hasattr(tup, "ndim") and len(shape_of(tup)) > 1 and shape_of(tup)[0]:
        return transpose(tup) if len(shape_of(tup)) == 2 else concatenate(tup, 1)
    xs = operands("column_stack", tup)
    if not xs:
        raise ValueError("column_stack: need at least one array.")
    columns = [x if len(shape_of(x)) > 1 else transpose(atleast(2, x)) for x in xs]
    return concatenate(columns, 1)


def block(arrays: Any) -> Any:
    """Build an array from nested lists of blocks: the innermost join along the last axis.

    Args:
      arrays: an array, or lists of arrays, all nested to one depth.

    Returns:
      Array of the common dtype; its rank is the depth of lists, or the largest rank
      among the arrays.

    Raises:
      ValueError: depths differ, a list is empty, or a tuple is used.
      TypeError: shapes that do not fit side by side.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.block([[jnp.zeros((1, 1)), jnp.ones((1, 2))]])
      Array([[0., 1., 1.]], dtype=float32)
    """
    depth = block_depth(arrays)
    check_arraylike("block", *block_leaves(arrays))
    return _block(arrays, depth)


def block_depth(x: Any) -> int:
    """Return the depth of nested lists."""
    if isinstance(x, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {x!r}"[:160])
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    depths = {block_depth(item) for item in x}
    if len(depths) > 1:
        raise errors.value_error(
            "Mismatched list depths in jax.numpy.block",
            why=f"lists at one level have depths {sorted(depths)}.",
            tries=["put every array at the same depth of lists"],
        )
    return depths.pop() + 1


def block_leaves(x: Any) -> list[Any]:
    """Return the arrays in nested lists."""
    if not isinstance(x, list):
        return [x]
    return [leaf for item in x for leaf in block_leaves(item)]


@composite(static="depth")
def _block(arrays: Any, depth: int) -> Any:
    rank = max(depth, max(len(shape_of(x)) for x in block_leaves(arrays)))

    def join(x: Any, level: int) -> Any:
        if not isinstance(x, list):
            shape = shape_of(x)
            missing = rank - len(shape)
            dims = tuple(range(missing, rank))
            x = as_array(x)
            return lax.broadcast_in_dim(x, (1,) * missing + shape, dims) if missing else x
        rows = [join(item, level - 1) for item in x]
        return lax.concatenate(promote_dtypes(*rows), rank - level)

    return join(arrays, depth)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Append values to an array.

    Args:
      arr, values: arrays or numbers.
      axis: the axis; None flattens both first.

    Returns:
      Array of the common dtype; of one axis if `axis` is None.

    Raises:
      TypeError: other axes differ in size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.append(jnp.array([1, 2]), 3)
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("append", arr, values)
    return concatenate([arr, values], axis)


# --------------------------------------------------------------------------- splitting


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split an array into parts along an axis.

    Args:
      ary: array.
      indices_or_sections: a number of equal parts, or the positions of the splits.
      axis: which.

    Returns:
      List of arrays of the dtype of `ary`: as many as parts, or one more than positions.

    Raises:
      ValueError: the axis does not divide into equal parts, or the positions do not
        increase from 0 to its size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.split(jnp.arange(4), 2)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return split_axis("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split an array along an axis into parts whose sizes differ by at most one.

    Args:
      ary: array.
      indices_or_sections: a number of parts, or the positions of the splits.
      axis: which.

    Returns:
      List of arrays of the dtype of `ary`, the longer ones first; empty ones if there
      are more parts than elements.

    Raises:
      ValueError: an axis that does not exist, or positions that do not increase from 0 to
        its size.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.array_split(jnp.arange(5), 2)]
      [(3,), (2,)]
    """
    return split_axis("array_split", ary, indices_or_sections, axis)


def split_axis(name: str, x: Any, indices_or_sections: Any, axis: Any) -> list[Any]:
    """Split an array for `split`, `array_split` and their variants."""
    check_arraylike(name, x)
    axis = canonical_axis(
        concrete_or_error(operator.index, axis, f"in jax.numpy.{name} argument `axis`"),
        len(shape_of(x)),
    )
    sizes = part_sizes(name, indices_or_sections, shape_of(x)[axis])
    return list(_split(x, sizes, axis))


_split = once(lax.split, "sizes", "axis")


def part_sizes(name: str, indices_or_sections: Any, size: int) -> tuple[int, ...]:
    """Return the sizes of the parts of an axis."""
    if isinstance(indices_or_sections, Tracer):
        context = f"in jax.numpy.{name} argument `indices_or_sections`"
        indices_or_sections = concrete_or_error(None, indices_or_sections, context)
    if isinstance(indices_or_sections, (list, tuple)) or np.ndim(indices_or_sections):
        split_points = [0, *(concrete_or_error(index_of, i) for i in indices_or_sections), size]
        sizes = tuple([b - a for a, b in itertools.pairwise(split_points)])
        if any(falls_below(n, 0) for n in sizes):
            raise errors.value_error(
                f"Sizes passed to split must be nonnegative, got {list(sizes)}",
                which=f"splits at {split_points[1:-1]} of an axis of size {size}",
                why="split positions must increase from 0 to the size of the axis.",
            )
        return sizes
    n_parts = int(indices_or_sections)
    each, rest = divmod(size, n_parts)
    if rest and name != "array_split":
        raise errors.value_error(
            f"array split does not result in an equal division: rest is {rest}",
            which=f"an axis of size {size} in {n_parts} parts",
            tries=["jnp.array_split, whose parts may differ by one"],
        )
    return (each + 1,) * rest + (each,) * (n_parts - rest)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along its first axis; see `split`.

    Args:
      ary: array.
      indices_or_sections: as in `split`.

    Returns:
      List of arrays of the dtype of `ary`.

    Raises:
      ValueError: as for `split`.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.vsplit(jnp.ones((2, 3)), 2)]
      [(1, 3), (1, 3)]
    """
    return split_axis("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along its second axis, or along its only one; see `split`.

    Args:
      ary: array.
      indices_or_sections: as in `split`.

    Returns:
      List of arrays of the dtype of `ary`.

    Raises:
      ValueError: as for `split`.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.hsplit(jnp.ones((2, 4)), 2)]
      [(2, 2), (2, 2)]
    """
    check_arraylike("hsplit", ary)
    return split_axis("hsplit", ary, indices_or_sections, int(len(shape_of(ary)) > 1))


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along its third axis; see `split`.

    Args:
      ary: array of rank 3 or more.
      indices_or_sections: as in `split`.

    Returns:
      List of arrays of the dtype of `ary`.

    Raises:
      ValueError: as for `split`, or fewer than three axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in jnp.dsplit(jnp.ones((1, 2, 4)), 2)]
      [(1, 2, 2), (1, 2, 2)]
    """
    return split_axis("dsplit", ary, indices_or_sections, 2)
