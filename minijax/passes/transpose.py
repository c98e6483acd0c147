"""Transposition: turn a linear jaxpr around.

`backward_pass` first runs the equations that no linear input reaches, then walks the
linear ones backwards, handing each the cotangents of its outputs and adding up those
of its inputs.  A cotangent that is absent is zero.

This room names no operation.  Next: batch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base import config
from ..base.util import flags_of, pick
from ..ir import hooks
from ..ir.core import EVAL, STATE, Primitive
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var
from ..ir.names import Inside, wrap_name_stack
from ..types.avals import TypeFlags
from .ad_util import UndefinedPrimal, Zero, core_ops, instantiate
from .stage import remembered, stage_closed

Sinks = Mapping[Any, Callable[[Any], None]]


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    args: Sequence[Any],
    cts: Sequence[Any],
    sinks: Sinks | None = None,
) -> list[Any]:
    """Cotangents of the arguments that are `Linear` (others: None).

    Cotangents in may be `Zero` or None; a result may be `Zero`.  `sinks` take what
    arrives at an input, each contribution as it comes, in place of the result.
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
    place = STATE.source
    named = STATE.trace is not EVAL  # which forgets names
    # Cotangents come from meshes that were current inside of a function.
    cuts = TypeFlags.has_sharded_types
    recast = config.RECAST_MESH.swap(True) if cuts else None
    try:
        while tape:
            eqn = tape.pop()
            STATE.source = eqn.source or place
            if named:
                inner = eqn.names.removeprefix(f"{outer}/")
                inner = inner if inside else wrap_name_stack("transpose", inner)
                STATE.names = f"{outer}/{inner}".strip("/")
            _transpose_equation(eqn, ct_of, env, linear)
    finally:
        STATE.source, STATE.names = place, outer
        if cuts:
            config.RECAST_MESH.swap_back(recast)
    return [
        None
        if type(x) is not UndefinedPrimal
        else ct_of.pop(v)
        if v in ct_of
        else _no_cotangent(v.aval)
        for v, x in zip(jaxpr.invars, args, strict=True)
    ]


def _no_cotangent(aval: Any) -> Zero:
    """The cotangent of a value that no result depends on."""
    return Zero(cotangent_type(aval) if TypeFlags.has_sharded_types else aval)


class _Draining(dict[Any, Any]):
    """Cotangents by variable, except what goes to sinks."""

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
    eqn: Equation, ct_of: dict[Any, Any], env: dict[Any, Any], linear: set[Any]
) -> None:
    """Take the cotangents of an equation's outputs back to its inputs."""
    prim: Primitive = eqn.primitive
    ins, outs = eqn.ins, eqn.outs
    out_cts: Any
    if prim.multiple_results:
        given = [ct_of.pop(v, None) for v in outs]
        if all(ct is None for ct in given):
            return
        out_cts = [
            _no_cotangent(v.aval) if ct is None else ct
            for v, ct in zip(outs, given, strict=True)
        ]
    else:
        out_cts = ct_of.pop(outs[0], None)
        if out_cts is None:
            return
    args = [
        a.val if type(a) is Literal else UndefinedPrimal(a.aval) if a in linear else env[a]
        for a in ins
    ]
    found = None
    if STATE.trace is EVAL and not prim.multiple_results:
        found = hooks.evaluate_transpose.call(prim, out_cts, args, eqn.params)
    if found is None:
        found = prim.transpose(out_cts, *args, **eqn.params)
    for a, ct in zip(ins, found, strict=True):
        if ct is not None and type(ct) is not Zero:
            _accumulate(ct_of, a, ct)


def _accumulate(ct_of: dict[Any, Any], v: Var, ct: Any) -> None:
    if TypeFlags.has_sharded_types:
        ct = core_ops.lie_as(ct, v.aval.to_ct_aval())
    old = ct_of.get(v)
    ct_of[v] = ct if old is None else core_ops.add(old, ct)


def _run(eqn: Equation, env: dict[Any, Any]) -> None:
    vals = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
    out = eqn.primitive.bind(*vals, **eqn.params)
    if eqn.primitive.multiple_results:
        env.update(zip(eqn.outs, out, strict=True))
    else:
        env[eqn.outs[0]] = out


def cotangent_type(aval: Any) -> Any:
    """The type of the cotangents of values of a type, as it lies and varies."""
    return (
        aval
        if aval.explicit_sharding is None and aval.manual_axis_kinds is None
        else aval.to_ct_aval()
    )


def transpose_jaxpr(
    closed: ClosedJaxpr,
    linear: Sequence[bool],
    nonzero_ct: Sequence[bool] | None = None,
    instantiate_out: Sequence[bool] | bool = True,
) -> tuple[ClosedJaxpr, list[bool]]:
    """(nonlinear inputs, nonzero output cts) -> cts of the linear inputs, as a jaxpr.

    Also tells which of those are there; with `instantiate_out` (a bool, or one for each)
    they are in any case.
    """
    given = tuple(nonzero_ct or (True,) * len(closed.out_avals))
    force = flags_of(instantiate_out, sum(linear))
    key = ("transpose", tuple(linear), given, force)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
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
                next(it) if g else _no_cotangent(a)
                for a, g in zip(out_avals, given, strict=True)
            ]
            found = backward_pass(closed.jaxpr, closed.consts, args, cts)
            outs = pick(found, linear)
            present[:] = [f or type(ct) is not Zero for f, ct in zip(force, outs, strict=True)]
            return [instantiate(ct) for ct, p in zip(outs, present, strict=True) if p]

        avals = [a for a, lin in zip(in_avals, linear, strict=True) if not lin]
        avals += map(cotangent_type, pick(out_avals, given))
        turned = stage_closed(fun, avals, name=closed.jaxpr.name, text="transpose")
        return turned, list(present)

    return remembered(closed, key, make)
