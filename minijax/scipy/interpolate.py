"""The public module `minijax.scipy.interpolate`: interpolation on grids."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.grids": "RegularGridInterpolator"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
