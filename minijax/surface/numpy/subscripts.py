"""Subscripts of `x[...]`: parsing, and translation to gather and scatter.

`parse` converts a subscript to a `IndexPlan`, hashable data with one entry per item, and to
leaves: index arrays and, in eager mode, the positions themselves (so that a loop over
`x[i]` compiles one program).  `locate` converts a plan that needs more than slices to the
indices and dimension numbers of gather or scatter.

This module does not read or write elements.  Next: indexing.py and updates.py.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base import config, errors
from ...ir import core
from ...ir.core import Tracer
from ...prims import dtype_arguments, lax
from ...prims.shape.ds import Slice
from ...runtime.arrays.array import ArrayImpl
from ...runtime.arrays.transfers import typed_constant
from ...symbolic.dims import (
    SymbolicDim,
    broadcast_sizes,
    exceeds,
    inconclusive,
    max_dim,
    min_dim,
)
from ...types import dtypes

# Kinds of entries of a plan, which are tuples that start with their kind.
NEW = 0  # (NEW,): an axis of size 1 in the result
POINT = 1  # (POINT, i): one position, negative ones wrapped; i None: the next leaf
SCALAR = 2  # (SCALAR,): the next leaf, an integer scalar
ARRAY = 3  # (ARRAY,): the next leaf, an integer array
SPAN = 4  # (SPAN, start, size, step, reversed): step > 0; start None: the next leaf


class IndexPlan(NamedTuple):
    """A subscript of an array of known shape, without the values of its leaves."""

    entries: tuple[Any, ...]
    operand: tuple[int, ...]  # the shape to index: the array's, with axes for x[True]
    arrays: bool  # whether there is an ARRAY
    wrap: bool = True  # whether negative positions count from the end
    separated: bool = False  # whether an ellipsis of zero axes separates the index arrays


_new = (NEW,)
_scalar = (SCALAR,)
_array = (ARRAY,)


def parse(
    subscript: Any, shape: tuple[int, ...], eager: bool, wrap: bool = True
) -> tuple[IndexPlan, list[Any]]:
    """Return the plan and the leaves of a subscript for an array of this shape.

    In eager mode, positions become leaves.
    """
    items = subscript if type(subscript) is tuple else (subscript,)
    separated = False
    for item in items:
        kind = type(item)  # not isinstance: x[True] is a mask, though bool is an int
        if kind is not int and kind is not slice and item is not None:
            items, shape, separated = _expand(subscript, items, shape)
            break
    else:
        taken = len(items) - items.count(None)
        if taken > len(shape):
            raise too_many(taken, len(shape))
        if taken < len(shape):
            items += (slice(None),) * (len(shape) - taken)
    entries: list[Any] = []
    leaves: list[Any] = []
    arrays = False
    axis = 0
    for item in items:
        if item is None:
            entries.append(_new)
            continue
        n = shape[axis]
        kind = type(item)
        if kind is int:
            if n == 0:
                raise _no_row(axis, shape)
            i = item + n if item < 0 and wrap else item
            if eager:
                entries.append((POINT, None))
                leaves.append(i)
            else:
                entries.append((POINT, i))
        elif kind is slice:
            entries.append(_span(item, n, axis, eager, leaves))
        elif kind is Slice:
            entries.append((SPAN, None, item.size, 1, False))
            leaves.append(_from_end(item.start, n) if wrap else item.start)
        else:
            leaves.append(item)
            if core.aval_of(item).shape:
                entries.append(_array)
                arrays = True
            elif n == 0:
                raise _no_row(axis, shape)
            else:
                entries.append(_scalar)
        axis += 1
    return IndexPlan(tuple(entries), shape, arrays, wrap, separated), leaves


# Whether `jax_check_static_indices` was ever on; until then `check_static` is not called.
checked = False


def _switch(value: Any, local: bool) -> None:
    global checked
    checked = checked or value is True


config.CHECK_STATIC_INDICES.watch(_switch)


def check_static(subscript: Any, shape: tuple[int, ...], wrap: bool = True) -> None:
    """Raise IndexError for an out-of-bounds Python integer, if the user enabled the check."""
    if not config.CHECK_STATIC_INDICES.value:
        return
    plan, _ = parse(subscript, shape, False, wrap)
    axis = 0
    for e in plan.entries:
        n = plan.operand[axis] if e != _new else 0
        if e[0] == POINT and not 0 <= e[1] < n:
            user_index = e[1] - n if e[1] < 0 and wrap else e[1]
            raise errors.error(
                IndexError,
                f"index {user_index} out of bounds for axis {axis} with size {n}"
                f" (normalize_indices={wrap})",
                why="jax_check_static_indices is on.",
                tries=["x.at[i].get(mode='clip') or mode='fill'"],
            )
        axis += e != _new


def _no_row(axis: int, shape: tuple[int, ...]) -> IndexError:
    return IndexError(
        f"index is out of bounds for axis {axis} with size 0: an integer indexes an array"
        f" of shape {shape}."
    )


def _span(s: slice, n: int, axis: int, eager: bool, leaves: list[Any]) -> Any:
    """Return the entry of a slice of an axis of size `n`."""
    try:
        start, stop, step = s.indices(n)
    except TypeError:
        if any(isinstance(x, SymbolicDim) for x in (n, s.start, s.stop)):
            return _symbolic_span(s, n)
        start, stop, step = _checked_slice(s, axis).indices(n)
    size = len(range(start, stop, step))
    if step < 0:
        start = start + (size - 1) * step if size else 0
        return SPAN, start, size, -step, size > 1
    if step == 1 and eager and 0 < size < n:  # sizes are static; only the start may vary
        leaves.append(start)
        return SPAN, None, size, 1, False
    return SPAN, start, size, step, False


def _symbolic_span(s: slice, n: Any) -> Any:
    """Return the entry of a slice where sizes are symbolic."""
    step = 1 if s.step is None else operator.index(s.step)
    if step < 0 and s.start is None and s.stop is None:
        size = max_dim((n - step - 1) // -step, 0)
        return SPAN, n - 1 + (size - 1) * step, size, -step, True
    if step < 0:
        raise inconclusive(
            f"x[{s.start}:{s.stop}:{step}] of an axis of size {n}: its end is unknown.",
            "x[::-1], and a slice of that",
        )

    def bound(i: Any, default: Any) -> Any:
        if i is None:
            return default
        return max_dim(0, n + i) if i < 0 else min_dim(n, i)

    start = bound(s.start, 0)
    size = max_dim(0, (bound(s.stop, n) - start + step - 1) // step)
    return SPAN, start, size, step, False


def _from_end(start: Any, n: int) -> Any:
    """Return a position, counted from the end if it is negative."""
    if isinstance(start, (int, np.integer)):
        return int(start) + n if start < 0 else int(start)
    return wrap(start, n)


def _written_out(window: Slice, n: int, others: Sequence[Any]) -> Any:
    """Return the positions in a window with a stride, or without elements, as an item."""
    if any(not isinstance(p, (slice, Slice, int, type(None))) for p in others):
        raise errors.error(
            IndexError,
            f"a window with a stride together with index arrays: {window}",
            why="NumPy has no rule for the position of its axis in the result.",
            tries=["x[..., ds(i, n, stride=k)][..., indices]"],
        )
    steps = np.arange(window.size, dtype=np.int32) * np.int32(window.stride)
    start = _from_end(window.start, n)
    if isinstance(start, int):
        return steps + np.int32(start)
    start = lax.convert_element_type(start, dtypes.int32)
    return lax.add(lax.broadcast(start, (window.size,)), steps)


def _checked_slice(s: slice, axis: int) -> slice:
    """Return a slice with int bounds; raise an error with the reason if there is none."""
    bounds = []
    for bound in (s.start, s.stop, s.step):
        if isinstance(bound, Tracer) and bound.concrete() is None:
            raise errors.error(
                IndexError,
                f"Slice entries must be static integers. Got {s} at position {axis}.",
                which=bound.origin(),
                where=core.stack_text(),
                why="the size of the result must be static.",
                tries=[
                    "lax.dynamic_slice_in_dim(x, start, size, axis) for a window"
                    " of fixed size at a traced position",
                    "jnp.where with a mask, for a window of varying size",
                ],
            )
        bounds.append(None if bound is None else operator.index(bound))
    return slice(*bounds)


def too_many(taken: int, ndim: int) -> IndexError:
    """Return the error for more subscripts than axes."""
    return IndexError(
        f"Too many indices: array is {ndim}-dimensional, but {taken} were indexed"
    )


# ----------------------------------------------------------------- items of other kinds


def _expand(
    subscript: Any, items: tuple[Any, ...], shape: tuple[int, ...]
) -> tuple[tuple[Any, ...], tuple[int, ...], bool]:
    """Expand the ellipsis, and convert masks to positions and numbers to ints.

    Return the items, the shape to be indexed, and whether an ellipsis of zero axes is
    between items that are not slices.  There is one item per axis of that shape, which has
    an axis more than `shape` for each scalar bool.
    """
    if isinstance(subscript, list):
        numbers = all(
            isinstance(item, (int, float, complex)) or getattr(item, "ndim", 1) == 0
            for item in subscript
        )
        instead = "array" if numbers else "tuple"
        raise errors.type_error(
            "Using a non-tuple sequence for multidimensional indexing is not"
            f" allowed; use `arr[{instead}(seq)]` instead of `arr[seq]`.",
            which=f"x[{subscript!r}]"[:160],
            why="NumPy reads a list as an array here, and once read it as a tuple.",
            tries=["x[jnp.array([...])]", "x[tuple(...)]"],
        )
    parsed_items = [_item(item) for item in items]
    taken = sum(_axes_taken(p) for p in parsed_items)
    if taken > len(shape):
        raise too_many(taken, len(shape))
    holes = [i for i, p in enumerate(parsed_items) if p is Ellipsis]
    if len(holes) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = holes[0] if holes else len(parsed_items)
    rest = (slice(None),) * (len(shape) - taken)
    slice_types = (slice, Slice, type(None))
    separated = not rest and all(
        any(not isinstance(p, slice_types) for p in side)
        for side in (parsed_items[:at], parsed_items[at + 1 :])
    )
    parsed_items[at : at + 1] = rest
    out: list[Any] = []
    sizes: list[int] = []
    axis = 0
    for p in parsed_items:
        if p is None:
            out.append(p)
        elif not _is_mask(p):
            if type(p) is Slice and (p.stride != 1 or p.size < 1):
                p = _written_out(p, shape[axis], [q for q in parsed_items if q is not p])
            out.append(p)
            sizes.append(shape[axis])
            axis += 1
        elif p.ndim == 0:
            out.append(np.zeros(int(p), dtypes.int32))
            sizes.append(1)
        else:
            expected_shape = shape[axis : axis + p.ndim]
            if any(n not in (size, 0) for n, size in zip(p.shape, expected_shape, strict=True)):
                raise _mask_shape_error(p, axis, expected_shape)
            out.extend(np.nonzero(p))
            sizes.extend(expected_shape)
            axis += p.ndim
    return tuple(out), tuple(sizes), separated


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1


def _is_mask(item: Any) -> bool:
    return type(item) is np.ndarray and item.dtype == np.bool_


def _mask_shape_error(mask: Any, axis: int, expected_shape: tuple[int, ...]) -> IndexError:
    return errors.error(
        IndexError,
        "boolean index did not match shape of indexed array in index"
        f" {axis}: got {mask.shape}, expected {list(expected_shape)}",
        why="a mask selects or skips each element.",
        tries=["a mask of the array's shape", "jnp.where(mask, x, y)"],
    )


def _item(item: Any) -> Any:
    """Return one item of a subscript: int, slice, None, `...`, a mask or an index array."""
    if item is None or item is Ellipsis or type(item) in (int, slice, Slice):
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, (float, complex)):
        return _array_item(np.asarray(item))
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got idx={item!r}")
    if isinstance(item, (list, tuple)):
        item = np.asarray(item) if len(item) else np.zeros(0, np.int32)
    elif not isinstance(item, (np.ndarray, np.generic, Tracer)) and type(item) is not ArrayImpl:
        custom = getattr(item, "__jax_array__", None)
        if custom is None:
            raise _item_error(item)
        return _item(custom())
    return _array_item(item)


def _item_error(item: Any) -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or"
        f" boolean arrays are valid indices. Got {item!r}"
    )


def _array_item(item: Any) -> Any:
    """Return an array of a subscript: a mask as a NumPy array, a NumPy scalar as an int."""
    kind = dtypes.kind(item.dtype) if dtypes.is_valid(item.dtype) else "object"
    if kind == "bool":
        return _concrete_mask(item)
    if kind not in ("int", "uint"):
        raise errors.type_error(
            f"Indexer must have integer or boolean type, got indexer with type {item.dtype}",
            which=errors.type_text(item),
            tries=["x[i.astype(int)]"],
        )
    if isinstance(item, (np.ndarray, np.generic)) and not item.shape:
        return int(item)
    return item


def _concrete_mask(mask: Any) -> Any:
    if isinstance(mask, Tracer) and mask.concrete() is None:
        raise errors.error(
            errors.NonConcreteBooleanIndexError,
            f"Array boolean indices must be concrete; got {mask.aval.str_short(True)}",
            which=mask.origin(),
            where=core.stack_text(),
            why="the number of elements that a traced mask selects is unknown, and so"
            " is the result's shape.",
            tries=[
                "jnp.where(mask, x, 0) keeps the shape",
                "jnp.nonzero(mask, size=n) for at most n positions",
            ],
        )
    return np.asarray(mask)


# ------------------------------------------------------------ for gather and scatter


class ElementIndices(NamedTuple):
    """Positions of a plan's elements, in the terms of gather and scatter."""

    indices: Any
    windows: tuple[int, ...]  # axes of the result (without NEW axes) that are slices
    collapsed: tuple[int, ...]  # axes of the operand that the result lacks
    indexed: tuple[int, ...]  # axes of the operand that `indices` position
    sizes: tuple[int, ...]  # of the slices
    shape: tuple[int, ...]  # of the result, without NEW axes
    reversed: tuple[int, ...]  # axes of the result to be reversed
    new: tuple[int, ...]  # axes of the result with NEW
    distinct: bool  # whether positions are known to be sorted and distinct


