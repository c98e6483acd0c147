"""Dead code elimination: remove equations with unused results and without effects.

`dce_jaxpr` also returns which inputs are still used.  A primitive that holds jaxprs has a
`dce` rule, which prunes them.  `depends_on` returns the variables that depend on inputs.

This package names no operation.  Next: transpose.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.util import flags_of, pick
from ..ir.jaxpr import DropVar, Equation, Jaxpr, Literal, cached_on_jaxpr


def dce_jaxpr(
    jaxpr: Jaxpr, used_out: Sequence[bool], keep_in: Sequence[bool] | bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Keep the used outputs; return the jaxpr and which of its inputs remain.

    Inputs flagged in `keep_in` remain even when unused.
    """
    flags = flags_of(keep_in, len(jaxpr.invars))
    read = jaxpr.memo.get("read")  # set on pruned jaxprs: which inputs are used
    if read is not None and False not in used_out and all(map(max, read, flags)):
        return jaxpr, [True] * len(flags)
    return _dce(jaxpr, tuple(used_out), flags)


@cached_on_jaxpr
def _dce(
    jaxpr: Jaxpr, used_out: tuple[bool, ...], keep_in: tuple[bool, ...]
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
    live: list[Equation] = []
    for eqn in reversed(eqns):
        outs = eqn.outs
        is_read = not used.isdisjoint(outs)
        if not is_read and not eqn.effects:
            continue
        if len(outs) > 1 or not is_read or eqn.primitive.dce is not None:
            pruned = _without_unused_results(eqn, [v in used for v in outs])
            if pruned is None:
                continue
            eqn = pruned
        live.append(eqn)
        used.update(eqn.ins)
    live.reverse()
    return live, used


def _without_unused_results(eqn: Equation, used_out: list[bool]) -> Equation | None:
    """Return an equation that computes the used results; None if it has nothing to do."""
    if eqn.primitive.dce is not None:
        pruned: Equation | None = eqn.primitive.dce(used_out, eqn)
        return pruned
    if False not in used_out:
        return eqn
    outvars = [
        v if used or type(v) is DropVar else DropVar(v.aval)
        for v, used in zip(eqn.outs, used_out, strict=True)
    ]
    return eqn.replace(outvars=outvars)


def dce_linear(jaxpr: Jaxpr) -> Jaxpr:
    """Remove unused equations and constvars; keep all inputs and outputs."""
    eqns, used = _live_equations(jaxpr.eqns, jaxpr.outvars)
    if eqns == jaxpr.eqns:
        return jaxpr
    constvars = [v for v in jaxpr.constvars if v in used]
    return jaxpr.replace(constvars=constvars, eqns=eqns)


def depends_on(jaxpr: Jaxpr, start: Sequence[bool], inside: bool = False) -> set[Any]:
    """Return the variables that depend on the flagged inputs.

    inside: whether to follow dependence through the programs that equations hold, by the
        fact `depends` of their primitives; otherwise all results of an equation depend on
        each operand.
    """
    dependent: set[Any] = {v for v, s in zip(jaxpr.invars, start, strict=True) if s}
    for eqn in jaxpr.eqns:
        flags = [type(a) is not Literal and a in dependent for a in eqn.ins]
        if eqn.effects or (flags and all(flags)):
            dependent.update(eqn.outs)
        elif True in flags:
            rule = eqn.primitive.facts.depends if inside else None
            out = rule(flags, eqn.params) if rule else [True] * len(eqn.outs)
            dependent.update(v for v, m in zip(eqn.outs, out, strict=True) if m)
    return dependent


@cached_on_jaxpr
def results_depend(jaxpr: Jaxpr, start: Sequence[bool]) -> list[bool]:
    """Return, for each result, whether it depends on a flagged input."""
    dependent = depends_on(jaxpr, start, inside=True)
    return [type(a) is not Literal and a in dependent for a in jaxpr.outvars]
