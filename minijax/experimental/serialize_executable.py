"""The public module `minijax.experimental.serialize_executable`: compiled programs as bytes."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.serialize_executable": "deserialize_and_load serialize"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
