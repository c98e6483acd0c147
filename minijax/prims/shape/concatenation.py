"""Primitives that join and split arrays, and repeat and pad them.

concatenate and split, stack and unstack are each other's transposes.  Types are checked in
the type rule.  The primitives that only change the shape are in shapes.py.

Next: slicing.py, which extracts slices.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...base import tree
from ...base.util import canonical_axis
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import FORWARDS, KeyUse
from ...passes.ad_util import Zero, core_ops, instantiate, is_linear
from ...passes.batch import lane_to_front, lane_to_front_unsharded
from ...runtime.arrays.transfers import widen_scalars
from ...runtime.sharding.partition_spec import PartitionSpec
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import (
    is_array,
    linear_jvp,
    same_dtype,
)
from ..math.algebraic import sub
from ..sharding_specs import (
    ambiguous_sharding_error,
    check_replicated,
    equal_specs,
    sharded_aval_text,
)
from .creation import zero_array
from .shapes import (
    broadcast,
    broadcast_in_dim,
    check_sizes,
    int_tuple,
    primitive,
    reshape,
    shape_problem,
    type_problem,
    value_problem,
)

__all__ = (
    "concatenate_p",
    "concatenate",
    "split_p",
    "split",
    "stack_p",
    "stack",
    "unstack_p",
    "unstack",
    "tile_p",
    "tile",
    "pad_p",
    "pad",
    "optimization_barrier_p",
    "optimization_barrier",
)

# ----------------------------------------------------------------------- helpers


def linear_many_jvp(prim: Primitive) -> None:
    """Set the jvp of a primitive with several results, linear in all operands."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        outs = prim.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return outs, [Zero(core.aval_of(x).to_tangent()) for x in outs]
        return outs, prim.bind(*map(instantiate, tangents), **params)

    prim.jvp = jvp


