"""Collectives that send values between indices: ppermute, pbroadcast, ragged_all_to_all.

The transpose of ppermute is ppermute with its pairs reversed.  The transpose of pbroadcast
is a sum that only the source gets.  Under `vmap` an index is a lane, so a send is a gather
of lanes.

Read psum.py and all_gather.py first.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ...base import errors, tree
from ...ir import core
from ...ir.core import ByPlatform, Primitive
from ...passes.ad_util import Zero, instantiate, is_linear
from ...passes.batch import batch_flat
from ...runtime.lowering.context import typed_call
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import linear_jvp
from ..gather.dynamic_slicing import dynamic_index_in_dim
from ..math.algebraic import add, sub
from ..math.cast import cast
from ..math.logic import bitwise_and, clamp, eq, ge, lt, select
from ..reduce.over_axes import reduce_or
from ..shape.creation import broadcasted_iota, zero_array
from ..shape.shapes import broadcast_in_dim, broadcast_to, move_axis, reshape, shape_of
from ..shape.slicing import index_in_dim
from . import named_axes
from .all_gather import all_gather, all_gather_p, all_to_all
from .named_axes import Groups, all_lanes, axis_tuple
from .pcast import pcast_to_varying
from .psum import axis_index, psum_p

__all__ = (
    "ppermute_p",
    "ppermute",
    "pshuffle",
    "pbroadcast",
    "ragged_all_to_all_p",
    "ragged_all_to_all",
)


# ----------------------------------------------------------------------------- ppermute

ppermute_p = Primitive("ppermute")

Pairs = tuple[tuple[int, int], ...]


def pairs_of(name: str, perm: Any) -> Pairs:
    """Return `perm` as pairs of ints; raise TypeError if it is something else."""
    try:
        return tuple((index(s), index(t)) for s, t in perm)
    except (TypeError, ValueError):
        raise errors.type_error(
            f"{name} requires perm to be pairs (source, destination) of ints, got {perm!r:.80}."
        ) from None


def check_pairs(name: str, axis_name: Any, perm: Pairs) -> None:
    """Raise ValueError unless these are pairs of indices, each at most once per side."""
    n = core.axis_size(axis_name)
    sources, targets = [s for s, _ in perm], [t for _, t in perm]
    if len(set(sources)) < len(perm) or len(set(targets)) < len(perm):
        raise ValueError(f"{name} sources and destinations must be unique, got {perm}.")
    if not all(0 <= i < n for i in (*sources, *targets)):
        raise ValueError(
            f"{name} sources and destinations must be indices below {n}, the size of"
            f" {axis_name}, got {perm}."
        )


def _permute_abstract(x: Any, *, axis_name: Any, perm: Pairs) -> Any:
    check_pairs("ppermute", axis_name, perm)
    return x


def _permute_transpose(ct: Any, x: Any, *, axis_name: Any, perm: Pairs) -> list[Any]:
    back = tuple((t, s) for s, t in perm)
    return [ppermute_p.bind(ct, axis_name=axis_name, perm=back)]


def _permute_over_lanes(axis, args, dims, *, axis_name, perm: Pairs):
    return ppermute_p.bind(args[0], axis_name=axis_name, perm=perm), dims[0]


def _permute_over_name(axis, args, dims, *, axis_name, perm: Pairs):
    (x,), (d,) = args, dims
    before, after = named_axes.split_at(axis_name, axis.name)
    sizes = core.axis_size(before), axis.size, core.axis_size(after)
    x = all_lanes(axis, x, d)
    source = dict((t, s) for s, t in perm)
    if not (before or after):
        out = named_axes.take_lanes(x, [source.get(i, 0) for i in range(axis.size)])
        return _zero_unless(out, [i in source for i in range(axis.size)]), 0
    return _permute_gathered(x, before, after, sizes, source), 0


def _permute_gathered(x, before, after, sizes: Sequence[int], source: dict[int, int]):
    """Permute over lanes and other axes together: gather all values, and take one's own."""
    n_before, n_lanes, n_after = sizes
    rest = before + after
    shape = shape_of(x)
    x = all_gather_p.bind(
        x,
        all_gather_dimension=0,
        axis_name=rest,
        axis_index_groups=None,
        axis_size=n_before * n_after,
        tiled=False,
    )
    x = move_axis(reshape(x, (n_before, n_after, *shape)), 1, 2)
    x = reshape(x, (n_before * n_lanes * n_after, *shape[1:]))
    # -1 marks an index that is not a destination.  One row per participant of the other axes.
    table = np.asarray([source.get(i, -1) for i in range(shape_of(x)[0])], np.int32)
    table = table.reshape(sizes).transpose(0, 2, 1).reshape(-1, n_lanes)
    sources = dynamic_index_in_dim(table, axis_index(rest), 0, keepdims=False)
    taken = named_axes.take_rows(
        x, select(ge(sources, np.int32(0)), sources, np.zeros_like(table[0]))
    )
    keep = broadcast_in_dim(ge(sources, np.int32(0)), shape_of(taken), (0,))
    return select(keep, taken, broadcast_to(_zero_like(x), shape_of(taken)))


