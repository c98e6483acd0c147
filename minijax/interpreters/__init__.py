"""The public module `minijax.interpreters`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {}

_MODULES = "ad batching mlir partial_eval pxla xla"

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
