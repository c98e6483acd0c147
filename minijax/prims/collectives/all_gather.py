"""Collectives that move data along mapped axes: all_gather, psum_scatter, all_to_all.

Each has a batch rule for lanes of `vmap`, which works on the lane axis of one array, and a
lowering for replicas, a StableHLO collective.  If `vmap` maps one of several named axes,
a smaller collective over the others remains: indices count row-major over the names.
all_gather and reduce_scatter are each other's transposes.  The transpose of all_to_all is
all_to_all with its two axes swapped.

Next: permute.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...base import errors, tree
from ...base.util import canonical_axis
from ...ir import core
from ...ir.core import Primitive
from ...types.avals import shaped
from ..elementwise import NUMBER, check_kind, linear_jvp
from ..gather.dynamic_slicing import dynamic_index_in_dim, dynamic_slice_in_dim
from ..math.algebraic import add_p, mul
from ..math.cast import scalar
from ..reduce.over_axes import emit_monoid, reduce_sum_p
from ..shape.shapes import expand_dims, move_axis, reshape, shape_of, squeeze, transpose
from . import named_axes
from .named_axes import Groups, all_lanes, axis_tuple
from .pcast import moved, pcast_to_varying, state_of, typed
from .psum import axis_index

__all__ = (
    "all_gather_p",
    "all_gather",
    "reduce_scatter_p",
    "psum_scatter",
    "all_to_all_p",
    "all_to_all",
    "pswapaxes",
)


def _merge(x: Any, axis: int, n: int = 2) -> Any:
    """Merge `n` neighbouring axes of `x`."""
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], prod(shape[axis : axis + n]), *shape[axis + n :]))


def _divide(x: Any, axis: int, sizes: Sequence[int]) -> Any:
    """Split an axis of `x` into axes of these sizes and a last one with the rest."""
    shape = shape_of(x)
    rest = shape[axis] // prod(sizes)
    return reshape(x, (*shape[:axis], *sizes, rest, *shape[axis + 1 :]))


# --------------------------------------------------------------------------- all_gather

all_gather_p = Primitive("all_gather")


def _gather_abstract(
    x: Any,
    *,
    all_gather_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> Any:
    core.axis_size(axis_name)
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return shaped(tuple(shape), x.dtype, x.weak_type)


def _gather_transpose(ct, x, *, all_gather_dimension: int, **params) -> list[Any]:
    return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


def _gather_over_lanes(axis, args, dims, *, all_gather_dimension: int, tiled: bool, **params):
    at, out_dim = _gather_dims(all_gather_dimension, dims[0], tiled)
    out = all_gather_p.bind(*args, all_gather_dimension=at, tiled=tiled, **params)
    return out, out_dim


def _gather_dims(at: int, d: int, tiled: bool) -> tuple[int, int]:
    """Return the gathered dimension and the result's lane axis, given lanes at `d`."""
    # An untiled result has a new axis, before or after the lane axis.
    return at + (at >= d if tiled else at > d), d + (not tiled and at <= d)


