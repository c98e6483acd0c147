"""Loop invariants: residuals with the same value in every step of a loop.

A linearized loop stacks its residuals.  Those that depend only on the loop's constants,
even inside calls and loops of its body, are computed once, before the loop.

Next: scan.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.util import pick, split_list
from ...ir.jaxpr import ClosedJaxpr, DropVar, Equation, Literal
from ...passes.dce import dce_jaxpr, depends_on
from ...passes.stage import remembered


class Hoisted(NamedTuple):
    """A loop's body in two parts: the loop invariants, and the rest.

    once: consts -> values.  body: (consts, the values it reads, carry, xs) -> the results
    of the original body, without the residuals that are among the values.
    """

    once: ClosedJaxpr
    body: ClosedJaxpr
    inside: list[int]  # the indices of the values that the body reads
    fixed: dict[int, int]  # residual index -> value index, for invariant residuals


@remembered
def hoist_invariants(primal: ClosedJaxpr, num_consts: int, num_new: int) -> Hoisted:
    """Move residuals that depend only on consts out of the loop."""
    jaxpr = primal.jaxpr
    consts, rest = jaxpr.invars[:num_consts], jaxpr.invars[num_consts:]
    variant = depends_on(jaxpr, [False] * num_consts + [True] * len(rest), inside=True)
    outs, new = split_list(jaxpr.outvars, [len(jaxpr.outvars) - num_new])
    fixed = {i: v for i, v in enumerate(new) if v not in variant}
    values = list(dict.fromkeys(fixed.values()))
    quiet = jaxpr.replace(
        invars=consts,
        outvars=values,
        # Equations with effects stay in the loop, where they happen in every step.
        eqns=[e for e in jaxpr.eqns if not e.effects],
        arg_names=(),
    )
    once, _ = dce_jaxpr(quiet, [True] * len(values), keep_in=True)
    hoisted_vars = [v for v in values if type(v) is not Literal and v not in consts]
    body = jaxpr.replace(
        invars=[*consts, *hoisted_vars, *rest],
        outvars=[*outs, *(v for i, v in enumerate(new) if i not in fixed)],
        eqns=[e if e.effects else _without({*hoisted_vars}, e) for e in jaxpr.eqns],
        arg_names=(),
    )
    keep = [*[True] * num_consts, *[False] * len(hoisted_vars), *[True] * len(rest)]
    body, used = dce_jaxpr(body, [True] * len(body.outvars), keep_in=keep)
    read = pick(hoisted_vars, used[num_consts:])
    return Hoisted(
        ClosedJaxpr(once, primal.consts),
        ClosedJaxpr(body, primal.consts),
        [values.index(v) for v in read],
        {i: values.index(v) for i, v in fixed.items()},
    )


def _without(defined: set[Any], eqn: Equation) -> Equation:
    """Return the equation without its definitions of variables that are defined already.

    Its other results may still be needed; if none is, dce drops the equation.
    """
    if defined.isdisjoint(eqn.outs):
        return eqn
    outvars = [DropVar(v.aval) if v in defined else v for v in eqn.outs]
    return eqn.replace(outvars=outvars)
