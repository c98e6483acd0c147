"""The public module `minijax.scipy.spatial.transform`: rotations in three dimensions."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.rotations.rotation": "Rotation Slerp"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
