"""The public module `minijax.experimental.sparse.random`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.sparse.api": "random_bcoo"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
