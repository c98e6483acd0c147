"""Where operations were written, and the files that are left out of tracebacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from ..base import source, tracebacks
from ..base.source import Source
from ..ir.core import STATE
from ..ir.jaxpr import NameStack, SourceInfo


def current() -> SourceInfo:
    """The user's current place, and the names around it."""
    return SourceInfo(STATE.source or source.user_source(), current_name_stack())


def current_name_stack() -> NameStack:
    """The names of scopes and transformations around."""
    return NameStack(STATE.names)


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one name, or of none."""
    return NameStack(name)


def new_source_info() -> SourceInfo:
    """No place, and no names."""
    return SourceInfo(None, NameStack())


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """The place as text."""
    place = source_info.traceback
    return "unknown" if place is None else str(place)


class Frame(NamedTuple):
    """A place in a program of text."""

    file_name: str
    function_name: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


def user_frames(traceback: Source | None) -> Iterator[Frame]:
    """The user's frames of an operation, innermost first: the place where it is written."""
    if traceback is not None:
        line, end, column, end_column = traceback.span()
        where = traceback.file, traceback.function
        yield Frame(*where, line, column, end, end_column)


def user_frame(traceback: Source | None) -> Frame | None:
    """The user's innermost frame."""
    return next(user_frames(traceback), None)


@contextmanager
def user_context(
    c: Source | None, *, name_stack: NameStack | str | None = None
) -> Iterator[None]:
    """What is done in the block was written at `c`, under these names."""
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
    """What is done in the block is under these names."""
    with user_context(None, name_stack=name_stack):
        yield


@contextmanager
def reset_name_stack() -> Iterator[None]:
    """What is done in the block is under no names."""
    with set_name_stack(""):
        yield


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """What is done in the block is under one more name."""
    stack = current_name_stack().extend(name)
    with set_name_stack(stack):
        yield stack


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """What is done in the block is `name(...)` of the names around."""
    stack = NameStack(f"{name}({STATE.names})")
    with set_name_stack(stack):
        yield stack


def register_exclusion(path: str) -> None:
    """Leave the frames of a file, or of the files below a folder, out of tracebacks."""
    tracebacks.exclude(path)


def api_boundary(fun: Any, **_: Any) -> Any:
    """A function at which errors leave the library's frames behind."""
    return tracebacks.bounded(fun)


def include_frame(frame: Any) -> bool:
    """Whether a frame stays in tracebacks."""
    return not tracebacks.is_internal(frame.f_code)


def filter_traceback(tb: Any) -> Any:
    """A traceback without internal frames."""
    steps = []
    while tb is not None:
        steps.append(tb)
        tb = tb.tb_next
    left = None
    for step in reversed(steps):
        if include_frame(step.tb_frame):
            left = TracebackType(left, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return left