def lanes_first(axis: Any, args: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    """Return all operands with leading lane axes; unbatched ones are broadcast."""
    return [lane_to_front_unsharded(x, axis, d) for x, d in zip(args, dims, strict=True)]


def emit_slice(ctx: Any, x: Any, aval: Any, axis: int, start: int, stop: int) -> Any:
    """Emit `x[..., start:stop, ...]` along one axis."""
    low, high = [0] * aval.ndim, list(aval.shape)
    low[axis], high[axis] = start, stop
    shape = tuple(b - a for a, b in zip(low, high, strict=True))
    return ctx.op(
        "slice",
        shaped(shape, aval.dtype),
        x,
        start_indices=ctx.i64s(low),
        limit_indices=ctx.i64s(high),
        strides=ctx.i64s([1] * aval.ndim),
    )


# ------------------------------------------------------------------------ concatenate


def _concatenate_type(*xs: Any, dimension: int) -> Any:
    shapes = [x.shape for x in xs]
    first = shapes[0]
    text = ", ".join(map(str, shapes))
    if len({len(s) for s in shapes}) > 1:
        raise type_problem(
            f"Cannot concatenate arrays with different numbers of dimensions: got {text}.",
            *xs,
            why="Arrays are concatenated along an axis that all of them have.",
            tries=["lax.expand_dims", "lax.stack to join along a new axis"],
        )
    if not 0 <= dimension < len(first):
        raise type_problem(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes {text}.",
            *xs,
            why="The axis must be an axis of the arrays, counted from 0.",
            tries=["minijax.numpy.concatenate counts negative axes from the end"],
        )
    rests = {s[:dimension] + s[dimension + 1 :] for s in shapes}
    if len(rests) > 1:
        raise type_problem(
            "Cannot concatenate arrays with shapes that differ in dimensions other than"
            f" the one being concatenated: concatenating along dimension {dimension}"
            f" for shapes {text}.",
            *xs,
            why="All other sizes must be equal.",
        )
    total = sum(s[dimension] for s in shapes)
    shape = (*first[:dimension], total, *first[dimension + 1 :])
    dtype = same_dtype("concatenate", xs)
    return shaped(shape, dtype, all(x.weak_type for x in xs))


def _concatenate_transpose(ct: Any, *xs: Any, dimension: int) -> list[Any]:
    avals = [x.aval if is_linear(x) else core.aval_of(x) for x in xs]
    sizes = tuple(a.shape[dimension] for a in avals)
    pieces = split_p.bind(ct, sizes=sizes, axis=dimension)
    return [p if is_linear(x) else None for p, x in zip(pieces, xs, strict=True)]


def _concatenate_batch(axis: Any, args: Any, dims: Any, *, dimension: int) -> Any:
    xs = lanes_first(axis, args, dims)
    return concatenate_p.bind(*xs, dimension=dimension + 1), 0


MANY = 256  # more operands are concatenated in groups


def _concatenate_lower(ctx: Any, *xs: Any, dimension: int) -> Any:
    return _emit_concatenate(ctx, xs, ctx.avals_in, ctx.avals_out[0], dimension)


def _emit_concatenate(ctx: Any, xs: Any, avals: Any, out: Any, axis: int) -> Any:
    """Emit a concatenation, of many operands in groups behind barriers.

    XLA's compile time is quadratic in the number of operands.  Without barriers, XLA merges
    nested concatenations into one.
    """
    if len(xs) > MANY:
        size = math.isqrt(len(xs) - 1) + 1
        ranges = [slice(i, i + size) for i in range(0, len(xs), size)]
        sums = [sum(a.shape[axis] for a in avals[r]) for r in ranges]
        avals = [
            shaped((*out.shape[:axis], n, *out.shape[axis + 1 :]), out.dtype) for n in sums
        ]
        groups = [
            _emit_concatenate(ctx, xs[r], avals, a, axis)
            for r, a in zip(ranges, avals, strict=True)
        ]
        xs = [
            ctx.create("stablehlo.optimization_barrier", [x.type], [x]).result for x in groups
        ]
    return ctx.op("concatenate", out, *xs, dimension=ctx.i64(axis))


def _uses_keys_together(ins: Any, params: Any) -> KeyUse:
    """Return the key use of primitives whose operands become parts of the result."""
    return KeyUse(dict.fromkeys(range(len(ins)), True), frozenset({0}))


concatenate_p = primitive(
    "concatenate",
    type=_concatenate_type,
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    lower=_concatenate_lower,
    specs=equal_specs("All operands should have the same sharding"),
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=_uses_keys_together,
)
linear_jvp(concatenate_p)


def concatenate(operands: Any, dimension: int) -> Any:
    """Join arrays along an existing axis.

    Args:
      operands: arrays of one dtype and of equal shapes, except for axis `dimension`.
      dimension: the axis, counted from 0.

    Returns:
      An array of their dtype; its axis `dimension` has the sum of their sizes.

    Raises:
      ValueError: `operands` is empty.
      TypeError: shapes or dtypes are incompatible.

    Example:
      >>> import minijax.numpy as jnp
      >>> concatenate([jnp.arange(2), jnp.arange(3)], 0)
      Array([0, 1, 0, 1, 2], dtype=int32)
    """
    xs = tuple(operands)
    if not xs:
        raise value_problem(
            "concatenate requires a non-empty sequences of arrays",
            why="Without arrays, the result has no dtype and shape.",
        )
    if len(xs) == 1 and is_array(xs[0]):
        return xs[0]
    return concatenate_p.bind(*xs, dimension=operator.index(dimension))


# ------------------------------------------------------------------------------ split


def _split_type(x: Any, *, sizes: Any, axis: int) -> list[Any]:
    if any(n < 0 for n in sizes):
        raise value_problem(
            f"Sizes passed to split must be nonnegative, got {list(sizes)}",
            x,
            why="Each piece has a size.",
        )
    if sum(sizes) != x.shape[axis]:
        raise value_problem(
            f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the"
            f" operand shape {list(x.shape)}",
            x,
            why="Each element belongs to one piece.",
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [shaped((*before, n, *after), x.dtype, x.weak_type) for n in sizes]


def _split_transpose(cts: Any, x: Any, *, sizes: Any, axis: int) -> list[Any]:
    return [concatenate(list(map(instantiate, cts)), axis)]


def _split_batch(lanes: Any, args: Any, dims: Any, *, sizes: Any, axis: int) -> Any:
    lane = dims[0]
    return split_p.bind(args[0], sizes=sizes, axis=axis + (axis >= lane)), lane


def _split_lower(ctx: Any, x: Any, *, sizes: Any, axis: int) -> list[Any]:
    aval = ctx.avals_in[0]
    stops = list(accumulate(sizes, initial=0))
    return [emit_slice(ctx, x, aval, axis, a, b) for a, b in pairwise(stops)]


split_p = primitive(
    "split",
    type=_split_type,
    transpose=_split_transpose,
    batch=_split_batch,
    lower=_split_lower,
    many=True,
    specs=lambda specs, avals, outs, params: [specs[0]] * len(outs),
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=lambda ins, params: KeyUse({0: True}, frozenset(range(len(params["sizes"])))),
)
linear_many_jvp(split_p)


def split(operand: Any, sizes: Any, axis: int = 0) -> list[Any]:
    """Split an array into pieces of the given sizes along an axis.

    Args:
      operand: an array of any shape and dtype.
      sizes: the sizes of the pieces, which sum to the size of the axis.
      axis: the axis; a negative one counts from the end.

    Returns:
      A list of arrays of `operand`'s dtype, one for each of `sizes`.

    Raises:
      ValueError: the sizes do not sum to the axis's size, or the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in split(jnp.arange(5), (2, 3))]
      [(2,), (3,)]
    """
    axis = canonical_axis(axis, len(core.aval_of(operand).shape))
    return list(split_p.bind(operand, sizes=int_tuple(sizes, "sizes"), axis=axis))


# --------------------------------------------------------------------- stack, unstack


def _stack_type(*xs: Any, axis: int) -> Any:
    shape = xs[0].shape
    if any(x.shape != shape for x in xs):
        raise shape_problem(
            "All input arrays must have the same shape. Got"
            f" {', '.join(str(x.shape) for x in xs)}.",
            *xs,
            why="Each array becomes one element along the new axis.",
        )
    dtype = same_dtype("stack", xs)
    weak = all(x.weak_type for x in xs)
    return shaped((*shape[:axis], len(xs), *shape[axis:]), dtype, weak)


def _stack_transpose(ct: Any, *xs: Any, axis: int) -> list[Any]:
    pieces = unstack_p.bind(ct, axis=axis)
    return [p if is_linear(x) else None for p, x in zip(pieces, xs, strict=True)]


def _stack_batch(lanes: Any, args: Any, dims: Any, *, axis: int) -> Any:
    return stack_p.bind(*lanes_first(lanes, args, dims), axis=axis + 1), 0


def _stack_lower(ctx: Any, *xs: Any, axis: int) -> Any:
    out = ctx.avals_out[0]
    thin = shaped((*out.shape[:axis], 1, *out.shape[axis + 1 :]), out.dtype)
    xs = tuple(ctx.op("reshape", thin, x) for x in xs)
    return _emit_concatenate(ctx, xs, [thin] * len(xs), out, axis)


def _stack_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    if any(s != specs[0] for s in specs):
        raise ambiguous_sharding_error(
            "All operands should have the same sharding. Got shardings"
            f" {[PartitionSpec(*s) for s in specs]}"
        )
    at = params["axis"]
    return [(*specs[0][:at], None, *specs[0][at:])]


stack_p = primitive(
    "stack",
    type=_stack_type,
    transpose=_stack_transpose,
    batch=_stack_batch,
    lower=_stack_lower,
    specs=_stack_specs,
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=_uses_keys_together,
)
linear_jvp(stack_p)


def stack(operands: Any, axis: int = 0) -> Any:
    """Join arrays of one shape along a new axis.

    Args:
      operands: arrays of one shape and dtype.
      axis: the position of the new axis in the result; negative: from the end.

    Returns:
      An array of their dtype; the new axis has one index for each array.

    Raises:
      ValueError: `operands` is empty, or shapes differ.
      TypeError: dtypes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> stack([jnp.arange(2), jnp.arange(2)], 1)
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    xs = tuple(operands)
    if not xs:
        raise value_problem(
            "stack requires a non-empty sequence of arrays",
            why="Without arrays, the result has no dtype and shape.",
        )
    return stack_p.bind(*xs, axis=canonical_axis(axis, core.aval_of(xs[0]).ndim + 1))


def _unstack_type(x: Any, *, axis: int) -> list[Any]:
    element = shaped(x.shape[:axis] + x.shape[axis + 1 :], x.dtype, x.weak_type)
    return [element] * x.shape[axis]


def _unstack_transpose(cts: Any, x: Any, *, axis: int) -> list[Any]:
    if not cts:
        return [zero_array(x.aval)]
    return [stack_p.bind(*map(instantiate, cts), axis=axis)]


def _unstack_batch(lanes: Any, args: Any, dims: Any, *, axis: int) -> Any:
    lane = dims[0]
    along = axis + (axis >= lane)
    return unstack_p.bind(args[0], axis=along), lane - (along < lane)


def _unstack_lower(ctx: Any, x: Any, *, axis: int) -> list[Any]:
    aval = ctx.avals_in[0]
    return [
        ctx.op("reshape", out, emit_slice(ctx, x, aval, axis, i, i + 1))
        for i, out in enumerate(ctx.avals_out)
    ]


def _unstack_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    (spec,), at = specs, params["axis"]
    check_replicated(spec, avals, [at], "unstack requires an unsharded axis.")
    return [(*spec[:at], *spec[at + 1 :])] * len(outs)


unstack_p = primitive(
    "unstack",
    type=_unstack_type,
    transpose=_unstack_transpose,
    batch=_unstack_batch,
    lower=_unstack_lower,
    many=True,
    specs=_unstack_specs,
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=lambda ins, params: KeyUse(
        {0: True}, frozenset(range(ins[0].shape[params["axis"]]))
    ),
)
linear_many_jvp(unstack_p)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Return the elements of an array along an axis, as arrays without that axis.

    Args:
      x: an array of any shape and dtype.
      axis: the axis; a negative one counts from the end.

    Returns:
      A tuple of arrays of `x`'s dtype, one per index along the axis.

    Raises:
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> [y.shape for y in unstack(jnp.zeros((2, 3)), 1)]
      [(2,), (2,), (2,)]
    """
    axis = canonical_axis(axis, len(core.aval_of(x).shape))
    return tuple(unstack_p.bind(x, axis=axis))


# ------------------------------------------------------------------------------- tile


def _tile_type(x: Any, *, reps: Any) -> Any:
    check_sizes("tile", "reps", reps)
    shape = tuple(n * r for n, r in zip(x.shape, reps, strict=True))
    return shaped(shape, x.dtype, x.weak_type)


def _tile_transpose(ct: Any, x: Any, *, reps: Any) -> list[Any]:
    """Sum over the copies: a tiled axis is (r, n) in row-major order."""
    shape: list[int] = []
    axes: list[int] = []
    for n, r in zip(x.aval.shape, reps, strict=True):
        axes.append(len(shape))
        shape += [r, n]
    return [core_ops.sum(reshape(ct, shape), tuple(axes))]


def _tile_batch(axis: Any, args: Any, dims: Any, *, reps: Any) -> Any:
    lane = dims[0]
    return tile_p.bind(args[0], reps=(*reps[:lane], 1, *reps[lane:])), lane


def _tile_lower(ctx: Any, x: Any, *, reps: Any) -> Any:
    aval = ctx.avals_in[0]
    wide = tuple(m for pair in zip(reps, aval.shape, strict=True) for m in pair)
    dims = ctx.i64s(range(1, len(wide), 2))
    x = ctx.op("broadcast_in_dim", shaped(wide, aval.dtype), x, broadcast_dimensions=dims)
    return ctx.op("reshape", ctx.avals_out[0], x)


def _tile_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give axes with one copy the operand's spec; others must be unsharded."""
    for i, (entry, n) in enumerate(zip(specs[0], params["reps"], strict=True)):
        if entry is not None and n != 1:
            raise ambiguous_sharding_error(
                f"Operand cannot be sharded on dimension {i} when the tiling is"
                f" non-trivial. Got input type: {sharded_aval_text(avals[0], specs[0])} with reps:"
                f" {params['reps']}"
            )
    return [specs[0]]


tile_p = primitive(
    "tile",
    type=_tile_type,
    transpose=_tile_transpose,
    batch=_tile_batch,
    lower=_tile_lower,
    specs=_tile_specs,
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=FORWARDS,
)


def tile(operand: Any, reps: Any) -> Any:
    """Concatenate `reps[i]` copies of an array along each axis `i`.

    Args:
      operand: an array of any shape and dtype.
      reps: one non-negative number per axis.

    Returns:
      An array of `operand`'s dtype; axis i is larger by the factor `reps[i]`.

    Raises:
      TypeError: there is not one number per axis, or one is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> tile(jnp.arange(2), (2,))
      Array([0, 1, 0, 1], dtype=int32)
    """
    reps = int_tuple(reps, "reps")
    ndim = len(core.aval_of(operand).shape)
    if len(reps) != ndim:
        raise type_problem(
            "reps length must be equal to the ndim of x, got"
            f" len(reps)={len(reps)} and x.ndim={ndim}.",
            why="lax does not add axes.",
            tries=["minijax.numpy.tile, which does"],
        )
    return tile_p.bind(operand, reps=reps)


# -------------------------------------------------------------------------------- pad


def _pad_type(x: Any, value: Any, *, padding_config: Any) -> Any:
    config = padding_config
    if x.dtype != value.dtype:
        raise type_problem(
            "pad operand and padding_value must be same dtype: got"
            f" {x.dtype} and {value.dtype}.",
            x,
            value,
            why="lax functions do not promote.",
            tries=[f"padding with a value of dtype {x.dtype}"],
        )
    sizes = tuple(
        n + low + high + inside * max(n - 1, 0)
        for n, (low, high, inside) in zip(x.shape, config, strict=False)
    )
    link = "and"
    if value.shape:
        what = f"padding_value must be a scalar; got shape {value.shape}, for"
        why = "It is repeated"
    elif len(config) != len(x.shape):
        what = "length of padding_config must equal the number of axes of operand, got"
        link = "for"
        why = "Each axis needs (low, high, interior)"
    elif any(inside < 0 for _, _, inside in config):
        what = "interior padding in padding_config must be nonnegative, got"
        why = "It is the width of a gap"
    elif any(n < 0 for n in sizes):
        what = "Dimension size after padding is not at least 0, got result shape"
        what += f" {sizes}, for"
        why = "Negative padding removes more elements than the axis has"
    else:
        return shaped(sizes, x.dtype, x.weak_type and value.weak_type)
    raise value_problem(
        f"{what} padding_config {config} {link} operand shape {x.shape}", x, why=why + "."
    )


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: Any) -> list[Any]:
    """Slice the operand's cotangent; the sum of the rest is the padding value's."""
    zero = zero_array(shaped((), ct.dtype))
    shrunk = tuple((-low, -high, 0) for low, high, _ in padding_config)
    strides = tuple(inside + 1 for _, _, inside in padding_config)
    inner = core_ops.strided(pad_p.bind(ct, zero, padding_config=shrunk), strides)
    if not is_linear(value):
        return [inner, None]
    axes = tuple(range(len(padding_config)))
    outside = sub(core_ops.sum(ct, axes), core_ops.sum(inner, axes))
    return [inner if is_linear(x) else None, outside]


def _pad_batch(axis: Any, args: Any, dims: Any, *, padding_config: Any) -> Any:
    (x, value), (lane, value_lane) = args, dims
    if lane is None:
        x, lane = lane_to_front(x, axis, None), 0
    config = (*padding_config[:lane], (0, 0, 0), *padding_config[lane:])
    if value_lane is None:
        return pad_p.bind(x, value, padding_config=config), lane
    aval = core.aval_of(x)
    out = pad_p.bind(x, zero_array(shaped((), aval.dtype)), padding_config=config)
    inside = pad_p.bind(broadcast(np.True_, aval.shape), np.False_, padding_config=config)
    values = broadcast_in_dim(value, core.aval_of(out).shape, (lane,))
    return core_ops.select(inside, values, out), lane


def _pad_lower(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> Any:
    low, high, inside = ([c[i] for c in padding_config] for i in range(3))
    return ctx.op(
        "pad",
        ctx.avals_out[0],
        x,
        value,
        edge_padding_low=ctx.i64s(low),
        edge_padding_high=ctx.i64s(high),
        interior_padding=ctx.i64s(inside),
    )


pad_p = primitive(
    "pad",
    type=_pad_type,
    transpose=_pad_transpose,
    batch=_pad_batch,
    lower=_pad_lower,
    specs=lambda specs, *_: [specs[0]],
    data_movement="moved",
    keeps_finite=True,
)
linear_jvp(pad_p)


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """Insert `padding_value` around and between the elements of an array.

    Args:
      operand: an array of any shape and dtype.
      padding_value: a scalar of the same dtype.
      padding_config: for each axis (low, high, interior): how many to insert before, after
        (negative: remove), and between neighbours.

    Returns:
      An array of `operand`'s dtype; an axis of size n has size
      `low + n + interior * max(n - 1, 0) + high`.

    Raises:
      TypeError: dtypes differ.
      ValueError: the configuration does not match the operand.

    Example:
      >>> import minijax.numpy as jnp
      >>> pad(jnp.arange(1, 4), 0, [(1, 2, 1)])
      Array([0, 1, 0, 2, 0, 3, 0, 0], dtype=int32)
    """
    config = tuple(int_tuple(c, "padding_config") for c in padding_config)
    operands = widen_scalars((operand, padding_value))
    return pad_p.bind(*operands, padding_config=config)


# --------------------------------------------------------------- optimization_barrier


def is_float0(t: Any) -> bool:
    """Whether a tangent is zero because its value is not differentiable."""
    return type(t) is Zero and bool(t.aval.dtype == dtypes.float0)


def _barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    differentiable = [i for i, t in enumerate(tangents) if not is_float0(t)]
    passed = [instantiate(tangents[i]) for i in differentiable]
    outs = optimization_barrier_p.bind(*primals)
    out_ts: list[Any] = [Zero(core.aval_of(x).to_tangent()) for x in outs]
    for i, t in zip(differentiable, optimization_barrier_p.bind(*passed), strict=True):
        out_ts[i] = t
    return outs, out_ts


optimization_barrier_p: Primitive = primitive(
    "optimization_barrier",
    type=lambda *xs: list(xs),
    jvp=_barrier_jvp,
    transpose=lambda cts, *xs: optimization_barrier_p.bind(*map(instantiate, cts)),
    batch=lambda axis, args, dims: (optimization_barrier_p.bind(*args), dims),
    lower=lambda ctx, *xs: list(
        ctx.create("stablehlo.optimization_barrier", [x.type for x in xs], xs).results
    ),
    many=True,
    specs=lambda specs, *_: list(specs),
    data_movement="nothing",
    makes_no_nans=True,
    keeps_nans=True,
    uses_keys=lambda ins, params: KeyUse(forwards={i: i for i in range(len(ins))}),
)


def optimization_barrier(operand: Any, /) -> Any:
    """Return values unchanged, and prevent the compiler from moving work across this point.

    Args:
      operand: a tree of arrays.

    Returns:
      The same tree; each leaf is available only after all leaves are computed.

    Example:
      >>> import minijax.numpy as jnp
      >>> optimization_barrier((jnp.zeros(2), jnp.ones(3)))[1].shape
      (3,)
    """
    leaves, treedef = tree.flatten(operand)
    return tree.unflatten(treedef, optimization_barrier_p.bind(*leaves))
