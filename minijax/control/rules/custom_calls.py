"""Shared parts of calls of functions with custom rules.

Such a primitive holds a function, and a rule that replaces it in one transformation; in all
others it is a call of the function.  Before it is staged, the function is a callable on
flat values; in a program it is a jaxpr.
Next: custom_jvp.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...base.tracebacks import is_refusal
from ...base.util import owns_memos
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...ir.jaxpr import ClosedJaxpr, Equation
from ...ir.names import Inside
from ...ir.regions import Params, Region
from ...passes import batch as batching
from ...passes.region_rules import describe
from ...passes.stage import StageTrace, hoist_tracers, stage
from ...passes.transpose import backward_pass
from ...types import dtypes
from ..arguments import as_array


class CustomRuleFunction:
    """A function with rules; also provides the methods that set rules of a wrapped one.

    For example, a `custom_vjp` of a `custom_vmap` has `def_vmap`.
    """

    fun: Any

    def __init_subclass__(cls) -> None:
        owns_memos(cls)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("fun")
        if name.startswith("def") and isinstance(inner, CustomRuleFunction):
            return getattr(inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def calls_with_rule(prim: Primitive, region: Region, **facts: Any) -> None:
    """Give a primitive the rules and facts under which it is a call of its function."""
    describe(prim, region)

    def function(params: Params) -> Any:
        return region.bodies(params)[0]

    def transpose(cts: Any, *args: Any, **params: Any) -> Any:
        """Transpose the function itself, which is linear; its custom rule is not used."""
        closed = function(params)
        return backward_pass(closed.jaxpr, closed.consts, args, cts)

    prim.impl = lambda *args, **params: function(params)(*args)
    prim.transpose = transpose
    prim.lower = lambda ctx, *args, **params: ctx.jaxpr(function(params), *args)
    prim.dce = keep_all_or_none
    prim.facts = Facts(lowers_key_arrays=True, **facts)


def keep_all_or_none(used: Sequence[bool], eqn: Equation) -> Equation | None:
    """Keep all results or none: a custom rule computes them together."""
    return eqn if any(used) or eqn.effects else None


def call_pretty(eqn: Equation, printer: Any) -> list[tuple[str, Any]]:
    """Print the call's name first, and its rules by their names."""
    rules = {"jvp": "jvp", "fwd": "fwd", "back": "bwd"}
    return [
        (rules[k], v.__name__) if k in rules else (k, v)
        for k, v in printer.shown(eqn, {}, first="name")
    ]


def stage_call(
    trace: StageTrace, call: Any, args: Sequence[Any], name: str
) -> tuple[ClosedJaxpr, list[Any]]:
    """Return a callable as a closed jaxpr, and the outer tracers to pass to it first."""
    if isinstance(call, ClosedJaxpr):
        return call, []
    avals = [core.aval_of(x) for x in args]
    before = core.enter(trace)
    try:
        return hoist_tracers(*stage(call, avals, name=name, text=name, transform=name))
    finally:
        core.leave(before)


_SCALARS = (int, float, complex, np.generic)


def as_arrays(values: Sequence[Any]) -> list[Any]:
    """Convert values of a program, zeros included, to arrays for a user's rule.

    A program holds numbers, which lack an array's attributes.  They may also promote
    differently: in NumPy, bfloat16 times a number is float32.
    """
    return [as_array(x) if isinstance(x, _SCALARS) else x for x in values]


def _is_evaluated() -> bool:
    """Whether this call is evaluated now, and so can never be differentiated."""
    trace: Any = core.STATE.trace
    while isinstance(trace, batching.BatchTrace):
        trace = trace.parent
    return trace is core.EVAL


class _Probing(threading.local):
    """Whether a rule is being traced only to find out which results vary."""

    active = False


_probing = _Probing()


class LaneAxes:
    """The flags of a function's results over lanes that have a lane axis (the first).

    The first run of the function or of its rule determines them; later runs must agree.
    A program holds both, and the rule may vary where the function does not, so
    `rule_varies(args)` is called before the flags of the function's results are fixed.
    """

    __slots__ = ("axis", "dims", "batched", "rule_varies")

    def __init__(
        self, axis: Any, dims: Sequence[Any], rule_varies: Callable[..., Sequence[bool]]
    ) -> None:
        self.axis = axis
        self.dims = [None if d is None else 0 for d in dims]
        self.batched: list[bool] | None = None
        self.rule_varies = rule_varies

    def lanes_first(self, args: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
        """Return the operands, lane axes first."""
        return [
            x if d is None else batching.lane_to_front(x, self.axis, d)
            for x, d in zip(args, dims, strict=True)
        ]

    def flags(self, dims: Sequence[Any], args: Sequence[Any] | None = None) -> list[bool]:
        """Return which results have a lane axis; `dims` are the axes of this run.

        With `args`, the rule may not have run yet, and is traced for its flags.
        """
        batched = [d is not None for d in dims]
        if self.batched is None:
            unsure = args is not None and 0 in self.dims and not all(batched)
            if unsure and not _is_evaluated():
                more = self.probe_rule(args, len(dims))
                batched = [f or m for f, m in zip(batched, more, strict=True)]
            self.batched = batched
        if any(f and not k for f, k in zip(batched, self.batched, strict=True)):
            raise lane_closure_error()
        return self.batched

    def probe_rule(self, args: Any, n: int) -> Sequence[bool]:
        if _probing.active:  # a rule calls its function
            return [False] * n
        _probing.active = True
        try:
            return self.rule_varies(args)
        except Exception as error:
            if is_refusal(error):  # it may never run, and raises the same if it does
                return [True] * n
            raise
        finally:
            _probing.active = False

    def align_lane_axes(
        self, outs: Sequence[Any], dims: Sequence[Any], flags: Sequence[bool]
    ) -> list[Any]:
        """Return the results, lane axes first where flagged."""
        return [
            batching.lane_to_front(x, self.axis, d)
            if f and (d is not None or core.aval_of(x).dtype != dtypes.float0)
            else x
            for x, d, f in zip(outs, dims, flags, strict=True)
        ]

    def lift(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return the flat function over all lanes."""
        if isinstance(fun, ClosedJaxpr) and all(d is None for d in self.dims):
            self.batched = [False] * len(fun.out_avals)
            return fun

        def call(*xs: Any) -> list[Any]:
            # The equation itself is marked with the transformation: no marks inside.
            core.STATE.names = Inside(core.STATE.names)
            outs, dims = batching.batch_flat(fun, self.axis, xs, self.dims)
            return self.align_lane_axes(outs, dims, self.flags(dims, xs))

        return call

    def out_dims(self, outs: Sequence[Any]) -> list[Any]:
        """Return the axes of the results, after the function or its rule has run."""
        flags = self.batched or [True] * len(outs)
        return [0 if f else None for f in flags]


def lane_closure_error() -> errors.UnexpectedTracerError:
    """Return the error for a rule that varies over lanes where its function does not."""
    return errors.UnexpectedTracerError(
        errors.message(
            "A custom rule closes over a mapped value on which its function does not depend.",
            why="The rule would be a different one in each lane.",
            tries=["pass the value as an argument"],
        )
    )
