"""The public module `minijax.scipy.interpolate`: interpolation on grids."""

from ..surface.scipy.grids import RegularGridInterpolator as RegularGridInterpolator

__all__ = [
    "RegularGridInterpolator"
]
