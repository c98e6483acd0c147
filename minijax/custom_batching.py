"""The public module `minijax.custom_batching`."""

from __future__ import annotations

from .base.lazy_modules import face

_TABLE = {"control.rules.custom_vmap": "custom_vmap sequential_vmap"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
