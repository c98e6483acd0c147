"""One option: its value for the process and for a thread, and its check.

Caches must not return what was traced under other values of the options that tracing read.
No list names these options: the first `option.value` under a trace records the option as
read.  `trace_key()`, part of the key of every cache of traces, is one object for all states
whose recorded options are equal.  The C++ dispatcher compares the values of all options; a
call that it misses is looked up under the trace key.

`option.peek()` reads an option on which no cached result depends, such as a log level.
`watch` registers a callback for changes, for state kept in other places.

Next: config.py, which lists the options.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

from jaxlib import _jax

from . import errors, util

T = TypeVar("T")
P = ParamSpec("P")

UNSET: Any = _jax.config.unset  # the thread's value while it uses the process's value

# Set (per thread) while a trace other than evaluation is current.  It is part of the C++
# dispatcher's key, so that a call misses the fast path and reaches Python and the trace.
TRACING = _jax.config.Config("minijax:tracing", False, include_in_jit_key=True)
# Set (per thread) in calls of functions that are `recorded`.
_recording = _jax.config.Config("minijax:recording", False)


class OptionValues:
    """The values of some options; usually one object for equal values."""

    __slots__ = ("values",)

    def __init__(self, values: dict[Option, Any]) -> None:
        self.values = values


class TraceKey:
    """A set of states of the options that are equal for tracing; hashed by identity.

    values: the values of all options in the first of these states, without initial values.
    differing: the options that have other values in other states of the set.
    """

    __slots__ = ("differing", "values")

    def __init__(self, values: dict[Option, Any]) -> None:
        self.values = values
        self.differing: set[Option] = set()

    def add(self, values: dict[Option, Any]) -> None:
        """Add a state to the set."""
        for option in {*values, *self.values}:
            if values.get(option, option.initial) != self.values.get(option, option.initial):
                self.differing.add(option)

    def __repr__(self) -> str:
        items = sorted(f"{option.name}={value!r}" for option, value in self.values.items())
        return ", ".join(items) or "initial options"


# The process's values other than initial values; the thread's values.
_in_keys = {"include_in_jit_key": True, "include_in_trace_context": True}
_process = _jax.config.Config("minijax:process_options", OptionValues({}), **_in_keys)
_thread = _jax.config.Config("minijax:thread_options", OptionValues({}), **_in_keys)
# A key of the values of all options, as C++ compares them: for caches on the hot path, which
# look up the trace key only after a miss.  (With JAX's options, where JAX is loaded.)
state: Callable[[], Any] = _jax.config.trace_context
_MOST_STATES = 4096
_states: dict[Any, Any] = util.cache({})
_option_values: dict[Any, OptionValues] = util.cache({})
_key_of_state: dict[Any, TraceKey] = util.cache({})
_key_of_values: dict[Any, TraceKey] = util.cache({})  # values: of the recorded options
# Reentrant, since the garbage collector may run a finalizer that reads an option.
_lock = threading.RLock()


def recorded(fun: Callable[P, T]) -> Callable[P, T]:
    """Record the options that `fun` reads, also outside of traces."""

    @functools.wraps(fun)
    def recording(*args: P.args, **kwargs: P.kwargs) -> T:
        before = _recording.swap_local(True)
        try:
            return fun(*args, **kwargs)
        finally:
            _recording.set_local(before)

    return recording


def interned_state() -> Any:
    """Return `state()` as the object to keep in keys: equal states are one object."""
    now = state()
    return util.remember(_states, now, now, _MOST_STATES)


def trace_key() -> TraceKey:
    """Return the part of a cache's key for all options that tracing reads."""
    return _key_of_state.get(state()) or _new_trace_key()


def _new_trace_key() -> TraceKey:
    with _lock:
        now, process, thread = state(), _process.value, _thread.value
        values = {
            option: value
            for option, value in {**process.values, **thread.values}.items()
            if value != option.initial
        }
        recorded = _recorded(values)
        key = _key_of_values.get(recorded)
        if key is None:
            key = util.remember(_key_of_values, recorded, TraceKey(values), _MOST_STATES)
        key.add(values)
        return util.remember(_key_of_state, now, key, _MOST_STATES)


