"""`scan`: a loop with a carry over the leading axis of its inputs.

    (c, [x_0 .. x_n]) -> (c', [y_0 .. y_n])      c, y_i = f(c, x_i)

All of scan's rules are here.  Operands are (consts, carry, xs), results (carry, ys).
Linearized, the forward loop stacks the residuals as extra ys; those that are equal in all
steps are computed once, before the loop.  The transposed loop runs backwards, and
accumulates the cotangents of consts in its carry.

Next: hoisting.py, and ../loop_functions/scan.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.util import merge, pick, split_list
from ...ir import core
from ...ir.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    cached_on_jaxpr,
    eval_jaxpr,
    lift_consts,
    permute_jaxpr,
)
from ...ir.names import Inside
from ...ir.regions import Loop
from ...passes.ad_util import (
    UndefinedPrimal,
    Zero,
    add,
    core_ops,
    instantiate,
    nonzero_flags,
    with_zeros,
)
from ...passes.dce import dce_jaxpr, depends_on, results_depend
from ...passes.linearize import linearize_jaxpr
from ...passes.loop_rules import carry_fixed_point, def_loop_rules
from ...passes.stage import remembered, stage, stage_closed
from ...passes.transpose import backward_pass, cotangent_type
from ...prims.shape import concatenation, shapes
from ...runtime.lowering import context
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ...types.avals import shaped
from .. import body_staging
from ..refs import discharge
from ..refs.discharge import Flags, FunctionPrimitive
from .hoisting import hoist_invariants

scan_p = FunctionPrimitive("scan")
def_loop_rules(
    scan_p,
    Loop("jaxpr", consts="num_consts", carry="num_carry", length="length"),
    lowers_key_arrays=True,
    pretty={"_split_transpose": False},
)


# -------------------------------------------------------------------------- linearize


def scan_linearize(
    trace: Any,
    primals: Any,
    tangents: Any,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    sizes = [num_consts, num_carry]
    n_ys = len(jaxpr.out_avals) - num_carry
    nz_consts, nz_init, nz_xs = split_list(nonzero_flags(tangents), sizes)
    may_in = [*[True] * num_consts, *[False] * num_carry, *[True] * len(nz_xs)]
    may_out = [*[False] * num_carry, *[True] * n_ys]

    def linearize_step(body: ClosedJaxpr, nonzero: list[bool], force: list[bool]) -> Any:
        linearized = linearize_jaxpr(body, nonzero, force, may_in, may_out)
        return linearized, linearized.nonzero_out

    linearized, nz_carry, _ = carry_fixed_point(
        jaxpr, [nz_consts, nz_init, nz_xs], linearize_step
    )
    consts, init, xs = split_list(primals, sizes)
    hoisted = hoist_invariants(linearized.primal, num_consts, linearized.num_new)
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
    if not any(linearized.nonzero_out):
        return outs, with_zeros([], linearized.nonzero_out, jaxpr.out_avals)
    # Residuals are consts of the linear loop, or stacked and read step by step.
    remaining = iter(new)
    new_residuals = [
        once[hoisted.fixed[i]] if i in hoisted.fixed else next(remaining)
        for i in range(linearized.num_new)
    ]
    values = linearized.residual_values(primals, outs, new_residuals)
    shared = [
        i < num_consts if kind == "in" else kind == "new" and i in hoisted.fixed
        for kind, i in linearized.residuals
    ]
    stacked = [not s for s in shared]
    flags = (nz_consts, nz_carry, nz_xs)
    ts = [
        [trace.instantiate(t) for t in pick(group, nonzero)]
        for group, nonzero in zip(split_list(tangents, sizes), flags, strict=True)
    ]
    counts = [len(values), len(ts[0]), len(ts[1])]
    residual_positions, *tangent_positions = split_list(
        range(len(linearized.linear.in_avals)), counts
    )
    linear = permute_jaxpr(
        linearized.linear,
        [
            *pick(residual_positions, shared),
            *tangent_positions[0],
            *tangent_positions[1],
            *pick(residual_positions, stacked),
            *tangent_positions[2],
        ],
    )
    args = (*pick(values, shared), *ts[0], *ts[1], *pick(values, stacked), *ts[2])
    tangents_out = trace.process(
        scan_p,
        args,
        {
            "jaxpr": linear,
            "num_consts": sum(shared) + len(ts[0]),
            "num_carry": len(ts[1]),
            **params,
        },
    )
    return outs, with_zeros(tangents_out, linearized.nonzero_out, map(core.aval_of, outs))


scan_p.linearize = scan_linearize


# -------------------------------------------------------------------------- transpose


def scan_transpose(
    cts: Any, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    sizes = [num_consts, num_carry]
    lin_c, lin_i, lin_x = split_list([type(x) is UndefinedPrimal for x in args], sizes)
    _, lin_carry, _ = carry_fixed_point(
        jaxpr,
        [lin_c, lin_i, lin_x],
        lambda body, lin, _: (None, results_depend(body.jaxpr, lin)),
    )
    ct_carry, ct_ys = split_list(cts, [num_carry])
    if not all(lin_carry):
        jaxpr, new_args = _run_nonlinear_carry(jaxpr, args, lin_carry, num_consts, params)
        n = sum(lin_carry)
        cts_in = scan_transpose(
            [*pick(ct_carry, lin_carry), *ct_ys],
            *new_args,
            jaxpr=jaxpr,
            num_consts=num_consts,
            num_carry=n,
            **params,
        )
        ct_c, ct_i, ct_x = split_list(cts_in, [num_consts, n])
        none = [None] * num_carry
        return [*ct_c, *merge(lin_carry, ct_i, none), *ct_x[: len(lin_x)]]
    consts, _, xs = split_list(args, sizes)
    res_c, res_x = (
        [x for x in group if type(x) is not UndefinedPrimal] for group in (consts, xs)
    )
    nz_ys = nonzero_flags(ct_ys)
    const_avals, carry_avals, _ = split_list(jaxpr.in_avals, sizes)
    sum_avals = list(map(cotangent_type, pick(const_avals, lin_c)))
    carry_avals = list(map(cotangent_type, carry_avals))
    y_avals = list(map(cotangent_type, jaxpr.out_avals[num_carry:]))
    slice_avals = [body_staging.slice_aval(core.aval_of(x)) for x in res_x]
    avals = [
        *map(core.aval_of, res_c),
        *sum_avals,
        *carry_avals,
        *pick(y_avals, nz_ys),
        *slice_avals,
    ]
    closed = _step_back(jaxpr, sizes, lin_c, lin_x, nz_ys, avals)
    captured = closed.consts
    run = _run_split if params["_split_transpose"] else scan_p.bind
    out = run(
        *captured,
        *res_c,
        *(instantiate(Zero(a)) for a in sum_avals),
        *map(instantiate, ct_carry),
        *pick(ct_ys, nz_ys),
        *res_x,
        jaxpr=lift_consts(closed.jaxpr),
        num_consts=len(captured) + len(res_c),
        num_carry=len(sum_avals) + num_carry,
        **{**params, "reverse": not params["reverse"]},
    )
    sums, ct_init, ct_xs = split_list(out, [len(sum_avals), num_carry])
    none = [None] * len(args)
    return [
        *merge(lin_c, sums, none),
        *(ct if lin else None for ct, lin in zip(ct_init, lin_i, strict=True)),
        *merge(lin_x, ct_xs, none),
    ]


@remembered
def _step_back(
    jaxpr: ClosedJaxpr,
    sizes: list[int],
    lin_c: Flags,
    lin_x: Flags,
    nz_ys: Flags,
    avals: list[Any],
) -> ClosedJaxpr:
    """Return one backward step, for arguments of types `avals`.

    The arguments are residuals of constants, sums of their cotangents, cotangents of the
    carry, cotangents of ys, and residuals read from xs.
    """
    const_avals, carry_avals, x_avals = split_list(jaxpr.in_avals, sizes)
    y_avals = jaxpr.out_avals[len(carry_avals) :]
    n_sums = sum(lin_c)
    groups = [len(lin_c) - n_sums, n_sums, len(carry_avals), sum(nz_ys)]

    def step(*vals: Any) -> list[Any]:
        # The loop itself is marked as transposed: no marks inside.
        core.STATE.names = Inside(core.STATE.names)
        rc, sums, carry, cys, rx = split_list(vals, groups)
        ins = [
            *merge(lin_c, map(UndefinedPrimal, pick(const_avals, lin_c)), rc),
            *map(UndefinedPrimal, carry_avals),
            *merge(lin_x, map(UndefinedPrimal, pick(x_avals, lin_x)), rx),
        ]
        zeros = [Zero(a) for a, nz in zip(y_avals, nz_ys, strict=True) if not nz]
        cts = [*carry, *merge(nz_ys, cys, zeros)]
        cts_in = backward_pass(jaxpr.jaxpr, jaxpr.consts, ins, cts)
        f_c, f_i, f_x = split_list(cts_in, sizes)
        total = [add(s, ct) for s, ct in zip(sums, pick(f_c, lin_c), strict=True)]
        return [*total, *map(instantiate, f_i), *map(instantiate, pick(f_x, lin_x))]

    return stage_closed(step, avals, text="transpose")


def _run_split(
    *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    """Run the transposed loop as two: the chain between its steps, then all the rest.

    The first loop contains only the chain from step to step, and stacks the values that
    the second one reads; the second accumulates and maps, and its steps are independent.
    """
    consts, init, xs = split_list(args, [num_consts, num_carry])
    chain, rest, chained = _split_chain(jaxpr.jaxpr, num_consts, num_carry)
    params["_split_transpose"] = False
    n = sum(chained)
    if n == 0:
        return scan_p.bind(
            *args, jaxpr=jaxpr, num_consts=num_consts, num_carry=num_carry, **params
        )
    first = pick(init, chained)
    second = [x for x, c in zip(init, chained, strict=True) if not c]
    out = scan_p.bind(
        *consts,
        *first,
        *xs,
        jaxpr=ClosedJaxpr(chain),
        num_consts=num_consts,
        num_carry=n,
        **params,
    )
    carry, stacked = split_list(out, [n])
    out = scan_p.bind(
        *consts,
        *second,
        *xs,
        *stacked,
        jaxpr=ClosedJaxpr(rest),
        num_consts=num_consts,
        num_carry=num_carry - n,
        **params,
    )
    sums, ct_xs = split_list(out, [num_carry - n])
    return [*merge(chained, carry, sums), *ct_xs]


@cached_on_jaxpr
def _split_chain(
    jaxpr: Jaxpr, num_consts: int, num_carry: int
) -> tuple[Jaxpr, Jaxpr, list[bool]]:
    """Return (consts, chained carry, xs) -> (that carry, values that the rest reads);
    (consts, other carry, xs, these values) -> (other carry, ys); and the chained flags."""
    consts, carry, xs = split_list(jaxpr.invars, [num_consts, num_carry])
    carry_out, ys = split_list(jaxpr.outvars, [num_carry])
    # A sum is not part of the chain: only its own next value depends on it.
    chained = []
    for at, v in enumerate(carry):
        reach = depends_on(jaxpr, [x is v for x in jaxpr.invars])
        chained.append(any(a in reach for a in [*carry_out[:at], *carry_out[at + 1 :], *ys]))
    free = [not c for c in chained]
    links, next_links = pick(carry, chained), pick(carry_out, chained)
    only_links = jaxpr.replace(invars=[*consts, *links, *xs], outvars=next_links, arg_names=())
    chain, _ = dce_jaxpr(only_links, [True] * len(links), keep_in=True)
    chain_vars = dict.fromkeys([*links, *(v for e in chain.eqns for v in e.outs)])
    rest = jaxpr.replace(
        invars=[*consts, *pick(carry, free), *xs, *chain_vars],
        outvars=[*pick(carry_out, free), *ys],
        eqns=[e for e in jaxpr.eqns if not all(v in chain_vars for v in e.outs)],
        arg_names=(),
    )
    keep = [*[True] * (len(rest.invars) - len(chain_vars)), *[False] * len(chain_vars)]
    rest, used = dce_jaxpr(rest, [True] * len(rest.outvars), keep_in=keep)
    read = pick(chain_vars, used[len(keep) - len(chain_vars) :])
    chain = chain.replace(outvars=[*next_links, *read])
    return chain, rest, chained


def _run_nonlinear_carry(
    jaxpr: ClosedJaxpr,
    args: Sequence[Any],
    lin_carry: list[bool],
    num_consts: int,
    params: dict[str, Any],
) -> tuple[ClosedJaxpr, list[Any]]:
    """Run the nonlinear carry components; their values become extra xs."""
    n = len(lin_carry)
    consts, init, xs = split_list(args, [num_consts, n])
    non = [not lin for lin in lin_carry]
    forward, used = _histories(jaxpr.jaxpr, num_consts, non)
    used_c, _, used_x = split_list(used, [num_consts, n])
    start = list(map(instantiate, pick(init, non)))
    vals = [*pick(consts, used_c), *start, *pick(xs, used_x)]
    out = scan_p.bind(
        *vals,
        jaxpr=ClosedJaxpr(forward, jaxpr.consts),
        num_consts=sum(used_c),
        num_carry=len(start),
        **params,
    )
    first, carry, last = split_list(range(len(args)), [num_consts, n])
    carry_out, ys = split_list(range(len(jaxpr.out_avals)), [n])
    rest = permute_jaxpr(
        jaxpr,
        [*first, *pick(carry, lin_carry), *last, *pick(carry, non)],
        [*pick(carry_out, lin_carry), *ys],
    )
    linear_init = [
        x if type(x) is UndefinedPrimal else UndefinedPrimal(core.aval_of(x))
        for x in pick(init, lin_carry)
    ]
    return rest, [*consts, *linear_init, *xs, *out[len(start) :]]


@cached_on_jaxpr
def _histories(jaxpr: Jaxpr, num_consts: int, non: list[bool]) -> tuple[Jaxpr, list[bool]]:
    """Return steps of the carry components `non`, with each input value as an extra y; and
    the flags of the inputs that they read."""
    n = len(non)
    more = len(jaxpr.invars) - num_consts - n
    unused = [False] * (len(jaxpr.outvars) - n)
    keep = [*[False] * num_consts, *non, *[False] * more]
    steps, used = dce_jaxpr(jaxpr, [*non, *unused], keep_in=keep)
    if used[num_consts : num_consts + n] != non:
        raise TypeError("minijax bug: a nonlinear carry reads a linear one")
    inputs = pick(jaxpr.invars[num_consts : num_consts + n], non)
    return steps.replace(outvars=[*steps.outvars, *inputs]), used


scan_p.transpose = scan_transpose


# --------------------------------------------------------------------------- lowering


def scan_lower(
    ctx: Any,
    *args: Any,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
    **_: Any,
) -> list[Any]:
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    ctx.rename("while")
    x_avals = list(map(context.physical, ctx.avals_in[num_consts + num_carry :]))
    y_avals = list(map(context.physical, ctx.avals_out[num_carry:]))
    i32 = shaped((), dtypes.int32)

    def number(n: int) -> Any:
        return ctx.constant(n, i32)

    def one_step(at: Any, carry: list[Any], ys: list[Any]) -> tuple[list[Any], list[Any]]:
        if reverse:
            at = ctx.op("subtract", i32, number(length - 1), at)
        slices = [_read_slice(ctx, x, a, at) for x, a in zip(xs, x_avals, strict=True)]
        out = ctx.jaxpr(jaxpr, *consts, *carry, *slices, scope="while/body/closed_call")
        carry, new = split_list(out, [num_carry])
        ys = [_write_slice(ctx, y, v, a, at) for y, v, a in zip(ys, new, y_avals, strict=True)]
        return carry, ys

    ys = [ctx.as_typed(ctx.constant(0, a), a) for a in y_avals]
    if isinstance(length, SymbolicDim):
        carry, ys = _emit_loop(ctx, length, 1, one_step, carry, ys, number)
        return [*carry, *ys]
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
    ctx: Any,
    blocks: int,
    step: int,
    one_step: Any,
    carry: list[Any],
    ys: list[Any],
    number: Any,
) -> tuple[list[Any], list[Any]]:
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
            ctx.op(
                "compare",
                boolean,
                v[0],
                number(blocks * step),
                comparison_direction=lt,
                compare_type=signed,
            )
        )
    with ctx.block(loop.regions[1], *types) as v:
        at, *state = list(v)
        if tokens:
            ctx.token = state.pop(0)
        c, y = state[:n], state[n:]
        for k in range(step):
            index = at if k == 0 else ctx.op("add", i32, at, number(k))
            c, y = one_step(index, c, y)
        after = [ctx.token] if tokens else []
        ctx.return_(ctx.op("add", i32, at, number(step)), *after, *c, *y)
    out = list(loop.results)[1:]
    if tokens:
        ctx.token = out.pop(0)
    return out[:n], out[n:]


def _read_slice(ctx: Any, x: Any, aval: Any, at: Any) -> Any:
    zero = ctx.constant(0, shaped((), dtypes.int32))
    one = shaped((1, *aval.shape[1:]), aval.dtype)
    sliced = ctx.op(
        "dynamic_slice",
        one,
        x,
        at,
        *[zero] * (len(aval.shape) - 1),
        slice_sizes=ctx.i64s(one.shape),
    )
    return ctx.op("reshape", body_staging.slice_aval(aval), sliced)


def _write_slice(ctx: Any, y: Any, value: Any, aval: Any, at: Any) -> Any:
    zero = ctx.constant(0, shaped((), dtypes.int32))
    one = aval.update(shape=(1, *aval.shape[1:]), type_sharding=aval.type_sharding)
    value = ctx.as_typed(ctx.op("reshape", one, value), one)
    starts = [at, *[zero] * (len(aval.shape) - 1)]
    return ctx.as_typed(ctx.op("dynamic_update_slice", aval, y, value, *starts), aval)


scan_p.lower = scan_lower


def scan_host_driven(
    *args: Any,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    **_: Any,
) -> list[Any]:
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    steps: list[list[Any]] = []
    for i in reversed(range(length)) if reverse else range(length):
        slices = [shapes.squeeze(core_ops.slice_axis(x, 0, i, i + 1), (0,)) for x in xs]
        carry, ys = split_list(jaxpr(*consts, *carry, *slices), [num_carry])
        steps.append(ys)
    if not steps:
        empty = [body_staging.stacked(a, 0) for a in jaxpr.out_avals[num_carry:]]
        return [*carry, *map(core_ops.zeros, empty)]
    if reverse:
        steps.reverse()
    return [*carry, *map(concatenation.stack, zip(*steps, strict=True))]


discharge.def_host_driven_impl(scan_p, scan_host_driven)


def scan_slices(
    fun: Callable[..., Sequence[Any]], xs: Sequence[Any], n: int, unroll: int = 1
) -> list[Any]:
    """Apply a flat function to each of `n` slices, one after the other; stack results."""
    jaxpr, consts = stage(fun, [body_staging.slice_aval(core.aval_of(x)) for x in xs])
    return scan_p.bind(
        *consts,
        *xs,
        jaxpr=lift_consts(jaxpr),
        length=n,
        reverse=False,
        unroll=max(unroll, 1),
        num_consts=len(consts),
        num_carry=0,
        _split_transpose=False,
    )
