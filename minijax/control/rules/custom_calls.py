"""What calls of functions with rules of their own share.

Such a primitive holds a function and the rule that goes in its place in one
transformation; in all others it is the call of the function.  While it is not staged, the
function is a callable on flat values; in a program it is a jaxpr.

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
    """A function with rules, which also hands on the methods that set those of what it
    wraps: of a `custom_vjp` of a `custom_vmap`, `def_vmap`."""

    fun: Any

    def __init_subclass__(cls) -> None:
        owns_memos(cls)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("fun")
        if name.startswith("def") and isinstance(inner, CustomRuleFunction):
            return getattr(inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def calls_with_rule(prim: Primitive, region: Region) -> None:
    """Give a primitive the rules in which it is the call of its function."""
    describe(prim, region)

    def function(params: Params) -> Any:
        return region.bodies(params)[0]

    def transpose(cts: Any, *args: Any, **params: Any) -> Any:
        """The function itself is linear: its rule has no part in its transpose."""
        closed = function(params)
        return backward_pass(closed.jaxpr, closed.consts, args, cts)

    prim.impl = lambda *args, **params: function(params)(*args)
    prim.transpose = transpose
    prim.lower = lambda ctx, *args, **params: ctx.jaxpr(function(params), *args)
    prim.dce = whole_or_none
    prim.lowers_key_arrays = True


def whole_or_none(used: Sequence[bool], eqn: Equation) -> Equation | None:
    """A custom rule speaks for all results together: keep all or none."""
    return eqn if any(used) or eqn.effects else None


def call_pretty(eqn: Equation, printer: Any) -> list[tuple[str, Any]]:
    """The call's name first; its rules by their names."""
    rules = {"jvp": "jvp", "fwd": "fwd", "back": "bwd"}
    return [
        (rules[k], v.__name__) if k in rules else (k, v)
        for k, v in printer.shown(eqn, {}, first="name")
    ]


def stage_call(
    trace: StageTrace, call: Any, args: Sequence[Any], name: str
) -> tuple[ClosedJaxpr, list[Any]]:
    """A callable as a closed jaxpr, and the outer tracers it needs passed first."""
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
    """Values of a program, zeros included, as a user's rule gets them: as arrays.

    A program holds numbers, which lack an array's attributes. They may also promote
    differently: in NumPy, bfloat16 times a number is float32.
    """
    return [as_array(x) if isinstance(x, _SCALARS) else x for x in values]


def _only_evaluated() -> bool:
    """Whether what runs now is over when it has run: nobody will differentiate it."""
    trace: Any = core.STATE.trace
    while isinstance(trace, batching.BatchTrace):
        trace = trace.parent
    return trace is core.EVAL


class _Asking(threading.local):
    """Whether a rule is traced just to see what it varies with."""

    now = False


_asking = _Asking()


class LaneAxes:
    """Which results of a function over lanes have a lane axis (then the first).

    The first run tells, of the function or of its rule; later ones keep to it.  A program
    holds both, and the rule may vary where the function does not: `rule_varies(args)`
    says so before the function's results are settled.
    """

    __slots__ = ("axis", "dims", "known", "rule_varies")

    def __init__(
        self, axis: Any, dims: Sequence[Any], rule_varies: Callable[..., Sequence[bool]]
    ) -> None:
        self.axis = axis
        self.dims = [None if d is None else 0 for d in dims]
        self.known: list[bool] | None = None
        self.rule_varies = rule_varies

    def fronted(self, args: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
        """The operands, lane axes first."""
        return [
            x if d is None else batching.lane_to_front(x, self.axis, d)
            for x, d in zip(args, dims, strict=True)
        ]

    def flags(self, dims: Sequence[Any], args: Sequence[Any] | None = None) -> list[bool]:
        """Which results have a lane axis; `dims` tells where this run has put them.

        With `args`, a rule may come that nobody has asked yet.
        """
        found = [d is not None for d in dims]
        if self.known is None:
            unsure = args is not None and 0 in self.dims and not all(found)
            if unsure and not _only_evaluated():
                more = self.ask_rule(args, len(dims))
                found = [f or m for f, m in zip(found, more, strict=True)]
            self.known = found
        if any(f and not k for f, k in zip(found, self.known, strict=True)):
            raise lane_closure_error()
        return self.known

    def ask_rule(self, args: Any, n: int) -> Sequence[bool]:
        if _asking.now:  # a rule calls its function
            return [False] * n
        _asking.now = True
        try:
            return self.rule_varies(args)
        except Exception as error:
            if is_refusal(error):  # it may never run, and says why when it does
                return [True] * n
            raise
        finally:
            _asking.now = False

    def align_lane_axes(
        self, outs: Sequence[Any], dims: Sequence[Any], flags: Sequence[bool]
    ) -> list[Any]:
        """The results, lane axes first where flagged."""
        return [
            batching.lane_to_front(x, self.axis, d)
            if f and (d is not None or core.aval_of(x).dtype != dtypes.float0)
            else x
            for x, d, f in zip(outs, dims, flags, strict=True)
        ]

    def lift(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """The flat function over all lanes."""
        if isinstance(fun, ClosedJaxpr) and all(d is None for d in self.dims):
            self.known = [False] * len(fun.out_avals)
            return fun

        def call(*xs: Any) -> list[Any]:
            core.STATE.names = Inside(core.STATE.names)
            outs, dims = batching.batch_flat(fun, self.axis, xs, self.dims)
            return self.align_lane_axes(outs, dims, self.flags(dims, xs))

        return call

    def out_dims(self, outs: Sequence[Any]) -> list[Any]:
        """Where the results' lane axes are, once the function or its rule has run."""
        flags = self.known or [True] * len(outs)
        return [0 if f else None for f in flags]


def lane_closure_error() -> errors.UnexpectedTracerError:
    """The error for a rule that differs from lane to lane where its function does not."""
    return errors.UnexpectedTracerError(
        errors.message(
            "A custom rule closes over a mapped value on which its function does not depend.",
            why="the rule is then another one in each lane.",
            tries=["pass the value as an argument"],
        )
    )
