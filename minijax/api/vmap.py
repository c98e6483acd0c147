"""`vmap`: lift a function of one lane to all lanes.

The work is passes/batch.py; control/mapped_axes.py reads the axis specifications.
Next: autodiff.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import errors, tree
from ..base.source import wraps
from ..base.util import pick
from ..control.arguments import ArgNames, check_callable
from ..control.flat import FlatCall
from ..control.mapped_axes import Mapped, result_axis
from ..control.refs.discharge import DischargedFunction, check_passed_once
from ..ir import core
from ..ir.core import Reference
from ..passes.batch import Axis, batch_flat, move_lane, no_name
from ..types.type_sharding import TypeFlags
from . import vmappables
from .chunks import batch_in_chunks, chunk_size

if TYPE_CHECKING:
    from ..types.aliases import PyTree

# Kinds of tree nodes that contain a shape, which differs between a lane and all lanes.  The
# functions return the node of one lane, (node, axis) -> node, and that of all lanes,
# (node, axis, number of lanes) -> node.
lane_kinds: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def vmap(
    fun: Callable[..., Any],
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
    sum_match: bool = False,
    *,
    chunk: int | None = None,
) -> Callable[..., Any]:
    """Map a function over axes of its arguments, with all lanes in one operation.

    Args:
      fun: a function of one lane.
      in_axes: for each positional argument the axis to map, or None to share it; a
        pytree prefix of the arguments.  Keyword arguments are mapped over axis 0.
      out_axes: the position of the lane axis in the results; a pytree prefix of them.
      axis_name: a name for the lane axis, for collectives such as `lax.psum`.
      axis_size: the number of lanes, if no argument has a mapped axis.
      spmd_axis_name: mesh axes that shard the lane axis.
      sum_match: whether results that all lanes share may be requested as sums; it has no
        effect, since out_axes are ints and None.
      chunk: run this many lanes at a time, one chunk after another, in one compiled
        loop, if all lanes together need too much memory.

    Returns:
      A function with `fun`'s arguments, each with its lane axis; its result has the
      lane axis at the position `out_axes`.

    Raises:
      ValueError: sizes or trees do not match.
      TypeError: a specification is not an int.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(jnp.dot)(jnp.ones((2, 3)), jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)

    Differs from JAX: `chunk`.
    """
    check_callable(fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (
        in_axes is None
        or type(in_axes) is tuple
        or (hasattr(in_axes, "__index__") and not getattr(in_axes, "ndim", 0))
        or vmappables.is_spec(in_axes)
    ):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to"
            f" the positional arguments passed to the function, but got {in_axes}."
        )
    mapped = Mapped("vmap", fun, "lanes")
    mapped.check_spec("in_axes", in_axes, vmappables.is_spec)
    mapped.check_spec("out_axes", out_axes, vmappables.is_spec)
    name = no_name if axis_name is None else axis_name
    lanes_per_chunk = None if chunk is None else chunk_size(chunk)

    @wraps(fun, about="Vectorized version of {fun}, for all lanes.")
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise mapped.error(
                "in_axes must be an int, None, or a tuple of entries corresponding to"
                " the positional arguments passed to the function, but got"
                f" len(in_axes)={len(in_axes)}, len(args)={len(args)}."
            )
        leaves, in_tree = tree.flatten((args, kwargs))
        names: Any = ArgNames(fun, in_tree, range(len(args)))
        unpacked = None
        if vmappables.kinds and (
            (has_registered := vmappables.holds_registered((args, kwargs)))
            or not _holds_lane_kind((args, kwargs))
        ):
            unpacked = vmappables.UnpackedFunction(fun, mapped, in_axes, out_axes, args, kwargs)
            leaves, dims = unpacked.start, unpacked.dims
            if has_registered:
                names = [f"part {i} of the arguments" for i in range(len(leaves))]
        else:
            dims = mapped.flat_axes(in_axes, in_tree)
        avals = mapped.avals(leaves, dims, names)
        dims = mapped.normalise(avals, dims, names)
        size = mapped.size(avals, dims, names, axis_size)
        if size is None:
            raise _no_size(mapped, leaves, args, kwargs)
        if unpacked is not None:
            unpacked.with_size(size)
            leaves, dims = unpacked.start, [*dims, *unpacked.dims[len(dims) :]]
            avals += [core.aval_of(x) for x in leaves[len(avals) :]]
        elif lane_kinds:
            in_tree = _lane_tree((args, kwargs), dims)
        flat: Any = unpacked or _Lane(fun, in_tree, "vmap")
        lane_sharding = _lane_sharding(avals, dims) if TypeFlags.has_sharded_types else None
        axis = Axis(name, size, spmd_axis_name, lane_sharding)
        run: Any = flat
        mapped_refs = [
            isinstance(x, Reference) and d is not None
            for x, d in zip(leaves, dims, strict=True)
        ]
        if any(mapped_refs):
            check_passed_once(leaves, fun, "vmap", names)
            run = DischargedFunction(flat, leaves, mapped_refs)
            leaves = run.start
        if lanes_per_chunk is not None and lanes_per_chunk < size:
            outs, out_dims = batch_in_chunks(run, axis, leaves, dims, lanes_per_chunk)
        else:
            outs, out_dims = batch_flat(run, axis, leaves, dims)
        if any(mapped_refs):
            n = len(outs) - sum(mapped_refs)
            ref_dims = pick(dims, mapped_refs)
            run.write_back(
                move_lane(x, size, d, to)
                for x, d, to in zip(outs[n:], out_dims[n:], ref_dims, strict=True)
            )
            outs, out_dims = outs[:n], out_dims[:n]
        if unpacked is None:
            requested_axes = tree.flatten_axes("vmap out_axes", flat.out_tree, out_axes)
        else:
            requested_axes = unpacked.requested_axes
        result = _with_lane_axes(flat, outs, out_dims, requested_axes, axis)
        if lane_kinds and (unpacked is None or not vmappables.holds_registered(result)):
            result = _tree_of_lanes(result, requested_axes, size)
        return result

    return vmapped


def _no_size(mapped: Mapped, leaves: Sequence[Any], args: Any, kwargs: Any) -> Exception:
    """Return the error for a call whose number of lanes is unknown."""
    return mapped.error(
        "must have at least one non-None value in in_axes or axis_size must be specified."
        if leaves
        else "wrapped function must be passed at least one argument containing an array"
        f" or axis_size must be specified, got empty *args={args} and **kwargs={kwargs}."
    )


def _with_lane_axes(
    flat: Any,
    outs: Sequence[Any],
    dims: Sequence[Any],
    requested_axes: Sequence[Any],
    axis: Axis,
) -> Any:
    """Return the result of all lanes, with each leaf's lane axis as requested."""
    for i, (d, requested) in enumerate(zip(dims, requested_axes, strict=True)):
        if requested is None and d is not None:
            results = tree.leaves_with_path(flat.result(outs))
            raise _shared_result(tree.keystr(results[i][0]), outs[i], d)
    pairs = zip(outs, dims, requested_axes, strict=True)
    return flat.result([_with_lane_axis(x, axis, d, requested) for x, d, requested in pairs])


