"""The face `minijax.experimental.compilation_cache`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE: dict[str, str] = {}
_MODULES = "compilation_cache"

__getattr__, __dir__, __all__ = face(__name__, _TABLE, _MODULES)
