"""`why`: the traces and compilations of a function or program, their causes and durations.

For one jitted function the report reads the function's caches.  For a program it is the log
that `watch` records while it is open.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..base import errors, monitoring, source
from ..base.source import function_text
from ..control.calls import cache_misses, jit_primitive
from ..control.calls import jit as jitting
from ..runtime.running import compile as compiler
from .programs import Report


@dataclasses.dataclass
class Event:
    """A trace or a compilation.

    kind: "trace" or "compile".
    name, function: what was traced or compiled; where it is defined.
    signature: the types of the arguments.
    changes: how the signature differs from the nearest earlier one, as {"path", "known",
      "now", "what"}; empty for the first one.
    reason: the same in words.
    called: the user's line that caused it ("" if it was not watched).
    seconds: how long it took, including events inside; None if it was not measured.
    depth: the number of events around it.
    origin: where a compiled program came from: "compiler", "cache" or "".

    >>> from minijax import tools
    >>> import minijax as mj
    >>> f = mj.jit(lambda x: x * 3)
    >>> _ = f(1.0)
    >>> event = tools.why(f).events[0]
    >>> event.kind, event.signature, event.reason
    ('trace', '(f32[])', 'the first call')
    """

    kind: str
    name: str
    function: str
    signature: str
    changes: list[dict[str, str]]
    reason: str
    called: str = ""
    seconds: float | None = None
    depth: int = 0
    origin: str = ""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        took = "" if self.seconds is None else f"{self.seconds * 1e3:9.1f} ms  "
        at = f"  ({self.called})" if self.called else ""
        origin = f" [{self.origin}]" if self.origin else ""
        head = f"{took}{'  ' * self.depth}{self.kind} {self.name}{self.signature}{origin}"
        return f"{head}: {self.reason}{at}"


@dataclasses.dataclass
class Log(Report):
    """Events in the order in which they started.

    >>> from minijax import tools
    >>> import minijax as mj
    >>> f = mj.jit(lambda x: x * 3)
    >>> _ = f(1.0)
    >>> log = tools.why(f)
    >>> len(log), log.seconds > 0
    (2, True)
    """

    events: list[Event]

    @property
    def seconds(self) -> float:
        """The total time of all events."""
        return sum(e.seconds or 0.0 for e in self.events if not e.depth)

    def to_dict(self) -> dict[str, Any]:
        events = [e.to_dict() for e in self.events]
        return {"seconds": self.seconds, "events": events}

    def __len__(self) -> int:
        return len(self.events)

    def __str__(self) -> str:
        counts = [
            f"{sum(e.kind == kind for e in self.events)} {kind}s"
            for kind in ("trace", "compile")
        ]
        head = f"{' and '.join(counts)}, {self.seconds:.3f} s"
        return "\n".join([head, *map(str, self.events)])


def why(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Log:
    """Report why a jitted function was traced and compiled each time, and for how long.

    Args:
      f: a result of `jit`, already called or not.
      args, kwargs: arguments of a call to report on as well; the call is not made.

    Returns:
      A `Log`: an `Event` for each trace and each program compiled from it, with the
      seconds and the differences from the nearest earlier signature, by the argument's
      path.  The call of `args` comes last, if given.

    Raises:
      TypeError: `f` is not a jitted function.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> f = mj.jit(lambda params, x: params['w'] * x)
      >>> for n in (2, 3):
      ...     _ = f({'w': jnp.ones(n)}, 1.)
      >>> [e.reason for e in why(f).events if e.kind == 'trace']
      ['the first call', "params['w']: known float32[2], now float32[3]"]
    """
    jitted = jitting.jitted_of(f)
    if jitted is None:
        raise errors.type_error(
            f"tools.why needs a jitted function, got {f!r}.",
            tries=["jit(f)", "tools.watch(), for a whole program"],
        )
    events: list[Event] = []
    keys: list[Any] = []
    for key, traced in list(jitted.traces.items()):
        event = _trace_event(jitted, key, keys)
        event.seconds = traced.seconds
        events.append(event)
        keys.append(key)
        before: list[Any] = []
        for program_key, took in jit_primitive.compiled_for(traced.jaxpr).items():
            event = _compile_event(jitted.name, traced.jaxpr, program_key, before)
            event.seconds, event.function = took, events[-1].function
            events.append(event)
            before.append(program_key)
    if args or kwargs:
        call = jitted.split(args, kwargs)
        avals = tuple(jitted.aval_of(x, i, call) for i, x in enumerate(call.leaves))
        key = (call.in_tree, avals, call.static, None, cache_misses.config.trace_key(), None)
        event = _trace_event(jitted, key, keys)
        event.kind = "call"
        if keys and not event.changes:
            event.reason = "this signature is cached; it is not traced again"
        events.append(event)
    return Log(events)


@contextmanager
def watch() -> Iterator[Log]:
    """Log everything that is traced and compiled within the context, in any thread.

    Returns:
      A context manager that yields a `Log`, which grows; `print(log)` at the end.

    Example:
      >>> import minijax as mj
      >>> with watch() as log:
      ...     for n in range(2):
      ...         _ = mj.jit(lambda x: x + 1.)(2.)  # a new function each time
      >>> print([e.reason for e in log.events if e.kind == 'trace'][-1])
      a new function of the same code: jit it once, outside of the loop
    """
    log = Log([])
    by_thread: dict[int, list[Event]] = {}  # events that have started and not ended
    seen: dict[Any, list[Any]] = {}
    codes: set[Any] = set()

    def begin(kind: str, *what: Any) -> Callable[[float], None]:
        if kind == "trace":
            jitted, key = what
            event = _trace_event(jitted, key, seen.setdefault(id(jitted.traces), []))
            code = getattr(
                source.attribute(jitted.fun, "__wrapped__", jitted.fun), "__code__", None
            )
            if not seen[id(jitted.traces)] and code is not None and code in codes:
                event.reason = _SAME_CODE
            codes.add(code)
            seen[id(jitted.traces)].append(key)
            alive.append(jitted.traces)  # keeps its id, a key of `seen`, from being reused
        else:
            event = _compile_event(*what)
        open_events = by_thread.setdefault(threading.get_ident(), [])
        event.called, event.depth = _caller(), len(open_events)
        log.events.append(event)
        open_events.append(event)
        loaded = compiler.statistics.loaded, compiler.statistics.compiled

        def end(seconds: float) -> None:
            event.seconds = seconds
            # An error inside may have skipped the ends of inner events: close these as well.
            if event in open_events:
                del open_events[open_events.index(event) :]
            if kind == "compile":
                now = compiler.statistics.loaded, compiler.statistics.compiled
                event.origin = "compiler" if now[1] > loaded[1] else "cache"

        return end

    def log_single_compilation(event: str, seconds: float, **about: Any) -> None:
        """Log programs of single operations, and those compiled ahead of time."""
        name = str(about.get("fun_name", ""))
        open_events = by_thread.get(threading.get_ident(), [])
        # Compilations of jitted functions are logged by `begin`, with their reasons.
        if event == monitoring.COMPILING and not any(e.kind == "compile" for e in open_events):
            log.events.append(
                Event(
                    "compile",
                    name,
                    "",
                    "",
                    [],
                    "a single operation, or ahead of time",
                    _caller(),
                    seconds,
                    len(open_events),
                )
            )

    alive: list[Any] = []
    cache_misses.listeners.append(begin)
    monitoring.register_event_duration_secs_listener(log_single_compilation)
    try:
        yield log
    finally:
        cache_misses.listeners.remove(begin)
        monitoring.unregister_event_duration_listener(log_single_compilation)


_SAME_CODE = "a new function of the same code: jit it once, outside of the loop"


def _caller() -> str:
    user_line = source.user_source()
    return "" if user_line is None else user_line.text()


def _signature(avals: Sequence[Any], static: Sequence[Any] = ()) -> str:
    shown = [a.str_short(True) for a in avals]
    shown += [f"{path}={value!r}"[:40] for path, value in static]
    more = [f"... {len(shown) - 8} more"] if len(shown) > 8 else []
    return f"({', '.join(shown[:8] + more)})"


def _trace_event(jitted: Any, key: Any, earlier_keys: Sequence[Any]) -> Event:
    differences = cache_misses.nearest(jitted, key, list(earlier_keys))
    reason = "the first call"
    if differences is not None:
        reason = "; ".join(map(str, differences)) or "mapped axes in scope differ"
    return Event(
        "trace",
        jitted.name,
        function_text(jitted.fun),
        _signature(key[1], key[2]),
        [d._asdict() for d in differences or ()],
        reason,
    )


def _compile_event(name: str, closed: Any, key: Any, earlier_keys: Sequence[Any]) -> Event:
    changes: list[dict[str, str]] = []
    reason = "not compiled yet"
    if earlier_keys:
        differ = [
            [
                {"path": "", "known": str(a), "now": str(b), "what": what}
                for what, a, b in zip(jit_primitive.KEY, old, key, strict=True)
                if a != b
            ]
            for old in earlier_keys
        ]
        changes = min(differ, key=len)
        reason = "; ".join(f"{c['what']}: known {c['known']}, now {c['now']}" for c in changes)
    return Event("compile", name, "", _signature(closed.in_avals), changes, reason)
