"""`while_loop` and `fori_loop`.

Operands of `while` are (cond consts, body consts, carry).  Forward mode pushes tangents
through the body; reverse mode cannot know how many steps to store, so its transpose is
refused with the reason, and `fori_loop` with static bounds becomes a scan, which can.
Batched, the loop runs until every lane is done; lanes that are done keep their value.

Next: custom_jvp.py.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import config, errors, tree
from ..base.source import function_text
from ..base.util import split_list
from ..core import core, hooks
from ..core.core import unsupported
from ..core.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Var,
    eval_jaxpr,
    jaxprs_axes,
    jaxprs_effects,
    read_vars,
    unweaken,
)
from ..interpreters import batch as batching
from ..interpreters.algebra import lib, nonzero_flags, pick_nonzero, with_zeros
from ..interpreters.dce import dce_jaxpr, results_depend
from ..interpreters.jvp import jvp_jaxpr
from ..interpreters.stage import remembered, stage_closed
from ..ops import arithmetic, logic, reductions, shapes
from ..types import dtypes
from . import checks, common, discharge
from .arguments import as_value
from .branching import cond
from .discharge import FunctionPrimitive
from .remat import checkpoint
from .scan import carry_fixpoint
from .scanning import scan

while_p = FunctionPrimitive("while")
while_p.takes_keys = True
while_p.abstract = lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals
while_p.effects = jaxprs_effects
while_p.named_axes = jaxprs_axes


def while_jvp(
    primals: Any, tangents: Any, *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
    body_jaxpr: ClosedJaxpr, body_nconsts: int,
) -> Any:  # fmt: skip
    sizes = [cond_nconsts, body_nconsts]
    _, nz_consts, nz_init = split_list(nonzero_flags(tangents), sizes)

    def push(nz: list[bool]) -> Any:
        return jvp_jaxpr(body_jaxpr, [*nz_consts, *nz], nz)

    nz_carry = carry_fixpoint(nz_init, lambda nz: push(nz)[1])
    pushed, _ = push(nz_carry)
    n, nt, nct = len(nz_init), sum(nz_carry), sum(nz_consts)
    # (consts, carry, consts', carry') -> (consts, consts', carry, carry')
    at = body_nconsts + n
    order = [
        *range(body_nconsts), *range(at, at + nct),
        *range(body_nconsts, at), *range(at + nct, at + nct + nt),
    ]  # fmt: skip
    body = common.permute(pushed, order)
    extra = [
        a.to_tangent()
        for a, nz in zip(body_jaxpr.out_avals, nz_carry, strict=True)
        if nz
    ]
    cond_consts, body_consts, init = split_list(primals, sizes)
    _, t_consts, t_init = split_list(tangents, sizes)
    out = while_p.bind(
        *cond_consts, *body_consts, *pick_nonzero(t_consts, nz_consts),
        *init, *pick_nonzero(t_init, nz_carry),
        cond_jaxpr=_with_extra_carry(cond_jaxpr, extra), cond_nconsts=cond_nconsts,
        body_jaxpr=body, body_nconsts=body_nconsts + nct,
    )  # fmt: skip
    carry, t_carry = split_list(out, [n])
    return carry, with_zeros(t_carry, nz_carry, [core.aval_of(x) for x in carry])


def _with_extra_carry(closed: ClosedJaxpr, avals: Sequence[Any]) -> ClosedJaxpr:
    """A condition that ignores further carry components."""
    j = closed.jaxpr
    return ClosedJaxpr(
        Jaxpr(j.constvars, [*j.invars, *map(Var, avals)], j.outvars, j.eqns, j.name),
        closed.consts,
    )


while_p.jvp = while_jvp


def while_linearize(
    trace: Any, primals: Any, tangents: Any, *, cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int,
) -> Any:  # fmt: skip
    """Run the loop now; the tangent loop, if any, steps through the primals again."""
    params: dict[str, Any] = {
        "cond_jaxpr": cond_jaxpr, "cond_nconsts": cond_nconsts,
        "body_jaxpr": body_jaxpr, "body_nconsts": body_nconsts,
    }  # fmt: skip
    out = while_p.bind(*primals, **params)
    avals = [core.aval_of(x) for x in out]
    sizes = [cond_nconsts, body_nconsts]
    _, nz_consts, nz_init = split_list(nonzero_flags(tangents), sizes)
    nz_carry = carry_fixpoint(
        nz_init,
        lambda nz: jvp_jaxpr(body_jaxpr, [*nz_consts, *nz], nz)[1],
    )
    if not any(nz_carry):
        return out, with_zeros([], nz_carry, avals)
    with core.current(trace):
        _, out_t = while_jvp(primals, tangents, **params)
    return out, out_t


while_p.linearize = while_linearize
while_p.transpose = unsupported(
    errors.message(
        "Reverse-mode differentiation does not work for lax.while_loop or"
        " lax.fori_loop with dynamic start/stop values.",
        why="the number of steps to store is not known beforehand.",
        tries=[
            "lax.fori_loop with static bounds, or lax.scan",
            "forward mode: jvp, jacfwd",
            "a custom_vjp for the whole loop",
        ],
    ),
    ValueError,
)


def while_batch(
    axis: Any, args: Any, dims: Any, *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
    body_jaxpr: ClosedJaxpr, body_nconsts: int,
) -> Any:  # fmt: skip
    effects = cond_jaxpr.effects | body_jaxpr.effects
    if checks.fails(effects):  # lanes that are done check nothing
        params = {
            "cond_jaxpr": cond_jaxpr, "cond_nconsts": cond_nconsts,
            "body_jaxpr": body_jaxpr, "body_nconsts": body_nconsts,
        }  # fmt: skip
        return hooks.batch_checks.call(while_p, axis, args, dims, params, effects)
    sizes = [cond_nconsts, body_nconsts]
    b_cc, b_bc, b_init = split_list([d is not None for d in dims], sizes)

    def step(b: list[bool]) -> Sequence[bool]:
        return batching.batch_jaxpr(body_jaxpr, axis, [*b_bc, *b], b)[1]

    b_carry = carry_fixpoint(b_init, step)
    cond, (pred_batched,) = batching.batch_jaxpr(cond_jaxpr, axis, [*b_cc, *b_carry])
    if pred_batched or cond_jaxpr.out_avals[0].shape:
        # One condition a lane: lanes that are done keep what they have (`_masked`).
        common.refuse_lanes(
            cond_jaxpr.effects | body_jaxpr.effects,
            "Unordered {} effects not supported in while_loop with batched predicate",
            "lanes that are done would go on acting.",
        )
        b_carry = [True] * len(b_carry)
        cond, _ = batching.batch_jaxpr(cond_jaxpr, axis, [*b_cc, *b_carry], True)
    body, _ = batching.batch_jaxpr(body_jaxpr, axis, [*b_bc, *b_carry], b_carry)
    vals = [
        x if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args, dims, strict=True)
    ]
    cond_consts, body_consts, init = split_list(vals, sizes)
    _, _, d_init = split_list(dims, sizes)
    init = [
        batching.bring_front(x, axis.size, None) if b and d is None else x
        for x, b, d in zip(init, b_carry, d_init, strict=True)
    ]
    out = while_p.bind(
        *cond_consts, *body_consts, *init, cond_jaxpr=cond, cond_nconsts=len(cond_consts),
        body_jaxpr=body, body_nconsts=len(body_consts),
    )  # fmt: skip
    return out, [0 if b else None for b in b_carry]


def _masked(
    cond: ClosedJaxpr, body: ClosedJaxpr, n_cond: int, n_body: int
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """The loop whose condition is one bool, of a loop with one condition a lane.

    Its body moves only the lanes whose condition holds, and takes the constants of the
    condition before its own; it goes on while any does.
    """

    def step(*args: Any) -> list[Any]:
        cc, bc, carry = split_list(args, [n_cond, n_body])
        (go,) = eval_jaxpr(cond.jaxpr, cond.consts, *cc, *carry)
        new = eval_jaxpr(body.jaxpr, body.consts, *bc, *carry)
        return [select_lanes(go, a, b) for a, b in zip(new, carry, strict=True)]

    def any_left(*args: Any) -> list[Any]:
        (go,) = eval_jaxpr(cond.jaxpr, cond.consts, *args)
        return [reductions.reduce_or(go, tuple(range(go.ndim)))]

    cond_avals = cond.in_avals
    avals = [*cond_avals[:n_cond], *body.in_avals]
    return (
        stage_closed(any_left, cond_avals, text="while cond"),
        stage_closed(step, avals, text="while body"),
    )


while_p.batch = while_batch


def select_lanes(which: Any, new: Any, old: Any) -> Any:
    """`new` in the lanes where `which` holds, `old` elsewhere."""
    shape, lanes = core.aval_of(new).shape, core.aval_of(which).ndim
    if len(shape) > lanes:
        which = lib.broadcast_in_dim(which, shape, tuple(range(lanes)))
    return logic.select_n(which, old, new)


def while_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    """Drop carry components that neither results nor condition nor body need."""
    p = eqn.params
    cond, body = p["cond_jaxpr"], p["body_jaxpr"]
    n_c, n_b = p["cond_nconsts"], p["body_nconsts"]
    if not any(used) and not (cond.effects or body.effects):
        return None
    _, cond_used = dce_jaxpr(
        cond.jaxpr, [True], keep_in=[True] * n_c + [False] * len(used)
    )
    start = [a or b for a, b in zip(used, cond_used[n_c:], strict=True)]
    keep = carry_fixpoint(start, lambda flags: dce_jaxpr(body.jaxpr, flags)[1][n_b:])
    if all(keep):
        return eqn
    new_cond, _ = dce_jaxpr(cond.jaxpr, [True], keep_in=[*[True] * n_c, *keep])
    new_body, used_in = dce_jaxpr(body.jaxpr, keep, keep_in=[*[False] * n_b, *keep])
    flags = [*[True] * n_c, *used_in]
    return eqn.replace(
        invars=[v for v, u in zip(eqn.invars, flags, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, keep, strict=True) if u],
        params={
            **p,
            "cond_jaxpr": ClosedJaxpr(new_cond, cond.consts),
            "body_jaxpr": ClosedJaxpr(new_body, body.consts),
            "body_nconsts": sum(used_in[:n_b]),
        },
    )


while_p.dce = while_dce


def while_depends(moving: Sequence[bool], params: dict[str, Any]) -> list[bool]:
    cond, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    sizes = [params["cond_nconsts"], params["body_nconsts"]]
    in_cond, in_body, init = split_list(moving, sizes)
    carry = carry_fixpoint(init, lambda flags: results_depend(body, [*in_body, *flags]))
    (steps,) = results_depend(cond, [*in_cond, *carry])
    return [c or steps for c in carry]


while_p.depends = while_depends


def while_lower(
    ctx: Any, *args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
    body_jaxpr: ClosedJaxpr, body_nconsts: int,
) -> list[Any]:  # fmt: skip
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    if cond_jaxpr.out_avals[0].shape:
        cond_jaxpr, body_jaxpr = _masked(
            cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts
        )
        body_consts = [*cond_consts, *body_consts]
    tokens = [ctx.token] if ctx.token is not None else []
    start = [*tokens, *carry]
    types = [v.type for v in start]
    loop = ctx.region_op("stablehlo.while", types, start, regions=2)
    with ctx.block(loop.regions[0], *types) as v:
        state = list(v)
        if tokens:
            ctx.token = state.pop(0)
        ctx.return_(*ctx.jaxpr(cond_jaxpr, *cond_consts, *state))
    with ctx.block(loop.regions[1], *types) as v:
        state = list(v)
        if tokens:
            ctx.token = state.pop(0)
        out = ctx.jaxpr(body_jaxpr, *body_consts, *state)
        ctx.return_(*([ctx.token] if tokens else []), *out)
    results = list(loop.results)
    if tokens:
        ctx.token = results.pop(0)
    return results


while_p.lower = while_lower


def while_by_hand(
    *args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> list[Any]:  # fmt: skip
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    if cond_jaxpr.out_avals[0].shape:
        cond_jaxpr, body_jaxpr = _masked(
            cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts
        )
        body_consts = [*cond_consts, *body_consts]
    while bool(cond_jaxpr(*cond_consts, *carry)[0]):
        carry = body_jaxpr(*body_consts, *carry)
    return carry


common.run_by_hand(while_p, while_by_hand)


def while_discharge(
    due: Sequence[bool], args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """References that the loop writes to are carried."""
    n_c, n_b = params["cond_nconsts"], params["body_nconsts"]
    n = len(args) - n_c - n_b
    cond, in_cond = discharge.by_value(params["cond_jaxpr"], [*due[:n_c], *[False] * n])
    body, in_body = discharge.by_value(
        params["body_jaxpr"], [*due[n_c : n_c + n_b], *[False] * n]
    )
    if any(in_cond):
        return _asking_ahead(
            cond, body, n_c, n_b, due, [*in_cond[:n_c], *in_body[:n_b]], args
        )
    body_args = args[n_c : n_c + n_b]
    carried = [i for i, w in enumerate(in_body[:n_b]) if w]
    where = {id(body_args[i]): k for k, i in enumerate(carried)}
    # The condition finds what is carried there, not among its constants.
    stay_c = [i for i in range(n_c) if not due[i] or id(args[i]) not in where]
    stay_b = [i for i in range(n_b) if not in_body[i]]
    body = common.permute(
        body, [*stay_b, *carried, *range(n_b, n_b + n)],
        [*range(n, n + len(carried)), *range(n)],
    )  # fmt: skip
    carry_avals = [body_args[i].aval.inner_aval for i in carried]
    read = [
        where.get(id(x)) if d else None for x, d in zip(args[:n_c], due, strict=False)
    ]
    values = discharge.values_of(args, due)
    out = while_p.bind(
        *(values[i] for i in stay_c), *(values[n_c + i] for i in stay_b),
        *(values[n_c + i] for i in carried), *values[n_c + n_b :],
        cond_jaxpr=_reading_carry(cond, n_c, read, carry_avals),
        cond_nconsts=len(stay_c), body_jaxpr=body, body_nconsts=len(stay_b),
    )  # fmt: skip
    discharge.write_back(body_args, in_body[:n_b], out[: len(carried)])
    return out[len(carried) :]


def _asking_ahead(
    cond: ClosedJaxpr, body: ClosedJaxpr, n_c: int, n_b: int, due: Sequence[bool],
    written: Sequence[bool], args: Sequence[Any],
) -> list[Any]:  # fmt: skip
    """A loop whose condition writes: each step ends with asking whether there is another.

    The carry is the answer, the written references' values, and the loop's own carry.
    """
    consts = args[: n_c + n_b]
    marked = zip(consts, written, strict=True)
    places = {id(x): x for x, w in marked if w}  # a reference may be there twice
    held = {key: k for k, key in enumerate(places)}
    at = [held.get(id(x)) if d else None for x, d in zip(consts, due, strict=False)]
    stay = [i for i, k in enumerate(at) if k is None]

    def call(closed: ClosedJaxpr, span: range, state: list[Any], ins: Any) -> list[Any]:
        """Results of a part of the loop, which brings `state` up to date."""
        out = closed(*ins)
        new: list[Any] = [at[i] for i in span if written[i]]
        for k, x in zip(new, out[len(out) - len(new) :], strict=True):
            state[k] = x
        return out[: len(out) - len(new)]

    def step(xs: Sequence[Any], again: bool) -> list[Any]:
        fixed, state, carry = split_list(xs, [len(stay), len(held)])
        it = iter(fixed)
        ins = [next(it) if k is None else None for k in at]
        filled = lambda span: [
            ins[i] if (k := at[i]) is None else state[k] for i in span
        ]
        first, second = range(n_c), range(n_c, n_c + n_b)
        if again:
            carry = call(body, second, state, [*filled(second), *carry])
        (more,) = call(cond, first, state, [*filled(first), *carry])
        return [more, *state, *carry]

    values = discharge.values_of(args, due)
    fixed, n = [values[i] for i in stay], len(stay)
    state = map(discharge.read_all, places.values())
    carry = step([*fixed, *state, *values[n_c + n_b :]], False)
    avals = [core.aval_of(x) for x in carry]
    key = (body.jaxpr, tuple(at), *avals)
    out = while_p.bind(
        *fixed, *carry,
        cond_jaxpr=remembered(
            cond, ("answer", *key), lambda: stage_closed(lambda more, *_: [more], avals)
        ),
        cond_nconsts=0,
        body_jaxpr=remembered(
            cond, ("asking ahead", *key),
            lambda: stage_closed(
                lambda *xs: step([*xs[:n], *xs[n + 1 :]], True),
                [*map(core.aval_of, fixed), *avals],
            ),
        ),
        body_nconsts=n,
    )  # fmt: skip
    for ref, x in zip(places.values(), out[1:], strict=False):
        discharge.write_all(ref, x)
    return out[1 + len(places) :]


def _reading_carry(
    cond: ClosedJaxpr, n_consts: int, read: Sequence[int | None], avals: Sequence[Any]
) -> ClosedJaxpr:
    """A condition with more carry components first, of which it reads some as constants."""
    j = cond.jaxpr
    consts, carry = j.invars[:n_consts], j.invars[n_consts:]
    of = {at: v for v, at in zip(consts, read, strict=True) if at is not None}
    stay = [v for v, at in zip(consts, read, strict=True) if at is None]
    more = [of.get(k) or Var(a) for k, a in enumerate(avals)]
    ins = [*stay, *more, *carry]
    return remembered(
        cond, ("reading", *read, *avals),
        lambda: ClosedJaxpr(Jaxpr(j.constvars, ins, j.outvars, j.eqns, j.name)),
    )  # fmt: skip


while_p.discharge = while_discharge


def while_opened(captured: Any, args: Any, params: dict[str, Any]) -> Any:
    n, k = params["cond_nconsts"], len(captured)
    return (*captured, *args[:n], *captured, *args[n:]), {
        "cond_jaxpr": discharge.open_jaxpr(params["cond_jaxpr"], captured),
        "cond_nconsts": n + k,
        "body_jaxpr": discharge.open_jaxpr(params["body_jaxpr"], captured),
        "body_nconsts": params["body_nconsts"] + k,
    }  # fmt: skip


while_p.opened = while_opened


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
    max_steps: int | None = None, loop: common.Loop | None = None,
) -> Any:  # fmt: skip
    """Repeat `val = body_fun(val)` while `cond_fun(val)` holds, in one compiled loop.

    Args:
      cond_fun: takes the carry, returns a bool scalar.
      body_fun: takes the carry, returns one of the same type.
      init_val: the initial carry, a pytree.
      max_steps: stop after so many steps at the latest; with it the loop has reverse
        mode, storing about 2 sqrt(max_steps) carries and running each step twice.
      loop: how messages speak of the loop, where another function is built on this one.

    Raises:
      TypeError: the carry changes its type, or the condition is no bool scalar;
      ValueError: `max_steps` is no int, or negative.

    Example:
      >>> import minijax as mj
      >>> mj.lax.while_loop(lambda x: x < 10, lambda x: 2 * x, 1)
      Array(16, dtype=int32, weak_type=True)

    Only forward-mode differentiable, but for loops with `max_steps`.

    Differs from JAX: `max_steps`.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError(
            "lax.while_loop: body_fun and cond_fun arguments should be callable."
        )
    if max_steps is not None:
        max_steps = core.concrete_or_error(
            operator.index, max_steps, "The `max_steps` of a while_loop decides how much"
            " its backward pass stores.",
        )  # fmt: skip
        if max_steps < 0:
            raise ValueError(f"while_loop: max_steps must be >= 0, got {max_steps}.")
    if config.DISABLE_JIT.value:
        try:
            val, steps = tree.map(as_value, init_val), itertools.count()
            while cond_fun(val) and (max_steps is None or next(steps) < max_steps):
                val = body_fun(val)
            return val
        except errors.ConcretizationTypeError:
            pass  # a traced condition: stage the loop after all
    loop = loop or common.Loop.of("while_loop body", body_fun)
    init, init_tree = tree.flatten(init_val)
    common.types_of("init_val", init, init_tree)
    in_tree = tree.structure((init_val,))
    while True:
        avals = [core.aval_of(x) for x in init]
        cond = common.stage_body(cond_fun, in_tree, avals, "while_loop")
        body = common.stage_body(body_fun, in_tree, avals, loop.transform, loop.fun)
        if body.out_tree == init_tree:
            promoted = common.promote_weak(init, avals, body.out_avals)
            if promoted is not None:
                init = promoted
                continue
        break
    _check_condition(cond_fun, cond)
    common.check_carry(loop, init_tree, avals, body.out_tree, body.out_avals)
    if max_steps is not None:
        return _bounded(cond_fun, body_fun, tree.unflatten(init_tree, init), max_steps)
    # What no step changes, and the condition does not ask for, is no carry.
    asked = read_vars(cond.jaxpr)
    fixed = [
        out is v and u not in asked
        for out, v, u in zip(
            body.jaxpr.outvars, body.jaxpr.invars, cond.jaxpr.invars, strict=True
        )
    ]
    stay = [as_value(x) for x, f in zip(init, fixed, strict=True) if f]
    move = [x for x, f in zip(init, fixed, strict=True) if not f]
    consts = [*stay, *body.consts]
    out = while_p.bind(
        *cond.consts, *consts, *move,
        cond_jaxpr=_without_carry(cond, fixed), cond_nconsts=len(cond.consts),
        body_jaxpr=common.lift_fixed(body, fixed, ()), body_nconsts=len(consts),
    )  # fmt: skip
    return tree.unflatten(init_tree, common.interleave(fixed, stay, out))


