"""The public module `minijax.sharding`: meshes and shardings of arrays."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "api.explicit_axes": "auto_axes explicit_axes reshard",
    "runtime.sharding.mesh": """
        AbstractDevice AbstractMesh AxisType Mesh get_abstract_mesh get_mesh set_mesh
        use_abstract_mesh
    """,
    "runtime.sharding.partition_spec": "Infer PartitionSpec",
    "runtime.sharding.shardings": """
        NamedSharding Sharding SingleDeviceSharding make_single_device_sharding
    """,
    "runtime.sharding.manual_axis_type": "ManualAxisType",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
