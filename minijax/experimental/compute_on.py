"""The face `minijax.experimental.compute_on`: where to compute."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {"api.hints": "compute_on compute_on2"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
