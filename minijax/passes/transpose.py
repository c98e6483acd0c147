"""Transposition of linear jaxprs.

`backward_pass` first runs the equations that do not depend on a linear input.  Then it
visits the linear equations in reverse: it passes each the cotangents of its outputs and
adds up the cotangents of its inputs.  A missing cotangent is zero.

This package names no operation.  Next: batch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base import config
from ..base.util import flags_of, pick
from ..ir import hooks
from ..ir.core import STATE, Primitive, Rule
from ..ir.jaxpr import Atom, ClosedJaxpr, Equation, Jaxpr, Literal, Var
from ..ir.names import Inside, wrap_name_stack
from ..types.type_sharding import UNSHARDED, TypeFlags
from .ad_util import UndefinedPrimal, Zero, core_ops, instantiate
from .stage import remembered, stage_closed

if TYPE_CHECKING:
    from ..types.aliases import Aval, Tangent, Value

Sinks = Mapping[Any, Callable[[Any], None]]


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Value],
    args: Sequence[Value | UndefinedPrimal],
    cts: Sequence[Tangent | None],
    sinks: Sinks | None = None,
) -> list[Tangent | None]:
    """Return the cotangents of the arguments that are `UndefinedPrimal` (others: None).

    cts: the cotangents of the outputs; each may be `Zero` or None.  Results may be `Zero`.
    sinks: functions by input variable, called with each contribution to its cotangent as
        soon as it is known; the result for that input is then `Zero`.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Any] = set()
    for v, x in zip(jaxpr.invars, args, strict=True):
        if type(x) is UndefinedPrimal:
            linear.add(v)
        else:
            env[v] = x
    tape: list[Equation] = []
    outer = STATE.names
    inside = type(outer) is Inside
    for eqn in jaxpr.eqns:
        if linear.isdisjoint(eqn.ins):
            if inside and eqn.names:
                STATE.names = f"{outer}/{eqn.names}".lstrip("/")
                _run(eqn, env)
                STATE.names = outer
            else:
                _run(eqn, env)
        else:
            linear.update(eqn.outs)
            tape.append(eqn)
    ct_of: dict[Any, Any] = {} if sinks is None else _Draining(sinks)
    for v, ct in zip(jaxpr.outvars, cts, strict=True):
        if ct is not None and type(ct) is not Zero and v in linear:
            _accumulate(ct_of, v, ct)
    outer_source = STATE.source
    evaluate = STATE.trace.compiled_rules(hooks.evaluate_transpose)
    # Cotangents may have types over a mesh that was current only inside the function.
    sharded = TypeFlags.has_sharded_types
    recast = config.RECAST_MESH.swap(True) if sharded else None
    try:
        while tape:
            eqn = tape.pop()
            STATE.source = eqn.source or outer_source
            if evaluate is None:  # evaluation does not record names
                inner = eqn.names.removeprefix(f"{outer}/")
                inner = inner if inside else wrap_name_stack("transpose", inner)
                STATE.names = f"{outer}/{inner}".strip("/")
            _transpose_equation(eqn, ct_of, env, linear, evaluate)
    finally:
        STATE.source, STATE.names = outer_source, outer
        if sharded:
            config.RECAST_MESH.swap_back(recast)

    def ct_for(v: Var) -> Any:
        return ct_of.pop(v) if v in ct_of else _no_cotangent(v.aval)

    linear_flags = [type(x) is UndefinedPrimal for x in args]
    return [ct_for(v) if f else None for v, f in zip(jaxpr.invars, linear_flags, strict=True)]


def _no_cotangent(aval: Aval) -> Zero:
    """Return the zero cotangent of a value that no result depends on."""
    return Zero(cotangent_type(aval) if TypeFlags.has_sharded_types else aval)


class _Draining(dict[Any, Any]):
    """Cotangents by variable; those of variables with a sink go to the sink."""

    __slots__ = ("sinks",)

    def __init__(self, sinks: Sinks) -> None:
        self.sinks = sinks

    def __setitem__(self, v: Any, ct: Any) -> None:
        sink = self.sinks.get(v)
        if sink is None:
            super().__setitem__(v, ct)
        else:
            sink(ct)


