"""What low layers call of higher ones.

A layer imports only from the layers below it.  A function of a higher layer that it needs
is a `Hook`.  The module that defines the function fills the hook once, when it loads.  If
the hook is called earlier, `load` imports that module first, so nothing depends on the order
of imports.  Next: ../ir/hooks.py, which declares most hooks.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

# Name of a hook or registry -> the modules that fill it.  minijax/__init__.py fills this
# table, since only the top level may name the modules of all layers.
homes: dict[str, tuple[str, ...]] = {}


def load(name: str) -> ModuleType:
    """Import the modules that fill the hook `name`; return the last one."""
    for module in homes[name]:
        loaded = importlib.import_module(module)
    return loaded


HOOKS: list[Hook] = []


class Hook:
    """A function that a higher layer defines; `call` is that function."""

    __slots__ = ("call", "filled", "name")

    def __init__(self, name: str) -> None:
        HOOKS.append(self)
        self.name = name
        self.call: Callable[..., Any] = self._load
        self.filled: Callable[..., Any] | None = None

    def fill(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function; usable as a decorator."""
        # A module whose import was interrupted loads again and fills the same function.
        if self.filled is not None and self.filled.__code__ != fun.__code__:
            raise RuntimeError(f"minijax bug: the hook {self.name!r} is filled twice")
        self.filled = self.call = fun
        return fun

    def _load(self, *args: Any, **kwargs: Any) -> Any:
        load(self.name)
        if self.filled is None:
            raise RuntimeError(f"minijax bug: nothing fills the hook {self.name!r}")
        return self.filled(*args, **kwargs)


class ModuleAbove:
    """A module of a higher layer; each name of it is looked up when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(load(self._name), name)
        setattr(self, name, value)
        return value


# (object or None, its class, name) -> an attribute under JAX's name that only libraries read
library_attribute = Hook("library_attribute")


class LibraryAttribute:
    """An attribute that only libraries read: views/attributes.py defines its value.

    A descriptor, since a `__getattr__` would slow down every other attribute.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, x: object, kind: type | None = None) -> Any:
        return library_attribute.call(x, self.owner, self.name)
