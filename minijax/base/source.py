"""Where in the user's program: the frame, line and column of an operation.

An equation stores a `Source`: a code object and an instruction offset, found by
walking out of minijax's own files.  Lines are worked out only when asked for, so
that recording costs a fraction of a microsecond.

This room knows which files are ours, nothing of traces.
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
    """A place in the user's program."""

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
        """Line, from 1 on, and column, from 0 on (0 where it is unknown too)."""
        line, _, column, _ = self.span()
        return line, column

    def span(self) -> tuple[int, int, int, int]:
        """First and last line, first column and the one after the last; as above."""
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
        """`file.py:3 (function)` with the file's base name."""
        return f"{os.path.basename(self.file)}:{self.position()[0]} ({self.function})"


_sources: dict[tuple[int, int], Source] = {}


def source_of_frame(frame: FrameType) -> Source:
    """The current place of a frame: one object for equal places."""
    code, lasti = frame.f_code, frame.f_lasti
    cached = _sources.get((id(code), lasti))
    if cached is None or cached.code is not code:
        if len(_sources) > 50_000:
            _sources.clear()
        cached = _sources[id(code), lasti] = Source(code, lasti)
    return cached


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame that is not ours."""
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
    """Whether a function is ours."""
    code = getattr(fun, "__code__", None)
    return code is not None and is_internal(code)


def user_source() -> Source | None:
    """The user's current place, or None when there is no user frame."""
    frame = user_frame(2)
    return None if frame is None else source_of_frame(frame)


def stacklevel() -> int:
    """The `stacklevel` at which the caller's warning names the user's line."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_internal(frame.f_code):
        frame, level = frame.f_back, level + 1
    return level


# Stands for a place that nobody will ask for: eager differentiation records its linear
# part without looking for the user's line.
UNKNOWN = Source(user_source.__code__, 0)


def attribute(x: Any, name: str, default: Any = None) -> Any:
    """An attribute of a user's object, whose own code may fail."""
    try:
        return getattr(x, name, default)
    except Exception:
        return default


def own_name(fun: Any) -> str | None:
    """The `__name__` of a callable, if that is a string."""
    name = attribute(fun, "__name__")
    return name if isinstance(name, str) else None


def name_of(fun: Any) -> str:
    """The name of a function; of a partial that of what it calls, else of the type."""
    name = own_name(fun)
    if name is not None:
        return name
    inner = attribute(fun, "func")
    return type(fun).__name__ if inner is None else name_of(inner)


class OwnMethod(functools.partial[Any]):
    """An attribute that what wraps its owner does not have."""


def wraps(
    fun: Callable[..., Any], name: str = "{fun}", about: str = "", bounds: bool = True
) -> Callable[[F], F]:
    """`functools.wraps` for whatever can be called.

    `name` is what the wrapper is called, and `about` what its documentation says before
    that of `fun`: with a place for the name of `fun`.  `bounds`: it becomes a boundary,
    where errors leave our frames behind.
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
        summary, old = about.format(fun=called), attribute(fun, "__doc__") or ""
        between = "\n\nOriginal documentation:\n\n" if summary and old else ""
        wrapped.__doc__ = f"{summary}{between}{old}"
        wrapped.__annotations__ = annotations if isinstance(annotations, dict) else {}
        wrapped.__wrapped__ = fun
        return wrapper

    return named


def function_text(fun: Any) -> str:
    """`name at file:line` for messages about the function being transformed."""
    name = own_name(fun) or type(fun).__name__
    target = fun
    while (inner := attribute(target, "__wrapped__")) is not None:
        target = inner
    target = attribute(target, "func", target)
    code = attribute(target, "__code__")
    if code is None:
        return name
    return f"{name} at {code.co_filename}:{code.co_firstlineno}"
