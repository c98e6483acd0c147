"""What collectives share: named axes, groups of indices, replicas and lanes.

A collective names mapped axes.  Where such an axis is that of a `vmap`, its indices are
lanes of an array, and the rule for it works on that array.  Where it is that of a
`pmap` (or of a mesh), they are replicas: `replica_groups` lists the replicas that talk
to each other, ids counting row-major over the axes in scope.

This room knows no collective.  Next: psum.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...types import dtypes
from ...types.avals import shaped
from ..gather.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..gather.gather import gather
from ..shape.shapes import broadcast_in_dim, move_axis, reshape
from ..shape.slicing import slice_in_dim

Groups = tuple[tuple[int, ...], ...] | None

# -------------------------------------------------------------------------------- names


def axis_tuple(axis_name: Any) -> tuple[Any, ...]:
    """The axes that `axis_name` lists: one name, or a sequence of names."""
    if isinstance(axis_name, (tuple, list)):
        return tuple(axis_name)
    return (axis_name,)


def names_only(axes: Sequence[Any]) -> tuple[Any, ...]:
    """The named ones among axes; the others are positions."""
    return tuple(a for a in axes if not isinstance(a, int))


def uses(param: str) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """The `named_axes` rule of a primitive whose `param` holds its axes."""
    return lambda params: names_only(axis_tuple(params[param]))


def split_at(axes: Sequence[Any], name: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The axes before and after `name`."""
    i = list(axes).index(name)
    return tuple(axes[:i]), tuple(axes[i + 1 :])


# ------------------------------------------------------------------------------- groups


def canonical_groups(groups, axes: Sequence[Any], *, equal: bool = False) -> Groups:
    """`axis_index_groups` as tuples, checked against the axes; None if there are none.

    equal: all groups must be of one size.
    """
    if groups is None:
        core.axis_size(names_only(axes))  # raises for a name that is not in scope
        return None
    names = names_only(axes)
    if len(names) != len(axes):
        raise ValueError("axis_index_groups only supported for sums over just named axes")
    found = tuple(tuple(int(i) for i in g) for g in groups)
    size = core.axis_size(names)
    whole = sorted(i for g in found for i in g) == list(range(size))
    if not whole or not all(found):
        raise errors.value_error(
            "axis_index_groups must cover all indices exactly once."
            if not whole
            else "axis_index_groups cannot have a group of nobody.",
            which=f"axis_index_groups={found}",
            why=f"the axis {' x '.join(map(str, names))} has {size} indices.",
        )
    if equal and len({len(g) for g in found}) > 1:
        raise errors.value_error(
            "axis_index_groups must all have the same size.",
            which=f"axis_index_groups={found}",
            why="every member gets a result of the same shape.",
        )
    return found


def group_size(axes: Sequence[Any], groups: Groups) -> int:
    """How many indices talk to each other (with groups of one size)."""
    return core.axis_size(names_only(axes)) if groups is None else len(groups[0])


def group_of(groups: Sequence[Sequence[int]]) -> list[int]:
    """For each index the number of its group."""
    where = {i: k for k, g in enumerate(groups) for i in g}
    return [where[i] for i in range(len(where))]


def lone_groups(groups: Groups, axes: Sequence[Any]) -> None:
    """Refuse groups over a lane axis together with other axes."""
    if groups is not None and len(axes) > 1:
        raise errors.error(
            NotImplementedError,
            "axis_index_groups over several axes, of which vmap maps one.",
            which=f"axes={axes}, axis_index_groups={groups}",
            why="the groups mix lanes of vmap with replicas.",
            tries=["one collective for each axis"],
        )


# -------------------------------------------------------------------------------- lanes


def all_lanes(axis: Any, x: Any, d: int | None, dst: int = 0) -> Any:
    """`x` with its lane axis at `dst`; a shared value is repeated."""
    if d is not None:
        return x if d == dst else move_axis(x, d, dst)
    shape = core.aval_of(x).shape
    kept = tuple(i for i in range(len(shape) + 1) if i != dst)
    return broadcast_in_dim(x, (*shape[:dst], axis.size, *shape[dst:]), kept)


def take_lanes(x: Any, indices: Sequence[int]) -> Any:
    """The given lanes, known while tracing, of an array whose lane axis is first."""
    rows = list(indices)
    if rows == list(range(core.aval_of(x).shape[0])):
        return x
    if rows == list(range(rows[0], rows[0] + len(rows))):
        return slice_in_dim(x, rows[0], rows[-1] + 1)
    return take_rows(x, np.asarray(rows, np.int32))


def take_rows(x: Any, rows: Any) -> Any:
    """`x[rows]` for a vector of indices in range."""
    shape = core.aval_of(x).shape
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape))), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    column = reshape(rows, (*core.aval_of(rows).shape, 1))
    return gather(x, column, numbers, (1, *shape[1:]), mode=GatherScatterMode.PROMISE_IN_BOUNDS)


# ----------------------------------------------------------------------------- replicas


def replica_rows(ctx, names: Sequence[Any], groups: Groups) -> np.ndarray[Any, Any]:
    """Ids of the replicas that talk to each other, one row a group (-1: nobody)."""
    scope = [name for name, _ in ctx.axes]
    for name in names:
        if name not in scope:
            core.axis_size(name)  # raises, if nobody binds it
            raise TypeError(f"minijax bug: no replicas stand for the axis {name!r}")
    ids = np.arange(int(np.prod([n for _, n in ctx.axes])))
    ids = ids.reshape([n for _, n in ctx.axes])
    positions = [len(scope) - 1 - scope[::-1].index(name) for name in names]
    others = [i for i in range(len(scope)) if i not in positions]
    size = int(np.prod([ctx.axes[i][1] for i in positions]))
    rows = ids.transpose(others + positions).reshape(-1, size)
    if groups is None:
        return rows
    width = max(map(len, groups))
    out = np.full((len(rows) * len(groups), width), -1)
    for i, row in enumerate(rows):
        for k, g in enumerate(groups):
            out[i * len(groups) + k, : len(g)] = row[list(g)]
    return out


def dense_i64(ctx: Any, values: Any) -> Any:
    """A matrix of integers as the attribute that collectives take."""
    values = np.asarray(values, np.int64)
    return ctx.dense(values, shaped(values.shape, dtypes.int64))


def channel(ctx: Any, *, global_ids: bool = True) -> dict[str, Any]:
    """What a collective among partitions of one program says beyond its groups."""
    if not ctx.module.is_partitioned:
        return {}
    out = {"channel_handle": ctx.parse("#stablehlo.channel_handle<handle = 1, type = 1>")}
    if global_ids:
        out["use_global_device_ids"] = ctx.parse("unit")
    return out


def groups_attributes(
    ctx: Any, names: Sequence[Any], groups: Groups, *, global_ids: bool = True
) -> dict[str, Any]:
    """`replica_groups` and, among partitions, the channel."""
    rows = replica_rows(ctx, names, groups)
    return {"replica_groups": dense_i64(ctx, rows), **channel(ctx, global_ids=global_ids)}
