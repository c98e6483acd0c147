"""Batching: one program for one lane -> one program for all lanes.

`BatchTrace` carries each value with the position of its lane axis (`dim`), None for a
value that all lanes share, and applies each primitive's batch rule under its parent.
A primitive that reduces over this trace's own axis name has a `batch_named` rule.

This room names no operation.  Next: ../runtime.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..base import config, util
from ..base.depth import applied
from ..base.util import flags_of
from ..ir import core, hooks
from ..ir.core import EVAL, STATE, Primitive, Trace, Tracer
from ..ir.explicit_sharding import spec_of, with_axis, without
from ..ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ..ir.names import Inside, NamedTrace
from .ad_util import core_ops, mapped_aval, unmapped_aval
from .stage import remembered, stage_closed


class NoAxisName:
    """The name of a mapped axis that was given none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<no name>"


no_name = NoAxisName()


class Axis:
    """A mapped axis: its name and size."""

    __slots__ = ("lane_sharding", "name", "size", "spmd_name")

    def __init__(self, name: Any, size: int, spmd_name: Any = None, lies: Any = None) -> None:
        self.name = name
        self.size = size
        self.spmd_name = spmd_name
        self.lane_sharding = lies  # the sharding of an array of one number a lane, if it is cut

    def key(self) -> tuple[Any, ...]:
        return (self.name, self.size, self.spmd_name, self.lane_sharding)

    def stacked(self, aval: Any) -> Any:
        """The type of all lanes, stacked in front, of a value of type `aval`."""
        if self.lane_sharding is None or not hasattr(aval, "shape"):
            return unmapped_aval(self.size, 0, aval)
        return with_axis(aval, self.size, 0, self.lane_sharding, self.lane_sharding.spec[0])

    def constrain_lanes(self, x: Any, dim: int) -> Any:
        """`x`, whose axis `dim` is that of the lanes, cut along it as they are."""
        aval = core.aval_of(x)
        entry = self.lane_sharding.spec[0]
        if spec_of(aval)[dim] == entry:
            return x
        lane = without(aval, dim)
        return core_ops.lie_as(x, with_axis(lane, self.size, dim, self.lane_sharding, entry))


_lanes: dict[Any, Any] = util.cache({})  # the type of a lane by that of all, and axis
_MOST_LANES = 100_000


class BatchTracer(Tracer):
    """All lanes of a value, stacked along axis `dim` of `val`."""

    __slots__ = ("dim", "val")

    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, val: Any, dim: int) -> None:
        self._trace = trace
        aval = core.aval_of(val)
        lane = _lanes.get((aval, dim))
        if lane is None:
            lane = mapped_aval(aval.shape[dim], dim, aval)
            util.remember(_lanes, (aval, dim), lane, _MOST_LANES)
        self.aval = lane
        self.val = val
        self.dim = dim

    @property
    def batch_dim(self) -> int:
        """The axis of the lanes, as libraries ask for it."""
        return self.dim

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={core.aval_of(self.val)})"

    def origin(self) -> str | None:
        return self.val.origin() if isinstance(self.val, Tracer) else None


