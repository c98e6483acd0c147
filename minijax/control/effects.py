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

from ..runtime import dispatch


class Effect:
    """Something that a program does besides computing.

    once: it is to happen just as often as the program says; others, such as printing, may
    also happen where a transformation computes something again, or what is not needed.
    """

    __slots__ = ("name", "once", "ordered")

    def __init__(self, name: str, *, ordered: bool, once: bool) -> None:
        self.name = name
        self.ordered = ordered
        self.once = once

    def __repr__(self) -> str:
        return self.name


class DebugEffect(Effect):
    """What `debug.print` and `debug.callback` do."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("Debug", ordered=False, once=False)


class OrderedDebugEffect(Effect):
    """What they do in the order of the program."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("OrderedDebug", ordered=True, once=False)


debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
io_effect = Effect("IO", ordered=False, once=True)
ordered_io_effect = Effect("OrderedIO", ordered=True, once=True)


def set_of(effect: Effect) -> frozenset[Effect]:
    """The set of one effect, as rules return it."""
    return _sets[effect]


_sets = {
    e: frozenset((e,))
    for e in (debug_effect, ordered_debug_effect, io_effect, ordered_io_effect)
}


# ---------------------------------------------------------------------------- barriers

_pending: list[Any] = []
_pending_lock = threading.Lock()


def note_effects(token: Any) -> None:
    """Remember a running program with effects."""
    with _pending_lock:
        _pending.append(token)
        if len(_pending) > 256:
            del _pending[:128]


dispatch.on_effects.append(note_effects)


def effects_barrier() -> None:
    """Wait until the effects of every program started so far have happened.

    >>> effects_barrier()
    """
    with _pending_lock:
        waiting = list(_pending)
        _pending.clear()
    for token in waiting:
        token.block_until_ready()


@atexit.register
def _flush() -> None:
    try:
        effects_barrier()
    except Exception as e:  # the interpreter is ending: say what failed, and go on
        sys.stderr.write(f"{e}\n")
