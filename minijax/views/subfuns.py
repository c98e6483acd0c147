"""Calls bound by functions: JAX's form of an equation that has a program in ours.

`prim.bind(*args, subfuns=(...), **params)` takes the functions that transformations call,
as `WrappedFun`s of flat values; `prim.get_bind_params(eqn.params)` returns that form.
Functions that are passed back unchanged are bound as the original params.  Next:
programs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import tree
from ..control.calls.jit_primitive import closed_call_p
from ..control.rules.custom_jvp import SymbolicZero, as_zero, custom_jvp_call_p, from_symbolic
from ..control.rules.custom_vjp_call import custom_vjp_call_p
from ..ir import core, hooks
from ..ir.core import Primitive
from ..passes.ad_util import Zero, instantiate
from ..passes.stage import hoist_tracers, stage
from .attributes import DebugInfo
from .jax_params import out_trees
from .linear_util import WrappedFun

Params = dict[str, Any]


class Subfuns(tuple[WrappedFun, ...]):
    """The functions of a call, and the params that they were made from."""

    params: Params

    def __new__(cls, functions: Sequence[WrappedFun], params: Params) -> Subfuns:
        subfuns = super().__new__(cls, functions)
        subfuns.params = params
        return subfuns


def _called(call: Any, name: str, kind: str) -> WrappedFun:
    jaxpr = getattr(call, "jaxpr", None)
    info = DebugInfo(kind, None, None, None) if jaxpr is None else jaxpr.debug_info
    return WrappedFun(call, debug_info=info.replace_func_name(name))


def _named(fun: Callable[..., Any]) -> str:
    info = getattr(fun, "debug_info", None)
    return (info.func_name if info is not None else "") or getattr(fun, "__name__", "fun")


def _callable_of(fun: Callable[..., Any]) -> Callable[..., Any]:
    return getattr(fun, "call_wrapped", fun)


def _flat(fun: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda *xs: list(_callable_of(fun)(*xs))


def _labelled(rule: Any, fun: Any) -> Any:
    rule.__name__ = getattr(fun, "__name__", "rule")
    rule.written = fun
    return rule


# ------------------------------------------------------------------------------- calls


def _call_functions(params: Params) -> list[WrappedFun]:
    return [_called(params["call_jaxpr"], "closed_call", "call")]


def _bind_call(args: Sequence[Any], subfuns: Sequence[Any]) -> Any:
    (fun,) = subfuns
    return bind_call(closed_call_p.name, fun, args)


def bind_call(name: str, fun: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call a function of flat values as one operation; return its flat results."""
    jaxpr, consts = stage(_callable_of(fun), [core.aval_of(x) for x in args], text=name)
    closed, hoisted = hoist_tracers(jaxpr, consts)
    return closed_call_p.bind(*hoisted, *args, call_jaxpr=closed)


# -------------------------------------------------------------------------- custom_jvp


def _jvp_functions(params: Params) -> list[WrappedFun]:
    """Return (*primals) -> results; (*primals, *tangents) -> (*results, *tangents)."""
    rule = params["jvp"]

    def jvp(*values: Any) -> list[Any]:
        n = len(values) // 2
        outs, out_ts = rule(values[:n], list(map(from_symbolic, values[n:])))
        return [*outs, *map(instantiate, out_ts)]

    called = _called(params["call_jaxpr"], params["name"], "custom_jvp")
    return [called, WrappedFun(_labelled(jvp, rule))]


def _symbolic(xs: Sequence[Any], symbolic_zeros: bool) -> list[Any]:
    """Return tangents or cotangents in the form that rules take."""
    if not symbolic_zeros:
        return list(map(instantiate, xs))
    return [SymbolicZero(x.aval) if type(x) is Zero else x for x in xs]


def _bind_jvp(args: Sequence[Any], subfuns: Sequence[Any], symbolic_zeros: bool = False) -> Any:
    fun, jvp = subfuns

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        flat_results = _callable_of(jvp)(*primals, *_symbolic(tangents, symbolic_zeros))
        n = len(flat_results) // 2
        outs, out_ts = flat_results[:n], flat_results[n:]
        pairs = zip(map(from_symbolic, out_ts), outs, strict=True)
        return list(outs), [as_zero(t, x) for t, x in pairs]

    return custom_jvp_call_p.bind(
        *args,
        name=_named(fun),
        call_jaxpr=_flat(fun),
        jvp=_labelled(rule, jvp),
        symbolic_zeros=symbolic_zeros,
    )


# -------------------------------------------------------------------------- custom_vjp


