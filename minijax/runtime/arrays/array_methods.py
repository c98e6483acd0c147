"""Array methods and operators, which `surface/` fills in.

`Array` and `Tracer` share one set of methods (`x + y`, `x.sum()`, `x.at`, `x[i]`).
They are defined in a higher layer (surface/numpy); this file has only their names.  Until
that layer is loaded each method is deferred: the first call of one, and the first read of
an attribute without underscores, calls `above.load`.  It loads `surface`, which replaces
all deferred methods by `install`; then the real method is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...base import above
from ...ir import core
from ...text import tracer_errors

Give = Callable[[str, Any], None]

_OPERATORS = (
    "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift"
).split()
METHODS: tuple[str, ...] = (
    *(f"__{op}__" for op in _OPERATORS),
    *(f"__r{op}__" for op in _OPERATORS),
    *"__neg__ __pos__ __abs__ __invert__ __round__ __eq__ __ne__ __lt__ __le__".split(),
    *"__gt__ __ge__ __getitem__ __iter__ __contains__".split(),
    *"all any argmax argmin argpartition argsort astype choose clip compress".split(),
    *"conj conjugate copy cumprod cumsum diagonal dot flatten max mean min".split(),
    *"nonzero prod ptp ravel repeat reshape round searchsorted sort squeeze std".split(),
    *"byteswap".split(),
    *"sum swapaxes take to_device trace transpose var view __array_namespace__".split(),
)
PROPERTIES = ("T", "mT", "real", "imag", "at", "flat", "nbytes", "itemsize")
IN_PLACE = ("__setitem__", "__delitem__")

classes: list[tuple[type, Give]] = []


def load() -> None:
    """Load `surface`, which defines the methods."""
    above.load("surface")


def _method(name: str) -> Any:
    def deferred(self: Any, *args: Any, **kwargs: Any) -> Any:
        load()
        return getattr(self, name)(*args, **kwargs)

    deferred.__name__ = name
    return deferred


class _Deferred:
    """An attribute that loads `surface` when it is read, so that `help` finds its docs."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, cls: Any = None) -> Any:
        load()
        return getattr(cls if x is None else x, self.name)

    def __set__(self, x: Any, value: Any) -> None:
        raise AttributeError(f"attribute {self.name!r} of arrays cannot be set")


def register(cls: type, give: Give | None = None) -> None:
    """Set the deferred methods on `cls`; `give(name, method)` sets one."""
    give = give or functools.partial(setattr, cls)
    classes.append((cls, give))
    for name in (*METHODS, *IN_PLACE, *PROPERTIES):
        give(name, _method(name) if name.startswith("__") else _Deferred(name))


def install(methods: dict[str, Any]) -> None:
    """Replace deferred methods by real ones, on every registered class."""
    for _, give in classes:
        for name, value in methods.items():
            give(name, value)


def _of_values(name: str) -> Any:
    """Return the array method `name` for tracers; calling it needs a concrete value."""

    def method(self: core.Tracer, *args: Any, **kwargs: Any) -> Any:
        if (value := self.concrete()) is None:
            raise tracer_errors.no_method(self, core.STATE.trace, name)
        return getattr(value, name)(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tracer.{name}"
    return method


def register_tracer() -> None:
    """Set the methods of `Tracer`: deferred ones, and those that need a concrete value."""
    register(core.Tracer)
    for name in (
        "__dlpack__ __reduce_ex__ addressable_data delete devices is_deleted "
        "on_device_size_in_bytes tobytes tolist unsafe_buffer_pointer"
    ).split():
        setattr(core.Tracer, name, _of_values(name))
