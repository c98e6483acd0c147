"""The face `minijax.experimental.compute_on`: where to compute."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"api.compiler_hints": "compute_on compute_on2"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
