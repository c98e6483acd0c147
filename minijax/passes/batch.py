"""Batching: from a program for one lane to a program for all lanes.

`BatchTrace` pairs each value with the position of its lane axis (`dim`), or None if all
lanes share it, and applies each primitive's batch rule under its parent: if an operand has
lanes, or the primitive uses this trace's own axis name.

This package names no operation.  Next: ../runtime.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import config, util
from ..base.above import LibraryAttribute
from ..base.depth import applied
from ..base.util import flags_of
from ..ir import core, hooks
from ..ir.core import STATE, Primitive, Trace, Tracer
from ..ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ..ir.names import Inside, NamedTrace
from ..types.type_sharding import spec_of, with_axis, without_axis
from .ad_util import core_ops, mapped_aval, unmapped_aval
from .stage import remembered, stage_closed

if TYPE_CHECKING:
    from ..types.aliases import Aval, AxisName, Params, Results, Value


class NoAxisName:
    """The name of a mapped axis without a name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<no name>"


no_name = NoAxisName()


class Axis:
    """A mapped axis: its name and size."""

    __slots__ = ("lane_sharding", "name", "size", "spmd_name")

    def __init__(
        self, name: AxisName, size: int, spmd_name: AxisName = None, lane_sharding: Any = None
    ) -> None:
        self.name = name
        self.size = size
        self.spmd_name = spmd_name
        # The sharding of an array with one number per lane; None if lanes are not sharded.
        self.lane_sharding = lane_sharding

    def key(self) -> tuple[Any, ...]:
        return (self.name, self.size, self.spmd_name, self.lane_sharding)

    # Equal axes share cached jaxprs; a tracer belongs to one object nevertheless.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def stacked(self, aval: Aval) -> Aval:
        """Return the type of all lanes of a value of type `aval`, stacked along axis 0."""
        if self.lane_sharding is None or not hasattr(aval, "shape"):
            return unmapped_aval(self.size, 0, aval)
        return with_axis(aval, self.size, 0, self.lane_sharding, self.lane_sharding.spec[0])

    def constrain_lanes(self, x: Value, dim: int) -> Value:
        """Return `x` with its lane axis `dim` sharded as the lanes are."""
        aval = core.aval_of(x)
        entry = self.lane_sharding.spec[0]
        if spec_of(aval)[dim] == entry:
            return x
        lane = without_axis(aval, dim)
        return core_ops.reshard_to_aval(
            x, with_axis(lane, self.size, dim, self.lane_sharding, entry)
        )


_lanes: dict[Any, Any] = util.cache({})  # (type of all lanes, lane axis) -> type of one lane
_MOST_LANES = 100_000


class BatchTracer(Tracer):
    """All lanes of a value, stacked along axis `dim` of `val`."""

    __slots__ = ("dim", "val")
    _trace: BatchTrace
    batch_dim: Any = LibraryAttribute()

    def __init__(self, trace: BatchTrace, val: Value, dim: int) -> None:
        self._trace = trace
        aval = core.aval_of(val)
        lane = _lanes.get((aval, dim))
        if lane is None:
            lane = mapped_aval(aval.shape[dim], dim, aval)
            util.remember(_lanes, (aval, dim), lane, _MOST_LANES)
        self.aval = lane
        self.val = val
        self.dim = dim

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={core.aval_of(self.val)})"

    def origin(self) -> str | None:
        return self.val.origin() if isinstance(self.val, Tracer) else None


class BatchTrace(NamedTrace):
    """Applies operations to all lanes.

    The rule of a function (`custom_jvp`) runs the function again in another trace over the
    same `Axis`, and the function may close over lanes.  So a tracer belongs to every trace
    that has its `Axis`.
    """

    __slots__ = ("axis", "evaluate")
    transform = word = "vmap"

    def __init__(self, parent: Trace, axis: Axis) -> None:
        super().__init__(parent)
        self.axis = axis
        self.evaluate = parent.compiled_rules(hooks.evaluate_batched)

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        vals: list[Any] = []
        dims: list[int | None] = []
        any_mapped = False
        for x in args:
            if type(x) is BatchTracer and x._trace.axis is self.axis:
                vals.append(x.val)
                dims.append(x.dim)
                any_mapped = True
            else:
                vals.append(x)
                dims.append(None)
        is_named = prim.named_axes is not None and self.axis.name in prim.named_axes(params)
        if is_named:
            self.check_lane(prim, vals, dims, params)
        names, parent = STATE.names, self.parent
        STATE.trace = parent
        evaluated = None
        try:
            if self.evaluate is None:
                STATE.names = self.name_stack()
            elif any_mapped and not is_named:
                evaluated = self.evaluate(prim, self.axis, vals, dims, params)
            if not (any_mapped or is_named or prim.facts.has_closures):
                return parent.process(prim, args, params)
            out, out_dims = evaluated or prim.batch(self.axis, vals, dims, **params)
        finally:
            STATE.trace, STATE.names = self, names
        if prim.multiple_results:
            if out_dims is None or isinstance(out_dims, int):
                out_dims = [out_dims] * len(out)
            return [self.wrap(v, d) for v, d in zip(out, out_dims, strict=True)]
        return self.wrap(out, out_dims)

    def check_lane(
        self, prim: Primitive, vals: Sequence[Value], dims: Sequence[int | None], params: Params
    ) -> None:
        """Apply the type rule to one lane, so that its errors state the lane's shapes."""
        size = self.axis.size
        avals = map(core.aval_of, vals)
        ins = [mapped_aval(size, d, a) for a, d in zip(avals, dims, strict=True)]
        prim.abstract(*ins, **params)

    def wrap(self, val: Value, dim: int | None) -> Value:
        return val if dim is None else BatchTracer(self, val, dim)

    def unwrap(self, x: Value) -> tuple[Value, int | None]:
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            return x.val, x.dim
        return x, None


