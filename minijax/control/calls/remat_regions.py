"""Checkpoint policies inside calls, loops and branches.

What a policy stores of a body becomes a further result of the equation that holds it,
and a further operand of the one that computes again: a scan stacks it, a branch gives
zeros for what others store.  Next: remat.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, eval_jaxpr, permute_jaxpr
from ...ir.regions import Branches, Call, Loop
from ...passes.ad_util import core_ops
from ...passes.stage import stage_closed
from ..body_staging import stacked
from .jit_primitive import jit_p

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
    invars = [seen(env, a) for a in eqn.ins]
    closed: Any = eqn.params["jaxpr"] if eqn.primitive is jit_p else None
    if closed is None or closed.consts:
        eqns.append(eqn.replace(invars=invars))
        return
    inner = inline_calls(closed.jaxpr)
    mine: dict[Any, Any] = dict(zip(inner.invars, invars, strict=True))
    for e in inner.eqns:
        outvars = [Var(v.aval) for v in e.outs]
        ins = [seen(mine, a) for a in e.ins]
        mine.update(zip(e.outs, outvars, strict=True))
        # Names in a body begin at its equation's.
        names = f"{eqn.names}/{e.names}".strip("/")
        eqns.append(e.replace(invars=ins, outvars=outvars, names=names))
    for v, a in zip(eqn.outs, inner.outvars, strict=True):
        env[v] = seen(mine, a)


# ------------------------------------------------------------------ loops and branches


def split_equations(
    jaxpr: Jaxpr, answer: Answer
) -> tuple[list[Equation], list[Equation], dict[Any, Any]]:
    """A jaxpr's equations, those that compute again, and what may be stored for them."""
    forward, again, stored = [], [], {}
    for eqn in jaxpr.eqns:
        found = answer(eqn)
        cut = None if found else _cut_held(eqn, answer)
        if cut is not None:
            forward.append(cut.forward)
            again.append(cut.again)
            stored.update(cut.stored)
            continue
        forward.append(eqn)
        if found:
            stored.update(dict.fromkeys(eqn.outs, found))
        if not found or _shows(eqn):
            again.append(eqn)
    return forward, again, stored


def _shows(eqn: Equation) -> bool:
    """Whether an equation is there for its effect only, which may happen again."""
    return not eqn.outs and any(not getattr(e, "is_once_per_call", True) for e in eqn.effects)


def _cut_body(closed: ClosedJaxpr, answer: Answer) -> tuple[Jaxpr, Jaxpr, list[Any]]:
    """(inputs -> outs ++ stored) and (inputs ++ stored -> outs), and the answers."""
    jaxpr = inline_calls(closed.jaxpr)
    forward, again, stored = split_equations(jaxpr, answer)
    first = Jaxpr([], jaxpr.invars, [*jaxpr.outvars, *stored], forward, name=jaxpr.name)
    second = Jaxpr([], [*jaxpr.invars, *stored], jaxpr.outvars, again, name=jaxpr.name)
    return first, second, list(stored.values())


def _cut_held(eqn: Equation, answer: Answer) -> Cut | None:
    """A loop, call or choice between branches in two; None if nothing is stored inside."""
    held, params = eqn.primitive.regions, eqn.params
    loop = isinstance(held, Loop)
    if held is None or (held.cond if loop else type(held) not in (Call, Branches)):
        return None
    bodies = held.bodies(params)
    if any(b.consts for b in bodies) or (not loop and (held.opaque or held.result_param)):
        return None
    cuts = [_cut_body(b, answer) for b in bodies]
    n_in, n_out = len(bodies[0].in_avals), len(bodies[0].out_avals)
    avals = [a for first, _, _ in cuts for a in first.out_avals[n_out:]]
    if not avals:
        return None
    firsts, seconds, start = [], [], 0
    for first, second, found in cuts:
        end = start + len(found)
        firsts.append(_with_zeros(first, avals[:start], avals[end:], n_out))
        own = range(n_in, n_in + len(found))
        ins = [*range(n_in), *avals[:start], *own, *avals[end:]]
        seconds.append(permute_jaxpr(ClosedJaxpr(second), ins))
        start = end
    values = [Var(stacked(a, params[held.length]) if loop else a) for a in avals]
    if loop:
        groups = held.groups(params, eqn.ins)
        forward, again = (held.rebuild(params, b, groups) for b in (firsts, seconds))
    else:
        old, new = range(n_in), [None] * len(values)
        _, forward = held.rebuild(params, firsts, old, [*range(n_out), *new], keep=True)
        _, again = held.rebuild(params, seconds, [*old, *new], range(n_out), keep=True)
    return Cut(
        eqn.replace(outvars=[*eqn.outs, *values], params=forward),
        eqn.replace(invars=[*eqn.ins, *values], params=again),
        dict(zip(values, (x for _, _, found in cuts for x in found), strict=True)),
    )


def _with_zeros(jaxpr: Jaxpr, before: Any, after: Any, n: int) -> ClosedJaxpr:
    """The program with zeros around what it stores, for what other branches do."""
    if not before and not after:
        return ClosedJaxpr(jaxpr)

    def fun(*args: Any) -> list[Any]:
        outs = eval_jaxpr(jaxpr, (), *args)
        return [*outs[:n], *map(core_ops.zeros, before), *outs[n:], *map(core_ops.zeros, after)]

    return stage_closed(fun, jaxpr.in_avals, name=jaxpr.name, text="checkpoint")
