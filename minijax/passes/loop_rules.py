"""The rules of loops, derived from their description.

`def_loop_rules(prim, loop)` defines the rules of a primitive that runs a program step by
step.  Each rule iterates to a fixed point of the carry: if a component of the carry has a
tangent, or a lane axis, after a step, then it has one before every step, so that the type
of the carry does not change from step to step.

This package names no operation.  Next: ../runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..base.depth import partial
from ..base.util import pick, split_list
from ..ir import core
from ..ir.core import Primitive
from ..ir.facts import Facts
from ..ir.jaxpr import ClosedJaxpr, Equation, jaxprs_axes, jaxprs_effects, permute_jaxpr
from ..ir.regions import Loop, Params
from ..ir.sharding_rules import joined
from ..types.type_sharding import UNSHARDED
from .ad_util import nonzero_flags, pick_nonzero, unmapped_aval, with_zeros
from .batch import Axis, batch_jaxpr, move_lane
from .dce import dce_jaxpr, results_depend
from .jvp import jvp_jaxpr
from .region_rules import union

T = TypeVar("T")


def def_loop_rules(prim: Primitive, loop: Loop, **facts: Any) -> None:
    """Define the rules and facts of the primitive that runs `loop`."""
    prim.regions = loop
    prim.abstract = partial(_abstract, loop)
    prim.effects = jaxprs_effects
    prim.named_axes = jaxprs_axes
    prim.jvp = partial(_jvp, prim, loop)
    prim.linearize = partial(_linearize, prim, loop)
    prim.batch = partial(_batch, prim, loop)
    prim.dce = partial(_dce, loop)
    prim.facts = Facts(depends=partial(_depends, loop), **facts)


def _abstract(loop: Loop, *avals: Any, **params: Any) -> list[Any]:
    *conds, body = loop.bodies(params)
    out: list[Any] = body.out_avals
    # Devices may stop at different steps; then results vary along the same axes.
    if any(t.out_avals[0].type_sharding is not UNSHARDED for t in conds):
        return [joined(a, conds[0].out_avals[0]) for a in out]
    if loop.length is None:
        return out
    n = loop.carried(params)
    return [*out[:n], *[unmapped_aval(params[loop.length], 0, a) for a in out[n:]]]


def carry_fixed_point(
    body: ClosedJaxpr,
    groups: Sequence[list[bool]],
    transform: Callable[[ClosedJaxpr, list[bool], list[bool]], tuple[T, Sequence[bool]]],
) -> tuple[T, list[bool], list[bool]]:
    """Return a transformed body whose carry has equal flags before and after a step.

    groups: flags of the constants, the initial carry and the `xs`.
    transform: (body, flags of its inputs, flags that its outputs must have) -> (transformed
        body, flags of its outputs).
    Also returns the flags of the carry, and of all outputs of the body.
    """
    consts, carry, xs = groups
    n = len(carry)
    free = [False] * (len(body.out_avals) - n)
    while True:
        new, out = transform(body, [*consts, *carry, *xs], [*carry, *free])
        after = union([carry, out[:n]])
        if after == carry:
            return new, carry, [*carry, *out[n:]]
        carry = after


def _bind(
    prim: Primitive,
    loop: Loop,
    params: Params,
    bodies: Sequence[ClosedJaxpr],
    groups: Sequence[Sequence[Any]],
) -> Any:
    """Apply the primitive with other programs to operands in groups."""
    operands = [x for group in groups for x in group]
    return prim.bind(*operands, **loop.rebuild(params, bodies, groups))


# -------------------------------------------------------------------------- derivatives


def _jvp(prim: Primitive, loop: Loop, primals: Any, tangents: Any, **params: Any) -> Any:
    *conds, body = loop.bodies(params)
    cond_consts, consts, first, xs = loop.groups(params, primals)
    _, *ts = loop.groups(params, tangents)
    nonzero = [nonzero_flags(t) for t in ts]
    jvp_body, nonzero[1], out_nonzero = carry_fixed_point(body, nonzero, jvp_jaxpr)
    t_consts, t_first, t_xs = map(pick_nonzero, ts, nonzero)
    n, n_ys, n_t = len(first), len(out_nonzero) - len(first), len(t_first)
    jvp_body = permute_jaxpr(
        jvp_body,
        _paired([len(consts), n, len(xs)], [len(t_consts), n_t, len(t_xs)]),
        _paired([n, n_ys], [n_t, sum(out_nonzero[n:])]),
    )
    # The condition takes the tangents of the carry too, but does not use them.
    carry = body.in_avals[len(consts) : len(consts) + n]
    unread = [a.to_tangent() for a, m in zip(carry, nonzero[1], strict=True) if m]
    conds = [permute_jaxpr(t, [*range(len(t.in_avals)), *unread]) for t in conds]
    groups = [cond_consts, [*consts, *t_consts], [*first, *t_first], [*xs, *t_xs]]
    out = _bind(prim, loop, params, [*conds, jvp_body], groups)
    last, t_last, ys, t_ys = split_list(out, [n, n_t, n_ys])
    outs = [*last, *ys]
    return outs, with_zeros([*t_last, *t_ys], out_nonzero, map(core.aval_of, outs))


def _paired(sizes: Sequence[int], t_sizes: Sequence[int]) -> list[int]:
    """Return the permutation from groups (a, b, .., a', b', ..) to (a, a', b, b', ..)."""
    permutation: list[int] = []
    a, b = 0, sum(sizes)
    for n, m in zip(sizes, t_sizes, strict=True):
        permutation += [*range(a, a + n), *range(b, b + m)]
        a, b = a + n, b + m
    return permutation


def _linearize(
    prim: Primitive, loop: Loop, trace: Any, primals: Any, tangents: Any, **params: Any
) -> Any:
    """Run the loop now; record a tangent loop, if needed, that recomputes the primals."""
    out = prim.bind(*primals, **params)
    _, *ts = loop.groups(params, tangents)
    nonzero = [nonzero_flags(t) for t in ts]
    _, _, out_nonzero = carry_fixed_point(loop.bodies(params)[-1], nonzero, jvp_jaxpr)
    if not any(out_nonzero):
        return out, with_zeros((), out_nonzero, map(core.aval_of, out))
    with core.current(trace):
        return out, _jvp(prim, loop, primals, tangents, **params)[1]


# -------------------------------------------------------------------------------- lanes


def _batch(prim: Primitive, loop: Loop, axis: Axis, args: Any, dims: Any, **params: Any) -> Any:
    *conds, body = loop.bodies(params)
    cond_batched, *flags = loop.groups(params, [d is not None for d in dims])

    def over_lanes(closed: ClosedJaxpr, ins: Any, force: Any) -> Any:
        return batch_jaxpr(closed, axis, ins, force)

    batched_body, flags[1], out = carry_fixed_point(body, flags, over_lanes)
    batched_conds = [over_lanes(t, [*cond_batched, *flags[1]], False) for t in conds]
    if any(
        own or t.out_avals[0].shape for t, (_, (own,)) in zip(conds, batched_conds, strict=True)
    ):
        # The condition differs between lanes: lanes that are done keep their carry.
        loop.differ(params)
        flags[1] = [True] * len(flags[1])
        batched_body, _, out = carry_fixed_point(body, flags, over_lanes)
        batched_conds = [over_lanes(t, [*cond_batched, *flags[1]], True) for t in conds]
    n_xs = len(flags[2])
    batched = [*cond_batched, *flags[0], *flags[1], *flags[2]]
    lane_dims = [*[0] * (len(batched) - n_xs), *[1] * n_xs]
    ins = [
        move_lane(x, axis, d, at) if w else x
        for x, d, w, at in zip(args, dims, batched, lane_dims, strict=True)
    ]
    groups = loop.groups(params, ins)
    outs = _bind(prim, loop, params, [*(t for t, _ in batched_conds), batched_body], groups)
    n = len(flags[1])
    return outs, [(0 if i < n else 1) if b else None for i, b in enumerate(out)]


# ---------------------------------------------------------------------------- dead code


def _dce(loop: Loop, used: Sequence[bool], eqn: Equation) -> Equation | None:
    """Remove the components of the carry that neither results, condition nor body need."""
    if not any(used) and not eqn.effects:
        return None
    *conds, body = loop.bodies(eqn.params)
    groups = loop.groups(eqn.params, eqn.ins)
    n_cond_consts, n_consts, n, n_xs = map(len, groups)
    keep, used_ys = split_list(used, [n])
    read = [False] * n_cond_consts  # which constants of the condition are used
    for t in conds:
        _, reads = dce_jaxpr(t.jaxpr, [True])
        read, keep = reads[:n_cond_consts], union([keep, reads[n_cond_consts:]])
    while True:
        _, reads = dce_jaxpr(body.jaxpr, [*keep, *used_ys])
        before, keep = keep, union([keep, reads[n_consts : n_consts + n]])
        if keep == before:
            break
    pruned_conds = [dce_jaxpr(t.jaxpr, [True], keep_in=[*read, *keep])[0] for t in conds]
    keep_in = [*[False] * n_consts, *keep, *[False] * n_xs]
    step, reads = dce_jaxpr(body.jaxpr, [*keep, *used_ys], keep_in=keep_in)
    flags = loop.groups(eqn.params, [*read, *reads])
    groups = [pick(group, f) for group, f in zip(groups, flags, strict=True)]
    bodies = [
        ClosedJaxpr(new, old.consts)
        for new, old in zip([*pruned_conds, step], [*conds, body], strict=True)
    ]
    return eqn.replace(
        invars=[v for group in groups for v in group],
        outvars=pick(eqn.outs, [*keep, *used_ys]),
        params=loop.rebuild(eqn.params, bodies, groups),
    )


def _depends(loop: Loop, flags: Sequence[bool], params: Params) -> list[bool]:
    *conds, body = loop.bodies(params)
    cond_flags, *groups = loop.groups(params, flags)
    _, carry, out = carry_fixed_point(
        body, groups, lambda b, ins, _: (None, results_depend(b.jaxpr, ins))
    )
    for t in conds:
        if results_depend(t.jaxpr, [*cond_flags, *carry])[0]:  # the number of steps depends
            return [True] * len(out)
    return out
