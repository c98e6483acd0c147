"""The user's source location of an operation: frame, line and column.

An equation stores a `Source`: a code object and an instruction offset, found by
walking out of minijax's own files.  Lines are computed only when needed, so that
recording takes less than a microsecond.

This module knows which files are internal; it does not know traces.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

from .tracebacks import bounded
from .tracebacks import internal_codes as _ours
from .tracebacks import is_internal as is_internal
from .util import Memo

F = TypeVar("F", bound=Callable[..., Any])


class Source:
    """A location in the user's program."""

    __slots__ = ("code", "lasti")

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_qualname

    def position(self) -> tuple[int, int]:
        """Return the line, from 1, and the column, from 0 (0 also if it is unknown)."""
        line, _, column, _ = self.span()
        return line, column

    def span(self) -> tuple[int, int, int, int]:
        """Return first line, last line, first column and the column after the last."""
        index = self.lasti // 2
        for i, pos in enumerate(self.code.co_positions()):
            if i == index:
                line, end, column, end_column = (n or 0 for n in pos)
                return line, end, column, end_column
        first = self.code.co_firstlineno
        return first, first, 0, 0

    def __str__(self) -> str:
        line, column = self.position()
        return f"{self.file}:{line}:{column} ({self.function})"

    def text(self) -> str:
        """Return `file.py:3 (function)` with the file's base name."""
        return f"{os.path.basename(self.file)}:{self.position()[0]} ({self.function})"


# By `id`, since hashing a code object walks its constants.  The id of a code object that was
# freed may be reused, so the code is compared as well.
_sources: dict[tuple[int, int], Source] = {}


def source_of_frame(frame: FrameType) -> Source:
    """Return the current location of a frame; equal locations share one object."""
    code, lasti = frame.f_code, frame.f_lasti
    cached = _sources.get((id(code), lasti))
    if cached is None or cached.code is not code:
        if len(_sources) > 50_000:
            _sources.clear()
        cached = _sources[id(code), lasti] = Source(code, lasti)
    return cached


def user_frame(depth: int = 1) -> FrameType | None:
    """Return the innermost frame that is not internal."""
    frame: FrameType | None = sys._getframe(depth)
    cache = _ours
    while frame is not None:
        code = frame.f_code
        cached = cache.get(id(code))
        if not (is_internal(code) if cached is None else cached[0]):
            return frame
        frame = frame.f_back
    return None


def is_own(fun: Any) -> bool:
    """Whether a function is internal."""
    code = getattr(fun, "__code__", None)
    return code is not None and is_internal(code)


def user_source() -> Source | None:
    """Return the user's current location, or None if there is no user frame."""
    frame = user_frame(2)
    return None if frame is None else source_of_frame(frame)


def stacklevel() -> int:
    """Return the `stacklevel` at which the caller's warning names the user's line."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_internal(frame.f_code):
        frame, level = frame.f_back, level + 1
    return level


# A location for equations that users never see: eager differentiation records its linear
# part without a search for the user's line.
UNKNOWN = Source(user_source.__code__, 0)


def attribute(x: Any, name: str, default: Any = None) -> Any:
    """Return an attribute of a user's object, or the default if its own code fails."""
    try:
        return getattr(x, name, default)
    except Exception:
        return default


def own_name(fun: Any) -> str | None:
    """Return the `__name__` of a callable if it is a string, otherwise None."""
    name = attribute(fun, "__name__")
    return name if isinstance(name, str) else None


def name_of(fun: Any) -> str:
    """Return the name of a function, of a partial's function, or else of the type."""
    name = own_name(fun)
    if name is not None:
        return name
    inner = attribute(fun, "func")
    return type(fun).__name__ if inner is None else name_of(inner)


class OwnMethod(functools.partial[Any]):
    """An attribute of a function that its wrappers must not inherit."""


def wraps(
    fun: Callable[..., Any], name: str = "{fun}", about: str = "", bounds: bool = True
) -> Callable[[F], F]:
    """Return a decorator like `functools.wraps`, for any callable.

    name: the wrapper's name, with a placeholder for the name of `fun`.
    about: a summary that precedes the documentation of `fun`, with the same placeholder.
    bounds: whether the wrapper is a boundary, which removes internal frames from
    tracebacks.
    """

    def named(wrapper: F) -> F:
        if bounds and type(wrapper) is FunctionType:
            wrapper = bounded(wrapper)
        attributes = attribute(fun, "__dict__", {})
        left_out = (OwnMethod, Memo)
        vars(wrapper).update(
            {k: v for k, v in attributes.items() if not isinstance(v, left_out)}
        )
        wrapped: Any = wrapper
        called = name_of(fun)
        qualified = attribute(fun, "__qualname__")
        annotations = attribute(fun, "__annotations__")
        wrapped.__name__ = name.format(fun=called)
        wrapped.__qualname__ = name.format(
            fun=qualified if isinstance(qualified, str) else called
        )
        wrapped.__module__ = attribute(fun, "__module__")
        summary, documentation = about.format(fun=called), attribute(fun, "__doc__") or ""
        separator = "\n\nOriginal documentation:\n\n" if summary and documentation else ""
        wrapped.__doc__ = f"{summary}{separator}{documentation}"
        wrapped.__annotations__ = annotations if isinstance(annotations, dict) else {}
        wrapped.__wrapped__ = fun
        return wrapper

    return named


def function_text(fun: Any) -> str:
    """Return `name at file:line` for messages about a transformed function."""
    name = own_name(fun) or type(fun).__name__
    target = fun
    while (inner := attribute(target, "__wrapped__")) is not None:
        target = inner
    target = attribute(target, "func", target)
    code = attribute(target, "__code__")
    if code is None:
        return name
    return f"{name} at {code.co_filename}:{code.co_firstlineno}"