def _recorded(values: dict[Option, Any]) -> frozenset[Any]:
    return frozenset(item for item in values.items() if type(item[0]) is _RecordedOption)


def _shared(values: dict[Option, Any]) -> OptionValues:
    """Return the object for these values."""
    items = frozenset(values.items())
    shared = _option_values.get(items)
    return shared or util.remember(_option_values, items, OptionValues(values), _MOST_STATES)


def _record(option: Option) -> None:
    """Record that tracing reads an option.

    What is being traced, under an existing key, may depend on the option.  So a key remains
    in use only if the option has the same value in all its states.
    """
    with _lock:
        option.__class__ = _RecordedOption
        keys = list(_key_of_values.values())
        _key_of_values.clear()
        for key in keys:
            if option not in key.differing:
                _key_of_values[_recorded(key.values)] = key
        for seen, key in list(_key_of_state.items()):
            if option in key.differing:
                _key_of_state.pop(seen, None)


def _parse_bool(text: str) -> bool:
    low = text.lower()
    if low in ("y", "yes", "t", "true", "on", "1"):
        return True
    if low in ("n", "no", "f", "false", "off", "0", ""):
        return False
    raise ValueError(f"invalid truth value {text!r}")


class Option:
    """One option: `.value` reads it, `opt(v)` is a context manager for this thread."""

    # With `__dict__`, so that an option can have its own `__doc__`.
    __slots__ = ("__dict__", "_cell", "_callback", "check", "initial", "name", "on_change")

    def __init__(self, name: str, default: Any, check: Callable[[Any], Any]) -> None:
        env = os.environ.get(name.upper())
        if env is not None:
            kind = check is as_bool
            default = _parse_bool(env) if kind else check(env if env != "" else None)
        self.name = name
        self.initial = default
        self.check = check
        self.on_change: Callable[[Any], None] | None = None
        self._callback: Callable[[Any, bool], None] | None = None
        self._cell = _jax.config.Config("minijax:" + name, default)

    @property
    def __name__(self) -> str:
        return self.name.removeprefix("jax_")

    @property
    def value(self) -> Any:
        """The current value.  Under a trace, the option is recorded as read."""
        if TRACING.value or _recording.value:
            _record(self)
        return self._cell.value

    def peek(self) -> Any:
        """Return the current value for a purpose on which no cached result depends."""
        return self._cell.value

    def watch(self, callback: Callable[[Any, bool], None], now: bool = True) -> None:
        """Call `callback(value, local)` after each change and, if `now`, immediately.

        `local` is true for this thread's value.  The value is `UNSET` if the thread has
        returned to the process's value.
        """
        self._callback = callback
        if not now:
            return
        callback(self._cell.get_global(), False)
        if (thread_value := self._cell.get_local()) is not UNSET:
            callback(thread_value, True)

    def checked(self, value: Any) -> Any:
        """Return the option's value for a user's `value`, or raise if it is invalid."""
        value = self.check(value)
        if self.on_change is not None:
            self.on_change(value)
        return value

    def update(self, value: Any) -> None:
        """Set the process-wide value."""
        value = self.checked(value)
        with _lock:
            values = {**_process.get_global().values, self: value}
            if value == self.initial:
                del values[self]
            self._cell.set_global(value)
            _process.set_global(_shared(values))
        if self._callback is not None:
            self._callback(value, False)

    def swap(self, value: Any) -> Any:
        """Set this thread's value; return the state that `swap_back` restores."""
        before = self._cell.get_local(), _thread.get_local()
        try:  # an interrupt between the two calls must not separate the values
            self._cell.set_local(value)
            _thread.set_local(_shared({**_thread.value.values, self: value}))
        except BaseException:
            self._set_thread(before)
            raise
        if self._callback is not None:
            self._callback(value, True)
        return before

    def swap_back(self, before: Any) -> None:
        self._set_thread(before)
        if self._callback is not None:
            self._callback(before[0], True)

    def _set_thread(self, values: Any) -> None:
        try:
            self._cell.set_local(values[0])
        finally:
            _thread.set_local(values[1])

    @contextlib.contextmanager
    def __call__(self, new_val: Any = UNSET) -> Iterator[None]:
        if new_val is UNSET:
            if self.check is not as_bool:
                raise errors.type_error(
                    f"Context manager for {self.name.removeprefix('jax_')} config option"
                    " requires an argument representing the new value for the config"
                    " option."
                )
            new_val = True
        old = self.swap(self.checked(new_val))
        try:
            yield
        finally:
            self.swap_back(old)

    def __repr__(self) -> str:
        return f"<option {self.name}={self.value!r}>"


