"""The face `minijax.scipy.ndimage`: values between pixels."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"surface.scipy.coordinates": "map_coordinates"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
