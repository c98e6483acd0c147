"""Source lines of operations, and the files whose frames tracebacks omit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from ..base import source, tracebacks
from ..base.source import Source
from ..ir.core import STATE
from .attributes import NameStack, SourceInfo


def current() -> SourceInfo:
    """Return the user's current source line, and the current name stack."""
    return SourceInfo(STATE.source or source.user_source(), current_name_stack())


def current_name_stack() -> NameStack:
    """Return the names of the enclosing scopes and transformations."""
    return NameStack(STATE.names)


def new_name_stack(name: str = "") -> NameStack:
    """Return a stack of one name, or of none."""
    return NameStack(name)


def new_source_info() -> SourceInfo:
    """Return a source info without line and names."""
    return SourceInfo(None, NameStack())


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """Return the source line as text."""
    source_line = source_info.traceback
    return "unknown" if source_line is None else str(source_line)


class Frame(NamedTuple):
    """A position in a source file."""

    file_name: str
    function_name: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


def user_frames(traceback: Source | None) -> Iterator[Frame]:
    """Yield the user's frames of an operation, innermost first; only one is recorded."""
    if traceback is not None:
        line, end, column, end_column = traceback.span()
        file_and_function = traceback.file, traceback.function
        yield Frame(*file_and_function, line, column, end, end_column)


def user_frame(traceback: Source | None) -> Frame | None:
    """Return the user's innermost frame."""
    return next(user_frames(traceback), None)


@contextmanager
def user_context(
    c: Source | None, *, name_stack: NameStack | str | None = None
) -> Iterator[None]:
    """Give operations of the block the source `c` and these names."""
    before = STATE.source, STATE.names
    STATE.source = c or STATE.source
    if name_stack is not None:
        STATE.names = str(name_stack)
    try:
        yield
    finally:
        STATE.source, STATE.names = before


@contextmanager
def set_name_stack(name_stack: NameStack | str) -> Iterator[None]:
    """Give operations of the block these names."""
    with user_context(None, name_stack=name_stack):
        yield


@contextmanager
def reset_name_stack() -> Iterator[None]:
    """Give operations of the block no names."""
    with set_name_stack(""):
        yield


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """Add a name to operations of the block."""
    stack = current_name_stack().extend(name)
    with set_name_stack(stack):
        yield stack


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """Replace the names around operations of the block by `name(...)` of them."""
    stack = NameStack(f"{name}({STATE.names})")
    with set_name_stack(stack):
        yield stack


def register_exclusion(path: str) -> None:
    """Omit the frames of a file, or of the files below a folder, from tracebacks."""
    tracebacks.exclude(path)


def api_boundary(fun: Any, **_: Any) -> Any:
    """Wrap a function so that its errors omit the library's frames."""
    return tracebacks.bounded(fun)


def include_frame(frame: Any) -> bool:
    """Whether a frame stays in tracebacks."""
    return not tracebacks.is_internal(frame.f_code)


def filter_traceback(tb: Any) -> Any:
    """Return a traceback without internal frames."""
    steps = []
    while tb is not None:
        steps.append(tb)
        tb = tb.tb_next
    filtered = None
    for step in reversed(steps):
        if include_frame(step.tb_frame):
            filtered = TracebackType(filtered, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return filtered
