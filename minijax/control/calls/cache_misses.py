"""Why a jitted function is traced again: what differs from the signatures it knows.

Next: jitted.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ...base import config, log, source, tree
from ...base.source import function_text
from ..arguments import ArgNames
from ..body_staging import tree_difference


class Difference(NamedTuple):
    """How a call differs from a known one: in what (an argument's path), from what to what.

    The path is empty where it is no argument that differs.
    """

    path: str
    known: str
    now: str
    what: str = ""

    def __str__(self) -> str:
        values = f"known {self.known}, now {self.now}"
        if self.path and self.what:
            return f"{self.what} at {self.path}: {values}"
        if self.path:
            return f"{self.path}: {values}"
        return f"{self.what}: {values}" if self.known or self.now else self.what


def differences(jitted: Any, call: Any, avals: Any) -> list[str] | None:
    """How a call differs from the nearest known signature; None if none is known."""
    key = (call.in_tree, avals, call.static, None, config.trace_key(), None)
    found = nearest(jitted, key, list(jitted.traces))
    return None if found is None else list(map(str, found))


def nearest(jitted: Any, key: Any, known: list[Any]) -> list[Difference] | None:
    """How a key of traces differs from the nearest of some; None if there are none."""
    found = [compared(jitted, old, key) for old in known]
    return min(found, key=len, default=None)


def compared(jitted: Any, known: Any, now: Any) -> list[Difference]:
    """How a key of traces differs from a known one."""
    out = []
    if known[0] != now[0]:
        out.append(_of_trees(jitted, known, now))
    elif len(known[1]) == len(now[1]):
        names = names_of(jitted, now)
        for i, (a, b) in enumerate(zip(known[1], now[1], strict=True)):
            if a != b:
                out.append(Difference(names[i], str(a), str(b)))
    if known[2] != now[2]:
        out.append(Difference("", str(known[2]), str(now[2]), "static arguments differ"))
    if known[4] != now[4]:
        what = "options that change tracing differ (x64, promotion, precision ...)"
        out.append(Difference("", "", "", what))
    return out


def _of_trees(jitted: Any, known: Any, now: Any) -> Difference:
    """Where the trees of the arguments first differ."""
    path, was, found, why = tree_difference(known[0], now[0])
    label = ""
    if len(path) > 1:
        group, first, *rest = path
        label = str(getattr(first, "key", getattr(first, "idx", first)))
        if group.idx == 0:
            names = names_of(jitted, now)
            called, at = names.parameters(), names.positions[first.idx]
            label = called[at] if at < len(called) else f"args[{at}]"
        label += tree.keystr(tuple(rest))
    return Difference(label, was, found, f"argument trees differ: {why}")


def names_of(jitted: Any, key: Any) -> ArgNames:
    """What the leaves of a call are called, of its key of traces."""
    fixed = [where for where, _ in key[2] if isinstance(where, int)]
    n = len(key[0].children()[0].children())
    positions = [i for i in range(n + len(fixed)) if i not in fixed]
    return ArgNames(jitted.fun, key[0], positions)


# ------------------------------------------------------------------ for whoever watches

# Called with what happens, "trace" or "compile", and what it happens to; what they return
# is called with the seconds that it took.
watchers: list[Callable[..., Callable[[float], None]]] = []


class notify_listeners:
    """Within, something happens that watchers are told of."""

    __slots__ = ("began", "done", "what")

    def __init__(self, *what: Any) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.done = [tell(*self.what) for tell in list(watchers)]
        self.began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        for tell in self.done:
            tell(time.perf_counter() - self.began)


def note_tracing(jitted: Any, call: Any, avals: Any) -> None:
    """What the options `no_tracing` and `explain_cache_misses` do on tracing.

    Raises:
      RuntimeError: tracing is forbidden.
    """
    what = function_text(jitted.fun)
    if config.NO_TRACING.value:
        raise RuntimeError(f"re-tracing function {what} for `jit`, but 'no_tracing' is set")
    if config.EXPLAIN_MISSES.value:
        reasons = differences(jitted, call, avals)
        if reasons is None:
            reasons = [f"never seen function: {what}"]
        place = source.user_source()
        where = "" if place is None else f" at {place}"
        lines = "\n  ".join([f"TRACING CACHE MISS{where}:", *reasons])
        log.logger.warning(lines)
