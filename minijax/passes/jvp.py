"""Forward mode: values paired with tangents.

`JVPTrace` applies each primitive's jvp rule under its parent.  A result whose tangent is
known to be zero becomes an ordinary value, so later operations on it cost nothing extra.
`jvp_jaxpr` does the same from jaxpr to jaxpr.

This package names no operation.  Next: linearize.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base.util import flags_of
from ..ir import core, hooks
from ..ir.core import STATE, Primitive, Trace, Tracer
from ..ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ..ir.names import Inside, NamedTrace
from .ad_util import Zero, instantiate, zero_tangent
from .stage import remembered, stage_closed

if TYPE_CHECKING:
    from ..types.aliases import Params, Results, Tangent, Value


class JVPTracer(Tracer):
    """A primal value with its tangent."""

    __slots__ = ("primal", "tangent")

    _trace: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Value, tangent: Tangent) -> None:
        self._trace = trace
        self.aval = core.aval_of(primal)
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"

    def concrete(self) -> Value | None:
        p = self.primal
        return p.concrete() if isinstance(p, Tracer) else p

    def origin(self) -> str | None:
        return self.primal.origin() if isinstance(self.primal, Tracer) else None


class JVPTrace(NamedTrace):
    """Pushes tangents forward."""

    __slots__ = ("evaluate",)
    tracer = JVPTracer
    rules = hooks.evaluate_jvp
    transform = word = "jvp"

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.evaluate = parent.compiled_rules(self.rules)

    def split(self, args: Sequence[Value]) -> tuple[list[Value], list[Tangent], bool]:
        """Return the primals, the tangents, and whether any tangent may be nonzero."""
        primals, tangents, any_nonzero, any_constant = [], [], False, False
        for x in args:
            if isinstance(x, JVPTracer) and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                any_nonzero = True
            else:
                primals.append(x)
                tangents.append(None)
                any_constant = True
        if any_nonzero and any_constant:
            tangents = [
                zero_tangent(p) if t is None else t
                for p, t in zip(primals, tangents, strict=True)
            ]
        return primals, tangents, any_nonzero

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        primals, tangents, any_nonzero = self.split(args)
        names, parent = STATE.names, self.parent
        STATE.trace = parent
        evaluated = None
        try:
            if self.evaluate is None:
                STATE.names = self.name_stack()
            elif any_nonzero:
                evaluated = self.evaluate(prim, primals, tangents, params)
            if not any_nonzero:
                return parent.process(prim, args, params)
            if evaluated is None and self._comes_apart(prim, primals, tangents):
                STATE.trace = parent.parent
                evaluated = prim.linearize(parent, primals, tangents, **params)  # type: ignore[misc]
            out, out_t = evaluated or prim.jvp(primals, tangents, **params)
        finally:
            STATE.trace, STATE.names = self, names
        if prim.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, out_t, strict=True)]
        return self.wrap(out, out_t)

    def _comes_apart(
        self, prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> bool:
        """Whether the parent records tangents only, and has recorded ours but no primal.

        Then `linearize` must separate the two: the jvp rule of a loop or call would record
        one equation with primal and tangent results.
        """
        parent = self.parent
        if not parent.is_linear_only or prim.linearize is None:
            return False
        recorded = lambda x: isinstance(x, Tracer) and x._trace is parent
        return any(map(recorded, tangents)) and not any(map(recorded, primals))

    def wrap(self, primal: Value, tangent: Tangent) -> Value:
        return primal if type(tangent) is Zero else self.tracer(self, primal, tangent)

    def unwrap(self, x: Value) -> tuple[Value, Tangent]:
        if isinstance(x, JVPTracer) and x._trace is self:
            return x.primal, x.tangent
        return x, zero_tangent(x)


def jvp_flat(
    fun: Callable[..., Sequence[Value]], primals: Sequence[Value], tangents: Sequence[Tangent]
) -> tuple[list[Value], list[Tangent]]:
    """Return the primal and tangent outputs of a flat function; tangents may be `Zero`."""
    trace = JVPTrace(STATE.trace)
    args = [
        # A Python number needs a tracer even with a zero tangent: the function may call
        # array methods on it.
        trace.wrap(p, t) if hasattr(p, "aval") else JVPTracer(trace, p, t)
        for p, t in zip(primals, tangents, strict=True)
    ]
    outs = core.under(trace, fun, *args)
    pairs = [trace.unwrap(x) for x in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: Sequence[bool], instantiate_out: Sequence[bool] | bool = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the jaxpr (primals, nonzero tangents) -> (primals, nonzero tangents), and flags.

    The flags state which outputs have a tangent.
    instantiate_out: whether outputs (all, or each) have a tangent even if it is zero.
    """
    force = flags_of(instantiate_out, len(closed.out_avals))
    return _jvp_jaxpr(closed, tuple(nonzero), force)


@remembered
def _jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: tuple[bool, ...], force: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
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
