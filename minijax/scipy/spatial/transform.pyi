"""The public module `minijax.scipy.spatial.transform`: rotations in three dimensions."""

from ...surface.scipy.rotations.rotation import Rotation as Rotation
from ...surface.scipy.rotations.rotation import Slerp as Slerp

__all__ = [
    "Rotation", "Slerp"
]
