"""One option: its value for the process and for a thread, and its check.

An `Option` is kept in jaxlib's `Config`, so that the C++ dispatcher sees those that are
part of its key.  `watch` registers a callback for changes, for state kept in other places.

Next: config.py, which lists the options.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from jaxlib import _jax

from . import errors

UNSET: Any = _jax.config.unset  # the thread's value while it uses the process's value


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
    __slots__ = ("__dict__", "_cell", "_callback", "check", "name", "on_change")

    def __init__(
        self,
        name: str,
        default: Any,
        check: Callable[[Any], Any],
        *,
        in_key: bool = False,
        tracing: bool = False,
    ) -> None:
        env = os.environ.get(name.upper())
        if env is not None:
            kind = check is as_bool
            default = _parse_bool(env) if kind else check(env if env != "" else None)
        self.name = name
        self.check = check
        self.on_change: Callable[[Any], None] | None = None
        self._callback: Callable[[Any, bool], None] | None = None
        self._cell = _jax.config.Config(
            "minijax:" + name,
            default,
            include_in_jit_key=in_key,
            include_in_trace_context=tracing,
        )

    @property
    def __name__(self) -> str:
        return self.name.removeprefix("jax_")

    @property
    def value(self) -> Any:
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
        self._cell.set_global(value)
        if self._callback is not None:
            self._callback(value, False)

    def swap(self, value: Any) -> Any:
        """Set this thread's value; return the state that `swap_back` restores."""
        before = self._cell.swap_local(value)
        if self._callback is not None:
            self._callback(value, True)
        return before

    def swap_back(self, before: Any) -> None:
        self._cell.set_local(before)
        if self._callback is not None:
            self._callback(before, True)

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


class UserContext:
    """The result of `make_user_context`: a user's value that tracing depends on."""

    __slots__ = ("_option",)

    def __init__(self, name: str, default: Any) -> None:
        self._option = Option(name, default, as_is, in_key=True, tracing=True)

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
