"""The public module `minijax.experimental.compilation_cache`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE: dict[str, str] = {}
_MODULES = "compilation_cache"

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