def locate(plan: IndexPlan, leaves: Sequence[Any]) -> ElementIndices:
    """Return the indices of a plan's elements."""
    remaining_leaves = iter(leaves)
    values = [
        _position(e, n if plan.wrap else 0, remaining_leaves) for e, n in _with_sizes(plan)
    ]
    block = block_shape(plan, values)
    block_index = block_position(plan) if plan.arrays else -1
    batch: list[int] = []  # sizes of the indices' axes, in the result's order
    shape: list[int] = []
    windows: list[int] = []
    collapsed: list[int] = []
    indexed: list[int] = []
    new: list[int] = []
    reversed_axes: list[int] = []
    sizes = list(plan.operand)
    columns: list[tuple[Any, int | None]] = []  # value, and its axis among `batch`
    block_at = 0
    axis = 0
    for i, (entry, value) in enumerate(zip(plan.entries, values, strict=True)):
        if i == block_index:
            block_at = len(batch)
            batch += block
            shape += block
        if entry[0] == NEW:
            new.append(len(shape) + len(new))
            continue
        if entry[0] != SPAN:
            collapsed.append(axis)
            indexed.append(axis)
            sizes[axis] = 1
            columns.append((value, None))
        else:
            _, start, size, step, flip = entry
            if flip:
                reversed_axes.append(len(shape))
            if step == 1 or size == 1:
                windows.append(len(shape))
                sizes[axis] = size
                if start != 0:
                    indexed.append(axis)
                    columns.append((value, None))
            else:
                collapsed.append(axis)
                indexed.append(axis)
                sizes[axis] = 1
                columns.append(((start, size, step), len(batch)))
                batch.append(size)
            shape.append(size)
        axis += 1
    return ElementIndices(
        _columns(columns, batch, block_at, block, plan),
        tuple(windows),
        tuple(collapsed),
        tuple(indexed),
        tuple(sizes),
        tuple(shape),
        tuple(reversed_axes),
        tuple(new),
        not plan.arrays,
    )


