"""Options implemented in jaxlib's C++: guards of transfers, threads and garbage; logs.

When an option is set, its value is passed to C++, for the process or the thread.
`explicit_put` and `explicit_get` mark transfers that the program requested. They cost one
test of a flag until a guard is set for the first time.

Next: client.py.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxlib import _jax
from jaxlib import utils as utils  # type: ignore[attr-defined]

from ...base import config
from ...base.option import UNSET

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_lib = _jax.guard_lib
_global, _local = _lib.global_state(), _lib.thread_local_state
_no_guard = contextlib.nullcontext()
_used = False  # whether a transfer guard was ever set
_at_first_use: list[Callable[[], None]] = []  # callbacks for when the first one is set


def at_first_use(act: Callable[[], None]) -> None:
    """Call `act` when the first transfer guard is set; now, if one was set before."""
    if _used:
        act()
    else:
        _at_first_use.append(act)


def _mirror(opt: Any, name: str, kinds: Any) -> None:
    """Keep a field of C++'s guard state equal to an option."""

    def on_change(value: Any, local: bool) -> None:
        global _used
        is_set = value is not UNSET and value is not None
        if is_set and not _used and kinds is _lib.TransferGuardLevel:
            _used = True
            for act in _at_first_use:
                act()
        state = _local() if local else _global
        setattr(state, name, getattr(kinds, value.upper()) if is_set else None)

    opt.watch(on_change)


for _way, _option in config.GUARDS.items():
    _mirror(_option, _way, _lib.TransferGuardLevel)
_mirror(config.GARBAGE_GUARD, "garbage_collect_array", _lib.GarbageCollectionGuardLevel)


class _GuardField:
    """Context that sets a field of this thread's guard state."""

    __slots__ = ("before", "name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def __enter__(self) -> None:
        state = _local()
        self.before = getattr(state, self.name)
        setattr(state, self.name, self.value)

    def __exit__(self, *_: object) -> None:
        setattr(_local(), self.name, self.before)


def explicit_put() -> AbstractContextManager[None]:
    """Return a context for transfers to devices that the program requests explicitly."""
    return _GuardField("explicit_device_put", True) if _used else _no_guard


def explicit_get() -> AbstractContextManager[None]:
    """Return a context for transfers to the host that the program requests explicitly."""
    return _GuardField("explicit_device_get", True) if _used else _no_guard


def internal_transfer() -> AbstractContextManager[None]:
    """Return a context for transfers of minijax's own values, which are always allowed."""
    return _GuardField("host_to_device", _lib.TransferGuardLevel.ALLOW)


def _process_only(set_global: Callable[[Any], None]) -> Callable[[Any, bool], None]:
    """Return a watcher of an option that C++ has only per process.

    Inside a context manager, the value applies to all threads.
    """
    process_value: list[Any] = [None]

    def on_change(value: Any, local: bool) -> None:
        if not local:
            process_value[0] = value
        set_global(process_value[0] if value is UNSET else value)

    return on_change


config.THREAD_GUARD.watch(_process_only(_lib.update_thread_guard_global_state))


def _send_tracebacks(value: Any, local: bool) -> None:
    mode = None if value is UNSET else getattr(_jax.RuntimeTracebackMode, value.upper())
    if local:
        _jax.set_send_traceback_to_runtime_thread_local(mode)
    else:
        _jax.set_send_traceback_to_runtime_global(mode)


config.TRACEBACK_TO_RUNTIME.watch(_send_tracebacks)

# ------------------------------------------------------------------------------------ logs

_logger = logging.getLogger("minijax")
_handler: logging.Handler | None = None
_verbose_loggers: dict[logging.Logger, int] = {}  # the previous level of each


def _own_handler() -> logging.Handler:
    """Return the handler that writes these logs to standard error."""
    global _handler
    if _handler is None:
        _handler = logging.StreamHandler(sys.stderr)
        form = "%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"
        _handler.setFormatter(logging.Formatter(form))
    return _handler


def _set_level(value: Any, local: bool) -> None:
    if local or value is UNSET or value is None:
        return
    level = logging.getLevelName(value)
    if _logger.level != level:
        _logger.setLevel(level)
        handle = _logger.addHandler if level else _logger.removeHandler
        handle(_own_handler())
        utils.absl_set_min_log_level(max(0, min(3, level // 10 - 2)) if level else 1)


def _set_modules(value: Any, local: bool) -> None:
    if local:
        return
    for logger, level in _verbose_loggers.items():
        logger.setLevel(level)
        logger.removeHandler(_own_handler())
    _verbose_loggers.clear()
    for name in filter(None, map(str.strip, value.split(","))):
        ours = "minijax" if name == "jax" or name.startswith("jax.") else name
        logger = logging.getLogger(ours)
        _verbose_loggers.setdefault(logger, logger.level)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(_own_handler())


config.LOGGING_LEVEL.watch(_set_level)
config.LOG_MODULES.watch(_set_modules)
