"""The public module `minijax.scipy.ndimage`: interpolation between pixels."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.coordinates": "map_coordinates"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
