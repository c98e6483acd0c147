"""Who mixes dtypes or ranks: a line of the user, or one of ours.

Options such as `jax_numpy_dtype_promotion='strict'` are the user's, for the user's lines.
A check that fails asks here: only where the call that the user's line made took both
kinds of operand is the mixture the user's.  Nothing is asked before a check fails.

A compiled function of ours may be traced for a call of ours, and found again for one of
the user's: what was excused while it was traced is noted (`noted`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from . import tree
from .tracebacks import is_internal

MixTest = Callable[[Sequence[Any]], bool]


class _Notes(threading.local):
    excused: list[MixTest] | None = None


_notes = _Notes()


def by_user(mixes: MixTest) -> bool:
    """Whether a mixture is the user's: `mixes` looks at leaves of arguments."""
    if mixes(_user_arguments()):
        return True
    if _notes.excused is not None:
        _notes.excused.append(mixes)
    return False


# A transformation may get a function of ours from the user, and calls it with arguments of
# its own: `vmap(jnp.add)`.  The folders of both, filled in by the functions' package.
transformations: list[str] = []
functions: list[str] = []


def _user_arguments() -> list[Any]:
    """The leaves of the arguments that the user's innermost line has passed to us."""
    frame: FrameType | None = sys._getframe(2)
    called = outermost = None
    while frame is not None and is_internal(frame.f_code):
        if frame.f_code.co_filename.startswith(tuple(functions)):
            called = frame
        outermost, frame = frame, frame.f_back
    if outermost is None:
        return []
    leaves = _arguments(outermost)
    file = outermost.f_code.co_filename
    if called is not None and file.startswith(tuple(transformations)):
        leaves += _arguments(called)
    return leaves


def _arguments(frame: FrameType) -> list[Any]:
    """The leaves of the arguments of a call."""
    code = frame.f_code
    n = code.co_argcount + code.co_kwonlyargcount
    n += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    values, defaults = frame.f_locals, _defaults(frame)
    names = [
        name
        for name in code.co_varnames[:n]
        if name in values and values[name] is not defaults.get(name, values)
    ]
    # What an object of ours holds, as a density's points, is not the user's to mix.
    leaves = tree.leaves([x for x in map(values.get, names) if not _holds_own(x)])
    # `x.at[i]`, whose methods the user calls, has the array.
    return [*leaves, *(x.array for x in leaves if hasattr(x, "array"))]


def _defaults(frame: FrameType) -> dict[str, Any]:
    """The default values of a module's function, which are not what a user mixes."""
    code = frame.f_code
    fun: Any = frame.f_globals.get(code.co_name)
    fun = getattr(fun, "__wrapped__", fun)
    if getattr(fun, "__code__", None) is not code:
        return {}
    values = fun.__defaults__ or ()
    last = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return dict(zip(last, values, strict=True)) | (fun.__kwdefaults__ or {})


def _holds_own(x: Any) -> bool:
    home = getattr(type(x), "__module__", None) or ""
    own = home.partition(".")[0] == __name__.partition(".")[0]
    return own and not hasattr(x, "dtype") and not hasattr(x, "array")


class noted:
    """A block in which excuses are noted: tests that a user's call would have failed."""

    __slots__ = ("excused", "outer")

    def __enter__(self) -> noted:
        self.outer, _notes.excused = _notes.excused, []
        self.excused = _notes.excused
        return self

    def __exit__(self, *_: object) -> None:
        _notes.excused = self.outer
        if self.outer is not None:
            self.outer += self.excused

    def depends_on_caller(self, leaves: Sequence[Any]) -> bool:
        """Whether a user who had passed these would have got an error."""
        return any(mixes(leaves) for mixes in self.excused)
