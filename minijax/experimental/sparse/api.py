"""The public module `minijax.experimental.sparse.api`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.sparse.api": "empty eye todense todense_p"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
