"""Effects of programs besides their results, and waiting for them.

A primitive defines the effects of its equations; a jaxpr has those of its equations.
Ordered effects are sequenced by a token, and programs that have them run in turn.
Next: ../callbacks/callbacks.py.
"""

from __future__ import annotations

import atexit
import sys
import threading
from typing import Any

from ...ir import hooks


class Effect:
    """Something that a program does besides computing its results.

    is_once_per_call: it must happen exactly as often as in the program; others, such as
    printing, may also happen in recomputed or unneeded equations.
    """

    # The defaults for effects of other libraries, which do not define these.
    name = ""
    ordered = False
    is_once_per_call = True

    def __init__(
        self, name: str = "", *, ordered: bool = False, is_once_per_call: bool = True
    ) -> None:
        self.name = name
        self.ordered = ordered
        self.is_once_per_call = is_once_per_call

    def __repr__(self) -> str:
        return self.name or type(self).__name__


class DebugEffect(Effect):
    """The effect of `debug.print` and `debug.callback`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("Debug", ordered=False, is_once_per_call=False)


class OrderedDebugEffect(Effect):
    """The same effect, in the order of the program."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("OrderedDebug", ordered=True, is_once_per_call=False)


debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
io_effect = Effect("IO", ordered=False, is_once_per_call=True)
ordered_io_effect = Effect("OrderedIO", ordered=True, is_once_per_call=True)


def set_of(effect: Effect) -> frozenset[Effect]:
    """Return the set of one effect, as rules return it."""
    return _sets[effect]


_sets = {
    e: frozenset((e,))
    for e in (debug_effect, ordered_debug_effect, io_effect, ordered_io_effect)
}


# ---------------------------------------------------------------------------- barriers

_pending: dict[Any, None] = {}  # tokens of programs that have not been waited for
_failures: list[Exception] = []  # errors since the last barrier, which the next one raises
_MOST_PENDING = 256


class CallbackDepth(threading.local):
    """The number of callbacks that this thread is executing."""

    depth = 0


inside = CallbackDepth()


@hooks.started.fill
def note_effects(token: Any) -> None:
    """Record a running program with effects; if there are many, wait for the oldest.

    A callback does not wait, because one of these programs may wait for the callback.
    """
    _pending[token] = None
    if len(_pending) > _MOST_PENDING and not inside.depth:
        _failures.extend(_wait(list(_pending)[: _MOST_PENDING // 2]))


def _wait(tokens: list[Any]) -> list[Exception]:
    """Wait for programs; return the first of their errors."""
    failures = []
    for token in tokens:
        try:
            token.block_until_ready()
        except Exception as e:
            failures.append(e)
        _pending.pop(token, None)  # only now, as other threads may need to wait for it
    return failures[:1]


def effects_barrier() -> None:
    """Wait until the effects of every program started so far have happened.

    Returns:
      None, when they have happened.

    Raises:
      JaxRuntimeError: a program's effects failed; the first of several.

    >>> effects_barrier()
    """
    failures = [*_failures, *_wait(list(_pending))]
    _failures.clear()
    if failures:
        raise failures[0]


@atexit.register
def _flush() -> None:
    try:
        effects_barrier()
    except Exception as e:  # the interpreter is exiting: report the error, and continue
        sys.stderr.write(f"{e}\n")
