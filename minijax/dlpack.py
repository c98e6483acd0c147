"""The public module `minijax.dlpack`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {"surface.dlpack": "from_dlpack is_supported_dtype to_dlpack"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