def _is_lane_kind(x: Any) -> bool:
    return type(x) in lane_kinds


def _lane_sharding(avals: Any, dims: Sequence[int | None]) -> Any:
    """Return the sharding of one number per lane, if types shard the lane axis."""
    entry_and_sharding = []
    for a, d in zip(avals, dims, strict=True):
        if d is not None and a.type_sharding.explicit is not None:
            entry_and_sharding.append(
                (a.type_sharding.explicit.spec[d], a.type_sharding.explicit)
            )
    entries = [entry for entry, _ in entry_and_sharding if entry is not None]
    if any(entry != entries[0] for entry in entries):
        raise errors.value_error(
            "Mapped away dimension of inputs passed to vmap should be sharded the same."
            f" Got inconsistent axis specs: {entries[0]} vs"
            f" {next(e for e in entries if e != entries[0])}",
            tries=["jax.sharding.reshard(x, sharding) of one of them"],
        )
    return entry_and_sharding[0][1].with_spec([entries[0]]) if entries else None


def _holds_lane_kind(values: Any) -> bool:
    return any(map(_is_lane_kind, tree.leaves(values, is_leaf=_is_lane_kind)))


def _lane_tree(args: Any, dims: list[Any]) -> Any:
    """Return the tree of the arguments of one lane."""
    if not _holds_lane_kind(args):
        return tree.structure(args)
    nodes, outer = tree.flatten(args, is_leaf=_is_lane_kind)
    remaining_dims, lane = iter(dims), []
    for x in nodes:
        if not _is_lane_kind(x):
            next(remaining_dims)
            lane.append(x)
            continue
        axes = {next(remaining_dims) for _ in tree.leaves(x)}
        if len(axes) != 1:
            raise errors.value_error(
                f"vmap needs the same in_axes for all buffers of a {type(x).__name__}"
                f" array; got {sorted(axes, key=str)}."
            )
        (axis,) = axes
        lane.append(x if axis is None else lane_kinds[type(x)][0](x, axis))
    return tree.structure(tree.unflatten(outer, lane))


def _tree_of_lanes(result: Any, dims: Any, size: int) -> Any:
    """Return the result of all lanes, from the tree of one lane."""
    nodes, outer = tree.flatten(result, is_leaf=_is_lane_kind)
    if not any(map(_is_lane_kind, nodes)):
        return result
    remaining_dims, full_nodes = iter(dims), []
    for x in nodes:
        if not _is_lane_kind(x):
            next(remaining_dims)
            full_nodes.append(x)
            continue
        axes = {next(remaining_dims) for _ in tree.leaves(x)}
        shared = axes == {None}
        full_nodes.append(x if shared else lane_kinds[type(x)][1](x, min(axes), size))
    return tree.unflatten(outer, full_nodes)


class _Lane(FlatCall):
    """The function of one lane."""

    __slots__ = ()
    eager = True

    def refused(self, out: Any, i: int, x: Any) -> Exception:
        return Mapped("vmap", self.fun, "lanes").unstackable(x)


def _shared_result(path: str, x: Any, dim: int) -> ValueError:
    return errors.value_error(
        f"at vmap out_axes{path}, got axis spec None but output was batched on axis {dim}.",
        which=core.aval_of(x).str_short(True),
        why="vmap has mapped output but out_axes is None: the result differs between lanes.",
        tries=["an int in out_axes for this output"],
    )


def _with_lane_axis(x: Any, axis: Axis, dim: int | None, requested: int | None) -> Any:
    """Return an output with its lane axis at the requested position."""
    if requested is None:
        return x
    to = result_axis(requested, core.aval_of(x).ndim + (dim is None))
    return move_lane(x, axis, dim, to)
