"""The public module `minijax.experimental.mesh_utils`: devices in the form of a mesh."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.device_meshes": "create_device_mesh create_hybrid_device_mesh device_kind_handler_dict"
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
