"""Helpers that collectives share: named axes, groups of indices, replicas and lanes.

A collective has the names of mapped axes.  If `vmap` maps the axis, its indices are lanes
of an array, and the batch rule works on that array.  If `pmap` or a mesh maps it, the
indices are replicas: `replica_groups` lists the replicas that communicate with each other,
with ids row-major over the axes in scope.

This file contains no collective.  Next: psum.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...ir.core import Primitive, Rule
from ...types import dtypes
from ...types.avals import shaped
from ..gather.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..gather.gather import gather
from ..shape.shapes import broadcast_in_dim, move_axis, reshape
from ..shape.slicing import slice_in_dim

Groups = tuple[tuple[int, ...], ...] | None

# -------------------------------------------------------------------------------- names


def axis_tuple(axis_name: Any) -> tuple[Any, ...]:
    """Return `axis_name`, one name or a sequence of names, as a tuple of names."""
    if isinstance(axis_name, (tuple, list)):
        return tuple(axis_name)
    return (axis_name,)


def names_only(axes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the axis names among `axes`; the others are positions."""
    return tuple(a for a in axes if not isinstance(a, int))


def uses(param: str) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return the `named_axes` rule of a primitive that has its axes in `param`."""
    return lambda params: names_only(axis_tuple(params[param]))


def def_named(prim: Primitive, param: str, over_lanes: Rule, over_name: Rule) -> None:
    """Set the rules `named_axes` and `batch` of a primitive that has its axes in `param`.

    over_name: the batch rule over an axis among them; over_lanes: over any other axis.
    """
    names = uses(param)

    def batch(axis: Any, args: Any, dims: Any, /, **params: Any) -> Any:
        rule = over_name if axis.name in names(params) else over_lanes
        return rule(axis, args, dims, **params)

    prim.named_axes, prim.batch = names, batch


def split_at(axes: Sequence[Any], name: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the axes before and after `name`."""
    i = list(axes).index(name)
    return tuple(axes[:i]), tuple(axes[i + 1 :])


# ------------------------------------------------------------------------------- groups


def canonical_groups(groups, axes: Sequence[Any], *, equal: bool = False) -> Groups:
    """Return `axis_index_groups` as tuples, checked against the axes; None if it is None.

    equal: whether all groups must have the same size.
    """
    if groups is None:
        core.axis_size(names_only(axes))  # raises for a name that is not in scope
        return None
    names = names_only(axes)
    if len(names) != len(axes):
        raise ValueError("axis_index_groups only supported for sums over just named axes")
    canonical = tuple(tuple(int(i) for i in g) for g in groups)
    size = core.axis_size(names)
    covers_all = sorted(i for g in canonical for i in g) == list(range(size))
    if not covers_all or not all(canonical):
        raise errors.value_error(
            "axis_index_groups must cover all indices exactly once."
            if not covers_all
            else "axis_index_groups cannot have an empty group.",
            which=f"axis_index_groups={canonical}",
            why=f"The axis {' x '.join(map(str, names))} has {size} indices.",
        )
    if equal and len({len(g) for g in canonical}) > 1:
        raise errors.value_error(
            "axis_index_groups must all have the same size.",
            which=f"axis_index_groups={canonical}",
            why="Every member gets a result of the same shape.",
        )
    return canonical


def group_size(axes: Sequence[Any], groups: Groups) -> int:
    """Return how many indices communicate with each other (groups have equal sizes)."""
    return core.axis_size(names_only(axes)) if groups is None else len(groups[0])


def group_of(groups: Sequence[Sequence[int]]) -> list[int]:
    """Return the number of each index's group."""
    group_by_index = {i: k for k, g in enumerate(groups) for i in g}
    return [group_by_index[i] for i in range(len(group_by_index))]


def lone_groups(groups: Groups, axes: Sequence[Any]) -> None:
    """Raise NotImplementedError for groups over a lane axis and other axes."""
    if groups is not None and len(axes) > 1:
        raise errors.error(
            NotImplementedError,
            "axis_index_groups over several axes, one of them mapped by vmap.",
            which=f"axes={axes}, axis_index_groups={groups}",
            why="The groups mix lanes of vmap with replicas.",
            tries=["one collective for each axis"],
        )


# -------------------------------------------------------------------------------- lanes


def all_lanes(axis: Any, x: Any, d: int | None, dst: int = 0) -> Any:
    """Return `x` with its lane axis at `dst`; an unbatched value is broadcast."""
    if d is not None:
        return x if d == dst else move_axis(x, d, dst)
    shape = core.aval_of(x).shape
    broadcast_dims = tuple(i for i in range(len(shape) + 1) if i != dst)
    return broadcast_in_dim(x, (*shape[:dst], axis.size, *shape[dst:]), broadcast_dims)


def take_lanes(x: Any, indices: Sequence[int]) -> Any:
    """Return these lanes of an array whose lane axis is first; `indices` are concrete."""
    lanes = list(indices)
    if lanes == list(range(core.aval_of(x).shape[0])):
        return x
    if lanes == list(range(lanes[0], lanes[0] + len(lanes))):
        return slice_in_dim(x, lanes[0], lanes[-1] + 1)
    return take_rows(x, np.asarray(lanes, np.int32))


def take_rows(x: Any, indices: Any) -> Any:
    """Return `x[indices]` for a vector of indices in range."""
    shape = core.aval_of(x).shape
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape))), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    column = reshape(indices, (*core.aval_of(indices).shape, 1))
    return gather(x, column, numbers, (1, *shape[1:]), mode=GatherScatterMode.PROMISE_IN_BOUNDS)


# ----------------------------------------------------------------------------- replicas


def replica_rows(ctx, names: Sequence[Any], groups: Groups) -> np.ndarray[Any, Any]:
    """Return the ids of replicas that communicate, one row per group, padded with -1."""
    scope = [name for name, _ in ctx.axes]
    for name in names:
        if name not in scope:
            core.axis_size(name)  # raises if no transformation binds it
            raise TypeError(f"minijax bug: the axis {name!r} has no replicas")
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
    """Return a matrix of integers as the attribute that collectives need."""
    values = np.asarray(values, np.int64)
    return ctx.dense(values, shaped(values.shape, dtypes.int64))


def channel(ctx: Any, *, global_ids: bool = True) -> dict[str, Any]:
    """Return the channel attributes of a collective among partitions, or none."""
    if not ctx.module.is_partitioned:
        return {}
    out = {"channel_handle": ctx.parse("#stablehlo.channel_handle<handle = 1, type = 1>")}
    if global_ids:
        out["use_global_device_ids"] = ctx.parse("unit")
    return out


def groups_attributes(
    ctx: Any, names: Sequence[Any], groups: Groups, *, global_ids: bool = True
) -> dict[str, Any]:
    """Return `replica_groups` and, among partitions, the channel attributes."""
    rows = replica_rows(ctx, names, groups)
    return {"replica_groups": dense_i64(ctx, rows), **channel(ctx, global_ids=global_ids)}
