"""Absent devices to compile for: slices of TPUs, and machines with GPUs.

Only the plugin's wheel is needed.  A program compiled for absent devices has its text, cost
and memory analysis, but cannot be called.

Next: aot.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import errors
from ..runtime.backends import client
from ..runtime.backends.jaxlib_compat import Device, RuntimeFailure
from ..runtime.sharding.mesh import Mesh
from .device_meshes import create_device_mesh

__all__ = (
    "Device",
    "TopologyDescription",
    "get_attached_topology",
    "get_topology_desc",
    "make_mesh",
)


class TopologyDescription:
    """The devices of a machine, or of several connected machines: `devices`."""

    def __init__(self, devices: list[Any]) -> None:
        self.devices = devices


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Return the available devices.

    Args:
      platform: the platform; None: the default one.

    Returns:
      A `TopologyDescription`.

    Example:
      >>> get_attached_topology('cpu').devices[0].platform
      'cpu'
    """
    return TopologyDescription(client.devices(platform))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """Return absent devices, by a name or a description.

    Args:
      topology_name: for TPUs, the kind and shape of a slice: 'v5e:2x2', 'v5e:16x16'.
      platform: 'tpu' (also for None) or 'cuda'.
      kwargs: passed to the plugin; for GPUs `target_config`, the text of a
        `GpuTargetConfigProto`, and `topology`: slices x machines x GPUs, such as '1x1x8'.

    Returns:
      A `TopologyDescription`; `Mesh` accepts its devices.

    Raises:
      RuntimeError: the platform's wheel is not installed.
      NotImplementedError: the platform does not support such descriptions.

    Example:
      >>> topology = get_topology_desc('v5e:2x2', 'tpu')  # doctest: +SKIP
    """
    try:
        devices = client.topology(platform or "tpu", topology_name, kwargs)
    except RuntimeFailure as e:
        if str(e).startswith("UNIMPLEMENTED"):
            raise NotImplementedError(str(e)) from e
        raise
    return TopologyDescription(devices)


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Arrange the devices of a topology as a mesh.

    Args:
      topo: the topology.
      mesh_shape: sizes of the mesh's axes.
      axis_names: their names.
      contiguous_submeshes: see `mesh_utils.create_device_mesh`.

    Returns:
      A `Mesh`.

    Raises:
      ValueError: the number of devices is not the product of `mesh_shape`.

    Example:
      >>> import minijax as mj
      >>> make_mesh(TopologyDescription(mj.devices()[:1]), (1,), ('x',)).shape_tuple
      (('x', 1),)
    """
    if len(mesh_shape) != len(axis_names):
        raise errors.value_error(
            f"make_mesh: {len(mesh_shape)} sizes for axis names {axis_names}.",
            which=f"mesh_shape={tuple(mesh_shape)}",
        )
    grid = create_device_mesh(
        mesh_shape, list(topo.devices), contiguous_submeshes=contiguous_submeshes
    )
    return Mesh(grid, axis_names)
