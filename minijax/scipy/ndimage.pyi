"""The public module `minijax.scipy.ndimage`: interpolation between pixels."""

from ..surface.scipy.coordinates import map_coordinates as map_coordinates

__all__ = [
    "map_coordinates"
]
