"""Dead code: drop equations whose results nobody reads and that have no effect.

`dce_jaxpr` also tells which inputs are still used.  A primitive that holds jaxprs has
a `dce` rule, which prunes inside.  `depends_on` tells what depends on some inputs.

This room names no operation.  Next: transpose.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.util import flags_of, pick
from ..ir.jaxpr import DropVar, Equation, Jaxpr, Literal


def dce_jaxpr(
    jaxpr: Jaxpr, used_out: Sequence[bool], keep_in: Sequence[bool] | bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Keep the used outputs; return the jaxpr and which of its inputs remain.

    Inputs flagged in `keep_in` remain even when unused.
    """
    flags = flags_of(keep_in, len(jaxpr.invars))
    key = ("dce", tuple(used_out), flags)
    known = jaxpr.memo.get(key)
    if known is None:
        read = jaxpr.memo.get("read")  # of one that is pruned already, by input
        if read is not None and False not in used_out and all(map(max, read, flags)):
            return jaxpr, [True] * len(flags)
        known = jaxpr.memo[key] = _dce(jaxpr, used_out, flags)
    return known


def _dce(
    jaxpr: Jaxpr, used_out: Sequence[bool], keep_in: Sequence[bool]
) -> tuple[Jaxpr, list[bool]]:
    outvars = pick(jaxpr.outvars, used_out)
    eqns, used = _live_equations(jaxpr.eqns, outvars)
    used_in = [k or v in used for v, k in zip(jaxpr.invars, keep_in, strict=True)]
    invars = pick(jaxpr.invars, used_in)
    pruned = jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns, arg_names=())
    pruned.memo["read"] = tuple([v in used for v in invars])
    return pruned, used_in


def _live_equations(
    eqns: Sequence[Equation], outvars: Sequence[Any]
) -> tuple[list[Equation], set[Any]]:
    used: set[Any] = set(outvars)
    kept: list[Equation] = []
    for eqn in reversed(eqns):
        outs = eqn.outs
        if used.isdisjoint(outs) and not eqn.effects:
            continue
        flags = [v in used for v in outs]
        if eqn.primitive.dce is not None:
            pruned = eqn.primitive.dce(flags, eqn)
            if pruned is None:
                continue
            eqn = pruned
        elif False in flags:
            eqn = eqn.replace(
                outvars=[
                    v if f or type(v) is DropVar else DropVar(v.aval)
                    for v, f in zip(outs, flags, strict=True)
                ]
            )
        kept.append(eqn)
        used.update(eqn.ins)
    kept.reverse()
    return kept, used


def dce_linear(jaxpr: Jaxpr) -> Jaxpr:
    """Prune equations and constvars; inputs and outputs stay as they are."""
    eqns, used = _live_equations(jaxpr.eqns, jaxpr.outvars)
    if eqns == jaxpr.eqns:
        return jaxpr
    constvars = [v for v in jaxpr.constvars if v in used]
    return jaxpr.replace(constvars=constvars, eqns=eqns)


def depends_on(jaxpr: Jaxpr, start: Sequence[bool], inside: bool = False) -> set[Any]:
    """The variables that depend on the flagged inputs.

    With `inside`, not all results of an equation need do so: its primitive's `depends`
    rule looks into the functions that it holds.
    """
    moving: set[Any] = {v for v, s in zip(jaxpr.invars, start, strict=True) if s}
    for eqn in jaxpr.eqns:
        flags = [type(a) is not Literal and a in moving for a in eqn.ins]
        if eqn.effects or (flags and all(flags)):
            moving.update(eqn.outs)
        elif True in flags:
            rule = eqn.primitive.depends if inside else None
            out = rule(flags, eqn.params) if rule else [True] * len(eqn.outs)
            moving.update(v for v, m in zip(eqn.outs, out, strict=True) if m)
    return moving


def results_depend(jaxpr: Jaxpr, start: Sequence[bool]) -> list[bool]:
    """Which results depend on the flagged inputs: the `depends` rule of a call."""
    key = ("results depend", tuple(start))
    known = jaxpr.memo.get(key)
    if known is None:
        moving = depends_on(jaxpr, start, inside=True)
        known = [type(a) is not Literal and a in moving for a in jaxpr.outvars]
        jaxpr.memo[key] = known
    return known
