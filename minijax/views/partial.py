"""Tracing of functions with some known arguments, and of functions to programs.

Next: meshes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.source import function_text
from ..base.util import flags_of, pick
from ..ir import core
from ..ir.core import STATE, Primitive
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, lift_consts
from ..passes.stage import JitTracer, StageTrace, stage
from .linear_util import WrappedFun
from .rules import dce_jaxpr_consts

Val = Any
# Primitive -> (trace, *arguments, **params) -> result(s), for unknown arguments: called
# instead of recording the primitive.
custom_partial_eval_rules: dict[Primitive, Any] = {}


class PartialVal(tuple[Any, Any]):
    """A known value, or the type of an unknown one: (type, value), one of them None."""

    __slots__ = ()

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """Return a known value."""
        return PartialVal((None, const))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """Return an unknown value of a type."""
        return PartialVal((aval, None))

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """Return the value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> Any:
        """Return the type."""
        return core.aval_of(self[1]) if self.is_known() else self[0]


class PartialTrace(StageTrace):
    """A trace that records operations on unknown values, and evaluates the others."""

    __slots__ = ()

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        is_own = (type(x) is JitTracer and x._trace is self for x in args)
        if any(is_own):
            if (rule := custom_partial_eval_rules.get(prim)) is not None:
                with core.current(self):
                    return rule(self, *args, **params)
            return super().process(prim, args, params)
        with core.current(self.parent):
            return prim.bind(*args, **params)


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], tuple[Any, ...]]:
    """Trace the operations that depend on unknown arguments.

    Args:
      fun: a function of flat arguments and results.
      pvals: for each argument its value, or its type.
      instantiate: the known results that the program should also return.

    Returns:
      The program of the unknown arguments, whose constvars come first; each result as a
      `PartialVal`; the values of the constvars.
    """
    trace = PartialTrace(STATE.trace, function_text(fun.f), "partial evaluation")
    trace.reads_scalars = False
    args = [p[1] if p.is_known() else trace.new_arg(p[0]) for p in pvals]

    def record() -> tuple[list[PartialVal], Jaxpr, list[Any]]:
        outs = list(fun.call_wrapped(*args))
        force = flags_of(instantiate, len(outs))
        unknown = [
            f or (type(x) is JitTracer and x._trace is trace)
            for x, f in zip(outs, force, strict=True)
        ]
        out_pvals = [
            PartialVal.unknown(core.aval_of(x)) if u else PartialVal.known(x)
            for x, u in zip(outs, unknown, strict=True)
        ]
        staged = [x for x, u in zip(outs, unknown, strict=True) if u]
        return out_pvals, *trace.finish(staged, name_of_fun(fun))

    out_pvals, jaxpr, consts = core.under(trace, record)
    return jaxpr, out_pvals, tuple(consts)


def trace_to_jaxpr_dynamic(
    fun: WrappedFun,
    in_avals: Sequence[Any],
    *,
    keep_inputs: Any = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Trace a function: return its program, its results' types, and its constants' values.

    Args:
      fun: a function of flat arguments and results.
      in_avals: the types of its arguments.
      keep_inputs: the arguments that become inputs of the program; default: all.
      lower: whether to expand primitives that are made of others; this always happens.
      auto_dce: whether to remove equations that no result needs.
    """
    info = fun.debug_info
    names = (info.arg_names if info else None) or ()
    jaxpr, consts = stage(
        fun.call_wrapped,
        in_avals,
        name=name_of_fun(fun),
        text=function_text(fun.f),
        arg_names=names,
    )
    if keep_inputs is not None:
        invars = [v for v, k in zip(jaxpr.invars, keep_inputs, strict=True) if k]
        jaxpr = jaxpr.replace(invars=invars)
    if auto_dce:
        used = [True] * len(jaxpr.outvars)
        jaxpr, used_consts, _ = dce_jaxpr_consts(jaxpr, used, True)
        consts = pick(consts, used_consts)
    return jaxpr, jaxpr.out_avals, consts


def name_of_fun(fun: WrappedFun) -> str:
    """Return the name of a transformed function."""
    return fun.__name__


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return the program with its constvars as first inputs."""
    return lift_consts(jaxpr).jaxpr


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Close a program that has no constvars."""
    return ClosedJaxpr(jaxpr)


def abstract_eval_fun(fun: Any, *avals: Any, **params: Any) -> list[Any]:
    """Return the types of a function's flat results."""
    return stage(lambda *xs: fun(*xs, **params), avals)[0].out_avals
