"""The face `minijax.experimental.xla_metadata`: telling the compiler of operations."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"api.xla_metadata": "set_xla_metadata"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
