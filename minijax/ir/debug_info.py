"""Names, source locations and contexts of jaxprs and equations, in the form that JAX has.

Libraries read them from jaxprs; minijax itself stores plain strings and `Source` objects.
Next: jaxpr.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from ..base.source import Source
from ..base.util import pick


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


def named_by(info: DebugInfo) -> dict[str, Any]:
    """Return the fields of a jaxpr that a `DebugInfo` determines."""
    name = (info.func_src_info or "").partition(" ")[0]
    return {"name": name, "arg_names": tuple(info.arg_names or ())}


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
    """The context in which libraries evaluate an equation; it changes nothing."""

    __slots__ = ()

    @property
    def manager(self) -> AbstractContextManager[None]:
        return nullcontext()


DEFAULT_CONTEXT = EquationContext()
