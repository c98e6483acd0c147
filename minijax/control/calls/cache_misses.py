"""Why a jitted function is traced again: how a call differs from cached signatures.

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


class SignatureDifference(NamedTuple):
    """One difference from a cached signature: the argument's path, the old and new value.

    The path is empty if the difference is not in an argument.
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
    """Describe how a call differs from the nearest cached signature, or return None."""
    key = (call.in_tree, avals, call.static, None, config.trace_key(), None)
    nearest_differences = nearest(jitted, key, list(jitted.traces))
    return None if nearest_differences is None else list(map(str, nearest_differences))


def nearest(jitted: Any, key: Any, keys: list[Any]) -> list[SignatureDifference] | None:
    """Return the differences from the nearest of some keys; None if there are none."""
    candidates = [compared(jitted, old, key) for old in keys]
    return min(candidates, key=len, default=None)


def compared(jitted: Any, known: Any, now: Any) -> list[SignatureDifference]:
    """Return the differences between two trace keys."""
    out = []
    if known[0] != now[0]:
        out.append(_of_trees(jitted, known, now))
    elif len(known[1]) == len(now[1]):
        names = names_of(jitted, now)
        for i, (a, b) in enumerate(zip(known[1], now[1], strict=True)):
            if a != b:
                out.append(SignatureDifference(names[i], str(a), str(b)))
    if known[2] != now[2]:
        out.append(
            SignatureDifference("", str(known[2]), str(now[2]), "static arguments differ")
        )
    if known[4] != now[4]:
        what = "options that change tracing differ (x64, promotion, precision ...)"
        out.append(SignatureDifference("", "", "", what))
    return out


def _of_trees(jitted: Any, known: Any, now: Any) -> SignatureDifference:
    """Return the first difference between the trees of the arguments."""
    path, old, new, why = tree_difference(known[0], now[0])
    label = ""
    if len(path) > 1:
        group, first, *rest = path
        label = str(getattr(first, "key", getattr(first, "idx", first)))
        if group.idx == 0:
            names = names_of(jitted, now)
            called, at = names.parameters(), names.positions[first.idx]
            label = called[at] if at < len(called) else f"args[{at}]"
        label += tree.keystr(tuple(rest))
    return SignatureDifference(label, old, new, f"argument trees differ: {why}")


def names_of(jitted: Any, key: Any) -> ArgNames:
    """Return the names of a call's leaves, from its trace key."""
    fixed = [key_or_index for key_or_index, _ in key[2] if isinstance(key_or_index, int)]
    n = len(key[0].children()[0].children())
    positions = [i for i in range(n + len(fixed)) if i not in fixed]
    return ArgNames(jitted.fun, key[0], positions)


# ------------------------------------------------------------------ for whoever watches

# Called with the event, "trace" or "compile", and its details; each returns a function
# that is called with the seconds it took.
listeners: list[Callable[..., Callable[[float], None]]] = []


class notify_listeners:
    """Context manager that reports a trace or compilation to the listeners."""

    __slots__ = ("began", "finishers", "what")

    def __init__(self, *what: Any) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.finishers = [tell(*self.what) for tell in list(listeners)]
        self.began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        for finish in self.finishers:
            finish(time.perf_counter() - self.began)


def note_tracing(jitted: Any, call: Any, avals: Any) -> None:
    """Apply the options `no_tracing` and `explain_cache_misses` to a trace.

    Raises:
      RuntimeError: tracing is forbidden.
    """
    what = function_text(jitted.fun)
    if config.NO_TRACING.peek():
        raise RuntimeError(f"re-tracing function {what} for `jit`, but 'no_tracing' is set")
    if config.EXPLAIN_MISSES.peek():
        reasons = differences(jitted, call, avals)
        if reasons is None:
            reasons = [f"never seen function: {what}"]
        source_line = source.user_source()
        location = "" if source_line is None else f" at {source_line}"
        lines = "\n  ".join([f"TRACING CACHE MISS{location}:", *reasons])
        log.logger.warning(lines)