def _with_sizes(plan: IndexPlan) -> Iterator[tuple[Any, int]]:
    """Yield entries with the size of the axis they index (0 for NEW)."""
    axis = 0
    for e in plan.entries:
        if e[0] == NEW:
            yield e, 0
        else:
            yield e, plan.operand[axis]
            axis += 1


def _position(entry: Any, n: int, leaves: Iterator[Any]) -> Any:
    """Return the position(s) of an entry: an int or an array of ints."""
    kind = entry[0]
    if kind in (SCALAR, ARRAY):
        return wrap(next(leaves), n)
    if kind in (POINT, SPAN):
        return next(leaves) if entry[1] is None else entry[1]
    return None


def wrap(index: Any, n: int) -> Any:
    """Return index arrays with negative positions counted from the end of `n` elements."""
    if n == 0:
        return index
    dtype = index.dtype
    if isinstance(index, (np.ndarray, np.generic)):
        wide = np.asarray(index).astype(np.int64)
        below, dtype = wide < 0, dtypes.canonical(dtypes.int64)
        if not isinstance(n, SymbolicDim):
            return np.where(below, wide + n, wide).astype(dtype)
        index = wide.astype(dtype)
        if not below.any():
            return index
    if dtype != dtypes.int32 and dtype != dtypes.int64:
        big = dtype.itemsize == 8 or dtype == dtypes.uint32  # int32 cannot hold uint32
        dtype = dtypes.canonical(dtypes.int64 if big else dtypes.int32)
        unsigned = dtypes.is_unsigned(index.dtype)
        index = lax.convert_element_type(index, dtype)
        if unsigned:
            return index
    if exceeds(n, 2**31 - 1) and dtype == dtypes.int32:
        dtype = dtypes.canonical(dtypes.int64)
        dtype_arguments.check_holds("indexing", n - 1, dtype)
        index = lax.convert_element_type(index, dtype)
    zero = typed_constant(0, dtype)
    if isinstance(n, SymbolicDim):
        size = lax.convert_element_type(n.dimension_as_value(), dtype)
    else:
        size = typed_constant(n, dtype)
    below = lax.lt_p.bind(index, zero)
    return lax.select_n_p.bind(below, index, lax.add_p.bind(index, size))