def move_lane(x: Value, lanes: Axis | int, src: int | None, dst: int | None) -> Value:
    """Return `x` with its lane axis at `dst`; broadcast a value that all lanes share.

    The broadcast value is sharded as the lanes are, if `lanes` is an `Axis` that is sharded.
    """
    if src is None:
        if dst is None:
            return x
        if not isinstance(lanes, Axis):
            return core_ops.broadcast_lane(x, lanes, dst)
        out = core_ops.broadcast_lane(x, lanes.size, dst)
        return out if lanes.lane_sharding is None else lanes.constrain_lanes(out, dst)
    if dst is None:
        raise TypeError("minijax bug: a mapped value cannot become shared by all lanes")
    return x if src == dst else core_ops.move_axis(x, src, dst)


def lane_to_front(x: Value, lanes: Axis | int, dim: int | None) -> Value:
    """Return `x` with its lane axis first; broadcast a value that all lanes share."""
    return move_lane(x, lanes, dim, 0)


def lane_to_front_unsharded(x: Value, axis: Axis, dim: int | None) -> Value:
    """Like `lane_to_front`, for operations that accept unsharded operands with sharded ones."""
    shared = dim is None and core.aval_of(x).type_sharding.explicit is None
    return lane_to_front(x, axis.size if shared else axis, dim)


def batch_flat(
    fun: Callable[..., Sequence[Value]],
    axis: Axis,
    args: Sequence[Value],
    dims: Sequence[int | None],
) -> tuple[list[Value], list[int | None]]:
    """Apply a flat function to all lanes; return its results and their lane axes."""
    trace = BatchTrace(STATE.trace, axis)
    ins = [trace.wrap(x, d) for x, d in zip(args, dims, strict=True)]

    def lanes() -> Any:
        if axis.name is no_name and axis.spmd_name is None:
            return applied(fun, ins)
        axes = core.STATE.axes
        if (spmd_name := axis.spmd_name) is not None:
            mesh_axes = spmd_name if isinstance(spmd_name, tuple) else (spmd_name,)
            axes = (*axes, (core.Along(mesh_axes), 1))
        if axis.name is not no_name:
            axes = (*axes, (axis.name, axis.size))
        with core.axis_env(axes):
            return applied(fun, ins)

    pairs = [trace.unwrap(x) for x in core.under(trace, lanes)]
    vals_and_dims = [v for v, _ in pairs], [d for _, d in pairs]
    if config.CHECK_LEAKS.value:
        finished = weakref.ref(trace)
        del trace, ins, pairs
        hooks.tracer_errors.check_leaks(finished)
    return vals_and_dims


def batch_jaxpr(
    closed: ClosedJaxpr,
    axis: Axis,
    in_batched: Sequence[bool],
    force_out: Sequence[bool] | bool = False,
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the jaxpr over all lanes, lane axes first, and which outputs have a lane axis.

    force_out: whether outputs (all, or each) have a lane axis even if lanes share them.
    """
    force = flags_of(force_out, len(closed.out_avals))
    return _batch_jaxpr(closed, axis, tuple(in_batched), force)


@remembered
def _batch_jaxpr(
    closed: ClosedJaxpr, axis: Axis, in_batched: tuple[bool, ...], force: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    flags: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        STATE.names = Inside(STATE.names)
        outs, dims = batch_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs),
            axis,
            args,
            [0 if b else None for b in in_batched],
        )
        flags[:] = [f or d is not None for f, d in zip(force, dims, strict=True)]
        return [
            lane_to_front(x, axis, d) if b else x
            for x, d, b in zip(outs, dims, flags, strict=True)
        ]

    avals = [
        axis.stacked(a) if b else a for a, b in zip(closed.in_avals, in_batched, strict=True)
    ]
    batched = stage_closed(fun, avals, name=closed.jaxpr.name, text="vmap")
    return batched, list(flags)
