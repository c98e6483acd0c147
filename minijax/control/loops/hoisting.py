"""Loop invariants: what every step of a loop would compute and keep alike.

A linearized loop stacks its residuals.  Those that depend on the loop's constants alone,
even inside of the calls and loops of its body, are computed once, outside.

Next: scan_functions.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.util import pick, split_list
from ...ir.jaxpr import ClosedJaxpr, DropVar, Equation, Literal
from ...passes.dce import dce_jaxpr, depends_on


class Hoisted(NamedTuple):
    """A loop's body cut in two: what is the same at every step, and the rest.

    once: consts -> values.  body: (consts, the values it reads, carry, xs) -> what the
    body gave, without the residuals that are among the values.
    """

    once: ClosedJaxpr
    body: ClosedJaxpr
    inside: list[int]  # which values the body reads
    fixed: dict[int, int]  # which residuals are values, and which ones


def hoist_invariants(primal: ClosedJaxpr, num_consts: int, num_new: int) -> Hoisted:
    """Take residuals that depend on consts alone out of the loop."""
    jaxpr = primal.jaxpr
    key = ("hoist", num_consts, num_new)
    known = jaxpr.memo.get(key)
    if known is not None:
        return known
    consts, rest = jaxpr.invars[:num_consts], jaxpr.invars[num_consts:]
    moving = depends_on(jaxpr, [False] * num_consts + [True] * len(rest), inside=True)
    outs, new = split_list(jaxpr.outvars, [len(jaxpr.outvars) - num_new])
    fixed = {i: v for i, v in enumerate(new) if v not in moving}
    values = list(dict.fromkeys(fixed.values()))
    quiet = jaxpr.replace(
        invars=consts,
        outvars=values,
        eqns=[e for e in jaxpr.eqns if not e.effects],
        arg_names=(),
    )
    once, _ = dce_jaxpr(quiet, [True] * len(values), keep_in=True)
    made = [v for v in values if type(v) is not Literal and v not in consts]
    body = jaxpr.replace(
        invars=[*consts, *made, *rest],
        outvars=[*outs, *(v for i, v in enumerate(new) if i not in fixed)],
        eqns=[e if e.effects else _without({*made}, e) for e in jaxpr.eqns],
        arg_names=(),
    )
    keep = [*[True] * num_consts, *[False] * len(made), *[True] * len(rest)]
    body, used = dce_jaxpr(body, [True] * len(body.outvars), keep_in=keep)
    read = pick(made, used[num_consts:])
    found = jaxpr.memo[key] = Hoisted(
        ClosedJaxpr(once, primal.consts),
        ClosedJaxpr(body, primal.consts),
        [values.index(v) for v in read],
        {i: values.index(v) for i, v in fixed.items()},
    )
    return found


def _without(made: set[Any], eqn: Equation) -> Equation:
    """The equation, which no longer defines variables that are at hand.

    Of several results the others may still be wanted; if none is, dce drops it.
    """
    if made.isdisjoint(eqn.outs):
        return eqn
    outvars = [DropVar(v.aval) if v in made else v for v in eqn.outs]
    return eqn.replace(outvars=outvars)