def _zero_like(x: Any) -> Any:
    return np.zeros((), core.aval_of(x).dtype)[()]


def _zero_unless(x: Any, keep: Sequence[bool]) -> Any:
    """Return `x` with zeros in the lanes that are not destinations."""
    if all(keep):
        return x
    shape = shape_of(x)
    mask = broadcast_in_dim(np.asarray(keep), shape, (0,))
    return select(mask, x, broadcast_to(_zero_like(x), shape))


def _permute_lower(ctx: Any, x: Any, *, axis_name: Any, perm: Pairs) -> Any:
    (out,) = ctx.avals_out
    rows = named_axes.replica_rows(ctx, axis_name, None)
    if not perm:
        return ctx.constant(0, out)
    pairs = [(row[s], row[t]) for row in rows for s, t in perm]
    return ctx.op(
        "collective_permute",
        out,
        x,
        source_target_pairs=named_axes.dense_i64(ctx, pairs),
        **named_axes.channel(ctx, global_ids=False),
    )


ppermute_p.abstract = _permute_abstract
linear_jvp(ppermute_p)
ppermute_p.transpose = _permute_transpose
named_axes.def_named(ppermute_p, "axis_name", _permute_over_lanes, _permute_over_name)
ppermute_p.lower = _permute_lower


def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    """Send values along a mapped axis from indices to indices.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis, or several (indices row-major over them).
      perm: pairs (source, destination), each index at most once per side.  An index that
        is not a destination gets zeros.

    Returns:
      A pytree like `x`, of arrays of the same shapes and dtypes.

    Raises:
      NameError: a name is not in scope.
      ValueError: indices are repeated or too large.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> shift = lambda x: ppermute(x, 'i', [(0, 1), (1, 2)])
      >>> mj.vmap(shift, axis_name='i')(jnp.array([1, 2, 3]))
      Array([0, 1, 2], dtype=int32)
    """
    axes = axis_tuple(axis_name)
    core.axis_size(axes)
    pairs = pairs_of("ppermute", perm)
    return tree.map(
        lambda leaf: ppermute_p.bind(pcast_to_varying(leaf, axes), axis_name=axes, perm=pairs),
        x,
    )


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permute values along a mapped axis: index i gets the value of index perm[i].

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis, or several (indices row-major over them).
      perm: for each index, the source of its value; indices beyond its end get zeros.

    Returns:
      A pytree like `x`, of arrays of the same shapes and dtypes.

    Raises:
      ValueError: `perm` is not a permutation.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: pshuffle(x, 'i', [2, 0, 1]), axis_name='i')(jnp.arange(3))
      Array([2, 0, 1], dtype=int32)
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


# --------------------------------------------------------------------------- pbroadcast

pbroadcast_p = Primitive("pbroadcast")


def _broadcast_abstract(x: Any, *, axis_name: Any, source: int) -> Any:
    n = core.axis_size(axis_name)
    if not 0 <= source < n:
        raise ValueError(f"pbroadcast: source {source} is not an index below {n}.")
    return x


def _broadcast_transpose(ct: Any, x: Any, *, axis_name: Any, source: int) -> list[Any]:
    total = psum_p.bind(ct, axes=axis_tuple(axis_name), axis_index_groups=None)
    is_source = eq(axis_index(axis_name), np.int32(source))
    return [select(is_source, total, broadcast_to(_zero_like(ct), shape_of(ct)))]


