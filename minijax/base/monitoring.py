"""Events that programs can listen to: traces, compilations, cache hits.

    register_event_duration_secs_listener(lambda event, seconds, **_: print(event))

The recorder of an event names it by a path.  Listeners are called immediately, in the order
of their registration.  Next: config.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from . import config, log

__all__ = (
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
)

_events: list[Callable[..., None]] = []
_durations: list[Callable[..., None]] = []
_spans: list[Callable[..., None]] = []
_scalars: list[Callable[..., None]] = []
_ALL = (_events, _durations, _spans, _scalars)

TRACING = "/jax/core/compile/jaxpr_trace_duration"
LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILING = "/jax/core/compile/backend_compile_duration"
CACHE_REQUEST = "/jax/compilation_cache/compile_requests_use_cache"
CACHE_HIT = "/jax/compilation_cache/cache_hits"
CACHE_MISS = "/jax/compilation_cache/cache_misses"
READING = "/jax/compilation_cache/cache_retrieval_time_sec"
SAVED = "/jax/compilation_cache/compile_time_saved_sec"
IN_USE = "/jax/compilation_cache/tasks_using_cache"  # once per process


_STAGES = {
    TRACING: "tracing %s for jit",
    LOWERING: "jaxpr to MLIR module conversion %s",
    COMPILING: "XLA compilation of %s",
}


def stage(event: str, name: str) -> AbstractContextManager[None]:
    """Return a context for a stage of a function: it records start, time and span.

    The stage is also logged if `jax_log_compiles` is set.
    """
    heard = any(_ALL) or log.heard(config.LOG_COMPILES.peek())
    return _stage(event, name) if heard else _no_stage


_no_stage = nullcontext()


@contextmanager
def _stage(event: str, name: str) -> Iterator[None]:
    start = time.time()
    record_scalar(event, start, fun_name=name)
    yield
    end = time.time()
    record_event_duration_secs(event, end - start, fun_name=name)
    record_event_time_span(event, start, end, fun_name=name)
    log.log_line(
        config.LOG_COMPILES.peek(), f"Finished {_STAGES[event]} in %.9f sec", name, end - start
    )


def record_event(event: str, **kwargs: str | int) -> None:
    """Record an event.

    Args:
      event: its name, by convention a path.
      kwargs: further information.

    Returns:
      None.

    Example:
      >>> record_event('/app/start', attempt=1)
    """
    # A copy, since a listener may unregister itself.
    for listener in list(_events):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Record an event and its duration.

    Args:
      event: its name.
      duration: in seconds.
      kwargs: further information.

    Returns:
      None.

    Example:
      >>> record_event_duration_secs('/app/load', 0.5)
    """
    for listener in list(_durations):
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Record an event with its start and end.

    Args:
      event: its name.
      start_time, end_time: in seconds since the epoch.
      kwargs: further information.

    Returns:
      None.

    Example:
      >>> record_event_time_span('/app/load', 1.0, 1.5)
    """
    for listener in list(_spans):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Record a number.

    Args:
      event: its name.
      value: the number.
      kwargs: further information.

    Returns:
      None.

    Example:
      >>> record_scalar('/app/loss', 0.25, step=3)
    """
    for listener in list(_scalars):
        listener(event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Register a function to be called at each event.

    Args:
      callback: called as `callback(event, **kwargs)`.

    Returns:
      None.

    Example:
      >>> register_event_listener(print)
      >>> record_event('/app/start')
      /app/start
      >>> unregister_event_listener(print)
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Register a function to be called at each event with a duration.

    Args:
      callback: called as `callback(event, seconds, **kwargs)`.

    Returns:
      None.

    Example:
      >>> register_event_duration_secs_listener(print)
      >>> record_event_duration_secs('/app/load', 0.5)
      /app/load 0.5
      >>> unregister_event_duration_listener(print)
    """
    _durations.append(callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Register a function to be called at each event with a start and an end.

    Args:
      callback: called as `callback(event, start, end, **kwargs)`.

    Returns:
      None.

    Example:
      >>> register_event_time_span_listener(print)
      >>> record_event_time_span('/app/load', 1.0, 1.5)
      /app/load 1.0 1.5
      >>> unregister_event_time_span_listener(print)
    """
    _spans.append(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Register a function to be called at each recorded number.

    Args:
      callback: called as `callback(event, value, **kwargs)`.

    Returns:
      None.

    Example:
      >>> register_scalar_listener(print)
      >>> record_scalar('/app/loss', 0.25)
      /app/loss 0.25
      >>> unregister_scalar_listener(print)
    """
    _scalars.append(callback)


def _remove(listeners: list[Callable[..., None]], callback: Callable[..., None]) -> None:
    if callback not in listeners:
        raise AssertionError(
            f"{callback!r} is not registered.\nTry: register it, or unregister it only once."
        )
    listeners.remove(callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Unregister a function: see `register_event_listener`.

    Args:
      callback: the registered function.

    Returns:
      None.

    Raises:
      AssertionError: the function is not registered.

    Example:
      >>> register_event_listener(print)
      >>> unregister_event_listener(print)
    """
    _remove(_events, callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Unregister a function: see `register_event_duration_secs_listener`.

    Args:
      callback: the registered function.

    Returns:
      None.

    Raises:
      AssertionError: the function is not registered.

    Example:
      >>> register_event_duration_secs_listener(print)
      >>> unregister_event_duration_listener(print)
    """
    _remove(_durations, callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Unregister a function: see `register_event_time_span_listener`.

    Args:
      callback: the registered function.

    Returns:
      None.

    Raises:
      AssertionError: the function is not registered.

    Example:
      >>> register_event_time_span_listener(print)
      >>> unregister_event_time_span_listener(print)
    """
    _remove(_spans, callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Unregister a function: see `register_scalar_listener`.

    Args:
      callback: the registered function.

    Returns:
      None.

    Raises:
      AssertionError: the function is not registered.

    Example:
      >>> register_scalar_listener(print)
      >>> unregister_scalar_listener(print)
    """
    _remove(_scalars, callback)


def clear_event_listeners() -> None:
    """Unregister all functions.

    Returns:
      None.

    Example:
      >>> clear_event_listeners()
    """
    for listeners in _ALL:
        listeners.clear()
