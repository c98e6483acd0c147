"""The primitive `while`.

Operands are (cond consts, body consts, carry).  Forward mode pushes tangents through the
body.  Reverse mode would need the number of steps to store, so its transpose raises an
error.  Batched, the loop runs until all lanes have finished; finished lanes keep their
values.

Next: ../loop_functions/while_loop.py.
"""

from __future__ import annotations

from typing import Any

from ...base import errors
from ...base.util import split_list
from ...ir import core
from ...ir.core import unsupported
from ...ir.jaxpr import (
    ClosedJaxpr,
    eval_jaxpr,
    jaxprs_effects,
)
from ...ir.regions import Loop
from ...passes.ad_util import core_ops
from ...passes.loop_rules import def_loop_rules
from ...passes.stage import stage_closed
from ...prims.math import logic
from ...prims.reduce import over_axes
from .. import body_staging
from ..effects import checkify_errors, checkify_transform
from ..refs import discharge
from ..refs.discharge import FunctionPrimitive

while_p = FunctionPrimitive("while")


def _refuse_lanes(params: dict[str, Any]) -> None:
    body_staging.check_no_batched_effects(
        jaxprs_effects(params),
        "Unordered {} effects not supported in while_loop with batched predicate",
        "Finished lanes would continue to have the effect.",
    )


def_loop_rules(
    while_p,
    Loop(
        "body_jaxpr",
        consts="body_nconsts",
        cond=("cond_jaxpr", "cond_nconsts"),
        differ=_refuse_lanes,
    ),
    lowers_key_arrays=True,
)
while_p.transpose = unsupported(
    errors.message(
        "Reverse-mode differentiation does not work for lax.while_loop or"
        " lax.fori_loop with dynamic start/stop values.",
        why="The number of steps to store is not known beforehand.",
        tries=[
            "lax.fori_loop with static bounds, or lax.scan",
            "forward mode: jvp, jacfwd",
            "a custom_vjp for the whole loop",
        ],
    ),
    ValueError,
)


derived_batch = while_p.batch


def while_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    if checkify_errors.fails(jaxprs_effects(params)):  # finished lanes must check nothing
        return checkify_transform.batch_outside(while_p, axis, args, dims, params)
    return derived_batch(axis, args, dims, **params)


while_p.batch = while_batch


def _masked(
    cond: ClosedJaxpr, body: ClosedJaxpr, n_cond: int, n_body: int
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Return a loop with one bool condition, from a loop with one condition per lane.

    Its body updates only the lanes whose condition holds, and takes the constants of the
    condition before its own; it continues while any condition holds.
    """

    def step(*args: Any) -> list[Any]:
        cc, bc, carry = split_list(args, [n_cond, n_body])
        (go,) = eval_jaxpr(cond.jaxpr, cond.consts, *cc, *carry)
        new = eval_jaxpr(body.jaxpr, body.consts, *bc, *carry)
        return [select_lanes(go, a, b) for a, b in zip(new, carry, strict=True)]

    def any_left(*args: Any) -> list[Any]:
        (go,) = eval_jaxpr(cond.jaxpr, cond.consts, *args)
        return [over_axes.reduce_or(go, tuple(range(go.ndim)))]

    cond_avals = cond.in_avals
    avals = [*cond_avals[:n_cond], *body.in_avals]
    return (
        stage_closed(any_left, cond_avals, text="while cond"),
        stage_closed(step, avals, text="while body"),
    )


def select_lanes(which: Any, new: Any, old: Any) -> Any:
    """Return `new` in the lanes where `which` is true, `old` in the others."""
    shape, lanes = core.aval_of(new).shape, core.aval_of(which).ndim
    if len(shape) > lanes:
        which = core_ops.broadcast_in_dim(which, shape, tuple(range(lanes)))
    return logic.select_n(which, old, new)


def while_lower(
    ctx: Any,
    *args: Any,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> list[Any]:
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    if cond_jaxpr.out_avals[0].shape:
        cond_jaxpr, body_jaxpr = _masked(cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts)
        body_consts = [*cond_consts, *body_consts]
    tokens = [ctx.token] if ctx.token is not None else []
    start = [*tokens, *carry]
    types = [v.type for v in start]
    loop = ctx.region_op("stablehlo.while", types, start, regions=2)
    with ctx.block(loop.regions[0], *types) as v:
        state = list(v)
        if tokens:
            ctx.token = state.pop(0)
        ctx.return_(*ctx.jaxpr(cond_jaxpr, *cond_consts, *state, scope="while/cond"))
    with ctx.block(loop.regions[1], *types) as v:
        state = list(v)
        if tokens:
            ctx.token = state.pop(0)
        out = ctx.jaxpr(body_jaxpr, *body_consts, *state, scope="while/body")
        ctx.return_(*([ctx.token] if tokens else []), *out)
    results = list(loop.results)
    if tokens:
        ctx.token = results.pop(0)
    return results


while_p.lower = while_lower


def while_host_driven(
    *args: Any,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> list[Any]:
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    if cond_jaxpr.out_avals[0].shape:
        cond_jaxpr, body_jaxpr = _masked(cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts)
        body_consts = [*cond_consts, *body_consts]
    while bool(cond_jaxpr(*cond_consts, *carry)[0]):
        carry = body_jaxpr(*body_consts, *carry)
    return carry


discharge.def_host_driven_impl(while_p, while_host_driven)
