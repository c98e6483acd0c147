"""The face `minijax.scipy.interpolate`: functions of values on grids."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"surface.scipy.grids": "RegularGridInterpolator"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
