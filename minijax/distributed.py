"""The public module `minijax.distributed`: one program in many processes."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {"api.distributed": "initialize is_initialized shutdown"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