class _Forward:
    """The forward rule: (*[arg, whether it is differentiated]) -> (*residuals, *results).

    The attributes about its results are from its last call.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        call = params["call_jaxpr"]
        self.avals = getattr(call, "in_avals", None)
        self.n_out = len(call.out_avals) if self.avals is not None else 0
        self.n_res: int | None = None
        self.__name__ = getattr(params["fwd"], "__name__", "fwd")

    def __call__(self, *values: Any) -> list[Any]:
        self.avals = [core.aval_of(x) for x in values[::2]]
        residuals, outs = self.params["fwd"](list(values[1::2]), *values[::2])
        self.n_res, self.n_out = len(residuals), len(outs)
        return [*residuals, *outs]

    def trees(self) -> tuple[Any, Any, list[None]]:
        """Return the structures of results and residuals, and None for each residual.

        None means that the residual is not an input that is forwarded.
        """
        if self.n_res is None:
            return out_trees(self.params)()  # type: ignore[no-any-return]
        structures = [tree.structure([0] * n) for n in (self.n_out, self.n_res)]
        return structures[0], structures[1], [None] * self.n_res

    def back(self, *values: Any) -> list[Any]:
        """Map (*residuals, *cotangents) to cotangents of the arguments."""
        n = len(values) - self.n_out
        cts = map(instantiate, map(from_symbolic, values[n:]))
        cts_in = self.params["back"](list(values[:n]), list(cts))
        pairs = zip(cts_in, self.avals or (), strict=True)
        return [Zero(a.to_tangent()) if ct is None else ct for ct, a in pairs]


def _vjp_functions(params: Params) -> list[WrappedFun]:
    called = _called(params["call_jaxpr"], params["name"], "custom_vjp")
    fwd = _Forward(params)
    return [called, WrappedFun(fwd), WrappedFun(fwd.back)]


def _bind_vjp(
    args: Sequence[Any],
    subfuns: Sequence[Any],
    out_trees: Callable[[], Any],
    symbolic_zeros: bool = False,
) -> Any:
    fun, fwd, bwd = subfuns

    def forward(flags: Sequence[bool], *xs: Any) -> tuple[list[Any], list[Any]]:
        pairs = zip(xs, flags, strict=True)
        flat_results = _callable_of(fwd)(*[x for pair in pairs for x in pair])
        _, res_tree, forwarded = out_trees()
        n = res_tree.num_leaves - sum(f is not None for f in forwarded)
        new_residuals = iter(flat_results[:n])
        residuals = [next(new_residuals) if f is None else xs[f] for f in forwarded]
        return residuals, list(flat_results[n:])

    def back(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        cts_in = _callable_of(bwd)(*residuals, *_symbolic(cts, symbolic_zeros))
        pairs = zip(map(from_symbolic, cts_in), args, strict=True)
        return [None if ct is None or type(ct) is Zero else as_zero(ct, x) for ct, x in pairs]

    return custom_vjp_call_p.bind(
        *args,
        name=_named(fun),
        call_jaxpr=_flat(fun),
        fwd=_labelled(forward, fwd),
        back=_labelled(back, bwd),
        symbolic_zeros=symbolic_zeros,
    )


# primitive -> (params -> functions, the function that binds these, the params it replaces)
_FORMS: dict[Primitive, tuple[Callable[..., Any], Callable[..., Any], set[str]]] = {
    closed_call_p: (_call_functions, _bind_call, {"call_jaxpr"}),
    custom_jvp_call_p: (_jvp_functions, _bind_jvp, {"call_jaxpr", "jvp", "name"}),
    custom_vjp_call_p: (_vjp_functions, _bind_vjp, {"call_jaxpr", "fwd", "back", "name"}),
}


def functions(prim: Primitive, params: Params) -> Subfuns:
    """Return a call's functions of flat values."""
    return Subfuns(_FORMS[prim][0](params), params)


@hooks.bind_params.fill
def bind_params(prim: Primitive, params: Params) -> Params:
    """Return the params with which `bind` applies an equation's primitive again."""
    if prim not in _FORMS:
        return params.copy()
    new = {k: v for k, v in params.items() if k not in _FORMS[prim][2]}
    new["subfuns"] = functions(prim, params)
    if prim is custom_vjp_call_p:
        new["out_trees"] = new["subfuns"][1].f.trees
    return new


@hooks.bind_functions.fill
def bind_functions(prim: Primitive, args: Sequence[Any], params: Params) -> Any:
    """Bind a call whose params are functions."""
    if prim not in _FORMS:
        raise TypeError(f"{prim}.bind takes no subfuns")
    subfuns = params["subfuns"]
    if isinstance(subfuns, Subfuns):
        return prim.bind(*args, **subfuns.params)
    return _FORMS[prim][1](args, **params)
