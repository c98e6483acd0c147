"""The face `minijax.experimental.sparse.api`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.sparse.api": "empty eye todense todense_p"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
