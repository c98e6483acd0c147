"""Forward mode: values paired with tangents.

`JVPTrace` applies each primitive's jvp rule under its parent.  A result whose tangent
is known to be zero leaves as a plain value, so that what does not depend on the
inputs costs nothing more.  `jvp_jaxpr` is the same from jaxpr to jaxpr.

This room names no operation.  Next: linearize.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.util import flags_of
from ..ir import core, hooks
from ..ir.core import EVAL, STATE, Primitive, Tracer
from ..ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ..ir.names import Inside, NamedTrace
from .ad_util import Zero, instantiate, zero_tangent
from .stage import remembered, stage_closed


class JVPTracer(Tracer):
    """A primal value with its tangent."""

    __slots__ = ("primal", "tangent")

    _trace: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.aval = core.aval_of(primal)
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"

    def concrete(self) -> Any:
        p = self.primal
        return p.concrete() if isinstance(p, Tracer) else p

    def origin(self) -> str | None:
        return self.primal.origin() if isinstance(self.primal, Tracer) else None


class JVPTrace(NamedTrace):
    """Pushes tangents forward."""

    __slots__ = ()
    tracer = JVPTracer
    transform = word = "jvp"

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """Primals, tangents, and whether any tangent is nonzero."""
        primals, tangents, some, others = [], [], False, False
        for x in args:
            if isinstance(x, JVPTracer) and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                some = True
            else:
                primals.append(x)
                tangents.append(None)
                others = True
        if some and others:
            tangents = [
                zero_tangent(p) if t is None else t
                for p, t in zip(primals, tangents, strict=True)
            ]
        return primals, tangents, some

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        primals, tangents, some = self.split(args)
        names, parent = STATE.names, self.parent
        STATE.trace = parent
        both = None
        try:
            if parent is not EVAL:  # which forgets names
                STATE.names = self.name_stack()
            elif some:
                both = hooks.evaluate_jvp.call(prim, primals, tangents, params)
            if not some:
                return parent.process(prim, args, params)
            if both is None and self._comes_apart(prim, primals, tangents):
                STATE.trace = parent.parent
                both = prim.linearize(parent, primals, tangents, **params)  # type: ignore[misc]
            out, out_t = both or prim.jvp(primals, tangents, **params)
        finally:
            STATE.trace, STATE.names = self, names
        if prim.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, out_t, strict=True)]
        return self.wrap(out, out_t)

    def _comes_apart(
        self, prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> bool:
        """Whether the parent records tangents alone, and these are, but no primals.

        A loop or call of both would be recorded with its primal results.
        """
        parent = self.parent
        if not parent.is_linear_only or prim.linearize is None:
            return False
        recorded = lambda x: isinstance(x, Tracer) and x._trace is parent
        return any(map(recorded, tangents)) and not any(map(recorded, primals))

    def wrap(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else self.tracer(self, primal, tangent)

    def unwrap(self, x: Any) -> tuple[Any, Any]:
        if isinstance(x, JVPTracer) and x._trace is self:
            return x.primal, x.tangent
        return x, zero_tangent(x)


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Primal and tangent outputs of a flat function; tangents may be `Zero`."""
    trace = JVPTrace(STATE.trace)
    args = [
        # A number that does not move is still to be an array to the function.
        trace.wrap(p, t) if hasattr(p, "aval") else JVPTracer(trace, p, t)
        for p, t in zip(primals, tangents, strict=True)
    ]
    outs = core.under(trace, fun, *args)
    pairs = [trace.unwrap(x) for x in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: Sequence[bool], instantiate_out: Any = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr (primals, nonzero tangents) -> (primals, tangents that may be nonzero).

    `instantiate_out` (a bool, or one an output) forces tangent outputs to be there.
    """
    force = flags_of(instantiate_out, len(closed.out_avals))
    key = ("jvp", tuple(nonzero), force)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        flags: list[bool] = []
        avals = closed.in_avals

        def fun(*args: Any) -> list[Any]:
            STATE.names = Inside(STATE.names)
            primals = args[: len(avals)]
            ts = iter(args[len(avals) :])
            tangents = [
                next(ts) if nz else Zero(a.to_tangent())
                for nz, a in zip(nonzero, avals, strict=True)
            ]
            outs, out_ts = jvp_flat(
                lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), primals, tangents
            )
            flags[:] = [f or type(t) is not Zero for f, t in zip(force, out_ts, strict=True)]
            return [*outs, *(instantiate(t) for t, f in zip(out_ts, flags, strict=True) if f)]

        t_avals = [a.to_tangent() for a, nz in zip(avals, nonzero, strict=True) if nz]
        out = stage_closed(fun, [*avals, *t_avals], name=closed.jaxpr.name, text="jvp")
        return out, list(flags)

    return remembered(closed, key, make)
