"""The public module `minijax.scipy.ndimage`: values between pixels."""

from ..surface.scipy.coordinates import map_coordinates as map_coordinates

__all__ = [
    "map_coordinates"
]
