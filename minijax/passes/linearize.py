"""Linearization: run the primal part now, keep the linear part as a jaxpr.

`LinearizeTrace` evaluates primals under its parent.  Tangents are tracers of a
`TangentTrace`, which records what depends on a tangent and hands everything else on
to the parent: so a primitive's jvp rule, run there, splits itself into residuals
(computed at once) and linear equations (recorded).  A primitive whose jvp would mix
the two (a loop, a call) has a `linearize` rule that splits it beforehand.  Primal and
linear parts are never mixed, and no partial evaluation of mixed programs is needed.

This room names no operation.  Next: transpose.py, which turns the linear part around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import source
from ..base.depth import applied
from ..base.util import flags_of
from ..ir import core, hooks
from ..ir.core import EVAL, STATE, Primitive, Trace
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, eval_jaxpr
from ..ir.names import Inside
from ..types import dtypes
from . import dce
from .ad_util import Zero, instantiate
from .jvp import JVPTrace, JVPTracer
from .stage import JitTracer, StageTrace, remembered


class TangentTrace(StageTrace):
    """Records equations that depend on a tangent; runs all others in the parent."""

    __slots__ = ("all",)
    is_staging = False
    is_linear_only = True

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent, transform="")
        self.reads_scalars = False  # residuals stay on the device
        self.all = False  # whether to record whatever comes

    def instantiate(self, x: Any) -> Any:
        """A value for a tangent that may be a `Zero`, which is then no residual."""
        if type(x) is not Zero:
            return x
        self.all = True
        before = core.enter(self)
        try:
            return instantiate(x)
        finally:
            core.leave(before)
            self.all = False

    def replay(
        self, out: Any, linear: Jaxpr | None, residuals: list[Any], tangents: list[Any]
    ) -> Any:
        """The tangent of a result by a linear part, whose equations are recorded."""
        if linear is None:
            return Zero(core.aval_of(out).to_tangent())
        given = [*residuals, *[t for t in tangents if type(t) is not Zero]]
        atom_of: dict[Any, Any] = dict(zip(linear.invars, map(self.atom, given), strict=True))
        place, names = STATE.source, STATE.names
        for eqn in linear.eqns:
            ins = tuple([a if type(a) is Literal else atom_of[a] for a in eqn.ins])
            outs = []
            for v in eqn.outs:
                atom_of[v] = var = Var(v.aval)
                outs.append(var)
            self.eqns.append(
                Equation(eqn.primitive, ins, tuple(outs), eqn.params, place, names)
            )
        var = atom_of[linear.outvars[0]]
        return JitTracer(self, var.aval, var)

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        if self.all:
            return StageTrace.process(self, prim, args, params)
        for x in args:
            if type(x) is JitTracer and x._trace is self:
                return StageTrace.process(self, prim, args, params)
        STATE.trace = self.parent
        try:
            return self.parent.process(prim, args, params)
        finally:
            STATE.trace = self


class LinearizeTracer(JVPTracer):
    """A primal value, and the variable that is its tangent."""

    __slots__ = ()

    def __repr__(self) -> str:
        t = self.tangent.aval.str_short(True)
        return f"GradTracer(primal={self.primal}, typeof(tangent)={t})"


class LinearizeTrace(JVPTrace):
    """Pairs primal values with tangents that are variables of a linear jaxpr."""

    __slots__ = ("tangents",)
    transform = "grad"
    tracer = LinearizeTracer

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.tangents = TangentTrace(parent)

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        primals, tangents, some = self.split(args)
        parent = self.parent
        place, names = STATE.source, STATE.names
        try:
            STATE.names = self.name_stack()
            if not some:
                STATE.trace = parent
                return parent.process(prim, args, params)
            if place is None:  # for all the equations that this one becomes
                STATE.source = source.UNKNOWN if parent is EVAL else source.user_source()
            found = None
            if prim.linearize is not None:
                STATE.trace = parent
                out, out_t = prim.linearize(self.tangents, primals, tangents, **params)
            else:
                if parent is EVAL:
                    STATE.trace = EVAL
                    given = prim, primals, tangents, params
                    found = hooks.evaluate_linearized.call(*given)
                STATE.trace = self.tangents
                if found is None:
                    out, out_t = prim.jvp(primals, tangents, **params)
                else:
                    out, linear, residuals = found
                    out_t = self.tangents.replay(out, linear, residuals, tangents)
        finally:
            STATE.trace = self
            STATE.source, STATE.names = place, names
        if prim.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, out_t, strict=True)]
        return self.wrap(out, out_t)


class LinearPart:
    """The linear map of a linearized function: tangents in, tangents out.

    `consts` are the residuals.  An output is an atom of the jaxpr, or a `Zero`.
    """

    __slots__ = ("consts", "jaxpr", "out_zeros")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], out_zeros: list[Zero | None]) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_zeros = out_zeros

    def __call__(self, *tangents: Any) -> list[Any]:
        outs = iter(eval_jaxpr(self.jaxpr, self.consts, *tangents))
        return [next(outs) if z is None else z for z in self.out_zeros]


def linearize_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    nonzero: Sequence[bool] | None = None,
) -> tuple[list[Any], LinearPart]:
    """Primal outputs of a flat function, and its linear part.

    The linear part takes one tangent for each input flagged `nonzero` (default: all).
    """
    trace = LinearizeTrace(STATE.trace)
    tangent_trace = trace.tangents
    args = []
    for i, p in enumerate(primals):
        aval = core.aval_of(p).to_tangent()
        if nonzero is None or nonzero[i]:
            tangent = tangent_trace.new_arg(aval)
            moves = aval.dtype != dtypes.float0
            args.append(LinearizeTracer(trace, p, tangent if moves else Zero(aval)))
        else:
            args.append(p)

    def linear_part() -> tuple[list[Any], LinearPart]:
        pairs = [trace.unwrap(x) for x in applied(fun, args)]
        zeros = [t if type(t) is Zero else None for _, t in pairs]
        jaxpr, consts = tangent_trace.finish([t for _, t in pairs if type(t) is not Zero])
        live = dce.dce_linear(jaxpr)
        if live is not jaxpr:  # what only dead equations read is no residual
            value_of = dict(zip(jaxpr.constvars, consts, strict=True))
            jaxpr, consts = live, [value_of[v] for v in live.constvars]
        return [p for p, _ in pairs], LinearPart(jaxpr, consts, zeros)

    try:
        return core.under(trace, linear_part)  # type: ignore[no-any-return]
    finally:
        tangent_trace.alive = False


class LinearizedJaxpr:
    """A jaxpr cut in two.

    primal: inputs -> outputs ++ new residuals
    linear: residuals ++ nonzero tangents -> nonzero tangent outputs
    residuals: for each residual, the index of the input it is (`("in", i)`), of the
    output it is (`("out", i)`) or of the new one (`("new", i)`).
    """

    __slots__ = ("linear", "nonzero_out", "num_new", "primal", "residuals")

    def __init__(
        self,
        primal: ClosedJaxpr,
        num_new: int,
        residuals: list[tuple[str, int]],
        linear: ClosedJaxpr,
        nonzero_out: list[bool],
    ) -> None:
        self.primal = primal
        self.num_new = num_new
        self.residuals = residuals
        self.linear = linear
        self.nonzero_out = nonzero_out

    def residual_values(
        self, inputs: Sequence[Any], outputs: Sequence[Any], new: Sequence[Any]
    ) -> list[Any]:
        """The residuals, from what the primal part took and gave."""
        pools = {"in": inputs, "out": outputs, "new": new}
        return [pools[where][i] for where, i in self.residuals]


def linearize_jaxpr(
    closed: ClosedJaxpr,
    nonzero: Sequence[bool],
    instantiate_out: Sequence[bool] | bool = False,
    forward_in: Sequence[bool] | bool = True,
    forward_out: Sequence[bool] | bool = True,
) -> LinearizedJaxpr:
    """Cut a jaxpr into its primal and its linear part.

    Residuals that are inputs (where `forward_in` allows) or outputs (`forward_out`) of
    the primal part are not outputs again.  `instantiate_out` forces tangent outputs to be
    there.
    """
    n_out = len(closed.out_avals)
    force = flags_of(instantiate_out, n_out)
    may_in = flags_of(forward_in, len(closed.in_avals))
    may_out = flags_of(forward_out, n_out)
    key = ("linearize", tuple(nonzero), force, may_in, may_out)
    return remembered(
        closed, key, lambda: _linearize_jaxpr(closed, nonzero, force, may_in, may_out)
    )


def _linearize_jaxpr(
    closed: ClosedJaxpr,
    nonzero: Sequence[bool],
    force: Sequence[bool],
    may_forward: Sequence[bool],
    may_out: Sequence[bool],
) -> LinearizedJaxpr:
    trace = StageTrace(STATE.trace, "linearize")
    args = [trace.new_arg(a) for a in closed.in_avals]
    names, STATE.names = STATE.names, Inside()
    before = core.enter(trace)
    try:
        outs, part = linearize_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args, nonzero
        )
        linear, kept_consts = _instantiated(part, force)
        residuals: list[tuple[str, int]] = []
        new: list[Any] = []
        inputs = {id(a): i for i, a in enumerate(args) if may_forward[i]}
        outputs = {id(x): i for i, x in enumerate(outs) if may_out[i]}
        in_jaxpr: list[Var] = []
        for var, value in zip(linear.constvars, kept_consts, strict=True):
            if id(value) in inputs:
                residuals.append(("in", inputs[id(value)]))
            elif id(value) in outputs and isinstance(value, JitTracer):
                residuals.append(("out", outputs[id(value)]))
            else:
                residuals.append(("new", len(new)))
                new.append(value)
            in_jaxpr.append(var)
        primal, consts = trace.finish([*outs, *new], closed.jaxpr.name)
    finally:
        trace.alive = False
        core.leave(before)
        STATE.names = names
    nonzero_out = [f or z is None for f, z in zip(force, part.out_zeros, strict=True)]
    linear = Jaxpr(
        [], [*in_jaxpr, *linear.invars], linear.outvars, linear.eqns, name=closed.jaxpr.name
    )
    return LinearizedJaxpr(
        ClosedJaxpr(primal, consts), len(new), residuals, ClosedJaxpr(linear), nonzero_out
    )


def _instantiated(part: LinearPart, force: Sequence[bool]) -> tuple[Jaxpr, list[Any]]:
    """The linear jaxpr with outputs for the zeros that are forced to be there."""
    if all(z is None or not f for z, f in zip(part.out_zeros, force, strict=True)):
        return part.jaxpr, part.consts
    outs = iter(part.jaxpr.outvars)
    outvars: list[Any] = []
    consts, constvars = list(part.consts), list(part.jaxpr.constvars)
    for z, f in zip(part.out_zeros, force, strict=True):
        if z is None:
            outvars.append(next(outs))
        elif f:
            value = instantiate(z)
            if not z.aval.shape and not isinstance(value, core.Tracer):
                outvars.append(Literal(value, z.aval))
                continue
            constvars.append(Var(core.aval_of(value)))
            consts.append(value)
            outvars.append(constvars[-1])
    # Rebound in place so that the caller sees the constvars it keeps values for.
    part.jaxpr = part.jaxpr.replace(constvars=constvars, outvars=outvars)
    part.consts = consts
    return part.jaxpr, consts
