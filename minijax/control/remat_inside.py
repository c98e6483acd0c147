"""Checkpoint policies inside calls, loops and branches.

What a policy stores of a body becomes a further result of the equation that holds it,
and a further operand of the one that computes again: a scan stacks it, a branch gives
zeros for what others store.  Next: remat.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.core import Primitive
from ..core.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, eval_jaxpr
from ..interpreters.algebra import lib
from ..interpreters.stage import stage_closed
from .calls import jit_p
from .common import stacked
from .cond import cond_p
from .scan import scan_p

Answer = Callable[[Equation], Any]


class Cut(NamedTuple):
    """An equation in two: `stored` are the variables that lead from one to the other."""

    forward: Equation
    again: Equation
    stored: dict[Any, Any]  # to the policy's answer for each


# ------------------------------------------------------------------------------- calls


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with jitted calls spelled out, so that policies see inside."""
    if not any(e.primitive is jit_p for e in jaxpr.eqns):
        return jaxpr
    known = jaxpr.memo.get("inlined")
    if known is None:
        env: dict[Any, Any] = {}
        eqns: list[Equation] = []
        for eqn in jaxpr.eqns:
            _inline(eqn, env, eqns)
        outs = [seen(env, a) for a in jaxpr.outvars]
        known = jaxpr.memo["inlined"] = jaxpr.replace(outvars=outs, eqns=eqns)
    return known


def seen(env: dict[Any, Any], a: Any) -> Any:
    """What stands for an atom."""
    return a if type(a) is Literal else env.get(a, a)


def _inline(eqn: Equation, env: dict[Any, Any], eqns: list[Equation]) -> None:
    invars = [seen(env, a) for a in eqn.invars]
    closed: Any = eqn.params.get("jaxpr")
    if eqn.primitive is not jit_p or closed.consts:
        eqns.append(eqn.replace(invars=invars))
        return
    inner = inline_calls(closed.jaxpr)
    mine: dict[Any, Any] = dict(zip(inner.invars, invars, strict=True))
    for e in inner.eqns:
        outvars = [Var(v.aval) for v in e.outvars]
        ins = [seen(mine, a) for a in e.invars]
        mine.update(zip(e.outvars, outvars, strict=True))
        eqns.append(e.replace(invars=ins, outvars=outvars))
    for v, a in zip(eqn.outvars, inner.outvars, strict=True):
        env[v] = seen(mine, a)


# ------------------------------------------------------------------ loops and branches


def cut_equations(
    jaxpr: Jaxpr, answer: Answer
) -> tuple[list[Equation], list[Equation], dict[Any, Any]]:
    """A jaxpr's equations, those that compute again, and what may be stored for them."""
    forward, again, stored = [], [], {}
    for eqn in jaxpr.eqns:
        found = answer(eqn)
        rule = None if found else _rules.get(eqn.primitive)
        cut = None if rule is None else rule(eqn, answer)
        if cut is not None:
            forward.append(cut.forward)
            again.append(cut.again)
            stored.update(cut.stored)
            continue
        forward.append(eqn)
        if found:
            stored.update(dict.fromkeys(eqn.outvars, found))
        if not found or _shows(eqn):
            again.append(eqn)
    return forward, again, stored


def _shows(eqn: Equation) -> bool:
    """Whether an equation is there for its effect only, which may happen again."""
    return not eqn.outvars and any(not getattr(e, "once", True) for e in eqn.effects)


def _cut_body(closed: ClosedJaxpr, answer: Answer) -> tuple[Jaxpr, Jaxpr, list[Any]]:
    """(inputs -> outs ++ stored) and (inputs ++ stored -> outs), and the answers."""
    jaxpr = inline_calls(closed.jaxpr)
    forward, again, stored = cut_equations(jaxpr, answer)
    first = Jaxpr([], jaxpr.invars, [*jaxpr.outvars, *stored], forward, jaxpr.name)
    second = Jaxpr([], [*jaxpr.invars, *stored], jaxpr.outvars, again, jaxpr.name)
    return first, second, list(stored.values())


def cut_scan(eqn: Equation, answer: Answer) -> Cut | None:
    params = eqn.params
    if params["jaxpr"].consts:
        return None
    first, second, answers = _cut_body(params["jaxpr"], answer)
    if not answers:
        return None
    inside = first.outvars[len(first.outvars) - len(answers) :]
    rows = [Var(stacked(v.aval, params["length"])) for v in inside]
    forward = eqn.replace(
        outvars=[*eqn.outvars, *rows], params={**params, "jaxpr": ClosedJaxpr(first)}
    )
    again = eqn.replace(
        invars=[*eqn.invars, *rows], params={**params, "jaxpr": ClosedJaxpr(second)}
    )
    return Cut(forward, again, dict(zip(rows, answers, strict=True)))


def cut_cond(eqn: Equation, answer: Answer) -> Cut | None:
    branches = eqn.params["branches"]
    if any(b.consts for b in branches):
        return None
    parts = [_cut_body(b, answer) for b in branches]
    n = len(branches[0].out_avals)
    kinds = [[v.aval for v in first.outvars[n:]] for first, _, _ in parts]
    values = [Var(a) for avals in kinds for a in avals]
    if not values:
        return None
    firsts, seconds, start = [], [], 0
    for (first, second, _), avals in zip(parts, kinds, strict=True):
        end = start + len(avals)
        firsts.append(_with_zeros(first, values[:start], values[end:], n))
        ins, own = (
            second.invars[: len(first.invars)],
            second.invars[len(first.invars) :],
        )
        before = [Var(v.aval) for v in values[:start]]
        after = [Var(v.aval) for v in values[end:]]
        opened = [*ins, *before, *own, *after]
        seconds.append(ClosedJaxpr(Jaxpr([], opened, second.outvars, second.eqns)))
        start = end
    answers = [found for _, _, each in parts for found in each]
    forward = eqn.replace(
        outvars=[*eqn.outvars, *values],
        params={**eqn.params, "branches": tuple(firsts)},
    )
    again = eqn.replace(
        invars=[*eqn.invars, *values], params={**eqn.params, "branches": tuple(seconds)}
    )
    return Cut(forward, again, dict(zip(values, answers, strict=True)))


def _with_zeros(jaxpr: Jaxpr, before: Any, after: Any, n: int) -> ClosedJaxpr:
    """The branch with zeros around what it stores, for what others do."""

    def fun(*args: Any) -> list[Any]:
        outs = eval_jaxpr(jaxpr, (), *args)
        front, back = ([lib.zeros(v.aval) for v in vs] for vs in (before, after))
        return [*outs[:n], *front, *outs[n:], *back]

    return stage_closed(fun, jaxpr.in_avals, name=jaxpr.name, text="checkpoint")


_rules: dict[Primitive, Callable[[Equation, Answer], Cut | None]] = {
    scan_p: cut_scan,
    cond_p: cut_cond,
}
