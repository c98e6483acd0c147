"""Linearization: run the primal part now, keep the linear part as a jaxpr.

`LinearizeTrace` evaluates primals under its parent.  Tangents are tracers of a
`TangentTrace`, which records the operations that depend on a tangent and passes all others
to the parent.  So a primitive's jvp rule, run under it, splits itself into residuals
(computed immediately) and linear equations (recorded).  A primitive whose jvp rule would
mix the two (a loop, a call) has a `linearize` rule that separates them first.  Since primal
and linear parts are never mixed, partial evaluation is not needed.

This package names no operation.  Next: transpose.py, which transposes the linear part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import source
from ..base.depth import applied
from ..base.util import flags_of
from ..ir import core, hooks
from ..ir.core import STATE, Primitive, Trace
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, eval_jaxpr
from ..ir.names import Inside
from ..types import dtypes
from . import dce
from .ad_util import Zero, instantiate
from .jvp import JVPTrace, JVPTracer
from .stage import JitTracer, StageTrace, remembered

if TYPE_CHECKING:
    from ..types.aliases import Params, Results, Tangent, Value


class TangentTrace(StageTrace):
    """Records equations that depend on a tangent; runs all others in the parent."""

    __slots__ = ("all",)
    is_staging = False
    is_linear_only = True

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent, transform="")
        self.reads_scalars = False  # residuals stay on the device
        self.all = False  # whether to record all operations

    def instantiate(self, x: Tangent) -> Value:
        """Return a value for a tangent; zeros are recorded, so they are not a residual."""
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
        self, out: Value, linear: Jaxpr | None, residuals: list[Value], tangents: list[Tangent]
    ) -> JitTracer | Zero:
        """Record the equations of a linear jaxpr; return the tangent that it computes."""
        if linear is None:
            return Zero(core.aval_of(out).to_tangent())
        operands = [*residuals, *[t for t in tangents if type(t) is not Zero]]
        atom_of: dict[Any, Any] = dict(
            zip(linear.invars, map(self.atom, operands), strict=True)
        )
        source_line, names = STATE.source, STATE.names
        for eqn in linear.eqns:
            ins = tuple([a if type(a) is Literal else atom_of[a] for a in eqn.ins])
            outs = []
            for v in eqn.outs:
                atom_of[v] = var = Var(v.aval)
                outs.append(var)
            self.eqns.append(
                Equation(eqn.primitive, ins, tuple(outs), eqn.params, source_line, names)
            )
        var = atom_of[linear.outvars[0]]
        return JitTracer(self, var.aval, var)

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
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
    rules = hooks.evaluate_linearized

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.tangents = TangentTrace(parent)

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        primals, tangents, any_nonzero = self.split(args)
        parent = self.parent
        outer_source, names = STATE.source, STATE.names
        try:
            STATE.names = self.name_stack()
            if not any_nonzero:
                STATE.trace = parent
                return parent.process(prim, args, params)
            if outer_source is None:  # one lookup for all equations that the rule records
                line = source.UNKNOWN if self.evaluate else source.user_source()
                STATE.source = line
            evaluated = None
            if prim.linearize is not None:
                STATE.trace = parent
                out, out_t = prim.linearize(self.tangents, primals, tangents, **params)
            else:
                if self.evaluate is not None:
                    STATE.trace = parent
                    evaluated = self.evaluate(prim, primals, tangents, params)
                STATE.trace = self.tangents
                if evaluated is None:
                    out, out_t = prim.jvp(primals, tangents, **params)
                else:
                    out, linear, residuals = evaluated
                    out_t = self.tangents.replay(out, linear, residuals, tangents)
        finally:
            STATE.trace = self
            STATE.source, STATE.names = outer_source, names
        if prim.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, out_t, strict=True)]
        return self.wrap(out, out_t)


class LinearPart:
    """The linear part of a linearized function, from tangents to tangents.

    `consts` are the residuals.  An output is an atom of the jaxpr, or a `Zero`.
    """

    __slots__ = ("consts", "jaxpr", "out_zeros")

    def __init__(self, jaxpr: Jaxpr, consts: list[Value], out_zeros: list[Zero | None]) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_zeros = out_zeros

    def __call__(self, *tangents: Value) -> list[Tangent]:
        outs = iter(eval_jaxpr(self.jaxpr, self.consts, *tangents))
        return [next(outs) if z is None else z for z in self.out_zeros]


def linearize_flat(
    fun: Callable[..., Sequence[Value]],
    primals: Sequence[Value],
    nonzero: Sequence[bool] | None = None,
) -> tuple[list[Value], LinearPart]:
    """Return the primal outputs of a flat function, and its linear part.

    The linear part takes one tangent for each input flagged `nonzero` (default: all).
    """
    trace = LinearizeTrace(STATE.trace)
    tangent_trace = trace.tangents
    args = []
    for i, p in enumerate(primals):
        aval = core.aval_of(p).to_tangent()
        if nonzero is None or nonzero[i]:
            tangent = tangent_trace.new_arg(aval)
            differentiable = aval.dtype != dtypes.float0
            args.append(LinearizeTracer(trace, p, tangent if differentiable else Zero(aval)))
        else:
            args.append(p)

    def linear_part() -> tuple[list[Any], LinearPart]:
        pairs = [trace.unwrap(x) for x in applied(fun, args)]
        zeros = [t if type(t) is Zero else None for _, t in pairs]
        jaxpr, consts = tangent_trace.finish([t for _, t in pairs if type(t) is not Zero])
        live = dce.dce_linear(jaxpr)
        if live is not jaxpr:  # constants that only dead equations read are not residuals
            value_of = dict(zip(jaxpr.constvars, consts, strict=True))
            jaxpr, consts = live, [value_of[v] for v in live.constvars]
        return [p for p, _ in pairs], LinearPart(jaxpr, consts, zeros)

    try:
        return core.under(trace, linear_part)  # type: ignore[no-any-return]
    finally:
        tangent_trace.alive = False


class LinearizedJaxpr(NamedTuple):
    """A jaxpr split into its primal and its linear part.

    primal: inputs -> outputs ++ new residuals
    linear: residuals ++ nonzero tangents -> nonzero tangent outputs
    residuals: each residual is an input (`("in", i)`), an output (`("out", i)`) or a new
        residual (`("new", i)`) of the primal part.
    """

    primal: ClosedJaxpr
    num_new: int
    residuals: list[tuple[str, int]]
    linear: ClosedJaxpr
    nonzero_out: list[bool]

    def residual_values(
        self, inputs: Sequence[Value], outputs: Sequence[Value], new: Sequence[Value]
    ) -> list[Value]:
        """Return the residuals, given the inputs and outputs of the primal part."""
        pools = {"in": inputs, "out": outputs, "new": new}
        return [pools[pool][i] for pool, i in self.residuals]


def linearize_jaxpr(
    closed: ClosedJaxpr,
    nonzero: Sequence[bool],
    instantiate_out: Sequence[bool] | bool = False,
    forward_in: Sequence[bool] | bool = True,
    forward_out: Sequence[bool] | bool = True,
) -> LinearizedJaxpr:
    """Split a jaxpr into its primal and its linear part.

    instantiate_out: whether outputs (all, or each) have a tangent even if it is zero.
    forward_in, forward_out: whether a residual may be an input, or an output, of the primal
        part; otherwise it is returned once more as a new residual.
    """
    n_out = len(closed.out_avals)
    force = flags_of(instantiate_out, n_out)
    may_in = flags_of(forward_in, len(closed.in_avals))
    may_out = flags_of(forward_out, n_out)
    return _linearize_jaxpr(closed, tuple(nonzero), force, may_in, may_out)


@remembered
def _linearize_jaxpr(
    closed: ClosedJaxpr,
    nonzero: tuple[bool, ...],
    force: tuple[bool, ...],
    may_in: tuple[bool, ...],
    may_out: tuple[bool, ...],
) -> LinearizedJaxpr:
    trace = StageTrace(STATE.trace, "linearize")
    args = [trace.new_arg(a) for a in closed.in_avals]
    names, STATE.names = STATE.names, Inside()
    before = core.enter(trace)
    try:
        outs, linear_part = linearize_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args, nonzero
        )
        linear, values = _instantiated(linear_part, force)
        residuals: list[tuple[str, int]] = []
        new: list[Any] = []
        inputs = {id(a): i for i, a in enumerate(args) if may_in[i]}
        outputs = {id(x): i for i, x in enumerate(outs) if may_out[i]}
        in_jaxpr: list[Var] = []
        for var, value in zip(linear.constvars, values, strict=True):
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
    nonzero_out = [f or z is None for f, z in zip(force, linear_part.out_zeros, strict=True)]
    linear = Jaxpr(
        [], [*in_jaxpr, *linear.invars], linear.outvars, linear.eqns, name=closed.jaxpr.name
    )
    return LinearizedJaxpr(
        ClosedJaxpr(primal, consts), len(new), residuals, ClosedJaxpr(linear), nonzero_out
    )


def _instantiated(linear_part: LinearPart, force: Sequence[bool]) -> tuple[Jaxpr, list[Any]]:
    """Return the linear jaxpr and its constants, with outputs for the forced zeros."""
    if all(z is None or not f for z, f in zip(linear_part.out_zeros, force, strict=True)):
        return linear_part.jaxpr, linear_part.consts
    outs = iter(linear_part.jaxpr.outvars)
    outvars: list[Any] = []
    consts, constvars = list(linear_part.consts), list(linear_part.jaxpr.constvars)
    for z, f in zip(linear_part.out_zeros, force, strict=True):
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
    # Changed in place, since the caller zips these constvars with `part.consts`.
    linear_part.jaxpr = linear_part.jaxpr.replace(constvars=constvars, outvars=outvars)
    linear_part.consts = consts
    return linear_part.jaxpr, consts
