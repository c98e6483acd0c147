"""The public module `minijax.scipy.interpolate`: functions of values on grids."""

from ..surface.scipy.grids import RegularGridInterpolator as RegularGridInterpolator

__all__ = [
    "RegularGridInterpolator"
]
