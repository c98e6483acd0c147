"""Tracing functions of which some arguments are known, and programs of whole functions.

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
# Primitive -> (trace, *arguments, **params) -> result(s), where some argument is unknown,
# in the place of recording it.
custom_partial_eval_rules: dict[Primitive, Any] = {}


class PartialVal(tuple[Any, Any]):
    """A value that is known, or the type of one that is not: (type, value), one None."""

    __slots__ = ()

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A known value."""
        return PartialVal((None, const))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """A value of which only the type is known."""
        return PartialVal((aval, None))

    def is_known(self) -> bool:
        """Whether the value is."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> Any:
        """The type."""
        return core.aval_of(self[1]) if self.is_known() else self[0]


class PartialTrace(StageTrace):
    """Records what depends on unknown values; the rest happens at once."""

    __slots__ = ()

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        mine = (type(x) is JitTracer and x._trace is self for x in args)
        if any(mine):
            if (rule := custom_partial_eval_rules.get(prim)) is not None:
                with core.current(self):
                    return rule(self, *args, **params)
            return super().process(prim, args, params)
        with core.current(self.parent):
            return prim.bind(*args, **params)


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], tuple[Any, ...]]:
    """The program of what depends on the unknown arguments.

    Args:
      fun: a function of flat arguments and results.
      pvals: for each argument its value, or its type.
      instantiate: which results are to be the program's, though they are known.

    Returns:
      The program of the unknown arguments, whose constvars come first; each result, known
      or not; the values of the constvars.
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
        found = [
            PartialVal.unknown(core.aval_of(x)) if u else PartialVal.known(x)
            for x, u in zip(outs, unknown, strict=True)
        ]
        staged = [x for x, u in zip(outs, unknown, strict=True) if u]
        return found, *trace.finish(staged, name_of_fun(fun))

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
    """The program of a function: it, the types of its results, its constants' values.

    Args:
      fun: a function of flat arguments and results.
      in_avals: the types of its arguments.
      keep_inputs: which arguments are the program's, if not all.
      lower: whether to make it of primitives that are made of no others: it always is.
      auto_dce: whether to leave out what no result needs.
    """
    told = fun.debug_info
    names = (told.arg_names if told else None) or ()
    jaxpr, consts = stage(
        fun.call_wrapped,
        in_avals,
        name=name_of_fun(fun),
        text=function_text(fun.f),
        arg_names=names,
    )
    if keep_inputs is not None:
        left = [v for v, k in zip(jaxpr.invars, keep_inputs, strict=True) if k]
        jaxpr = jaxpr.replace(invars=left)
    if auto_dce:
        used = [True] * len(jaxpr.outvars)
        jaxpr, kept, _ = dce_jaxpr_consts(jaxpr, used, True)
        consts = pick(consts, kept)
    return jaxpr, jaxpr.out_avals, consts


def name_of_fun(fun: WrappedFun) -> str:
    """The name of a transformed function."""
    return fun.__name__


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program whose constvars are its first inputs."""
    return lift_consts(jaxpr).jaxpr


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A program without constvars, closed."""
    return ClosedJaxpr(jaxpr)


def abstract_eval_fun(fun: Any, *avals: Any, **params: Any) -> list[Any]:
    """The types of a function's flat results."""
    return stage(lambda *xs: fun(*xs, **params), avals)[0].out_avals
