"""Tracebacks without the library's own frames.

Functions that call the user's, `boundary`s, take minijax's frames out of the traceback of
an error that passes through them, as `jax_traceback_filtering` says.  What is left are the
user's lines: those that called, and those of the function that was transformed.

This room knows which files are ours.  Next: source.py, which finds the user's line.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, TypeVar

from . import config

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
excluded: list[str] = [_ROOT]
# By identity, since a code object's hash walks its constants.  The code is kept alive.
ours: dict[int, tuple[bool, CodeType]] = {}


def is_internal(code: CodeType) -> bool:
    """Whether `code` belongs to minijax or another excluded package."""
    known = ours.get(id(code))
    if known is None:
        known = code.co_filename.startswith(tuple(excluded)), code
        ours[id(code)] = known
    return known[0]


def exclude(path: str) -> None:
    """Take a file, or those of a folder, for internal from now on."""
    if path not in excluded:
        excluded.append(path)
        ours.clear()


class SimplifiedTraceback(Exception):
    """Stands before an error of whose traceback frames are left out, and says so."""

    __module__ = "minijax.errors"

    def __str__(self) -> str:
        return (
            "For simplicity, minijax has removed its internal frames from the traceback of"
            " the following exception. Set JAX_TRACEBACK_FILTERING=off to include these."
        )


class UnfilteredStackTrace(Exception):
    """Stands before an error of whose traceback frames are left out, and has them all."""

    __module__ = "minijax.errors"
    left: TracebackType | None = None  # what is left of the traceback

    def __init__(self) -> None:
        self.steps: list[TracebackType] = []  # the whole of it

    def __str__(self) -> str:
        frames = ((step.tb_frame, step.tb_lineno) for step in self.steps)
        lines = traceback.StackSummary.extract(frames).format()
        return "the whole traceback of the following exception:\n" + "".join(lines)


def _mode() -> str:
    mode: str = config.TRACEBACK_FILTERING.value
    if mode != "auto":
        return mode
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        return "tracebackhide"
    return "quiet_remove_frames"


def simplify(error: BaseException) -> None:
    """Take our frames out of the traceback of an error, which is then raised again."""
    mode = _mode()
    if mode == "off":
        return
    steps = []
    at = error.__traceback__
    while at is not None:
        steps.append(at)
        at = at.tb_next
    inside = [is_internal(step.tb_frame.f_code) for step in steps]
    if not any(inside):
        return
    if mode == "tracebackhide":
        for step, internal in zip(steps, inside, strict=True):
            if internal:
                step.tb_frame.f_locals["__tracebackhide__"] = True
        return
    left: TracebackType | None = None
    for step, internal in zip(reversed(steps), reversed(inside), strict=True):
        if not internal:
            left = TracebackType(left, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = left
    note = _note(error, mode)
    if isinstance(note, UnfilteredStackTrace):  # a boundary inside knows what was there
        outside = steps[: steps.index(note.left)] if note.left in steps else steps
        note.steps, note.left = [*outside, *note.steps], left


def _note(error: BaseException, mode: str) -> BaseException:
    """What stands at the end of an error's chain of causes, and says what is left out."""
    last, seen = error, {id(error)}
    while (cause := last.__cause__) is not None and id(cause) not in seen:
        if isinstance(cause, (SimplifiedTraceback, UnfilteredStackTrace)):
            return cause
        seen.add(id(cause))
        last = cause
    note = UnfilteredStackTrace() if mode == "remove_frames" else SimplifiedTraceback()
    note.__context__, hidden = last.__context__, last.__suppress_context__
    note.__suppress_context__ = hidden
    last.__cause__ = note
    return note


def bounded(fun: F) -> F:
    """`boundary`, for who names the function himself."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            simplify(error)
            raise

    return call  # type: ignore[return-value]


def boundary(fun: F) -> F:
    """A function that leaves no frames of ours in the tracebacks of errors."""
    named: Any = functools.wraps(fun)(bounded(fun))
    return named  # type: ignore[no-any-return]
