"""`remat_opt_p`: a `custom_vjp` function's forward rule that is run for residuals only.

The rule gives residuals and results.  Where dead code is eliminated and nobody reads a
residual, as in the forward pass of `checkpoint`, what is left of the equation is a call of
the function itself: often a fast kernel that stores nothing.  Differentiated again, the
rule is spelled out.

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

# Operands are `num_consts` closed-over values and the arguments, of which `fwd_jaxpr` makes
# `num_res` residuals and the results, and `fun_jaxpr` the results.

remat_opt_p = Primitive("remat_opt", multiple_results=True)
calls_with_rule(remat_opt_p, Call("fwd_jaxpr", opaque=True))
remat_opt_p.pretty = lambda eqn, printer: sorted(
    printer.shown(eqn, {}), key=lambda pair: pair[0] == "fun_jaxpr"
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
    moving = [d is not None for d in dims]
    fwd, _ = batching.batch_jaxpr(fwd_jaxpr, axis, moving, True)
    fun, _ = batching.batch_jaxpr(fun_jaxpr, axis, moving, True)
    ins = [
        x if d is None else batching.lane_to_front(x, axis, d)
        for x, d in zip(args, dims, strict=True)
    ]
    out = remat_opt_p.bind(*ins, fwd_jaxpr=fwd, fun_jaxpr=fun, **params)
    return out, [0] * len(out)


remat_opt_p.batch = remat_opt_batch


def remat_opt_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    """The function itself, if residuals are not used; else the used part of the rule."""
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
    """`fwd(*args)`, which is (residuals, results), as one `remat_opt` equation."""
    sizes: list[int] = []

    def both(*xs: Any) -> list[Any]:
        res, outs = fwd(*xs)
        sizes.append(len(res))
        return [*res, *outs]

    avals = [core.aval_of(x) for x in args]
    rule, first = hoist_tracers(*stage(both, avals, name=name, text=f"{name} fwd"))
    plain, second = hoist_tracers(*stage(fun, avals, name=name, text=name))
    rule = taking_more(rule, len(first), second)
    plain = taking_more(plain, 0, first)
    operands = [*first, *second, *args]
    # A residual that is an operand is none of the rule's results.
    j, n = rule.jaxpr, sizes[-1]
    known = dict(zip(j.invars, operands, strict=True))
    given = [type(v) is not Literal and v in known for v in j.outvars[:n]]
    new = [v for v, g in zip(j.outvars, given, strict=False) if not g]
    rest = ClosedJaxpr(j.replace(outvars=[*new, *j.outvars[n:]]), rule.consts)
    out = remat_opt_p.bind(
        *operands,
        fwd_jaxpr=rest,
        fun_jaxpr=plain,
        num_consts=len(first) + len(second),
        num_res=len(new),
    )
    made = iter(out)
    res = [known[v] if g else next(made) for v, g in zip(j.outvars[:n], given, strict=True)]
    return res, list(made)


def taking_more(closed: ClosedJaxpr, at: int, extra: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr with inputs for some more values at a position, which it ignores."""
    unread = map(core.aval_of, extra)
    return permute_jaxpr(closed, [*range(at), *unread, *range(at, len(closed.in_avals))])