class _RecordedOption(Option):
    """An option that tracing has read."""

    __slots__ = ()
    value = property(attrgetter("_cell.value"))  # in C: faster than a function


class UserContext:
    """The result of `make_user_context`: a user's value that tracing depends on."""

    __slots__ = ("_option",)

    def __init__(self, name: str, default: Any) -> None:
        self._option = Option(name, default, as_is)
        _record(self._option)  # traces depend on it even if they do not read it

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return self._option.value

    def get_global(self) -> Any:
        """Return the value of threads without their own value."""
        return self._option._cell.get_global()

    def set_global(self, value: Any) -> None:
        """Set the value of threads without their own value."""
        hash(value)
        self._option.update(value)

    def __call__(self, new_value: Any) -> Any:
        """Return a context manager that sets the value in its block and this thread."""
        hash(new_value)
        return self._option(new_value)


def as_bool(value: Any) -> bool:
    if isinstance(value, str):
        return _parse_bool(value)
    if value is None:
        return False
    return bool(value)


def _not_of(kind: str, value: Any) -> ValueError:
    return ValueError(
        f"new {kind} config value must be None or of type"
        f" {'str' if kind == 'string' else kind}, got {value} of type {type(value)}."
    )


def as_int(value: Any) -> Any:
    if isinstance(value, float):
        raise _not_of("int", value)
    return None if value is None else int(value)


def as_float(value: Any) -> Any:
    return None if value is None else float(value)


def as_text(value: Any) -> str:
    return as_text_or_none(value) or ""


def as_text_or_none(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        raise _not_of("string", value)
    return os.fspath(value)


def as_is(value: Any) -> Any:
    return value


def one_of(*choices: Any) -> Callable[[Any], Any]:
    """Return the check of an option with a list of choices."""

    def check(value: Any) -> Any:
        if value not in choices:
            none = "None or " if None in choices else ""
            raise ValueError(
                f"new enum value must be {none}in"
                f" {[c for c in choices if c is not None]}, got {value} of type"
                f" {type(value)}."
            )
        return value

    check.choices = choices  # type: ignore[attr-defined]
    return check


def between(low: float, high: float) -> Callable[[Any], Any]:
    """Return the check of an option that is a number within a range."""

    def check(value: Any) -> float:
        if not low <= (number := float(value)) <= high:
            raise ValueError(f"must be between {low} and {high}, got {value!r}.")
        return number

    return check


def only(
    name: str,
    supported: Any,
    is_equivalent: Callable[[Any], bool],
    why: str,
    kind: Callable[[Any], Any],
) -> Callable[[Any], Any]:
    """Return the check of an option with one supported value.

    is_equivalent: whether another value means the same.
    why: the reason why no other value is supported, for the error.
    """

    def check(value: Any) -> Any:
        value = kind(value)
        if value != supported and not is_equivalent(value):
            raise errors.error(
                NotImplementedError,
                f"{name}={value!r} is not supported.",
                why=why,
                tries=[f"{name}={supported!r}, the supported value"],
            )
        return value

    return check
