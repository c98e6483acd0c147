"""The face `minijax.interpreters`."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {}

_MODULES = "ad batching mlir partial_eval pxla xla"

__getattr__, __dir__, __all__ = face(__name__, _TABLE, _MODULES)
