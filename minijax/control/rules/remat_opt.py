"""`remat_opt_p`: the forward rule of a `custom_vjp`, which runs only for its residuals.

The rule returns residuals and results.  If dead code elimination finds all residuals
unused, as in the forward pass of `checkpoint`, it replaces the equation by a call of the
function itself: often a fast kernel that stores nothing.  Differentiated again, the
equation is replaced by the rule's equations.

Next: custom_vjp.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.util import pick
from ...ir import core
from ...ir.core import Primitive, unsupported
from ...ir.jaxpr import ClosedJaxpr, Equation, Literal, permute_jaxpr
from ...ir.regions import Call
from ...passes import batch as batching
from ...passes.dce import dce_jaxpr
from ...passes.jvp import jvp_flat
from ...passes.stage import hoist_tracers, stage
from ..calls.jit_primitive import jit_p
from .custom_calls import calls_with_rule

# Operands are `num_consts` closed-over values and the arguments.  `fwd_jaxpr` returns
# `num_res` residuals and the results, `fun_jaxpr` the results.

remat_opt_p = Primitive("remat_opt", multiple_results=True)
calls_with_rule(
    remat_opt_p,
    Call("fwd_jaxpr", opaque=True),
    pretty=lambda eqn, printer: sorted(
        printer.shown(eqn, {}), key=lambda pair: pair[0] == "fun_jaxpr"
    ),
)


def remat_opt_jvp(primals: Any, tangents: Any, *, fwd_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return jvp_flat(fwd_jaxpr, primals, tangents)


remat_opt_p.jvp = remat_opt_jvp
remat_opt_p.transpose = unsupported("a forward rule is not linear")


def remat_opt_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    fwd_jaxpr: ClosedJaxpr,
    fun_jaxpr: ClosedJaxpr,
    **params: Any,
) -> Any:
    batched = [d is not None for d in dims]
    fwd, _ = batching.batch_jaxpr(fwd_jaxpr, axis, batched, True)
    fun, _ = batching.batch_jaxpr(fun_jaxpr, axis, batched, True)
    ins = [
        x if d is None else batching.lane_to_front(x, axis, d)
        for x, d in zip(args, dims, strict=True)
    ]
    out = remat_opt_p.bind(*ins, fwd_jaxpr=fwd, fun_jaxpr=fun, **params)
    return out, [0] * len(out)


remat_opt_p.batch = remat_opt_batch


def remat_opt_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    """Return a call of the function if no residual is used, else the pruned equation."""
    params, n = eqn.params, eqn.params["num_res"]
    if not any(used) and not eqn.effects:
        return None
    outvars = pick(eqn.outs, used)
    fun, reads = _pruned(params["fun_jaxpr"], used[n:])
    if not any(used[:n]):
        invars = pick(eqn.ins, reads)
        call = {
            "jaxpr": fun,
            "name": fun.jaxpr.name,
            "keep_unused": False,
            "inline": False,
            "donated_invars": (False,) * len(invars),
            "device": None,
            "compiler_options_kvs": (),
        }
        return eqn.replace(primitive=jit_p, invars=invars, outvars=outvars, params=call)
    fwd, _ = _pruned(params["fwd_jaxpr"], used, True)
    fun, _ = _pruned(params["fun_jaxpr"], used[n:], True)
    new = {**params, "fwd_jaxpr": fwd, "fun_jaxpr": fun, "num_res": sum(used[:n])}
    return eqn.replace(outvars=outvars, params=new)


def _pruned(
    closed: ClosedJaxpr, used: Sequence[bool], keep: bool = False
) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr, reads = dce_jaxpr(closed.jaxpr, used, keep)
    return ClosedJaxpr(jaxpr, closed.consts), reads


remat_opt_p.dce = remat_opt_dce


def run_forward(
    fwd: Callable[..., Any], fun: Callable[..., Any], args: Sequence[Any], name: str
) -> tuple[list[Any], list[Any]]:
    """Run `fwd(*args)`, which returns (residuals, results), as one `remat_opt` equation."""
    sizes: list[int] = []

    def both(*xs: Any) -> list[Any]:
        res, outs = fwd(*xs)
        sizes.append(len(res))
        return [*res, *outs]

    avals = [core.aval_of(x) for x in args]
    rule, fwd_consts = hoist_tracers(*stage(both, avals, name=name, text=f"{name} fwd"))
    fun_jaxpr, fun_consts = hoist_tracers(*stage(fun, avals, name=name, text=name))
    rule = taking_more(rule, len(fwd_consts), fun_consts)
    fun_jaxpr = taking_more(fun_jaxpr, 0, fwd_consts)
    operands = [*fwd_consts, *fun_consts, *args]
    # A residual that is an operand is excluded from the equation's results.
    j, n = rule.jaxpr, sizes[-1]
    operand_of = dict(zip(j.invars, operands, strict=True))
    is_operand = [type(v) is not Literal and v in operand_of for v in j.outvars[:n]]
    new = [v for v, g in zip(j.outvars, is_operand, strict=False) if not g]
    rest = ClosedJaxpr(j.replace(outvars=[*new, *j.outvars[n:]]), rule.consts)
    out = remat_opt_p.bind(
        *operands,
        fwd_jaxpr=rest,
        fun_jaxpr=fun_jaxpr,
        num_consts=len(fwd_consts) + len(fun_consts),
        num_res=len(new),
    )
    results = iter(out)
    res = [
        operand_of[v] if g else next(results)
        for v, g in zip(j.outvars[:n], is_operand, strict=True)
    ]
    return res, list(results)


def taking_more(closed: ClosedJaxpr, at: int, extra: Sequence[Any]) -> ClosedJaxpr:
    """Return the jaxpr with unread inputs for more values, inserted at a position."""
    unread = map(core.aval_of, extra)
    return permute_jaxpr(closed, [*range(at), *unread, *range(at, len(closed.in_avals))])