def _broadcast_over_lanes(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    return pbroadcast_p.bind(args[0], **params), dims[0]


def _broadcast_over_name(axis, args, dims, *, axis_name, source: int):
    (x,), (d,) = args, dims
    before, after = named_axes.split_at(axis_tuple(axis_name), axis.name)
    sizes = core.axis_size(before), axis.size, core.axis_size(after)
    b, lane, a = (int(i) for i in np.unravel_index(source, sizes))
    if d is not None:
        x = index_in_dim(x, lane, d, keepdims=False)
    if before or after:
        x = pbroadcast_p.bind(x, axis_name=before + after, source=b * sizes[2] + a)
    return x, None


def _broadcast_lower(ctx: Any, x: Any, *, axis_name: Any, source: int) -> Any:
    """Lower to an all-gather and a slice, for platforms without a broadcast instruction."""

    def gathered(v: Any) -> Any:
        return index_in_dim(all_gather(v, axis_name), source, 0, keepdims=False)

    return ctx.fun(gathered, x)[0]


def _broadcast_lower_cuda(ctx: Any, x: Any, *, axis_name: Any, source: int) -> Any:
    rows = named_axes.replica_rows(ctx, axis_tuple(axis_name), None)
    # collective_broadcast sends the value of the first replica in each group.
    first = [source, *(i for i in range(rows.shape[1]) if i != source)]
    return ctx.op(
        "collective_broadcast",
        ctx.avals_out[0],
        x,
        replica_groups=named_axes.dense_i64(ctx, rows[:, first]),
        **named_axes.channel(ctx, global_ids=False),
    )


pbroadcast_p.abstract = _broadcast_abstract
linear_jvp(pbroadcast_p)
pbroadcast_p.transpose = _broadcast_transpose
named_axes.def_named(pbroadcast_p, "axis_name", _broadcast_over_lanes, _broadcast_over_name)
pbroadcast_p.lower = ByPlatform(_broadcast_lower, cuda=_broadcast_lower_cuda)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Send the value of one participant to every participant.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis, or several.
      source: the index along it whose value is sent.

    Returns:
      A pytree like `x`, of arrays of the same shapes and dtypes.

    Raises:
      NameError: a name is not in scope.
      ValueError: `source` is out of range.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: pbroadcast(x, 'i', 1), axis_name='i')(jnp.arange(3))
      Array([1, 1, 1], dtype=int32)
    """
    core.axis_size(axis_name)
    source = int(source)
    return tree.map(
        lambda leaf: pbroadcast_p.bind(
            pcast_to_varying(leaf, axis_tuple(axis_name)), axis_name=axis_name, source=source
        ),
        x,
    )


# -------------------------------------------------------------------- ragged_all_to_all

ragged_all_to_all_p = Primitive("ragged_all_to_all")


def _ragged_abstract(operand, output, *offsets, axis_name, axis_index_groups: Groups):
    name = "ragged_all_to_all"
    n = named_axes.group_size(axis_name, axis_index_groups)
    if operand.dtype != output.dtype or operand.shape[1:] != output.shape[1:]:
        raise ValueError(
            f"{name} operand and output must have the same dtype, and equal sizes except"
            f" along the first axis, got {operand.str_short(True)} and"
            f" {output.str_short(True)}."
        )
    for what, x in zip(_SIZES, offsets, strict=True):
        if not dtypes.is_integer(x.dtype):
            raise ValueError(f"{name} {what} must be integer type, got {x.dtype}.")
        if x.shape != (n,):
            raise ValueError(
                f"{name} {what} must have one element for each of the {n} participants,"
                f" got shape {x.shape}."
            )
    return shaped(output.shape, output.dtype)


_SIZES = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


def _ragged_by_gather(
    operand, output, starts, sizes, targets, _, *, axis_name, axis_index_groups: Groups
):
    """Gather the rows of all participants; take from each the rows sent to this one."""
    gathered = [
        all_gather(x, axis_name, axis_index_groups=axis_index_groups)
        for x in (operand, starts, sizes, targets)
    ]
    own_index = _index_in_group(axis_name, axis_index_groups)
    rows = broadcasted_iota(np.int32, shape_of(output)[:1], 0)
    limit = np.int32(max(shape_of(operand)[0] - 1, 0))
    for i in range(named_axes.group_size(axis_name, axis_index_groups)):
        values, first, size, target = (index_in_dim(x, i, 0, keepdims=False) for x in gathered)
        first, size, target = (
            cast(dynamic_index_in_dim(x, own_index, 0, keepdims=False), dtypes.int32)
            for x in (first, size, target)
        )
        offset = sub(rows, _broadcast_to_indices(target, rows))
        source = clamp(np.int32(0), add(offset, _broadcast_to_indices(first, rows)), limit)
        written = bitwise_and(
            ge(offset, np.int32(0)), lt(offset, _broadcast_to_indices(size, rows))
        )
        wide = broadcast_in_dim(written, shape_of(output), (0,))
        output = select(wide, named_axes.take_rows(values, source), output)
    return output


def _broadcast_to_indices(x: Any, indices: Any) -> Any:
    return broadcast_in_dim(x, shape_of(indices), ())


def _index_in_group(axis_name: Any, groups: Groups) -> Any:
    """Return this participant's index within its group."""
    index = axis_index(axis_name)
    if groups is None:
        return index
    member_index = {i: k for g in groups for k, i in enumerate(g)}
    table = np.asarray([member_index[i] for i in range(len(member_index))], np.int32)
    return dynamic_index_in_dim(table, index, 0, keepdims=False)


