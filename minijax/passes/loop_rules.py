"""The rules of loops, derived from their description.

`repeats(prim, loop)` gives a primitive that runs a program step by step the rules that
follow from it.  In each the carry settles: a component that is moved by one step, or has
lanes after it, moves in all steps, so that what a step takes is what the last one gave.

This room names no operation.  Next: ../runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..base.depth import partial
from ..base.util import pick, split_list
from ..ir import core
from ..ir.core import Primitive
from ..ir.jaxpr import ClosedJaxpr, Equation, jaxprs_axes, jaxprs_effects, permute_jaxpr
from ..ir.manual_axis_rules import joined
from ..ir.regions import Loop, Params
from .ad_util import nonzero_flags, pick_nonzero, unmapped_aval, with_zeros
from .batch import Axis, batch_jaxpr, move_lane
from .dce import dce_jaxpr, results_depend
from .jvp import jvp_jaxpr
from .region_rules import union

T = TypeVar("T")


def def_loop_rules(prim: Primitive, loop: Loop) -> None:
    """Give a primitive the rules that follow from the loop that it is."""
    prim.regions = loop
    prim.abstract = partial(_abstract, loop)
    prim.effects = jaxprs_effects
    prim.named_axes = jaxprs_axes
    prim.jvp = partial(_jvp, prim, loop)
    prim.linearize = partial(_linearize, prim, loop)
    prim.batch = partial(_batch, prim, loop)
    prim.dce = partial(_dce, loop)
    prim.depends = partial(_depends, loop)


def _abstract(loop: Loop, *avals: Any, **params: Any) -> list[Any]:
    *test, body = loop.bodies(params)
    out: list[Any] = body.out_avals
    if any(
        t.out_avals[0].manual_axis_kinds is not None for t in test
    ):  # each device stops for itself
        return [joined(a, test[0].out_avals[0]) for a in out]
    if loop.length is None:
        return out
    n = loop.carried(params)
    return [*out[:n], *[unmapped_aval(params[loop.length], 0, a) for a in out[n:]]]


def carry_fixed_point(
    body: ClosedJaxpr,
    groups: Sequence[list[bool]],
    transform: Callable[[ClosedJaxpr, list[bool], list[bool]], tuple[T, Sequence[bool]]],
) -> tuple[T, list[bool], list[bool]]:
    """A transformed body that takes the carry as it gives it.

    groups: flags of the consts, the first carry and the rows.
    transform: (body, flags of what it takes, of what it must give) -> (the transformed
        body, flags of what it gives).
    Returns also the flags of the carry, and of what the body gives.
    """
    consts, carry, rows = groups
    n = len(carry)
    free = [False] * (len(body.out_avals) - n)
    while True:
        new, out = transform(body, [*consts, *carry, *rows], [*carry, *free])
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
    """Apply the primitive with other programs, to operands in their groups."""
    operands = [x for group in groups for x in group]
    return prim.bind(*operands, **loop.rebuild(params, bodies, groups))


# -------------------------------------------------------------------------- derivatives


def _jvp(prim: Primitive, loop: Loop, primals: Any, tangents: Any, **params: Any) -> Any:
    *test, body = loop.bodies(params)
    asked, consts, first, rows = loop.groups(params, primals)
    _, *ts = loop.groups(params, tangents)
    moving = [nonzero_flags(t) for t in ts]
    pushed, moving[1], out_moving = carry_fixed_point(body, moving, jvp_jaxpr)
    t_consts, t_first, t_rows = map(pick_nonzero, ts, moving)
    n, n_rows, n_t = len(first), len(out_moving) - len(first), len(t_first)
    pushed = permute_jaxpr(
        pushed,
        _paired([len(consts), n, len(rows)], [len(t_consts), n_t, len(t_rows)]),
        _paired([n, n_rows], [n_t, sum(out_moving[n:])]),
    )
    # The test does not ask for tangents.
    carry = body.in_avals[len(consts) : len(consts) + n]
    unread = [a.to_tangent() for a, m in zip(carry, moving[1], strict=True) if m]
    test = [permute_jaxpr(t, [*range(len(t.in_avals)), *unread]) for t in test]
    groups = [asked, [*consts, *t_consts], [*first, *t_first], [*rows, *t_rows]]
    out = _bind(prim, loop, params, [*test, pushed], groups)
    last, t_last, made, t_made = split_list(out, [n, n_t, n_rows])
    outs = [*last, *made]
    return outs, with_zeros([*t_last, *t_made], out_moving, map(core.aval_of, outs))


def _paired(sizes: Sequence[int], t_sizes: Sequence[int]) -> list[int]:
    """The order (a, a', b, b', ..) of what stands in groups (a, b, .., a', b', ..)."""
    order: list[int] = []
    a, b = 0, sum(sizes)
    for n, m in zip(sizes, t_sizes, strict=True):
        order += [*range(a, a + n), *range(b, b + m)]
        a, b = a + n, b + m
    return order


def _linearize(
    prim: Primitive, loop: Loop, trace: Any, primals: Any, tangents: Any, **params: Any
) -> Any:
    """Run the loop now; the tangent loop, if any, steps through the primals again."""
    out = prim.bind(*primals, **params)
    _, *ts = loop.groups(params, tangents)
    moving = [nonzero_flags(t) for t in ts]
    _, _, out_moving = carry_fixed_point(loop.bodies(params)[-1], moving, jvp_jaxpr)
    if not any(out_moving):
        return out, with_zeros((), out_moving, map(core.aval_of, out))
    with core.current(trace):
        return out, _jvp(prim, loop, primals, tangents, **params)[1]


# -------------------------------------------------------------------------------- lanes


def _batch(prim: Primitive, loop: Loop, axis: Axis, args: Any, dims: Any, **params: Any) -> Any:
    *test, body = loop.bodies(params)
    asked, *flags = loop.groups(params, [d is not None for d in dims])

    def over_lanes(closed: ClosedJaxpr, ins: Any, force: Any) -> Any:
        return batch_jaxpr(closed, axis, ins, force)

    lanes, flags[1], out = carry_fixed_point(body, flags, over_lanes)
    go = [over_lanes(t, [*asked, *flags[1]], False) for t in test]
    if any(own or t.out_avals[0].shape for t, (_, (own,)) in zip(test, go, strict=True)):
        # One answer a lane: lanes that are done keep what they have.
        loop.differ(params)
        flags[1] = [True] * len(flags[1])
        lanes, _, out = carry_fixed_point(body, flags, over_lanes)
        go = [over_lanes(t, [*asked, *flags[1]], True) for t in test]
    n_rows = len(flags[2])
    want = [*asked, *flags[0], *flags[1], *flags[2]]
    places = [*[0] * (len(want) - n_rows), *[1] * n_rows]
    ins = [
        move_lane(x, axis, d, at) if w else x
        for x, d, w, at in zip(args, dims, want, places, strict=True)
    ]
    groups = loop.groups(params, ins)
    outs = _bind(prim, loop, params, [*(t for t, _ in go), lanes], groups)
    n = len(flags[1])
    return outs, [(0 if i < n else 1) if b else None for i, b in enumerate(out)]


# ---------------------------------------------------------------------------- dead code


def _dce(loop: Loop, used: Sequence[bool], eqn: Equation) -> Equation | None:
    """Drop components of the carry that neither results nor test nor body need."""
    if not any(used) and not eqn.effects:
        return None
    *test, body = loop.bodies(eqn.params)
    groups = loop.groups(eqn.params, eqn.ins)
    n_asked, n_consts, n, n_rows = map(len, groups)
    keep, rows = split_list(used, [n])
    read = [False] * n_asked  # of the test's consts
    for t in test:
        _, reads = dce_jaxpr(t.jaxpr, [True])
        read, keep = reads[:n_asked], union([keep, reads[n_asked:]])
    while True:
        _, reads = dce_jaxpr(body.jaxpr, [*keep, *rows])
        before, keep = keep, union([keep, reads[n_consts : n_consts + n]])
        if keep == before:
            break
    asks = [dce_jaxpr(t.jaxpr, [True], keep_in=[*read, *keep])[0] for t in test]
    kept = [*[False] * n_consts, *keep, *[False] * n_rows]
    step, reads = dce_jaxpr(body.jaxpr, [*keep, *rows], keep_in=kept)
    flags = loop.groups(eqn.params, [*read, *reads])
    groups = [pick(group, f) for group, f in zip(groups, flags, strict=True)]
    bodies = [
        ClosedJaxpr(new, old.consts)
        for new, old in zip([*asks, step], [*test, body], strict=True)
    ]
    return eqn.replace(
        invars=[v for group in groups for v in group],
        outvars=pick(eqn.outs, [*keep, *rows]),
        params=loop.rebuild(eqn.params, bodies, groups),
    )


def _depends(loop: Loop, moving: Sequence[bool], params: Params) -> list[bool]:
    *test, body = loop.bodies(params)
    asked, *groups = loop.groups(params, moving)
    _, carry, out = carry_fixed_point(
        body, groups, lambda b, ins, _: (None, results_depend(b.jaxpr, ins))
    )
    for t in test:
        if results_depend(t.jaxpr, [*asked, *carry])[0]:  # the number of steps does
            return [True] * len(out)
    return out
