"""The face `minijax.experimental`: names are looked up when they are first used."""

from __future__ import annotations

import importlib
from typing import Any

from ..base.config import enable_x64 as enable_x64

_HOMES = {"io_callback": "..control.callbacks"}
_MODULES = frozenset(("checkify", "jet"))

__all__ = ["disable_x64", "enable_x64", "io_callback"]


def disable_x64() -> Any:
    """A context in which 64-bit types narrow to 32 bits.

    >>> import minijax as mj
    >>> with disable_x64():
    ...     str(mj.numpy.arange(2).dtype)
    'int32'
    """
    return enable_x64(False)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'minijax.experimental' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home, __name__), name)
    return value
