"""The face `minijax.experimental.sparse.random`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.sparse.api": "random_bcoo"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