def block_shape(plan: IndexPlan, values: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape that the index arrays of a plan broadcast to."""
    if not plan.arrays:
        return ()
    shapes = [
        core.aval_of(v).shape
        for e, v in zip(plan.entries, values, strict=True)
        if e[0] == ARRAY
    ]
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        raise errors.value_error(
            f"Incompatible shapes for broadcasting: shapes={shapes} of index arrays.",
            why="index arrays are used together, element by element.",
            tries=["jnp.ix_(i, j) for all pairs", "x[i[:, None], j]"],
        ) from None


def block_position(plan: IndexPlan) -> int:
    """Return the entry before which the axes of the index arrays go: NumPy's rule.

    They go before the first of the indices that are not slices if all of these are
    adjacent, and otherwise in front.
    """
    if plan.separated:
        return 0
    at = [i for i, e in enumerate(plan.entries) if e[0] in (POINT, SCALAR, ARRAY)]
    return at[0] if at[-1] - at[0] == len(at) - 1 else 0


def _columns(
    columns: Sequence[tuple[Any, int | None]],
    batch: Sequence[int],
    block_at: int,
    block: tuple[int, ...],
    plan: IndexPlan,
):
    """Return the indices operand: positions along the last axis, one per indexed axis."""
    dtype = _index_dtype([c for c, _ in columns], plan)
    if not columns:
        return np.zeros((*batch, 0), dtype)
    shape = (*batch, 1)
    out = []
    axes: tuple[int, ...]
    for value, lane in columns:
        if lane is not None:
            start, size, step = value
            value, axes = _strided(start, size, step, dtype), (lane,)
        else:
            rank = core.aval_of(value).ndim
            end = block_at + len(block)
            axes = tuple(range(end - rank, end))
            value = _as_index(value, dtype)
            sizes = core.aval_of(value).shape
            if rank and sizes != tuple(batch[end - rank : end]):
                # Index arrays broadcast: repeat one along its axes of size 1.
                value = lax.broadcast_in_dim(
                    value, tuple(batch[end - rank : end]), tuple(range(rank))
                )
        out.append(lax.broadcast_in_dim(value, shape, axes))
    return out[0] if len(out) == 1 else lax.concatenate(out, len(shape) - 1)


def _strided(start: int, size: int, step: int, dtype: Any) -> Any:
    """Return positions `start`, `start + step`, ..."""
    steps = lax.mul(lax.iota(dtype, size), dtype.type(step))
    return steps if start == 0 else lax.add(steps, dtype.type(start))


def _index_dtype(values: Sequence[Any], plan: IndexPlan) -> Any:
    """Return one dtype for all positions."""
    for v in values:
        if getattr(v, "dtype", None) == dtypes.int64:
            return dtypes.canonical(dtypes.int64)
    if any(exceeds(n, 2**31 - 1) for n in plan.operand):
        return dtypes.canonical(dtypes.int64)
    return dtypes.int32


def _as_index(value: Any, dtype: Any) -> Any:
    if isinstance(value, (int, np.ndarray)) and not isinstance(value, bool):
        return np.asarray(value, dtype)[()]
    return lax.convert_element_type(value, dtype)
