"""`scan`: a loop with a carry over the leading axis of its inputs.

    (c, [x_0 .. x_n]) -> (c', [y_0 .. y_n])      c, y_i = f(c, x_i)

All of scan's rules are here.  Operands are (consts, carry, xs), results (carry, ys).
Linearized, the forward loop stacks the residuals as extra ys; those that do not change
from step to step are computed once, outside.  The transposed loop runs backwards, with
cotangents of consts added up in its carry.

Next: hoisting.py, and scanning.py (the function).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.util import split_list
from ..core import core
from ..core.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    eval_jaxpr,
    jaxprs_axes,
    jaxprs_effects,
)
from ..interpreters import batch as batching
from ..interpreters.algebra import (
    Linear,
    Zero,
    add,
    instantiate,
    lib,
    nonzero_flags,
    pick_nonzero,
    with_zeros,
)
from ..interpreters.dce import dce_jaxpr, depends_on, results_depend
from ..interpreters.jvp import jvp_jaxpr
from ..interpreters.linearize import linearize_jaxpr
from ..interpreters.stage import stage_closed
from ..interpreters.transpose import backward_pass
from ..ops import structural
from ..runtime import lower
from ..types import dtypes
from ..types.avals import shaped
from . import common, discharge
from .discharge import FunctionPrimitive
from .hoisting import hoist_invariants

scan_p = FunctionPrimitive("scan")
scan_p.takes_keys = True


def scan_abstract(
    *avals: Any, jaxpr: ClosedJaxpr, length: int, num_carry: int, **_: Any
) -> list[Any]:
    carry, ys = split_list(jaxpr.out_avals, [num_carry])
    return [*carry, *(common.stacked(a, length) for a in ys)]


scan_p.abstract = scan_abstract
scan_p.effects = jaxprs_effects
scan_p.pretty = {"_split_transpose": False}
scan_p.named_axes = jaxprs_axes


def carry_fixpoint(
    start: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]
) -> list[bool]:
    """The least set of carry components that contains `start` and what `step` adds."""
    flags = list(start)
    while True:
        out = [a or b for a, b in zip(flags, step(flags), strict=True)]
        if out == flags:
            return flags
        flags = out


# -------------------------------------------------------------------------------- jvp


def scan_jvp(
    primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
    **params: Any,
) -> Any:  # fmt: skip
    sizes = [num_consts, num_carry]
    nz_consts, nz_init, nz_xs = split_list(nonzero_flags(tangents), sizes)

    def step(nz: list[bool]) -> Sequence[bool]:
        force = [*nz, *[False] * (len(jaxpr.out_avals) - num_carry)]
        return jvp_jaxpr(jaxpr, [*nz_consts, *nz, *nz_xs], force)[1][:num_carry]

    nz_carry = carry_fixpoint(nz_init, step)
    nonzero = [*nz_consts, *nz_carry, *nz_xs]
    force = [*nz_carry, *[False] * (len(jaxpr.out_avals) - num_carry)]
    pushed, nz_out = jvp_jaxpr(jaxpr, nonzero, force)
    n_t = [sum(nz_consts), sum(nz_carry), sum(nz_xs)]
    body = _interleave(pushed, [num_consts, num_carry, len(nz_xs)], n_t,
                       [num_carry, len(nz_out) - num_carry],
                       [sum(nz_carry), sum(nz_out[num_carry:])])  # fmt: skip
    consts, init, xs = split_list(primals, sizes)
    t_consts, t_init, t_xs = split_list(tangents, sizes)
    out = scan_p.bind(
        *consts, *pick_nonzero(t_consts, nz_consts),
        *init, *pick_nonzero(t_init, nz_carry),
        *xs, *pick_nonzero(t_xs, nz_xs),
        jaxpr=body, num_consts=num_consts + n_t[0], num_carry=num_carry + n_t[1],
        **params,
    )  # fmt: skip
    n_ys = len(nz_out) - num_carry
    carry, t_carry, ys, t_ys = split_list(out, [num_carry, n_t[1], n_ys])
    avals = [core.aval_of(x) for x in (*carry, *ys)]
    return [*carry, *ys], with_zeros([*t_carry, *t_ys], nz_out, avals)


def _interleave(
    closed: ClosedJaxpr, ins: list[int], t_ins: list[int], outs: list[int],
    t_outs: list[int],
) -> ClosedJaxpr:  # fmt: skip
    """Groups (a, b, .., a', b', ..) -> (a, a', b, b', ..) of inputs and outputs."""

    def order(sizes: list[int], t_sizes: list[int]) -> list[int]:
        found: list[int] = []
        a, b = 0, sum(sizes)
        for n, m in zip(sizes, t_sizes, strict=True):
            found += [*range(a, a + n), *range(b, b + m)]
            a, b = a + n, b + m
        return found

    return common.permute(closed, order(ins, t_ins), order(outs, t_outs))


scan_p.jvp = scan_jvp


# -------------------------------------------------------------------------- linearize


def scan_linearize(
    trace: Any, primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, num_consts: int,
    num_carry: int, **params: Any,
) -> Any:  # fmt: skip
    sizes = [num_consts, num_carry]
    n_ys = len(jaxpr.out_avals) - num_carry
    nz_consts, nz_init, nz_xs = split_list(nonzero_flags(tangents), sizes)
    may_in = [*[True] * num_consts, *[False] * num_carry, *[True] * len(nz_xs)]
    may_out = [*[False] * num_carry, *[True] * n_ys]

    def cut(nz: list[bool]) -> Any:
        return linearize_jaxpr(
            jaxpr, [*nz_consts, *nz, *nz_xs], [*nz, *[False] * n_ys], may_in, may_out
        )

    nz_carry = carry_fixpoint(nz_init, lambda nz: cut(nz).nonzero_out[:num_carry])
    parts = cut(nz_carry)
    consts, init, xs = split_list(primals, sizes)
    hoisted = hoist_invariants(parts.primal, num_consts, parts.num_new)
    once = eval_jaxpr(hoisted.once.jaxpr, hoisted.once.consts, *consts)
    inside = [once[i] for i in hoisted.inside]
    out = scan_p.bind(
        *consts,
        *inside,
        *init,
        *xs,
        jaxpr=hoisted.body,
        num_consts=num_consts + len(inside),
        num_carry=num_carry,
        **params,
    )
    carry, ys, new = split_list(out, [num_carry, n_ys])
    outs = [*carry, *ys]
    if not any(parts.nonzero_out):
        return outs, with_zeros([], parts.nonzero_out, jaxpr.out_avals)
    # Residuals are consts of the linear loop, or stacked and read step by step.
    moving = iter(new)
    pool = [
        (True, once[hoisted.fixed[i]]) if i in hoisted.fixed else (False, next(moving))
        for i in range(parts.num_new)
    ]
    res_consts: list[Any] = []
    res_xs: list[Any] = []
    order_c: list[int] = []
    order_x: list[int] = []
    for at, (where, i) in enumerate(parts.residuals):
        if where == "in":
            is_const, value = i < num_consts, primals[i]
        elif where == "out":
            is_const, value = False, outs[i]
        else:
            is_const, value = pool[i]
        (res_consts if is_const else res_xs).append(value)
        (order_c if is_const else order_x).append(at)
    flags = (nz_consts, nz_carry, nz_xs)
    ins = [
        [trace.instantiate(t) for t, m in zip(ts, moves, strict=True) if m]
        for ts, moves in zip(split_list(tangents, sizes), flags, strict=True)
    ]
    n_res = len(parts.residuals)
    k = [len(x) for x in ins]
    first, second, third = n_res, n_res + k[0], n_res + k[0] + k[1]
    order = [
        *order_c, *range(first, second), *range(second, third),
        *order_x, *range(third, third + k[2]),
    ]  # fmt: skip
    linear = common.permute(parts.linear, order)
    args = (*res_consts, *ins[0], *ins[1], *res_xs, *ins[2])
    found = trace.process(
        scan_p,
        args,
        {
            "jaxpr": linear,
            "num_consts": len(res_consts) + k[0],
            "num_carry": k[1],
            **params,
        },
    )
    avals = [core.aval_of(x) for x in outs]
    return outs, with_zeros(found, parts.nonzero_out, avals)


scan_p.linearize = scan_linearize


# -------------------------------------------------------------------------- transpose


def scan_transpose(
    cts: Any, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
    length: int, reverse: bool, **params: Any,
) -> list[Any]:  # fmt: skip
    sizes = [num_consts, num_carry]
    linear = [type(x) is Linear for x in args]
    lin_c, lin_i, lin_x = split_list(linear, sizes)
    lin_carry = _linear_carries(jaxpr, lin_c, lin_i, lin_x)
    if not all(lin_carry):
        jaxpr, moved, num_carry_lin = _run_nonlinear_carry(
            jaxpr, args, lin_carry, num_consts, num_carry, length, reverse, params
        )
        ct_carry, ct_ys = split_list(cts, [num_carry])
        ct_lin = [ct for ct, lin in zip(ct_carry, lin_carry, strict=True) if lin]
        found = scan_transpose(
            [*ct_lin, *ct_ys], *moved, jaxpr=jaxpr, num_consts=num_consts,
            num_carry=num_carry_lin, length=length, reverse=reverse, **params,
        )  # fmt: skip
        ct_c, ct_i, ct_x = split_list(found, [num_consts, num_carry_lin])
        it = iter(ct_i)
        full = [next(it) if lin else None for lin in lin_carry]
        return [*ct_c, *full, *ct_x[: len(lin_x)]]
    consts, _, xs = split_list(args, sizes)
    ct_carry, ct_ys = split_list(cts, [num_carry])
    res_c = [x for x in consts if type(x) is not Linear]
    res_x = [x for x in xs if type(x) is not Linear]
    in_avals = jaxpr.in_avals
    const_avals, carry_avals, x_avals = split_list(in_avals, sizes)
    lin_const_avals = [a for a, lin in zip(const_avals, lin_c, strict=True) if lin]
    nz_ys = [type(ct) is not Zero for ct in ct_ys]
    n_res_c, n_lin_c = len(res_c), len(lin_const_avals)

    def body(*vals: Any) -> list[Any]:
        rc, sums, carry, cys, rx = split_list(
            vals, [n_res_c, n_lin_c, num_carry, sum(nz_ys)]
        )
        rc_it, rx_it, cy_it = iter(rc), iter(rx), iter(cys)
        ins = [
            Linear(a) if lin else next(rc_it)
            for a, lin in zip(const_avals, lin_c, strict=True)
        ]
        ins += [Linear(a) for a in carry_avals]
        ins += [
            Linear(a) if lin else next(rx_it)
            for a, lin in zip(x_avals, lin_x, strict=True)
        ]
        ys_ct = [
            next(cy_it) if nz else Zero(a)
            for nz, a in zip(nz_ys, jaxpr.out_avals[num_carry:], strict=True)
        ]
        found = backward_pass(jaxpr.jaxpr, jaxpr.consts, ins, [*carry, *ys_ct])
        f_c, f_i, f_x = split_list(found, sizes)
        new = [ct for ct, lin in zip(f_c, lin_c, strict=True) if lin]
        total = [add(s, ct) for s, ct in zip(sums, new, strict=True)]
        out_x = [instantiate(ct) for ct, lin in zip(f_x, lin_x, strict=True) if lin]
        return [*total, *map(instantiate, f_i), *out_x]

    row_avals = [core.aval_of(x) for x in res_x]
    avals = [
        *(core.aval_of(x) for x in res_c),
        *lin_const_avals,
        *carry_avals,
        *(a for a, nz in zip(jaxpr.out_avals[num_carry:], nz_ys, strict=True) if nz),
        *map(common.row, row_avals),
    ]
    key = ("scan_transpose", tuple(linear), tuple(nz_ys), tuple(avals), num_consts)
    closed = jaxpr.jaxpr.memo.get(key)
    if closed is None:
        closed = jaxpr.jaxpr.memo[key] = stage_closed(body, avals, text="transpose")
    consts_of = common.Body(closed.jaxpr, closed.consts, None)
    run = _run_split if params["_split_transpose"] else scan_p.bind
    out = run(
        *consts_of.consts,
        *res_c,
        *(instantiate(Zero(a)) for a in lin_const_avals),
        *map(instantiate, ct_carry),
        *(ct for ct, nz in zip(ct_ys, nz_ys, strict=True) if nz),
        *res_x,
        jaxpr=consts_of.closed(),
        num_consts=len(consts_of.consts) + n_res_c,
        num_carry=n_lin_c + num_carry,
        length=length,
        reverse=not reverse,
        **params,
    )
    sums, ct_init, ct_xs = split_list(out, [n_lin_c, num_carry])
    sums_it, xs_it = iter(sums), iter(ct_xs)
    return [
        *(next(sums_it) if lin else None for lin in lin_c),
        *(ct if lin else None for ct, lin in zip(ct_init, lin_i, strict=True)),
        *(next(xs_it) if lin else None for lin in lin_x),
    ]


def _run_split(
    *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    """The transposed loop as two: what its steps hand on, and then all else.

    The first has only the chain from step to step in it, and stacks what the second reads
    of it; the second adds up and maps, and its steps do not wait for one another.
    """
    consts, init, xs = split_list(args, [num_consts, num_carry])
    chain, rest, chained = _cut_chain(jaxpr.jaxpr, num_consts, num_carry)
    params["_split_transpose"] = False
    n = sum(chained)
    if n == 0:
        return scan_p.bind(
            *args, jaxpr=jaxpr, num_consts=num_consts, num_carry=num_carry, **params
        )
    first = [x for x, c in zip(init, chained, strict=True) if c]
    second = [x for x, c in zip(init, chained, strict=True) if not c]
    out = scan_p.bind(*consts, *first, *xs, jaxpr=ClosedJaxpr(chain),
                      num_consts=num_consts, num_carry=n, **params)  # fmt: skip
    carry, stacked = split_list(out, [n])
    out = scan_p.bind(*consts, *second, *xs, *stacked, jaxpr=ClosedJaxpr(rest),
                      num_consts=num_consts, num_carry=num_carry - n, **params)  # fmt: skip
    sums, rows = split_list(out, [num_carry - n])
    return [*common.interleave(chained, carry, sums), *rows]


def _cut_chain(
    jaxpr: Jaxpr, num_consts: int, num_carry: int
) -> tuple[Jaxpr, Jaxpr, list[bool]]:
    """(consts, chained carry, xs) -> (that carry, what is read of it); (consts, other
    carry, xs, what is read) -> (other carry, ys); which carries are chained."""
    known = jaxpr.memo.get("chain")
    if known is not None:
        return known
    consts, carry, xs = split_list(jaxpr.invars, [num_consts, num_carry])
    carry_out, ys = split_list(jaxpr.outvars, [num_carry])
    # A sum is no link of the chain: only its own next value depends on it.
    chained = []
    for at, v in enumerate(carry):
        reach = depends_on(jaxpr, [x is v for x in jaxpr.invars])
        chained.append(
            any(a in reach for a in [*carry_out[:at], *carry_out[at + 1 :], *ys])
        )
    links = [v for v, c in zip(carry, chained, strict=True) if c]
    others = [v for v, c in zip(carry, chained, strict=True) if not c]
    next_links = [v for v, c in zip(carry_out, chained, strict=True) if c]
    next_others = [v for v, c in zip(carry_out, chained, strict=True) if not c]
    whole = jaxpr.replace(
        invars=[*consts, *links, *xs], outvars=next_links, arg_names=()
    )
    chain, _ = dce_jaxpr(whole, [True] * len(links), keep_in=True)
    made = dict.fromkeys([*links, *(v for e in chain.eqns for v in e.outvars)])
    rest = jaxpr.replace(
        invars=[*consts, *others, *xs, *made],
        outvars=[*next_others, *ys],
        eqns=[e for e in jaxpr.eqns if not all(v in made for v in e.outvars)],
        arg_names=(),
    )
    keep = [*[True] * (len(rest.invars) - len(made)), *[False] * len(made)]
    rest, used = dce_jaxpr(rest, [True] * len(rest.outvars), keep_in=keep)
    read = [v for v, u in zip(made, used[len(keep) - len(made) :], strict=True) if u]
    chain = chain.replace(outvars=[*next_links, *read])
    known = jaxpr.memo["chain"] = chain, rest, chained
    return known


def _linear_carries(
    jaxpr: ClosedJaxpr, lin_c: list[bool], lin_i: list[bool], lin_x: list[bool]
) -> list[bool]:
    """Which carry components depend on a linear input at some step."""
    n = len(lin_i)

    def step(lin: list[bool]) -> Sequence[bool]:
        return results_depend(jaxpr.jaxpr, [*lin_c, *lin, *lin_x])[:n]

    return carry_fixpoint(lin_i, step)


def _run_nonlinear_carry(
    jaxpr: ClosedJaxpr, args: Sequence[Any], lin_carry: list[bool], num_consts: int,
    num_carry: int, length: int, reverse: bool, params: dict[str, Any],
) -> tuple[ClosedJaxpr, list[Any], int]:  # fmt: skip
    """Run the carry components that are not linear; their values become extra xs."""
    consts, init, xs = split_list(args, [num_consts, num_carry])
    non = [not lin for lin in lin_carry]
    j = jaxpr.jaxpr
    n_ys = len(j.outvars) - num_carry
    inner, used = dce_jaxpr(j, [*non, *[False] * n_ys])
    carry_vars = j.invars[num_consts : num_consts + num_carry]
    non_vars = [v for v, f in zip(carry_vars, non, strict=True) if f]
    u_c, u_i, u_x = split_list(used, [num_consts, num_carry])
    keep_c = [v for v, u in zip(j.invars[:num_consts], u_c, strict=True) if u]
    keep_x = [
        v for v, u in zip(j.invars[num_consts + num_carry :], u_x, strict=True) if u
    ]
    if any(u and not f for u, f in zip(u_i, non, strict=True)):
        raise TypeError("minijax bug: a nonlinear carry reads a linear one")
    forward = Jaxpr(
        [],
        [*keep_c, *non_vars, *keep_x],
        [*inner.outvars, *non_vars],
        inner.eqns,
        j.name,
    )
    vals_c = [x for x, u in zip(consts, u_c, strict=True) if u]
    vals_i = [instantiate(x) for x, f in zip(init, non, strict=True) if f]
    vals_x = [x for x, u in zip(xs, u_x, strict=True) if u]
    out = scan_p.bind(
        *vals_c, *vals_i, *vals_x, jaxpr=ClosedJaxpr(forward), num_consts=len(vals_c),
        num_carry=len(vals_i), length=length, reverse=reverse, **params,
    )  # fmt: skip
    histories = out[len(vals_i) :]
    lin_vars = [v for v, lin in zip(carry_vars, lin_carry, strict=True) if lin]
    rest = Jaxpr(
        [],
        [
            *j.invars[:num_consts],
            *lin_vars,
            *j.invars[num_consts + num_carry :],
            *non_vars,
        ],
        [
            *(
                v
                for v, lin in zip(j.outvars[:num_carry], lin_carry, strict=True)
                if lin
            ),
            *j.outvars[num_carry:],
        ],
        j.eqns,
        j.name,
    )
    lin_init = [x for x, lin in zip(init, lin_carry, strict=True) if lin]
    lin_init = [x if type(x) is Linear else Linear(core.aval_of(x)) for x in lin_init]
    return ClosedJaxpr(rest), [*consts, *lin_init, *xs, *histories], len(lin_init)


scan_p.transpose = scan_transpose


# ------------------------------------------------------------------------------ batch


def scan_batch(
    axis: Any, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, num_consts: int,
    num_carry: int, length: int, **params: Any,
) -> Any:  # fmt: skip
    sizes = [num_consts, num_carry]
    b_c, b_i, b_x = split_list([d is not None for d in dims], sizes)
    n_ys = len(jaxpr.out_avals) - num_carry

    def lanes(b: list[bool]) -> Any:
        return batching.batch_jaxpr(
            jaxpr, axis, [*b_c, *b, *b_x], [*b, *[False] * n_ys]
        )

    b_carry = carry_fixpoint(b_i, lambda b: lanes(b)[1][:num_carry])
    body, b_out = lanes(b_carry)
    consts, init, xs = split_list(args, sizes)
    d_c, d_i, d_x = split_list(dims, sizes)
    ins = [
        *(x if d is None else batching.bring_front(x, axis.size, d)
          for x, d in zip(consts, d_c, strict=True)),
        *(batching.bring_front(x, axis.size, d) if b else x
          for x, d, b in zip(init, d_i, b_carry, strict=True)),
        *(x if d is None else batching.move_lane(x, axis.size, d, 1)
          for x, d in zip(xs, d_x, strict=True)),
    ]  # fmt: skip
    out = scan_p.bind(
        *ins, jaxpr=body, num_consts=num_consts, num_carry=num_carry, length=length,
        **params,
    )  # fmt: skip
    out_dims = [(0 if i < num_carry else 1) if b else None for i, b in enumerate(b_out)]
    return out, out_dims


scan_p.batch = scan_batch


# -------------------------------------------------------------------------------- dce


def scan_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    p = eqn.params
    closed, num_consts, num_carry = p["jaxpr"], p["num_consts"], p["num_carry"]
    if not any(used) and not closed.effects:
        return None
    used_carry, used_ys = split_list(used, [num_carry])

    def step(carry: list[bool]) -> Sequence[bool]:
        _, used_in = dce_jaxpr(closed.jaxpr, [*carry, *used_ys])
        return used_in[num_consts : num_consts + num_carry]

    keep = carry_fixpoint(used_carry, step)
    num_xs = len(eqn.invars) - num_consts - num_carry
    body, used_in = dce_jaxpr(
        closed.jaxpr, [*keep, *used_ys],
        [*[False] * num_consts, *keep, *[False] * num_xs],
    )  # fmt: skip
    kept_out = [*keep, *used_ys]
    return eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, kept_out, strict=True) if u],
        params={
            **p,
            "jaxpr": ClosedJaxpr(body, closed.consts),
            "num_consts": sum(used_in[:num_consts]),
            "num_carry": sum(keep),
        },
    )


scan_p.dce = scan_dce


def scan_depends(moving: Sequence[bool], params: dict[str, Any]) -> list[bool]:
    jaxpr = params["jaxpr"].jaxpr
    num_carry = params["num_carry"]
    consts, init, xs = split_list(moving, [params["num_consts"], num_carry])

    def step(carry: list[bool]) -> list[bool]:
        return results_depend(jaxpr, [*consts, *carry, *xs])

    carry = carry_fixpoint(init, lambda flags: step(flags)[:num_carry])
    return [*carry, *step(carry)[num_carry:]]


scan_p.depends = scan_depends


# --------------------------------------------------------------------------- lowering


def scan_lower(
    ctx: Any, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
    length: int, reverse: bool, unroll: int, **_: Any,
) -> list[Any]:  # fmt: skip
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    x_avals = list(map(lower.physical, ctx.avals_in[num_consts + num_carry :]))
    y_avals = list(map(lower.physical, ctx.avals_out[num_carry:]))
    i32 = shaped((), dtypes.int32)

    def number(n: int) -> Any:
        return ctx.constant(n, i32)

    def one_step(
        at: Any, carry: list[Any], ys: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        if reverse:
            at = ctx.op("subtract", i32, number(length - 1), at)
        rows = [_read_row(ctx, x, a, at) for x, a in zip(xs, x_avals, strict=True)]
        out = ctx.jaxpr(jaxpr, *consts, *carry, *rows)
        carry, new = split_list(out, [num_carry])
        ys = [
            _write_row(ctx, y, v, a, at)
            for y, v, a in zip(ys, new, y_avals, strict=True)
        ]
        return carry, ys

    ys = [ctx.constant(0, a) for a in y_avals]
    step = max(1, min(unroll or length, length))
    blocks = length // step
    done = 0
    if blocks > 1:
        carry, ys = _emit_loop(ctx, blocks, step, one_step, carry, ys, number)
        done = blocks * step
    for i in range(done, length):
        carry, ys = one_step(number(i), carry, ys)
    return [*carry, *ys]


def _emit_loop(
    ctx: Any, blocks: int, step: int, one_step: Any, carry: list[Any], ys: list[Any],
    number: Any,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    i32, boolean = shaped((), dtypes.int32), shaped((), dtypes.bool_)
    n = len(carry)
    tokens = [ctx.token] if ctx.token is not None else []
    start = [number(0), *tokens, *carry, *ys]
    types = [v.type for v in start]
    loop = ctx.region_op("stablehlo.while", types, start, regions=2)
    with ctx.block(loop.regions[0], *types) as v:
        lt = ctx.parse("#stablehlo<comparison_direction LT>")
        signed = ctx.parse("#stablehlo<comparison_type SIGNED>")
        ctx.return_(
            ctx.op("compare", boolean, v[0], number(blocks * step),
                   comparison_direction=lt, compare_type=signed)
        )  # fmt: skip
    with ctx.block(loop.regions[1], *types) as v:
        at, *state = list(v)
        if tokens:
            ctx.token = state.pop(0)
        c, y = state[:n], state[n:]
        for k in range(step):
            here = at if k == 0 else ctx.op("add", i32, at, number(k))
            c, y = one_step(here, c, y)
        after = [ctx.token] if tokens else []
        ctx.return_(ctx.op("add", i32, at, number(step)), *after, *c, *y)
    out = list(loop.results)[1:]
    if tokens:
        ctx.token = out.pop(0)
    return out[:n], out[n:]


def _read_row(ctx: Any, x: Any, aval: Any, at: Any) -> Any:
    zero = ctx.constant(0, shaped((), dtypes.int32))
    one = shaped((1, *aval.shape[1:]), aval.dtype)
    cut = ctx.op(
        "dynamic_slice", one, x, at, *[zero] * (len(aval.shape) - 1),
        slice_sizes=ctx.i64s(one.shape),
    )  # fmt: skip
    return ctx.op("reshape", common.row(aval), cut)


def _write_row(ctx: Any, y: Any, value: Any, aval: Any, at: Any) -> Any:
    zero = ctx.constant(0, shaped((), dtypes.int32))
    one = shaped((1, *aval.shape[1:]), aval.dtype)
    value = ctx.op("reshape", one, value)
    return ctx.op(
        "dynamic_update_slice", aval, y, value, at, *[zero] * (len(aval.shape) - 1)
    )


scan_p.lower = scan_lower


def scan_by_hand(
    *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int,
    reverse: bool, **_: Any,
) -> list[Any]:  # fmt: skip
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    rows: list[list[Any]] = []
    for i in reversed(range(length)) if reverse else range(length):
        row = [structural.squeeze(lib.slice_axis(x, 0, i, i + 1), (0,)) for x in xs]
        carry, ys = split_list(jaxpr(*consts, *carry, *row), [num_carry])
        rows.append(ys)
    if not rows:
        empty = [common.stacked(a, 0) for a in jaxpr.out_avals[num_carry:]]
        return [*carry, *map(lib.zeros, empty)]
    if reverse:
        rows.reverse()
    return [*carry, *map(structural.stack, zip(*rows, strict=True))]


common.run_by_hand(scan_p, scan_by_hand)


def scan_discharge(
    due: Sequence[bool], args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """References among the consts are carried, rows of those among the xs are ys."""
    n_c, n_i = params["num_consts"], params["num_carry"]
    body, written = discharge.by_value(params["jaxpr"], due)
    n_ys = len(params["jaxpr"].out_avals) - n_i
    in_carry = [i for i in range(n_c) if written[i]]
    in_rows = sum(written[n_c:])
    stay = [i for i in range(n_c) if not written[i]]
    ins = [*stay, *in_carry, *range(n_c, len(args))]
    first, last = n_i + n_ys, n_i + n_ys + len(in_carry)
    outs = [*range(first, last), *range(first), *range(last, last + in_rows)]
    values = discharge.values_of(args, due)
    out = scan_p.bind(
        *(values[i] for i in ins),
        **{
            **params, "jaxpr": common.permute(body, ins, outs), "num_consts": len(stay),
            "num_carry": len(in_carry) + n_i,
        },
    )  # fmt: skip
    carried, results, rows = split_list(out, [len(in_carry), n_i + n_ys])
    discharge.write_back(args, written, [*carried, *rows])
    return results


scan_p.discharge = scan_discharge


def scan_opened(captured: Any, args: Any, params: dict[str, Any]) -> Any:
    body = discharge.open_jaxpr(params["jaxpr"], captured)
    n = params["num_consts"] + len(captured)
    return (*captured, *args), {**params, "jaxpr": body, "num_consts": n}


scan_p.opened = scan_opened
