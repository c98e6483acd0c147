"""Whether the user's code or minijax's own code mixes dtypes or ranks.

Options such as `jax_numpy_dtype_promotion='strict'` are meant for the user's code.  A check
that fails calls this module: the mixture is the user's only if the arguments of the user's
call contained both kinds of operand.  Nothing runs before a check fails.

An internal compiled function may be traced for an internal call, and found in the cache for
a user's call.  `noted` records the checks that were excused while it was traced.
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
    """Whether a mixture is the user's: `mixes` tests the leaves of a call's arguments."""
    if mixes(_user_arguments()):
        return True
    if _notes.excused is not None:
        _notes.excused.append(mixes)
    return False


# A transformation may receive one of minijax's functions from the user, and call it with
# its own arguments: `vmap(jnp.add)`.  The folders of both; the functions' package sets them.
transformations: list[str] = []
functions: list[str] = []


def _user_arguments() -> list[Any]:
    """Return the leaves of the arguments that the user's innermost line passed."""
    # Two frames up: the caller of `by_user`, which is internal.
    frame: FrameType | None = sys._getframe(2)
    own_function = outermost = None
    while frame is not None and is_internal(frame.f_code):
        if frame.f_code.co_filename.startswith(tuple(functions)):
            own_function = frame
        outermost, frame = frame, frame.f_back
    if outermost is None:
        return []
    leaves = _arguments(outermost)
    file = outermost.f_code.co_filename
    if own_function is not None and file.startswith(tuple(transformations)):
        leaves += _arguments(own_function)
    return leaves


def _arguments(frame: FrameType) -> list[Any]:
    """Return the leaves of the arguments of a call."""
    code = frame.f_code
    n = code.co_argcount + code.co_kwonlyargcount
    n += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    values, defaults = frame.f_locals, _defaults(frame)
    names = [
        name
        for name in code.co_varnames[:n]
        if name in values and values[name] is not defaults.get(name, values)
    ]
    # Arrays inside an object of minijax, such as a density's points, are not the user's.
    leaves = tree.leaves([x for x in map(values.get, names) if not _holds_own(x)])
    # `x.at[i]`, whose methods the user calls, holds an array.
    return [*leaves, *(x.array for x in leaves if hasattr(x, "array"))]


def _defaults(frame: FrameType) -> dict[str, Any]:
    """Return the default values of a module's function, which are not the user's."""
    code = frame.f_code
    fun: Any = frame.f_globals.get(code.co_name)
    fun = getattr(fun, "__wrapped__", fun)
    if getattr(fun, "__code__", None) is not code:
        return {}
    values = fun.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return dict(zip(names, values, strict=True)) | (fun.__kwdefaults__ or {})


def _holds_own(x: Any) -> bool:
    module = getattr(type(x), "__module__", None) or ""
    is_own = module.partition(".")[0] == __name__.partition(".")[0]
    return is_own and not hasattr(x, "dtype") and not hasattr(x, "array")


class noted:
    """A block that records excused tests, which might fail for a user's call."""

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
        """Whether an error would have been raised if a user had passed these leaves."""
        return any(mixes(leaves) for mixes in self.excused)
