"""The disk cache of compiled programs: `set_cache_dir`, `reset_cache`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"runtime.running.compile": "reset_cache set_cache_dir"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
