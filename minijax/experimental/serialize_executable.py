"""The face `minijax.experimental.serialize_executable`: compiled programs as bytes."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"api.serialize_executable": "deserialize_and_load serialize"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