def _gather_over_name(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    all_gather_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> Any:
    (x,), (d,) = args, dims
    at = all_gather_dimension
    named_axes.lone_groups(axis_index_groups, axis_name)
    if axis_index_groups is not None:
        lane_groups = [axis_index_groups[g] for g in named_axes.group_of(axis_index_groups)]
        x = named_axes.take_lanes(
            all_lanes(axis, x, d), [i for group in lane_groups for i in group]
        )
        x = reshape(x, (axis.size, axis_size, *shape_of(x)[1:]))
        x = move_axis(x, 1, at + 1)
        return (_merge(x, at + 1) if tiled else x), 0
    before, after = named_axes.split_at(axis_name, axis.name)
    x = all_lanes(axis, x, d, at)
    if before or after:
        rest = before + after
        sizes = core.axis_size(before), core.axis_size(after)
        x = all_gather_p.bind(
            x,
            all_gather_dimension=at,
            axis_name=rest,
            axis_index_groups=None,
            axis_size=prod(sizes),
            tiled=False,
        )
        # (before x after, lanes, ..) -> (before, lanes, after, ..) -> one axis
        x = move_axis(_divide(x, at, sizes[:1]), at + 2, at + 1)
        x = _merge(x, at, 3)
    return (_merge(x, at) if tiled else x), None


def _gather_lower(
    ctx: Any,
    x: Any,
    *,
    all_gather_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    tiled: bool,
    **_: Any,
) -> Any:
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    if not tiled:
        shape = list(aval.shape)
        shape.insert(all_gather_dimension, 1)
        x = ctx.op("reshape", shaped(tuple(shape), aval.dtype), x)
    attrs = named_axes.groups_attributes(ctx, axis_name, axis_index_groups)
    dim = ctx.i64(all_gather_dimension)
    return ctx.create(
        "stablehlo.all_gather", [ctx.type(out)], [x], all_gather_dim=dim, **attrs
    ).result


all_gather_p.abstract = _gather_abstract
linear_jvp(all_gather_p)
all_gather_p.transpose = _gather_transpose
named_axes.def_named(all_gather_p, "axis_name", _gather_over_lanes, _gather_over_name)
all_gather_p.lower = _gather_lower


def _typed_gather(name: str, kind: str, back: Any) -> Primitive:
    """Declare a gather of values that vary along manual axes, with a result of `kind`."""
    prim = Primitive(name)
    no_groups: dict[str, Any] = {"axis_index_groups": None}
    prim.abstract = lambda x, **params: _gather_abstract(x, **params, **no_groups)
    prim.def_sharding(
        manual=lambda kinds, params: moved(kinds[0], params["axis_name"], "varying", kind)
    )
    linear_jvp(prim)
    prim.transpose = back

    def batch(
        axis: Any, args: Any, dims: Any, *, all_gather_dimension: int, **params: Any
    ) -> Any:
        at, out_dim = _gather_dims(all_gather_dimension, dims[0], params["tiled"])
        return prim.bind(*args, all_gather_dimension=at, **params), out_dim

    prim.batch = batch
    prim.named_axes = named_axes.uses("axis_name")
    prim.lower = lambda ctx, x, **params: _gather_lower(ctx, x, **params, **no_groups)
    return prim


def _own_slice(
    ct: Any, x: Any, *, all_gather_dimension: int, axis_name: Any, tiled: bool, **_: Any
) -> list[Any]:
    ct, at = pcast_to_varying(ct, axis_name), all_gather_dimension
    index = axis_index(axis_name)
    if not tiled:
        return [dynamic_index_in_dim(ct, index, at, keepdims=False)]
    n = x.aval.shape[at]
    return [dynamic_slice_in_dim(ct, mul(index, np.int32(n)), n, at)]


all_gather_invariant_p = _typed_gather("all_gather_invariant", "", _own_slice)
all_gather_reduced_p = _typed_gather(
    "all_gather_reduced",
    "reduced",
    lambda ct, x, **params: _gather_reduced_transpose(ct, **params),
)
_GATHERS = {"invarying": all_gather_invariant_p, "reduced": all_gather_reduced_p}


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Gather the values of all participants on every participant.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis, or several.
      axis_index_groups: lists of indices of equal length; each group gathers its own.
      axis: the axis of the result that contains the gathered values.
      tiled: whether values are concatenated along an existing axis, instead of stacked
        along a new one.
      to: the kind of the result along manual axes of `shard_map`, along which it is equal
        everywhere: 'varying' (treated as varying), 'invarying', or 'reduced' (its
        cotangents are unreduced).  It has no effect on other axes.

    Returns:
      A pytree like `x`, of arrays with a new axis `axis` of the group's size; or, with
      `tiled`, with `axis` larger by that factor.

    Raises:
      NameError: a name is not in scope.
      ValueError: `to` is invalid, or groups have unequal lengths.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: all_gather(x, 'i'), axis_name='i')(jnp.arange(2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    if to not in ("varying", *_GATHERS):
        raise errors.value_error(
            f"Got unexpected `to` value {to!r} for `lax.all_gather`.",
            tries=["to='varying'", "to='invarying'", "to='reduced'"],
        )
    axes = axis_tuple(axis_name)
    groups = named_axes.canonical_groups(axis_index_groups, axes, equal=True)
    prim, params = all_gather_p, {"axis_index_groups": groups}
    if to != "varying" and (typed_axes := typed(axes)):
        if groups is not None or len(typed_axes) < len(axes):
            raise errors.value_error(
                f"lax.all_gather with to={to!r} requires manual axes without groups.",
                which=f"axis_name={axis_name}, {axis_index_groups=}",
                why="Otherwise the results differ between devices along these axes.",
                tries=["to='varying'"],
            )
        prim, params = _GATHERS[to], {}

    def one(leaf: Any) -> Any:
        ndim = len(core.aval_of(leaf).shape)
        return prim.bind(
            pcast_to_varying(leaf, axes),
            all_gather_dimension=canonical_axis(axis, ndim if tiled else ndim + 1),
            axis_name=axes,
            axis_size=named_axes.group_size(axes, groups),
            tiled=bool(tiled),
            **params,
        )

    return tree.map(one, x)


# ------------------------------------------------------------------------- psum_scatter

reduce_scatter_p = Primitive("reduce_scatter")


def _scatter_abstract(
    x: Any,
    *,
    scatter_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> Any:
    check_kind("reduce_scatter", x, NUMBER, 0, 1)
    core.axis_size(axis_name)
    shape = list(x.shape)
    n = shape[scatter_dimension]
    if tiled:
        if n % axis_size:
            raise ValueError(
                f"tiled reduce_scatter operand scatter dimension size {n} must be"
                f" divisible by shard_count {axis_size}"
            )
        shape[scatter_dimension] = n // axis_size
    else:
        if n != axis_size:
            raise ValueError(
                f"reduce_scatter operand scatter dimension size {n} must match shard"
                f" count {axis_size}"
            )
        del shape[scatter_dimension]
    return shaped(tuple(shape), x.dtype, x.weak_type)


def _scatter_transpose(ct, x, *, scatter_dimension: int, **params) -> list[Any]:
    return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


def _scatter_over_lanes(axis, args, dims, *, scatter_dimension: int, tiled: bool, **params):
    at, out_dim = _scatter_dims(scatter_dimension, dims[0], tiled)
    out = reduce_scatter_p.bind(*args, scatter_dimension=at, tiled=tiled, **params)
    return out, out_dim


def _scatter_dims(at: int, d: int, tiled: bool) -> tuple[int, int]:
    """Return the scattered dimension and the result's lane axis, given lanes at `d`."""
    at += at >= d
    return at, d - (not tiled and at < d)


def _scatter_over_name(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    scatter_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> Any:
    (x,), (d,) = args, dims
    at = scatter_dimension
    named_axes.lone_groups(axis_index_groups, axis_name)
    if axis_index_groups is not None:
        return _scatter_in_groups(axis, x, d, at, axis_index_groups, tiled), 0
    if d is None:
        x = mul(x, scalar(axis.size, core.aval_of(x).dtype))
    else:
        x = reduce_sum_p.bind(x, axes=(d,), out_sharding=None)
    before, after = named_axes.split_at(axis_name, axis.name)
    sizes = core.axis_size(before), core.axis_size(after)
    if tiled:
        x = _divide(x, at, [axis_size])
    if before or after:
        # (before, lanes, after) -> (lanes, before x after); each participant takes its own
        x = (
            _divide(x, at, (sizes[0], axis.size))
            if not tiled
            else reshape(
                x, (*shape_of(x)[:at], sizes[0], axis.size, sizes[1], *shape_of(x)[at + 1 :])
            )
        )
        x = _merge(move_axis(x, at + 1, at), at + 1)
        x = reduce_scatter_p.bind(
            x,
            scatter_dimension=at + 1,
            axis_name=before + after,
            axis_index_groups=None,
            axis_size=prod(sizes),
            tiled=False,
        )
    return x, at


def _scatter_in_groups(axis, x, d: int | None, at: int, groups, tiled: bool):
    """Sum in groups of lanes; each lane gets its slice of its group's sum."""
    x = all_lanes(axis, x, d)
    size = len(groups[0])
    lanes = [i for g in groups for i in g]
    x = _divide(named_axes.take_lanes(x, lanes), 0, [len(groups)])
    x = reduce_sum_p.bind(x, axes=(1,), out_sharding=None)
    if tiled:
        x = _divide(x, at + 1, [size])
    x = _merge(move_axis(x, at + 1, 1), 0)  # (group, member) -> lanes in their order
    return named_axes.take_lanes(x, np.argsort(lanes).tolist())


def _scatter_lower(
    ctx: Any,
    x: Any,
    *,
    scatter_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    tiled: bool,
    **_: Any,
) -> Any:
    (out,) = ctx.avals_out
    op_aval = out
    if not tiled:
        shape = list(out.shape)
        shape.insert(scatter_dimension, 1)
        op_aval = shaped(tuple(shape), out.dtype)
    attrs = named_axes.groups_attributes(ctx, axis_name, axis_index_groups)
    attrs["scatter_dimension"] = ctx.i64(scatter_dimension)
    op = ctx.region_op("stablehlo.reduce_scatter", [ctx.type(op_aval)], [x], **attrs)
    emit_monoid(ctx, op.regions[0], add_p, shaped((), out.dtype))
    return op.result if tiled else ctx.op("reshape", out, op.result)


reduce_scatter_p.abstract = _scatter_abstract
linear_jvp(reduce_scatter_p)
reduce_scatter_p.transpose = _scatter_transpose
named_axes.def_named(reduce_scatter_p, "axis_name", _scatter_over_lanes, _scatter_over_name)
reduce_scatter_p.lower = _scatter_lower


# The reduce-scatter of unreduced values, which are the terms of a sum.
unreduced_reduce_scatter_p = Primitive("unreduced_reduce_scatter")


def _gather_reduced_transpose(
    ct: Any, *, all_gather_dimension: int, **params: Any
) -> list[Any]:
    at = all_gather_dimension
    return [unreduced_reduce_scatter_p.bind(ct, scatter_dimension=at, **params)]


unreduced_reduce_scatter_p.abstract = lambda x, **params: _scatter_abstract(
    x, **params, axis_index_groups=None
)
unreduced_reduce_scatter_p.def_sharding(
    manual=lambda kinds, params: moved(kinds[0], params["axis_name"], "unreduced", "varying")
)
linear_jvp(unreduced_reduce_scatter_p)
unreduced_reduce_scatter_p.transpose = lambda ct, x, *, scatter_dimension, **params: [
    all_gather_reduced_p.bind(ct, all_gather_dimension=scatter_dimension, **params)
]


def _unreduced_scatter_batch(
    axis: Any, args: Any, dims: Any, *, scatter_dimension: int, **params: Any
) -> Any:
    at, out_dim = _scatter_dims(scatter_dimension, dims[0], params["tiled"])
    return unreduced_reduce_scatter_p.bind(*args, scatter_dimension=at, **params), out_dim


unreduced_reduce_scatter_p.batch = _unreduced_scatter_batch
unreduced_reduce_scatter_p.named_axes = named_axes.uses("axis_name")
unreduced_reduce_scatter_p.lower = lambda ctx, x, **params: _scatter_lower(
    ctx, x, **params, axis_index_groups=None
)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sum over a mapped axis; every participant gets its slice of the result.

    Args:
      x: a pytree of arrays of numbers.
      axis_name: the name of a mapped axis, or several.
      scatter_dimension: the axis that is divided among the participants.
      axis_index_groups: lists of indices of equal length; each group has its own sum.
      tiled: whether the size of `scatter_dimension` is a multiple of the mapped axis's, and
        every participant gets a contiguous block.  Otherwise both sizes are equal.

    Returns:
      A pytree like `x`, of arrays without `scatter_dimension`; or, with `tiled`, with a
      block of it.

    Raises:
      NameError: a name is not in scope.
      ValueError: the axis does not divide evenly.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: psum_scatter(x, 'i'), axis_name='i')(jnp.ones((2, 2)))
      Array([2., 2.], dtype=float32)
    """
    axes = axis_tuple(axis_name)
    groups = named_axes.canonical_groups(axis_index_groups, axes, equal=True)

    def one(leaf: Any) -> Any:
        params = {
            "axis_name": axes,
            "scatter_dimension": canonical_axis(
                scatter_dimension, len(core.aval_of(leaf).shape)
            ),
            "axis_size": named_axes.group_size(axes, groups),
            "tiled": bool(tiled),
        }
        typed_axes = typed(axes)
        if typed_axes and state_of(leaf, typed_axes, "jax.lax.psum_scatter") == "unreduced":
            return unreduced_reduce_scatter_p.bind(leaf, **params)
        return reduce_scatter_p.bind(
            pcast_to_varying(leaf, axes), axis_index_groups=groups, **params
        )

    return tree.map(one, x)


# --------------------------------------------------------------------------- all_to_all

# Split `split_axis` into one piece per participant, send piece k to participant k, and
# concatenate the received pieces along `concat_axis`.

all_to_all_p = Primitive("all_to_all")


def _exchange_abstract(
    x: Any,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: Any,
    axis_index_groups: Groups,
    tiled: bool,
) -> Any:
    n = named_axes.group_size(axis_tuple(axis_name), axis_index_groups)
    shape = list(x.shape)
    if shape[split_axis] % n:
        raise ValueError(
            f"The size of all_to_all split_axis ({shape[split_axis]}) has to be"
            f" divisible by the size of the named axis {axis_name} ({n})"
        )
    shape[split_axis] //= n
    shape[concat_axis] *= n
    return shaped(tuple(shape), x.dtype, x.weak_type)


def _exchange_transpose(
    ct: Any, x: Any, *, split_axis: int, concat_axis: int, **params: Any
) -> list[Any]:
    back = {"split_axis": concat_axis, "concat_axis": split_axis}
    return [all_to_all_p.bind(ct, **back, **params)]


def _exchange_over_lanes(axis, args, dims, *, split_axis: int, concat_axis: int, **params):
    (x,), (d,) = args, dims
    out = all_to_all_p.bind(
        x,
        split_axis=split_axis + (split_axis >= d),
        concat_axis=concat_axis + (concat_axis >= d),
        **params,
    )
    return out, d


def _exchange_over_name(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: Any,
    axis_index_groups: Groups,
    tiled: bool,
) -> Any:
    (x,), (d,) = args, dims
    axes = axis_tuple(axis_name)
    named_axes.lone_groups(axis_index_groups, axes)
    x = all_lanes(axis, x, d)
    if axis_index_groups is not None:
        lanes = [i for g in axis_index_groups for i in g]
        x = _divide(named_axes.take_lanes(x, lanes), 0, [len(axis_index_groups)])
        x = _swap(x, 1, split_axis + 2, concat_axis + 2, (), ())
        return named_axes.take_lanes(_merge(x, 0), np.argsort(lanes).tolist()), 0
    before, after = named_axes.split_at(axes, axis.name)
    return _swap(x, 0, split_axis + 1, concat_axis + 1, before, after), 0


def _swap(x: Any, lane: int, split: int, concat: int, before: Any, after: Any) -> Any:
    """Exchange lanes (axis `lane`, before the others) with pieces of axis `split`.

    The pieces are numbered (before, lanes, after).  A smaller collective exchanges the pieces
    of the other mapped axes.
    """
    n = shape_of(x)[lane]
    sizes = core.axis_size(before), n, core.axis_size(after)
    x = _divide(x, split, sizes)  # split -> (before, to, after, own part)
    if before or after:
        x = _merge(move_axis(x, split + 1, lane), split + 1)  # lane <-> to
        # now: lane = to, lane + 1 = from; the pair (before, after) at split + 1
        x = all_to_all_p.bind(
            x,
            split_axis=split + 1,
            concat_axis=split + 1,
            axis_name=before + after,
            axis_index_groups=None,
            tiled=True,
        )
        x = _divide(x, split + 1, sizes[:1])  # (before, after, own part)
        x = move_axis(x, lane + 1, split + 1)  # (before, from, after, own part)
    else:
        x = squeeze(x, (split, split + 2))  # (from at lane, to at split, own part)
        x = move_axis(x, split, lane)  # (to, from, .., own part at split + 1)
        x = move_axis(x, lane + 1, split)  # (to, .., from, own part)
        x = expand_dims(x, (split, split + 2))
    # the senders' axes at split .. split + 2, the own part after them
    own = split + 3
    at = concat + (3 if concat > split else 0)
    if concat == split:
        return _merge(x, split, 4)
    permutation = [i for i in range(len(shape_of(x))) if not split <= i < own]
    position = permutation.index(at)
    permutation[position:position] = [split, split + 1, split + 2]
    return _merge(transpose(x, permutation), position, 4)


def _exchange_lower(
    ctx: Any,
    x: Any,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: Any,
    axis_index_groups: Groups,
    **_: Any,
) -> Any:
    axes = axis_tuple(axis_name)
    attrs = named_axes.groups_attributes(ctx, axes, axis_index_groups, global_ids=False)
    n = core.within_axes(ctx.axes, named_axes.group_size, axes, axis_index_groups)
    return ctx.create(
        "stablehlo.all_to_all",
        [ctx.type(ctx.avals_out[0])],
        [x],
        split_dimension=ctx.i64(split_axis),
        concat_dimension=ctx.i64(concat_axis),
        split_count=ctx.i64(n),
        **attrs,
    ).result


all_to_all_p.abstract = _exchange_abstract
linear_jvp(all_to_all_p)
all_to_all_p.transpose = _exchange_transpose
named_axes.def_named(all_to_all_p, "axis_name", _exchange_over_lanes, _exchange_over_name)
all_to_all_p.lower = _exchange_lower


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Exchange a mapped axis with an array axis.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis, or several.
      split_axis: the axis whose pieces go to the participants, one to each.  Its size is
        the size of the mapped axis; or, with `tiled`, a multiple of it.
      concat_axis: the axis of the received pieces: a new axis of the result; or, with
        `tiled`, an existing one along which they are concatenated.
      axis_index_groups: lists of indices of equal length that exchange.

    Returns:
      A pytree like `x`, of arrays without `split_axis` and with a new `concat_axis`; or,
      with `tiled`, of the same rank: `split_axis` is smaller and `concat_axis` larger by
      the number of participants.

    Raises:
      NameError: a name is not in scope.
      ValueError: an axis cannot be split.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> x = jnp.arange(4).reshape(2, 2)
      >>> mj.vmap(lambda r: all_to_all(r, 'i', 0, 0), axis_name='i')(x)
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    axes = axis_tuple(axis_name)
    groups = named_axes.canonical_groups(axis_index_groups, axes, equal=True)
    n = named_axes.group_size(axes, groups)

    def bind(leaf: Any, split: int, concat: int) -> Any:
        return all_to_all_p.bind(
            pcast_to_varying(leaf, axes),
            split_axis=split,
            concat_axis=concat,
            axis_name=axis_name,
            axis_index_groups=groups,
            tiled=bool(tiled),
        )

    def one(leaf: Any) -> Any:
        shape = shape_of(leaf)
        split = canonical_axis(split_axis, len(shape))
        concat = canonical_axis(concat_axis, len(shape))
        if tiled:
            return bind(leaf, split, concat)
        if shape[split] != n:
            raise errors.value_error(
                "all_to_all requires the size of the mapped axis axis_name to equal"
                f" x.shape[split_axis], but they are {n} and {shape[split]}"
                " respectively.",
                which=core.aval_of(leaf).str_short(True),
                tries=["tiled=True, if the size is a multiple"],
            )
        if split == concat:
            return bind(leaf, split, concat)
        # A new axis of size 1 becomes `concat_axis`; `split_axis`, of size 1 then, is removed.
        if split < concat:
            concat += 1
        else:
            split += 1
        return squeeze(bind(expand_dims(leaf, (concat,)), split, concat), (split,))

    return tree.map(one, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swap a mapped axis with an array axis of equal size.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis, or several.
      axis: the array axis; a negative one counts from the end.
      axis_index_groups: lists of indices of equal length that exchange.

    Returns:
      A pytree like `x`, of arrays of the same shapes and dtypes.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> x = jnp.arange(4).reshape(2, 2)
      >>> mj.vmap(lambda r: pswapaxes(r, 'i', 0), axis_name='i')(x)
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