def _ragged_transpose(
    ct, operand, output, starts, sizes, targets, received, **params
) -> list[Any]:
    """Send each slice back to where it came from."""
    groups = params["axis_index_groups"]

    def swapped(x: Any) -> Any:
        return all_to_all(x, params["axis_name"], 0, 0, axis_index_groups=groups, tiled=True)

    # For each sender: the offset of its slice here, and its offset at the sender.
    own_offsets, sender_offsets = swapped(targets), swapped(starts)
    operand_ct = output_ct = None
    if is_linear(operand):
        blank = zero_array(operand.aval)
        operand_ct = ragged_all_to_all_p.bind(
            ct, blank, own_offsets, received, sender_offsets, sizes, **params
        )
    if is_linear(output):
        rows = broadcasted_iota(np.int32, (shape_of(ct)[0], shape_of(own_offsets)[0]), 0)
        first, count = (
            broadcast_in_dim(cast(x, dtypes.int32), shape_of(rows), (1,))
            for x in (own_offsets, received)
        )
        offset = sub(rows, first)
        inside = bitwise_and(ge(offset, np.int32(0)), lt(offset, count))
        overwritten = reduce_or(inside, (1,))
        wide = broadcast_in_dim(overwritten, shape_of(ct), (0,))
        output_ct = select(wide, broadcast_to(_zero_like(ct), shape_of(ct)), ct)
    return [operand_ct, output_ct, None, None, None, None]


def _ragged_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = ragged_all_to_all_p.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents[:2]):
        return out, Zero(core.aval_of(out).to_tangent())
    dense_tangents = map(instantiate, tangents[:2])
    return out, ragged_all_to_all_p.bind(*dense_tangents, *primals[2:], **params)


def _ragged_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    (out,), (d,) = batch_flat(lambda *xs: [_ragged_by_gather(*xs, **params)], axis, args, dims)
    return out, d


def _ragged_lower(ctx: Any, *args: Any, **params: Any) -> Any:
    return ctx.fun(lambda *xs: _ragged_by_gather(*xs, **params), *args)[0]


def _ragged_lower_call(ctx, *args, axis_name, axis_index_groups: Groups):
    rows = named_axes.replica_rows(ctx, axis_name, axis_index_groups)
    text = ", ".join(str(list(map(int, row))) for row in rows)
    kind = f"tensor<{rows.shape[0]}x{rows.shape[1]}xi64>"
    config = f"replica_groups = dense<[{text}]> : {kind}"
    config += f", channel_id = {int(ctx.module.is_partitioned)} : i64"
    op = ctx.create(
        "stablehlo.custom_call",
        [ctx.type(ctx.avals_out[0])],
        list(args),
        call_target_name=ctx.string("ragged_all_to_all"),
        **typed_call(ctx, ctx.parse("{" + config + "}")),
    )
    return op.result


ragged_all_to_all_p.abstract = _ragged_abstract
ragged_all_to_all_p.jvp = _ragged_jvp
ragged_all_to_all_p.transpose = _ragged_transpose
ragged_all_to_all_p.batch = _ragged_batch
ragged_all_to_all_p.named_axes = named_axes.uses("axis_name")
ragged_all_to_all_p.lower = ByPlatform(_ragged_lower_call, cpu=_ragged_lower)


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Any:
    """Exchange slices of rows of different sizes along a mapped axis.

    Args:
      operand: the rows to send, [m, ..].
      output: the array to update, [n, ..]; rows that receive nothing keep their values.
      input_offsets: integers [participants]: where each receiver's slice of `operand`
        begins.
      send_sizes: the number of rows of each slice.
      output_offsets: where each slice begins in the receiver's output.
      recv_sizes: the number of rows received from each participant.
      axis_name: the name of a mapped axis, or several.
      axis_index_groups: lists of indices of equal length that exchange.

    Returns:
      The output with the received rows, [n, ..].

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> x, zero = jnp.arange(4).reshape(2, 2), jnp.zeros((2, 2), int)
      >>> one = jnp.ones(2, int)
      >>> f = lambda x, o: ragged_all_to_all(
      ...     x, o, jnp.arange(2), one, axis_index('i') * one, one, axis_name='i')
      >>> mj.vmap(f, axis_name='i')(x, zero)
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    axes = axis_tuple(axis_name)
    groups = named_axes.canonical_groups(axis_index_groups, axes, equal=True)
    operands = operand, output, input_offsets, send_sizes, output_offsets, recv_sizes
    return ragged_all_to_all_p.bind(
        *[pcast_to_varying(x, axes) for x in operands], axis_name=axes, axis_index_groups=groups
    )
