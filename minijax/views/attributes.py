"""Attributes of the core's objects that only libraries read, in the form that JAX has.

The core declares them (`LibraryAttribute`), and this file defines them: attributes of
primitives and traces, names and source locations of jaxprs and equations.  Next: primitives.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from ..base.above import library_attribute
from ..base.source import Source
from ..base.util import pick
from ..ir import core
from ..ir.jaxpr import Equation, Jaxpr, no_effects
from ..passes.batch import BatchTracer
from ..types.avals import AbstractValue


class DebugInfo(NamedTuple):
    """The transformation and function a program was traced for, and the names of its values."""

    traced_for: str
    func_src_info: str | None
    arg_names: tuple[str, ...] | None
    result_paths: tuple[str, ...] | None

    @property
    def func_name(self) -> str:
        return (self.func_src_info or "").partition(" ")[0]

    def replace_func_name(self, name: str) -> DebugInfo:
        """Return a copy for a function of another name."""
        location = (self.func_src_info or "").partition(" ")[2]
        return self._replace(func_src_info=f"{name} {location}".rstrip())

    def with_unknown_names(self) -> DebugInfo:
        """Return a copy without names of values."""
        return self._replace(arg_names=None, result_paths=None)

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """Return the names of `expected_count` arguments, empty if they are unknown."""
        return self.arg_names or ("",) * expected_count

    def safe_result_paths(self, expected_count: int) -> tuple[str, ...]:
        """Return the names of `expected_count` results, empty if they are unknown."""
        return self.result_paths or ("",) * expected_count

    def filter_arg_names(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """Return the names of the flagged arguments."""
        return None if self.arg_names is None else tuple(pick(self.arg_names, keep))

    def filter_result_paths(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """Return the names of the flagged results."""
        paths = self.result_paths
        return None if paths is None else tuple(pick(paths, keep))


class NameStack(str):
    """The names of scopes and transformations around an operation: `outer/jvp(inner)`."""

    __slots__ = ()

    def extend(self, name: str) -> NameStack:
        """Return the stack with another scope inside."""
        return self + name

    def transform(self, name: str) -> NameStack:
        """Return the stack inside a transformation."""
        return NameStack(f"{name}({self})")

    def __add__(self, other: str) -> NameStack:
        return NameStack("/".join(filter(None, (str(self), str(other)))))


class SourceInfo(NamedTuple):
    """The source location and the name stack of an operation."""

    traceback: Source | None
    name_stack: NameStack

    def replace(self, **changes: Any) -> SourceInfo:
        """A copy with some fields changed."""
        return self._replace(**changes)


class EquationContext:
    """The context in which libraries evaluate an equation; it has no effect."""

    __slots__ = ()

    @property
    def manager(self) -> AbstractContextManager[None]:
        return nullcontext()


DEFAULT_CONTEXT = EquationContext()


# ------------------------------------------------------------- attributes, by class


class _OfPrimitives:
    """Attributes of primitives."""

    # Whether the first argument of `bind` is a function.
    call_primitive = map_primitive = False

    def bind_with_trace(
        self, trace: core.Trace, args: Sequence[Any], avals: Sequence[Any], params: Any
    ) -> Any:
        """Apply the primitive under `trace`; `avals` is unused, since operands have types."""
        del avals
        with core.current(trace):
            return self.bind(*args, **params)  # type: ignore[attr-defined]

    def def_impl(self, rule: core.Rule) -> core.Rule:
        """Set the evaluation rule; usable as a decorator."""
        self.impl = rule
        return rule

    def def_abstract_eval(self, rule: core.Rule) -> core.Rule:
        """Set the type rule; usable as a decorator."""
        self.abstract = rule
        return rule

    def abstract_eval(self, *avals: Any, **params: Any) -> tuple[Any, frozenset[Any]]:
        """Return the type(s) of the result(s), and the effects."""
        prim: Any = self
        effects = no_effects if prim.effects is None else prim.effects(params)
        return prim.abstract(*avals, **params), effects

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the params with which `bind` repeats an equation."""
        return dict(params)


class _OfTypes:
    """Attributes of abstract values; types that libraries define have their own."""

    def to_tangent_aval(self) -> AbstractValue:
        """Return the type of tangents."""
        return self.to_tangent()  # type: ignore[attr-defined, no-any-return]

    def normalize(self) -> Any:
        """Return the type that equal ones share: itself."""
        return self

    # The types and values that a value is made of: itself.
    def lo_ty(self) -> list[Any]:
        return [self]

    def lower_val(self, x: Any) -> list[Any]:
        return [x]

    def raise_val(self, *lows: Any) -> Any:
        (x,) = lows
        return x


class _OfEquations:
    """Attributes of equations."""

    ctx = DEFAULT_CONTEXT

    @property
    def source_info(self) -> SourceInfo:
        eqn: Any = self
        return SourceInfo(eqn.source, NameStack(eqn.names))


class _OfJaxprs:
    """Attributes of jaxprs."""

    @property
    def debug_info(self) -> DebugInfo:
        jaxpr: Any = self
        return DebugInfo("jit", jaxpr.name or None, tuple(jaxpr.arg_names) or None, None)


class _OfTraces:
    """Attributes of traces."""

    @property
    def main(self) -> Any:
        """The trace itself, which is what JAX's attribute of this name identifies."""
        return self

    def full_raise(self, x: Any) -> Any:
        """Return `x` unchanged: a trace accepts any value."""
        return x


class _OfTracers:
    """Attributes of tracers."""

    def full_lower(self) -> Any:
        """Return the value itself."""
        return self

    def to_concrete_value(self) -> Any:
        """Return the concrete value inside, or None."""
        return self.concrete()  # type: ignore[attr-defined]


class _OfBatchTracers:
    """Attributes of tracers of `vmap`."""

    @property
    def batch_dim(self) -> int:
        """The lane axis."""
        tracer: Any = self
        return int(tracer.dim)


_ATTRIBUTES: dict[type, type] = {
    AbstractValue: _OfTypes,
    BatchTracer: _OfBatchTracers,
    core.Primitive: _OfPrimitives,
    core.Trace: _OfTraces,
    core.Tracer: _OfTracers,
    Equation: _OfEquations,
    Jaxpr: _OfJaxprs,
}


@library_attribute.fill
def _attribute(x: Any, owner: type, name: str) -> Any:
    """Return an attribute of `x`, or of the class `owner` if `x` is None."""
    value = vars(_ATTRIBUTES[owner])[name]
    return value.__get__(x, owner) if hasattr(value, "__get__") else value
