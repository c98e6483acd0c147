"""The public module `minijax.experimental.mesh_utils`: devices in the form of a mesh."""

from ..api.device_meshes import create_device_mesh as create_device_mesh
from ..api.device_meshes import create_hybrid_device_mesh as create_hybrid_device_mesh
from ..api.device_meshes import device_kind_handler_dict as device_kind_handler_dict

__all__ = [
    "create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"
]
