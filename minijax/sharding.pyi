"""The public module `minijax.sharding`: meshes and shardings of arrays."""

from .api.explicit_axes import auto_axes as auto_axes
from .api.explicit_axes import explicit_axes as explicit_axes
from .api.explicit_axes import reshard as reshard
from .runtime.sharding.manual_axis_type import ManualAxisType as ManualAxisType
from .runtime.sharding.mesh import AbstractDevice as AbstractDevice
from .runtime.sharding.mesh import AbstractMesh as AbstractMesh
from .runtime.sharding.mesh import AxisType as AxisType
from .runtime.sharding.mesh import Mesh as Mesh
from .runtime.sharding.mesh import get_abstract_mesh as get_abstract_mesh
from .runtime.sharding.mesh import get_mesh as get_mesh
from .runtime.sharding.mesh import set_mesh as set_mesh
from .runtime.sharding.mesh import use_abstract_mesh as use_abstract_mesh
from .runtime.sharding.partition_spec import Infer as Infer
from .runtime.sharding.partition_spec import PartitionSpec as PartitionSpec
from .runtime.sharding.shardings import NamedSharding as NamedSharding
from .runtime.sharding.shardings import Sharding as Sharding
from .runtime.sharding.shardings import SingleDeviceSharding as SingleDeviceSharding
from .runtime.sharding.shardings import make_single_device_sharding as make_single_device_sharding

__all__ = [
    "AbstractDevice", "AbstractMesh", "AxisType", "Infer", "ManualAxisType", "Mesh",
    "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding", "auto_axes",
    "explicit_axes", "get_abstract_mesh", "get_mesh", "make_single_device_sharding",
    "reshard", "set_mesh", "use_abstract_mesh"
]
