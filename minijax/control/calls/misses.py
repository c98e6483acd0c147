"""Why a jitted function is traced again: what differs from the signatures it knows.

Next: jit.py.
"""

from __future__ import annotations

from typing import Any

from ...base import config, log, source
from ...base.source import function_text
from ..arguments import ArgNames


def differences(jitted: Any, call: Any, avals: Any) -> list[str] | None:
    """How a call differs from the nearest known signature; None if none is known."""
    found = [_from_known(jitted, call, avals, key) for key in list(jitted.traces)]
    return min(found, key=len, default=None)


def _from_known(jitted: Any, call: Any, avals: Any, key: Any) -> list[str]:
    out = []
    if key[0] != call.in_tree:
        out.append(f"argument trees differ: known {key[0]}, now {call.in_tree}")
    elif len(key[1]) == len(avals):
        names = ArgNames(jitted.fun, call.in_tree, call.positions)
        for i, (a, b) in enumerate(zip(key[1], avals, strict=True)):
            if a != b:
                out.append(f"{names[i]}: known {a}, now {b}")
    if key[2] != call.static:
        out.append(f"static arguments differ: known {key[2]}, now {call.static}")
    if key[4] != config.trace_key():
        out.append("options that change tracing differ (x64, promotion, precision ...)")
    return out


def note_tracing(jitted: Any, call: Any, avals: Any) -> None:
    """What the options `no_tracing` and `explain_cache_misses` do on tracing.

    Raises:
      RuntimeError: tracing is forbidden.
    """
    what = function_text(jitted.fun)
    if config.NO_TRACING.value:
        raise RuntimeError(
            f"re-tracing function {what} for `jit`, but 'no_tracing' is set"
        )
    if config.EXPLAIN_MISSES.value:
        reasons = differences(jitted, call, avals)
        if reasons is None:
            reasons = [f"never seen function: {what}"]
        place = source.here()
        where = "" if place is None else f" at {place}"
        lines = "\n  ".join([f"TRACING CACHE MISS{where}:", *reasons])
        log.logger.warning(lines)
