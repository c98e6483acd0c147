"""The face `minijax.scipy.spatial.transform`: rotations of space."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.rotations.rotation": "Rotation Slerp"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
