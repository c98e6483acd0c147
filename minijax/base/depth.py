"""More stack for deeply nested programs.

Python's default limit is 1,000 frames, and tracing sixty nested loops exceeds it.  If a call
fails for that reason, and no trace is current, it is repeated with a higher limit: as many
frames as the thread's stack can hold.  Other programs have no overhead.  A function that
calls itself endlessly still ends in RecursionError, only later.

The main thread's stack grows up to its limit, which is raised during the call (Linux);
other threads keep the stack that they have.  Next: tracebacks.py, which calls this module.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

from . import config

BYTES_PER_FRAME = 1024  # of C stack, per Python frame: 300 to 700 were measured
FRAMES = 40_000  # tracing a thousand nested loops takes 17,000
STACK_BYTES = 64 << 20  # of the main thread: 128 MiB of address space are free below it
_DEFAULT_STACK = 8 << 20

_lock = threading.Lock()
_state: dict[str, Any] = {"inside": 0}
_deep = threading.local()


def applied(fun: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Return `fun(*args)`, without a C frame if `fun` is written in Python.

    Python 3.12 and 3.13 limit the depth of calls through C.  Calls of methods, and of
    objects with `__call__`, pass through C if their arguments are starred.
    """
    kind = type(fun)
    if kind is FunctionType:
        return fun(*args)
    if isinstance(fun, MethodType):
        return fun.__func__(fun.__self__, *args)
    call = getattr(kind, "__call__", None)  # noqa: B004
    if type(call) is FunctionType:
        return call(fun, *args)
    return fun(*args)


def partial(fun: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """Return `functools.partial(fun, *first)` as a Python function: see `applied`."""

    def rule(*args: Any, **params: Any) -> Any:
        return fun(*first, *args, **params)

    return rule


def should_retry(error: BaseException) -> bool:
    """Whether a call that ended in this error should be repeated with more stack."""
    if type(error) is not RecursionError or config.TRACING.value:
        return False
    if getattr(_deep, "now", False) or getattr(error, "was_deep", False):
        return False
    frame, count = sys._getframe(), 0
    while (outer := frame.f_back) is not None:
        frame, count = outer, count + 1
    # A deeper stack of callers means that the caller itself recurses: more stack for this
    # call would not help it.
    return 2 * count < sys.getrecursionlimit()


def is_deep_error(error: BaseException) -> bool:
    """Whether this error leaves a call with more stack: its traceback is very long."""
    return type(error) is RecursionError and getattr(_deep, "now", False)


def call_with_more_stack(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `fun(*args, **kwargs)` with as many frames as the thread's stack can hold."""
    _enter()
    _deep.now = True
    try:
        return fun(*args, **kwargs)
    except RecursionError as error:
        error.was_deep = True  # type: ignore[attr-defined]
        raise
    finally:
        _deep.now = False
        _leave()


def _enter() -> None:
    with _lock:
        if not _state["inside"]:
            _state["limit"] = sys.getrecursionlimit()
            _state["stack"] = None
        _state["inside"] += 1
        size = threading.stack_size() or _DEFAULT_STACK
        if threading.current_thread() is threading.main_thread():
            size = _grown_stack()
        # The limit holds for all threads: never lower it while another one is inside.
        frames = min(FRAMES, size // BYTES_PER_FRAME)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), frames))


def _leave() -> None:
    with _lock:
        _state["inside"] -= 1
        if not _state["inside"]:
            sys.setrecursionlimit(_state["limit"])
            if _state["stack"] is not None:
                import resource

                resource.setrlimit(resource.RLIMIT_STACK, _state["stack"])


def _grown_stack() -> int:
    """Raise the limit of the main thread's stack, and return the stack's size."""
    if sys.platform != "linux":
        return _DEFAULT_STACK
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    size: int = STACK_BYTES if hard == resource.RLIM_INFINITY else min(STACK_BYTES, hard)
    if soft == resource.RLIM_INFINITY or soft >= size:
        return size
    if _state["stack"] is None:
        _state["stack"] = soft, hard
    resource.setrlimit(resource.RLIMIT_STACK, (size, hard))
    return size
