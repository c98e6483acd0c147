"""The public module `minijax.custom_batching`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "control.loop_functions.map": "sequential_vmap",
    "control.rules.custom_vmap": "custom_vmap",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
