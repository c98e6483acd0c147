"""Checkpoint policies inside calls, loops and branches.

A value that a policy stores inside a body becomes an extra result of the equation that
holds the body, and an extra operand of the equation that recomputes it: a scan stacks it, a
branch returns zeros for the values that other branches store.  Next: remat.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    Var,
    cached_on_jaxpr,
    eval_jaxpr,
    permute_jaxpr,
)
from ...ir.regions import Branches, Call, Loop
from ...passes.ad_util import core_ops
from ...passes.stage import stage_closed
from ..body_staging import stacked
from .jit_primitive import jit_p

Answer = Callable[[Equation], Any]


class SplitEquation(NamedTuple):
    """An equation in two: the variables `stored` lead from the first to the second."""

    forward: Equation
    recompute: Equation
    stored: dict[Any, Any]  # variable -> the policy's answer


# ------------------------------------------------------------------------------- calls


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr with jitted calls inlined, so that policies see inside them."""
    # Not the jaxpr as its own cached result, which would keep it alive.
    return _inlined(jaxpr) if any(e.primitive is jit_p for e in jaxpr.eqns) else jaxpr


@cached_on_jaxpr
def _inlined(jaxpr: Jaxpr) -> Jaxpr:
    env: dict[Any, Any] = {}
    eqns: list[Equation] = []
    for eqn in jaxpr.eqns:
        _inline(eqn, env, eqns)
    outs = [seen(env, a) for a in jaxpr.outvars]
    return jaxpr.replace(outvars=outs, eqns=eqns)


def seen(env: dict[Any, Any], a: Any) -> Any:
    """Return the atom that replaces `a`."""
    return a if type(a) is Literal else env.get(a, a)


def _inline(eqn: Equation, env: dict[Any, Any], eqns: list[Equation]) -> None:
    invars = [seen(env, a) for a in eqn.ins]
    closed: Any = eqn.params["jaxpr"] if eqn.primitive is jit_p else None
    if closed is None or closed.consts:
        eqns.append(eqn.replace(invars=invars))
        return
    inner = inline_calls(closed.jaxpr)
    inner_env: dict[Any, Any] = dict(zip(inner.invars, invars, strict=True))
    for e in inner.eqns:
        outvars = [Var(v.aval) for v in e.outs]
        ins = [seen(inner_env, a) for a in e.ins]
        inner_env.update(zip(e.outs, outvars, strict=True))
        # Names in a body are prefixed by the equation's name.
        names = f"{eqn.names}/{e.names}".strip("/")
        eqns.append(e.replace(invars=ins, outvars=outvars, names=names))
    for v, a in zip(eqn.outs, inner.outvars, strict=True):
        env[v] = seen(inner_env, a)


# ------------------------------------------------------------------ loops and branches


def split_equations(
    jaxpr: Jaxpr, answer: Answer
) -> tuple[list[Equation], list[Equation], dict[Any, Any]]:
    """Return a jaxpr's equations, those to recompute, and the variables to store."""
    forward, recompute, stored = [], [], {}
    for eqn in jaxpr.eqns:
        is_stored = answer(eqn)
        split = None if is_stored else _split_regions(eqn, answer)
        if split is not None:
            forward.append(split.forward)
            recompute.append(split.recompute)
            stored.update(split.stored)
            continue
        forward.append(eqn)
        if is_stored:
            stored.update(dict.fromkeys(eqn.outs, is_stored))
        if not is_stored or _is_repeatable_effect(eqn):
            recompute.append(eqn)
    return forward, recompute, stored


def _is_repeatable_effect(eqn: Equation) -> bool:
    """Whether an equation has only an effect, and one that may happen again."""
    return not eqn.outs and any(not getattr(e, "is_once_per_call", True) for e in eqn.effects)


def _split_body(closed: ClosedJaxpr, answer: Answer) -> tuple[Jaxpr, Jaxpr, list[Any]]:
    """Return (inputs -> outs ++ stored), (inputs ++ stored -> outs), and the answers."""
    jaxpr = inline_calls(closed.jaxpr)
    forward, recompute, stored = split_equations(jaxpr, answer)
    first = Jaxpr([], jaxpr.invars, [*jaxpr.outvars, *stored], forward, name=jaxpr.name)
    second = Jaxpr([], [*jaxpr.invars, *stored], jaxpr.outvars, recompute, name=jaxpr.name)
    return first, second, list(stored.values())


def _split_regions(eqn: Equation, answer: Answer) -> SplitEquation | None:
    """Split a loop, call or conditional in two; None if nothing is stored inside."""
    held, params = eqn.primitive.regions, eqn.params
    loop = isinstance(held, Loop)
    if held is None or (held.cond if loop else type(held) not in (Call, Branches)):
        return None
    bodies = held.bodies(params)
    if any(b.consts for b in bodies) or (not loop and (held.opaque or held.result_param)):
        return None
    splits = [_split_body(b, answer) for b in bodies]
    n_in, n_out = len(bodies[0].in_avals), len(bodies[0].out_avals)
    avals = [a for first, _, _ in splits for a in first.out_avals[n_out:]]
    if not avals:
        return None
    firsts, seconds, start = [], [], 0
    for first, second, answers in splits:
        end = start + len(answers)
        firsts.append(_with_zeros(first, avals[:start], avals[end:], n_out))
        own = range(n_in, n_in + len(answers))
        ins = [*range(n_in), *avals[:start], *own, *avals[end:]]
        seconds.append(permute_jaxpr(ClosedJaxpr(second), ins))
        start = end
    values = [Var(stacked(a, params[held.length]) if loop else a) for a in avals]
    if loop:
        groups = held.groups(params, eqn.ins)
        forward, recompute = (held.rebuild(params, b, groups) for b in (firsts, seconds))
    else:
        old, new = range(n_in), [None] * len(values)
        _, forward = held.rebuild(params, firsts, old, [*range(n_out), *new], keep=True)
        _, recompute = held.rebuild(params, seconds, [*old, *new], range(n_out), keep=True)
    return SplitEquation(
        eqn.replace(outvars=[*eqn.outs, *values], params=forward),
        eqn.replace(invars=[*eqn.ins, *values], params=recompute),
        dict(zip(values, (x for _, _, answers in splits for x in answers), strict=True)),
    )


def _with_zeros(jaxpr: Jaxpr, before: Any, after: Any, n: int) -> ClosedJaxpr:
    """Return the program with zeros for the values that other branches store."""
    if not before and not after:
        return ClosedJaxpr(jaxpr)

    def fun(*args: Any) -> list[Any]:
        outs = eval_jaxpr(jaxpr, (), *args)
        return [*outs[:n], *map(core_ops.zeros, before), *outs[n:], *map(core_ops.zeros, after)]

    return stage_closed(fun, jaxpr.in_avals, name=jaxpr.name, text="checkpoint")