def _without_carry(cond: common.Body, fixed: Sequence[bool]) -> ClosedJaxpr:
    """The condition, which does not take the fixed components of the carry."""
    j = cond.jaxpr
    key = ("without", *fixed)
    found = j.memo.get(key)
    if found is None:
        ins = [v for v, f in zip(j.invars, fixed, strict=True) if not f]
        found = j.memo[key] = ClosedJaxpr(
            Jaxpr([], [*j.constvars, *ins], j.outvars, j.eqns, j.name)
        )
    return found


def _bounded(cond_fun: Any, body_fun: Any, init_val: Any, max_steps: int) -> Any:
    """A while loop of at most `max_steps` steps, in segments of about its root.

    Each segment is a checkpoint: the backward pass replays it from its first carry.
    """
    inner = max(1, math.isqrt(max(max_steps - 1, 0)) + 1)
    outer = -(-max_steps // inner)

    def keep(val: Any, *_: Any) -> Any:
        return val

    def step(val: Any, i: Any) -> tuple[Any, None]:
        go = logic.bitwise_and(cond_fun(val), logic.lt(i, np.int32(max_steps)))
        return cond(go, body_fun, keep, val), None

    @functools.partial(checkpoint, prevent_cse=False)
    def segment(val: Any, start: Any) -> Any:
        steps = arithmetic.add(shapes.iota(np.int32, inner), start)
        return scan(step, val, steps)[0]

    def next_segment(val: Any, start: Any) -> tuple[Any, None]:
        return cond(cond_fun(val), segment, keep, val, start), None

    out = scan(next_segment, init_val, np.arange(outer, dtype=np.int32) * inner)[0]
    if core.STATE.trace is not core.EVAL:  # seen by checkify alone
        done = logic.bitwise_not(cond_fun(out))
        checks.debug_check(done, f"while_loop: more than max_steps={max_steps} steps")
    return out


def _check_condition(cond_fun: Any, cond: common.Body) -> None:
    avals = cond.out_avals
    if cond.out_tree.num_leaves != 1 or cond.out_tree.num_nodes != 1:
        raise TypeError(
            errors.message(
                f"cond_fun must return a boolean scalar, but got pytree {cond.out_tree}.",
                where=function_text(cond_fun),
            )
        )
    if avals[0].shape != () or not dtypes.is_bool(avals[0].dtype):
        raise TypeError(
            errors.message(
                "cond_fun must return a boolean scalar, but got output type(s)"
                f" {avals}.",
                where=function_text(cond_fun),
                tries=["compare, or reduce with .all() or .any()"],
            )
        )


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    unroll: int | bool | None = None,
) -> Any:  # fmt: skip
    """Repeat `val = body_fun(i, val)` for i from `lower` to `upper - 1`.

    Args:
      lower, upper: bounds; static ones (all but tracers) make the loop reverse-mode
        differentiable, and i a weakly typed int.
      body_fun: takes (i, val), returns a value of `val`'s type.
      init_val: the initial value, a pytree.
      unroll: as for `scan`; static bounds only.

    Raises:
      TypeError: bounds are no scalars or differ in dtype, or the value changes type.

    Example:
      >>> import minijax as mj
      >>> mj.lax.fori_loop(0, 5, lambda i, x: x + i, 0)
      Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    lo, up = core.aval_of(lower), core.aval_of(upper)
    for a in (lo, up):
        number = dtypes.is_integer(a.dtype) or dtypes.is_float(a.dtype)
        if a.shape != () or not number:
            raise TypeError(
                "lower and upper arguments to fori_loop must be integer scalars, got"
                f" {lo.str_short()} and {up.str_short()}."
            )
    lower, upper = _alike(lower, lo, upper, up)
    if config.DISABLE_JIT.value and core.is_concrete(lower) and core.is_concrete(upper):
        val = init_val
        for i in range(int(lower), int(upper)):
            val = body_fun(i, val)
        return val
    if not isinstance(lower, core.Tracer) and not isinstance(upper, core.Tracer):
        first, n = int(lower), max(int(upper) - int(lower), 0)
        largest = np.iinfo(dtypes.int_default()).max
        if not dtypes.is_unsigned(lo.dtype) or first + n <= largest:
            lower = first  # a Python int, but for what only unsigned integers hold
        return scan(
            common.same_for(body_fun, _scan_step), (lower, init_val), None,
            length=n, unroll=1 if unroll is None else unroll,
            loop=common.Loop.of("fori_loop body", body_fun, 1, inside=1),
        )[0][1]  # fmt: skip
    if unroll not in (None, 1) and unroll is not False:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known."
        )
    return while_loop(
        _is_before, common.same_for(body_fun, _while_step), (lower, upper, init_val),
        loop=common.Loop.of("fori_loop body", body_fun, 1, inside=1),
    )[2]  # fmt: skip


def _alike(lower: Any, lo: Any, upper: Any, up: Any) -> tuple[Any, Any]:
    """Bounds of one dtype: a weakly typed one takes the other's."""
    if lo.dtype == up.dtype:
        return lower, upper
    if dtypes.is_integer(lo.dtype) is not dtypes.is_integer(up.dtype):
        lo, up = unweaken(lo), unweaken(up)  # 0 and 3.5 do not join
    dtype, _ = dtypes.promote(((lo.dtype, lo.weak_type), (up.dtype, up.weak_type)))
    try:
        if lo.weak_type and dtype == up.dtype:
            return common.with_dtype(lower, dtype), upper
        if up.weak_type and dtype == lo.dtype:
            return lower, common.with_dtype(upper, dtype)
    except OverflowError:
        pass  # a Python int that the other dtype does not hold
    raise TypeError(
        "lower and upper arguments to fori_loop must have equal types, got"
        f" {lo.dtype.name} and {up.dtype.name}."
    )


def _scan_step(body: Callable[..., Any]) -> Callable[..., Any]:
    def step(carry: Any, _: None) -> Any:
        i, val = carry
        return (i + 1, body(i, val)), None

    return step


def _is_before(carry: Any) -> Any:
    return logic.lt(carry[0], carry[1])


def _while_step(body: Callable[..., Any]) -> Callable[..., Any]:
    def step(carry: Any) -> Any:
        i, end, val = carry
        return i + 1, end, body(i, val)

    return step
