"""Tracebacks without the library's own frames.

A `boundary` is a function that calls the user's functions.  It removes minijax's frames
from the traceback of an error that passes through it, as `jax_traceback_filtering` selects.
The user's lines remain: the callers, and the lines of the transformed function.

This module knows which files are internal.  Next: source.py, which finds the user's line.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from types import CodeType, TracebackType
from typing import Any, TypeVar

from . import config, depth

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Keyed by `id`, since hashing a code object walks its constants.  The value keeps the code
# alive, so that its id is not reused.
internal_codes: dict[int, tuple[bool, CodeType]] = {}


class _Paths(list[str]):
    """Files and folders; a change clears the cached facts about code."""

    def append(self, path: str) -> None:
        super().append(path)
        internal_codes.clear()

    def remove(self, path: str) -> None:
        super().remove(path)
        internal_codes.clear()


excluded = _Paths([_ROOT])


def is_internal(code: CodeType) -> bool:
    """Whether `code` belongs to minijax or another excluded package."""
    cached = internal_codes.get(id(code))
    if cached is None:
        cached = code.co_filename.startswith(tuple(excluded)), code
        internal_codes[id(code)] = cached
    return cached[0]


def exclude(path: str) -> None:
    """Treat a file, or the files of a folder, as internal from now on."""
    if path not in excluded:
        excluded.append(path)


_NOTE = (
    "--------------------\n"
    "For simplicity, JAX has removed its internal frames from the traceback of the"
    " following exception (JAX is minijax here). Set JAX_TRACEBACK_FILTERING=off to"
    " include these."
)


class SimplifiedTraceback(Exception):
    """Kept for compatibility: errors without the library's frames now have a note."""

    __module__ = "minijax.errors"


class UnfilteredStackTrace(Exception):
    """A cause of an error whose traceback was shortened; it has the full traceback."""

    __module__ = "minijax.errors"
    remaining: TracebackType | None = None  # the shortened traceback

    def __init__(self) -> None:
        self.steps: list[TracebackType] = []  # the full traceback

    def __str__(self) -> str:
        return (
            "The stack trace below excludes JAX-internal frames (JAX is minijax here).\nThe"
            " preceding is the original exception that occurred, unmodified.\n"
            "--------------------"
        )


def _mode() -> str:
    mode: str = config.TRACEBACK_FILTERING.value
    if mode != "auto":
        return mode
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        return "tracebackhide"
    return "quiet_remove_frames"


def simplify(error: BaseException) -> None:
    """Remove internal frames from the traceback of an error that will be raised again."""
    mode = _mode()
    if mode == "off" or depth.is_deep_error(error):
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
    user_steps = [step for step, internal in zip(steps, inside, strict=True) if not internal]
    remaining = error.__traceback__ = _linked(user_steps)
    note = _note(error, mode)
    if isinstance(note, UnfilteredStackTrace):  # an inner boundary recorded earlier frames
        outside = steps[: steps.index(note.remaining)] if note.remaining in steps else steps
        note.steps, note.remaining = [*outside, *note.steps], remaining
        note.__traceback__ = _linked(note.steps)


def _linked(steps: Sequence[TracebackType]) -> TracebackType | None:
    """Return a traceback of these steps."""
    linked: TracebackType | None = None
    for step in reversed(steps):
        linked = TracebackType(linked, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return linked


def _note(error: BaseException, mode: str) -> BaseException | None:
    """Record that frames were removed: in a note, or in an error with the full traceback.

    That error is the last in the chain of causes, and is returned.
    """
    if mode != "remove_frames":
        if _NOTE not in getattr(error, "__notes__", ()):
            error.add_note(_NOTE)
        return None
    last, seen = error, {id(error)}
    while (cause := last.__cause__) is not None and id(cause) not in seen:
        if isinstance(cause, UnfilteredStackTrace):
            return cause
        seen.add(id(cause))
        last = cause
    note = UnfilteredStackTrace()
    # Setting `__cause__` below hides the context of `last`, so the note takes it over.
    note.__context__, hidden = last.__context__, last.__suppress_context__
    note.__suppress_context__ = hidden
    last.__cause__ = note
    return note


_REFUSALS = (TypeError, ValueError, NotImplementedError)


def is_refusal(error: BaseException) -> bool:
    """Whether an error means that a user's function or rule is unsupported.

    Such an error comes from code outside minijax, or is minijax's refusal of what that
    code returned.  The function is called where the error is caught; other errors from
    minijax's files are bugs.  Excluded files of other packages count as outside.
    """
    step = error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_ROOT):
            return True
        step = step.tb_next
    return isinstance(error, _REFUSALS)


# Functions that add to errors of calls: (error, arguments, keyword arguments).
explainers: list[Callable[[Exception, tuple[Any, ...], dict[str, Any]], None]] = []


def bounded(fun: F) -> F:
    """Return `boundary(fun)` without the name and documentation of `fun`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            if depth.should_retry(error):
                return depth.call_with_more_stack(call, *args, **kwargs)
            for explain in explainers:
                explain(error, args, kwargs)
            simplify(error)
            raise

    return call  # type: ignore[return-value]


def boundary(fun: F) -> F:
    """Return a function that removes internal frames from the tracebacks of its errors."""
    named: Any = functools.wraps(fun)(bounded(fun))
    return named  # type: ignore[no-any-return]
