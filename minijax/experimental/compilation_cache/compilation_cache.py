"""The face of where compiled programs are kept: `set_cache_dir`, `reset_cache`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"runtime.running.compile": "reset_cache set_cache_dir"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
