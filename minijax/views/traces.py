"""Traces that libraries define, and the current trace, under JAX's names.

Next: linear_util.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..control.arguments import concrete_or_error
from ..control.rules.custom_jvp import custom_jvp_call_p
from ..control.rules.custom_vjp_call import custom_vjp_call_p
from ..ir import core
from ..ir.core import EVAL, STATE, Primitive, current
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Var, sub_jaxprs
from ..passes import ad_util
from ..passes.batch import BatchTrace
from ..passes.stage import StageTrace
from ..types.avals import shaped
from .subfuns import bind_params


class _AnyTrace(type):
    """Metaclass: all traces are instances of the class that libraries use."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls is Trace:
            return isinstance(x, core.Trace)
        return super().__instancecheck__(x)


class Trace(core.Trace, metaclass=_AnyTrace):
    """An interpretation that a library defines.

    A subclass has `process_primitive(prim, args, params)`; `parent_trace` is the enclosing
    trace.  Calls with derivative rules are passed to `process_custom_jvp_call(prim, fun,
    jvp, args, symbolic_zeros=)` and `process_custom_vjp_call(prim, fun, fwd, bwd, args,
    out_trees=, symbolic_zeros=)`, if it has them, otherwise to `process_primitive`.
    """

    transform = "trace"
    allows_capture = True

    def __init__(self, parent: core.Trace | None = None) -> None:
        super().__init__(STATE.trace if parent is None else parent)

    @property
    def parent_trace(self) -> core.Trace:
        return self.parent

    @parent_trace.setter
    def parent_trace(self, trace: core.Trace) -> None:
        self.parent = trace

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        special = prim in (custom_jvp_call_p, custom_vjp_call_p)
        handle = getattr(self, f"process_{prim.name}", None) if special else None
        if handle is None:
            return self.process_primitive(prim, args, params)
        bound = bind_params(prim, params)
        return handle(prim, *bound.pop("subfuns"), args, **bound)

    def process_primitive(self, prim: Primitive, args: Any, params: Any) -> Any:
        """Apply `prim` to arguments, some of which may be this trace's tracers."""
        raise TypeError(f"{type(self).__name__} does not define process_primitive for {prim}")

    def is_valid(self) -> bool:
        """Whether the trace is still in progress."""
        return self.alive

    def invalidate(self) -> None:
        """End the trace: its tracers can no longer be used."""
        self.alive = False


class TraceTag:
    """A tag that distinguishes nested traces of one kind by its identity."""


class set_current_trace(current):
    """Make a trace current, for a block.

    check_leaks: ignored; leaks are checked wherever functions are staged.
    """

    __slots__ = ()

    def __init__(self, trace: core.Trace | None, check_leaks: bool = False) -> None:
        super().__init__(EVAL if trace is None else trace)


class take_current_trace:
    """Suspend the current trace, for a block that makes another one current."""

    __slots__ = ("before",)

    def __enter__(self) -> core.Trace:
        self.before = core.enter(STATE.trace)
        return STATE.trace

    def __exit__(self, *_: object) -> None:
        core.leave(self.before)


@contextmanager
def eval_context() -> Iterator[None]:
    """Evaluate operations immediately, for a block, whatever trace is around it."""
    with current(EVAL):
        yield


def full_lower(val: Any) -> Any:
    """Return a value in its simplest form: a tracer of a constant as that constant."""
    return val.full_lower() if isinstance(val, core.Tracer) else val


def find_top_trace(_: Any) -> core.Trace:
    """Return the current trace."""
    return STATE.trace


class OpaqueTraceState:
    """The identity of a trace, for comparisons."""

    __slots__ = ("_trace",)

    def __init__(self, trace: core.Trace) -> None:
        self._trace = weakref.ref(trace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace() is other._trace()

    def __hash__(self) -> int:
        return hash(self._trace)


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Return the identity of the current trace."""
    return OpaqueTraceState(STATE.trace)


class _AxisEnv:
    """The mapped axes in scope."""

    @property
    def axis_sizes(self) -> dict[Any, int]:
        return dict(core.named_axes())

    def axis_names(self) -> list[Any]:
        return [name for name, _ in core.named_axes()]

    def axis_exists(self, name: Any) -> bool:
        return name in self.axis_sizes

    def axis_size(self, name: Any) -> int:
        return core.axis_size(name)


class _TraceContext:
    """The traces and axes that are current in this thread."""

    axis_env = _AxisEnv()

    @property
    def trace(self) -> core.Trace:
        return STATE.trace

    def is_top_level(self) -> bool:
        return STATE.trace is EVAL


trace_ctx = _TraceContext()


def trace_state_clean() -> bool:
    """Whether no function is being traced."""
    return STATE.trace is EVAL


def unsafe_get_axis_names() -> list[Any]:
    """Return the names of the mapped axes in scope."""
    return trace_ctx.axis_env.axis_names()


def nonempty_axis_env() -> bool:
    """Whether there are mapped axes in scope."""
    return bool(core.named_axes())


def unsafe_am_i_under_a_jit() -> bool:
    """Whether a program is being recorded."""
    return any(isinstance(t, StageTrace) for t in core.trace_stack())


def unsafe_am_i_under_a_vmap() -> bool:
    """Whether lanes are being batched."""
    return any(isinstance(t, BatchTrace) for t in core.trace_stack())


# ------------------------------------------------------------------- values and programs


def to_value(force: Any, val: Any, context: str = "") -> Any:
    """Return `force(val)` of a concrete value; a tracer raises its own error."""
    return concrete_or_error(force, val, context)


def gensym() -> Callable[[Any], Var]:
    """Return a function that makes new variables of a type."""
    return Var


def subjaxprs(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Jaxpr]:
    """Return the inner programs of a program's equations."""
    return (sub for eqn in jaxpr.eqns for sub in sub_jaxprs(eqn.params))


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """Return the programs among an equation's params."""
    return iter(sub_jaxprs(params))


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """Return the type of one lane, from the type of all lanes together."""
    return ad_util.mapped_aval(size, axis, aval)


def unmapped_aval(
    size: int, axis: int | None, aval: Any, explicit_mesh_axis: Any = None
) -> Any:
    """Return the type of all lanes together, from the type of one."""
    return ad_util.unmapped_aval(size, axis, aval)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Return the dtype of tangents."""
    return shaped((), primal_dtype).to_tangent().dtype


def is_constant_dim(d: Any) -> bool:
    """Whether a size is a number."""
    return isinstance(d, int) or hasattr(d, "__index__")


def is_constant_shape(s: Any) -> bool:
    """Whether all sizes are numbers."""
    return all(map(is_constant_dim, s))
