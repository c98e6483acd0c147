"""The public module `minijax.experimental.xla_metadata`: metadata of operations."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.xla_metadata": "set_xla_metadata"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
