"""Traces that libraries make, and what is current, under JAX's names.

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
    """All traces are instances of the class that libraries know."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls is Trace:
            return isinstance(x, core.Trace)
        return super().__instancecheck__(x)


class Trace(core.Trace, metaclass=_AnyTrace):
    """An interpretation of a library's own.

    A subclass has `process_primitive(prim, args, params)`, and says in `parent_trace` what
    is around it.  Calls with derivative rules come to `process_custom_jvp_call(prim, fun,
    jvp, args, symbolic_zeros=)` and to `process_custom_vjp_call(prim, fun, fwd, bwd, args,
    out_trees=, symbolic_zeros=)`, if it has them, else as any other primitive.
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
        """Apply `prim` to arguments, of which some may be this trace's tracers."""
        raise TypeError(f"{type(self).__name__} does not say what it does to {prim}")

    def is_valid(self) -> bool:
        """Whether the trace is still in progress."""
        return self.alive

    def invalidate(self) -> None:
        """End the trace: its tracers may be used no more."""
        self.alive = False


class TraceTag:
    """What tells the tracers of nested traces of one kind apart: its identity."""


class set_current_trace(current):
    """Make a trace current, for a block.

    check_leaks: leaks are looked for where functions are staged, whatever this says.
    """

    __slots__ = ()

    def __init__(self, trace: core.Trace | None, check_leaks: bool = False) -> None:
        super().__init__(EVAL if trace is None else trace)


class take_current_trace:
    """The current trace, for a block that makes another current."""

    __slots__ = ("before",)

    def __enter__(self) -> core.Trace:
        self.before = core.enter(STATE.trace)
        return STATE.trace

    def __exit__(self, *_: object) -> None:
        core.leave(self.before)


@contextmanager
def eval_context() -> Iterator[None]:
    """Evaluate at once, for a block, whatever is being traced around."""
    with current(EVAL):
        yield


def full_lower(val: Any) -> Any:
    """A value as simply as it can be had: a tracer of a constant as that."""
    return val.full_lower() if isinstance(val, core.Tracer) else val


def find_top_trace(_: Any) -> core.Trace:
    """The current trace."""
    return STATE.trace


class OpaqueTraceState:
    """What is being traced, to be compared."""

    __slots__ = ("_trace",)

    def __init__(self, trace: core.Trace) -> None:
        self._trace = weakref.ref(trace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace() is other._trace()

    def __hash__(self) -> int:
        return hash(self._trace)


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """What is being traced now: equal as long as it is the same."""
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
    """What is current in this thread."""

    axis_env = _AxisEnv()

    @property
    def trace(self) -> core.Trace:
        return STATE.trace

    def is_top_level(self) -> bool:
        return STATE.trace is EVAL


trace_ctx = _TraceContext()


def trace_state_clean() -> bool:
    """Whether nothing is being traced."""
    return STATE.trace is EVAL


def unsafe_get_axis_names() -> list[Any]:
    """The names of the mapped axes in scope."""
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
    """`force(val)` of a concrete value; the tracer's own error, with `context`, else."""
    return concrete_or_error(force, val, context)


def gensym() -> Callable[[Any], Var]:
    """What makes new variables of a type."""
    return Var


def subjaxprs(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Jaxpr]:
    """The programs that the equations of one hold."""
    return (sub for eqn in jaxpr.eqns for sub in sub_jaxprs(eqn.params))


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The programs among an equation's params."""
    return iter(sub_jaxprs(params))


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """The type of one lane, of that of all together."""
    return ad_util.mapped_aval(size, axis, aval)


def unmapped_aval(
    size: int, axis: int | None, aval: Any, explicit_mesh_axis: Any = None
) -> Any:
    """The type of all lanes together, of that of one."""
    return ad_util.unmapped_aval(size, axis, aval)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents."""
    return shaped((), primal_dtype).to_tangent().dtype


def is_constant_dim(d: Any) -> bool:
    """Whether a size is a number."""
    return isinstance(d, int) or hasattr(d, "__index__")


def is_constant_shape(s: Any) -> bool:
    """Whether all sizes are numbers."""
    return all(map(is_constant_dim, s))
