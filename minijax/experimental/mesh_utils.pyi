"""The face `minijax.experimental.mesh_utils`: devices in the form of a mesh."""

from ..api.device_meshes import create_device_mesh as create_device_mesh
from ..api.device_meshes import create_hybrid_device_mesh as create_hybrid_device_mesh

__all__ = [
    "create_device_mesh", "create_hybrid_device_mesh"
]
