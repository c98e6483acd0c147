"""The public module `minijax.experimental.array_serialization`: arrays on disk."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE: dict[str, str] = {}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, "serialization")
