"""What a program may do besides computing, and waiting until it is done.

An `Effect` is said by a primitive of its equations; a jaxpr has those of its equations.
Ordered ones follow one another along a token, and programs that have them run in turn.
Next: callbacks.py.
"""

from __future__ import annotations

import atexit
import sys
import threading
from typing import Any

from ...ir import hooks


class Effect:
    """Something that a program does besides computing.

    once: it is to happen just as often as the program says; others, such as printing, may
    also happen where a transformation computes something again, or what is not needed.
    """

    # Those of a library's own effects, which say nothing of themselves.
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
    """What `debug.print` and `debug.callback` do."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("Debug", ordered=False, is_once_per_call=False)


class OrderedDebugEffect(Effect):
    """What they do in the order of the program."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("OrderedDebug", ordered=True, is_once_per_call=False)


debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
io_effect = Effect("IO", ordered=False, is_once_per_call=True)
ordered_io_effect = Effect("OrderedIO", ordered=True, is_once_per_call=True)


def set_of(effect: Effect) -> frozenset[Effect]:
    """The set of one effect, as rules return it."""
    return _sets[effect]


_sets = {
    e: frozenset((e,))
    for e in (debug_effect, ordered_debug_effect, io_effect, ordered_io_effect)
}


# ---------------------------------------------------------------------------- barriers

_pending: dict[Any, None] = {}  # tokens of programs, until someone has waited for them
_failures: list[Exception] = []  # what went wrong meanwhile, for the next barrier
_MOST_PENDING = 256


class Inside(threading.local):
    """How many callbacks this thread is in."""

    depth = 0


inside = Inside()


@hooks.started.fill
def note_effects(token: Any) -> None:
    """Remember a running program with effects; where there are many, wait for the oldest.

    Not from a callback, for which one of them may be waiting.
    """
    _pending[token] = None
    if len(_pending) > _MOST_PENDING and not inside.depth:
        _failures.extend(_wait(list(_pending)[: _MOST_PENDING // 2]))


def _wait(tokens: list[Any]) -> list[Exception]:
    """Wait for programs; what went wrong in them."""
    failures = []
    for token in tokens:
        try:
            token.block_until_ready()
        except Exception as e:
            failures.append(e)
        _pending.pop(token, None)  # only now: others may have to wait for it, too
    return failures[:1]


def effects_barrier() -> None:
    """Wait until the effects of every program started so far have happened.

    Returns:
      None, when they have.

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
    except Exception as e:  # the interpreter is ending: say what failed, and go on
        sys.stderr.write(f"{e}\n")