def _transpose_equation(
    eqn: Equation,
    ct_of: dict[Any, Any],
    env: dict[Any, Any],
    linear: set[Any],
    evaluate: Rule | None,
) -> None:
    """Propagate the cotangents of an equation's outputs to its inputs."""
    prim: Primitive = eqn.primitive
    ins, outs = eqn.ins, eqn.outs
    out_cts: Any
    if prim.multiple_results:
        cts_or_none = [ct_of.pop(v, None) for v in outs]
        if all(ct is None for ct in cts_or_none):
            return
        out_cts = [
            _no_cotangent(v.aval) if ct is None else ct
            for v, ct in zip(outs, cts_or_none, strict=True)
        ]
    else:
        out_cts = ct_of.pop(outs[0], None)
        if out_cts is None:
            return
    args = [
        a.val if type(a) is Literal else UndefinedPrimal(a.aval) if a in linear else env[a]
        for a in ins
    ]
    operand_cts = None
    if evaluate is not None and not prim.multiple_results:
        operand_cts = evaluate(prim, out_cts, args, eqn.params)
    if operand_cts is None:
        operand_cts = prim.transpose(out_cts, *args, **eqn.params)
    for a, ct in zip(ins, operand_cts, strict=True):
        if ct is not None and type(ct) is not Zero:
            _accumulate(ct_of, a, ct)


def _accumulate(ct_of: dict[Any, Any], v: Atom, ct: Any) -> None:
    if TypeFlags.has_sharded_types:
        ct = core_ops.reshard_to_aval(ct, v.aval.to_ct_aval())
    old = ct_of.get(v)
    ct_of[v] = ct if old is None else core_ops.add(old, ct)


def _run(eqn: Equation, env: dict[Any, Any]) -> None:
    vals = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
    out = eqn.primitive.bind(*vals, **eqn.params)
    if eqn.primitive.multiple_results:
        env.update(zip(eqn.outs, out, strict=True))
    else:
        env[eqn.outs[0]] = out


def cotangent_type(aval: Aval) -> Aval:
    """Return the type of the cotangents of values of type `aval`, with their sharding."""
    return aval if aval.type_sharding is UNSHARDED else aval.to_ct_aval()


def transpose_jaxpr(
    closed: ClosedJaxpr,
    linear: Sequence[bool],
    nonzero_ct: Sequence[bool] | None = None,
    instantiate_out: Sequence[bool] | bool = True,
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the jaxpr (nonlinear inputs, nonzero output cts) -> cts of the linear inputs.

    Also returns which linear inputs have a cotangent.
    instantiate_out: whether linear inputs (all, or each) have one even if it is zero.
    """
    nonzero_out = tuple(nonzero_ct or (True,) * len(closed.out_avals))
    force = flags_of(instantiate_out, sum(linear))
    return _transpose_jaxpr(closed, tuple(linear), nonzero_out, force)


@remembered
def _transpose_jaxpr(
    closed: ClosedJaxpr,
    linear: tuple[bool, ...],
    nonzero_ct: tuple[bool, ...],
    force: tuple[bool, ...],
) -> tuple[ClosedJaxpr, list[bool]]:
    in_avals, out_avals = closed.in_avals, closed.out_avals
    present: list[bool] = []

    def fun(*xs: Any) -> list[Any]:
        STATE.names = Inside(STATE.names)
        it = iter(xs)
        args = [
            UndefinedPrimal(a) if lin else next(it)
            for a, lin in zip(in_avals, linear, strict=True)
        ]
        cts = [
            next(it) if nz else _no_cotangent(a)
            for a, nz in zip(out_avals, nonzero_ct, strict=True)
        ]
        operand_cts = backward_pass(closed.jaxpr, closed.consts, args, cts)
        outs = pick(operand_cts, linear)
        present[:] = [f or type(ct) is not Zero for f, ct in zip(force, outs, strict=True)]
        return [instantiate(ct) for ct, p in zip(outs, present, strict=True) if p]

    avals = [a for a, lin in zip(in_avals, linear, strict=True) if not lin]
    avals += map(cotangent_type, pick(out_avals, nonzero_ct))
    transposed = stage_closed(fun, avals, name=closed.jaxpr.name, text="transpose")
    return transposed, list(present)