class BatchTrace(NamedTrace):
    """Applies operations to all lanes.

    A rule of a function (`custom_jvp`) runs the function again over the same `Axis`: so a
    value belongs to a trace if its axis is the same, and closures over lanes are legal.
    """

    __slots__ = ("axis",)
    transform = word = "vmap"

    def __init__(self, parent: Trace, axis: Axis) -> None:
        super().__init__(parent)
        self.axis = axis

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        vals: list[Any] = []
        dims: list[int | None] = []
        some = False
        for x in args:
            if type(x) is BatchTracer and x._trace.axis is self.axis:
                vals.append(x.val)
                dims.append(x.dim)
                some = True
            else:
                vals.append(x)
                dims.append(None)
        rule = prim.batch
        if prim.named_axes is not None and self.axis.name in prim.named_axes(params):
            rule, some = prim.batch_named or rule, True
            self.check_lane(prim, vals, dims, params)
        names, parent = STATE.names, self.parent
        STATE.trace = parent
        found = None
        try:
            if parent is not EVAL:  # which forgets names
                STATE.names = self.name_stack()
            elif some and rule is prim.batch:
                found = hooks.evaluate_batched.call(prim, self.axis, vals, dims, params)
            if not (some or prim.has_closures):
                return parent.process(prim, args, params)
            out, out_dims = found or rule(self.axis, vals, dims, **params)
        finally:
            STATE.trace, STATE.names = self, names
        if prim.multiple_results:
            if out_dims is None or isinstance(out_dims, int):
                out_dims = [out_dims] * len(out)
            return [self.wrap(v, d) for v, d in zip(out, out_dims, strict=True)]
        return self.wrap(out, out_dims)

    def check_lane(
        self, prim: Primitive, vals: Sequence[Any], dims: Sequence[Any], params: Any
    ) -> None:
        """Raise what is wrong with an operation over this axis, as one lane sees it."""
        size = self.axis.size
        avals = map(core.aval_of, vals)
        ins = [mapped_aval(size, d, a) for a, d in zip(avals, dims, strict=True)]
        prim.abstract(*ins, **params)

    def wrap(self, val: Any, dim: int | None) -> Any:
        return val if dim is None else BatchTracer(self, val, dim)

    def unwrap(self, x: Any) -> tuple[Any, int | None]:
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            return x.val, x.dim
        return x, None


def move_lane(x: Any, lanes: Axis | int, src: int | None, dst: int | None) -> Any:
    """`x` with its lane axis at `dst`; a shared value is repeated, for so many lanes.

    Of an axis that is cut, a value that is repeated is cut as it is.
    """
    if src is None:
        if dst is None:
            return x
        if not isinstance(lanes, Axis):
            return core_ops.broadcast_lane(x, lanes, dst)
        out = core_ops.broadcast_lane(x, lanes.size, dst)
        return out if lanes.lane_sharding is None else lanes.constrain_lanes(out, dst)
    if dst is None:
        raise TypeError("minijax bug: a mapped value cannot become a shared one")
    return x if src == dst else core_ops.move_axis(x, src, dst)


def lane_to_front(x: Any, lanes: Axis | int, dim: int | None) -> Any:
    """`x` with its lane axis first; a shared value is repeated."""
    return move_lane(x, lanes, dim, 0)


def lane_to_front_unsharded(x: Any, axis: Axis, dim: int | None) -> Any:
    """As `lane_to_front`, for operations that take what is whole beside what is cut."""
    shared = dim is None and core.aval_of(x).explicit_sharding is None
    return lane_to_front(x, axis.size if shared else axis, dim)


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
) -> tuple[list[Any], list[int | None]]:
    """Apply a flat function to all lanes: values and where their lane axes are."""
    trace = BatchTrace(STATE.trace, axis)
    ins = [trace.wrap(x, d) for x, d in zip(args, dims, strict=True)]

    def lanes() -> Any:
        if axis.name is no_name and axis.spmd_name is None:
            return applied(fun, ins)
        axes = core.STATE.axes
        if (over := axis.spmd_name) is not None:
            along = over if isinstance(over, tuple) else (over,)
            axes = (*axes, (core.Along(along), 1))
        if axis.name is not no_name:
            axes = (*axes, (axis.name, axis.size))
        with core.axis_env(axes):
            return applied(fun, ins)

    pairs = [trace.unwrap(x) for x in core.under(trace, lanes)]
    found = [v for v, _ in pairs], [d for _, d in pairs]
    if config.CHECK_LEAKS.value:
        finished = weakref.ref(trace)
        del trace, ins, pairs
        core.check_leaks(finished)
    return found


def batch_jaxpr(
    closed: ClosedJaxpr,
    axis: Axis,
    in_batched: Sequence[bool],
    force_out: Sequence[bool] | bool = False,
) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr over all lanes, lane axes first; and which outputs have one.

    `force_out` (a bool, or one an output) asks for a lane axis in any case.
    """
    force = flags_of(force_out, len(closed.out_avals))
    key = ("batch", axis.key(), tuple(in_batched), force)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
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
            axis.stacked(a) if b else a
            for a, b in zip(closed.in_avals, in_batched, strict=True)
        ]
        lanes = stage_closed(fun, avals, name=closed.jaxpr.name, text="vmap")
        return lanes, list(flags)

    return remembered(closed, key, make)
