"""The face `minijax.scipy.sparse`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE: dict[str, str] = {}

__getattr__, __dir__, __all__ = face(__name__, _TABLE, "linalg")
