"""JAX's names for params of equations with programs, where ours differ.

`eqn.params[name]` looks up such a name like any other; the value is computed on access from
the params that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import tree
from ..base.util import pick
from ..control.calls.jit_primitive import jit_p
from ..control.rules.custom_jvp import custom_jvp_call_p
from ..control.rules.custom_vjp_call import custom_vjp_call_p
from ..control.rules.custom_vmap import custom_vmap_call_p
from ..ir import hooks
from ..ir.core import Primitive
from ..ir.jaxpr import Jaxpr
from ..passes.ad_util import Zero, instantiate, with_zeros
from ..passes.stage import stage
from ..prims.sharding_constraint import sharding_constraint_p
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.shardings import UNSPECIFIED
from .linear_util import WrappedFun
from .meshes import empty_mesh

Getter = Callable[[dict[str, Any]], Any]


def _constraint(jaxpr: Jaxpr, atom: Any, read: bool) -> Any:
    """Return the sharding constraint of an input (if `read`) or a result, if any."""
    users = [e for e in jaxpr.eqns if atom in (e.ins if read else e.outs)]
    if len(users) != 1 or users[0].primitive is not sharding_constraint_p:
        return UNSPECIFIED
    if read and users[0].outs[0] in jaxpr.outvars:  # then it constrains the result
        return UNSPECIFIED
    return users[0].params["sharding"]


def _in_shardings(params: dict[str, Any]) -> tuple[Any, ...]:
    jaxpr = params["jaxpr"].jaxpr
    return tuple([_constraint(jaxpr, v, True) for v in jaxpr.invars])


def _out_shardings(params: dict[str, Any]) -> tuple[Any, ...]:
    jaxpr = params["jaxpr"].jaxpr
    return tuple([_constraint(jaxpr, v, False) for v in jaxpr.outvars])


def _mesh(params: dict[str, Any]) -> Any:
    """Return the mesh of the shardings, or an empty one."""
    for s in (*_in_shardings(params), *_out_shardings(params)):
        if isinstance(getattr(s, "mesh", None), Mesh):
            return s.mesh
    return empty_mesh()


def _jvp_jaxpr_fun(params: dict[str, Any]) -> WrappedFun:
    """Return (*which tangents are zero) -> (program, constants, which results' are zero).

    The program takes the primals and the nonzero tangents.
    """
    avals, rule = params["call_jaxpr"].in_avals, params["jvp"]

    def jvp(*zeros: bool) -> tuple[Jaxpr, list[Any], list[bool]]:
        nonzero, n = [not z for z in zeros], len(avals)
        out_zeros: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            outs, ts = rule(xs[:n], with_zeros(xs[n:], nonzero, avals))
            out_zeros[:] = [type(t) is Zero for t in ts]
            return [*outs, *(t for t in ts if type(t) is not Zero)]

        ts = [a.to_tangent() for a in pick(avals, nonzero)]
        jaxpr, consts = stage(run, [*avals, *ts], text="jvp_jaxpr_fun")
        return jaxpr, consts, out_zeros

    return WrappedFun(jvp)


def _forward(params: dict[str, Any], zeros: Sequence[bool]) -> Any:
    """Return the program of `fwd`, its constants, and its number of residuals."""
    rule, n_res = params["fwd"], 0

    def run(*xs: Any) -> list[Any]:
        nonlocal n_res
        residuals, outs = rule([not z for z in zeros], *xs)
        n_res = len(residuals)
        return [*residuals, *outs]

    jaxpr, consts = stage(run, params["call_jaxpr"].in_avals, text="fwd_jaxpr_thunk")
    return jaxpr, consts, n_res


def _fwd_jaxpr_thunk(params: dict[str, Any]) -> WrappedFun:
    """Return (*which tangents are zero) -> program of (*residuals, *results), constants."""
    return WrappedFun(lambda *zeros: _forward(params, zeros)[:2])


def out_trees(params: dict[str, Any]) -> Callable[[], Any]:
    """Return () -> structures of results and residuals, and for each residual None.

    None means that the residual is not an input that is forwarded.
    """

    def trees() -> tuple[Any, Any, list[None]]:
        jaxpr, _, n = _forward(params, [False] * len(params["call_jaxpr"].in_avals))
        outs = tree.structure([0] * (len(jaxpr.outvars) - n))
        return outs, tree.structure([0] * n), [None] * n

    return trees


def _bwd(params: dict[str, Any]) -> WrappedFun:
    """Return (*residuals, *cotangents) -> cotangents of the operands."""
    avals, rule = params["call_jaxpr"].in_avals, params["back"]
    n_out = len(params["call_jaxpr"].out_avals)

    def bwd(*xs: Any) -> list[Any]:
        n = len(xs) - n_out
        cts = rule(list(xs[:n]), list(map(instantiate, xs[n:])))
        return [
            Zero(a.to_tangent()) if ct is None else ct for ct, a in zip(cts, avals, strict=True)
        ]

    return WrappedFun(bwd)


def _flat_tree(param: str, results: bool) -> Getter:
    def structure(params: dict[str, Any]) -> Any:
        closed = params[param]
        return tree.structure(tuple(closed.out_avals if results else closed.in_avals))

    return structure


_NAMES: dict[Primitive, dict[str, Getter]] = {
    jit_p: {
        "in_shardings": _in_shardings,
        "out_shardings": _out_shardings,
        "in_layouts": lambda p: (None,) * len(p["jaxpr"].in_avals),
        "out_layouts": lambda p: (None,) * len(p["jaxpr"].out_avals),
        "ctx_mesh": _mesh,
    },
    custom_jvp_call_p: {
        "jvp_jaxpr_fun": _jvp_jaxpr_fun,
        "num_consts": lambda _: 0,  # rules take all operands
    },
    custom_vjp_call_p: {
        "fwd_jaxpr_thunk": _fwd_jaxpr_thunk,
        "bwd": _bwd,
        "out_trees": out_trees,
        "num_consts": lambda _: 0,
    },
    custom_vmap_call_p: {
        "in_tree": _flat_tree("call", False),
        "out_tree": _flat_tree("call", True),
    },
}


@hooks.param_by_jax_name.fill
def jax_param(prim: Primitive, params: dict[str, Any], name: str) -> Any:
    """Return the param of an equation that JAX calls `name`; KeyError if it has none."""
    names = _NAMES.get(prim, {})
    if name not in names:
        raise KeyError(name)
    return names[name](params)
