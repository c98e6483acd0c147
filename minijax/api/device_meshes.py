"""Devices in the form of a mesh: devices that are close together vary along its last axes.

Next: shard_map.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..runtime.backends import client

__all__ = ("create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict")

# Custom orders by kind of device: a function of the mesh's shape and the devices, which
# returns an array of devices, or None for the default order.
device_kind_handler_dict: dict[str, Callable[..., Any]] = {}


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Arrange devices as an array, for `Mesh`.

    TPUs are sorted by their coordinates in the machine, so that the last axes of the mesh
    follow the machine's axes; other devices keep their order.

    Args:
      mesh_shape: sizes of the mesh's axes, those with most communication last.
      devices: which devices; None: all.
      contiguous_submeshes: require the devices of a process to be a block of the mesh; not
        supported for TPUs, and ignored for other devices.
      allow_split_physical_axes: accepted and ignored: several axes of the mesh may always
        share an axis of the machine.

    Returns:
      A NumPy array of devices, of shape `mesh_shape`.

    Raises:
      ValueError: the number of devices is not the product of `mesh_shape`.
      NotImplementedError: `contiguous_submeshes` for TPUs.

    Example:
      >>> import minijax as mj
      >>> create_device_mesh((1, 1), mj.devices()[:1]).shape
      (1, 1)
    """
    chosen = list(client.devices() if devices is None else devices)
    shape = tuple(int(n) for n in mesh_shape)
    if math.prod(shape) != len(chosen):
        raise errors.value_error(
            f"Number of devices {len(chosen)} must equal the product of mesh_shape {shape}",
            tries=["devices=jax.devices()[:n]", "another mesh_shape"],
        )
    kind = getattr(chosen[0], "device_kind", "") if chosen else ""
    by_kind = device_kind_handler_dict.get(kind)
    if by_kind is not None:
        options = {"contiguous_submeshes": contiguous_submeshes}
        grid = by_kind(shape, chosen, **options)
        if grid is not None:
            return grid
    if all(getattr(d, "coords", None) is not None for d in chosen):
        if contiguous_submeshes:
            raise errors.error(
                NotImplementedError,
                "create_device_mesh: contiguous_submeshes is not supported for TPUs.",
                why="TPUs are sorted by their coordinates only.",
                tries=["Mesh(np.array(devices).reshape(...), names), sorted by hand"],
            )
        chosen.sort(key=lambda d: (*reversed(d.coords), getattr(d, "core_on_chip", 0)))
    grid = np.empty(len(chosen), dtype=object)
    grid[:] = chosen
    return grid.reshape(shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Arrange the devices of several machines as an array, each machine as one block.

    Args:
      mesh_shape: sizes of the axes within a machine (or slice).
      dcn_mesh_shape: the number of machines along each axis.
      devices: which devices; None: all.
      process_is_granule: group devices by process; otherwise by `slice_index`.
      should_sort_granules_by_key: sort the groups by that number; otherwise keep the order
        of the devices.
      allow_split_physical_axes: as for `create_device_mesh`.

    Returns:
      A NumPy array of devices; its shape is the product of the two, axis by axis.

    Raises:
      ValueError: devices have no `slice_index`, or the number of machines or of devices in
        a machine does not fit the shapes.

    Example:
      >>> import minijax as mj
      >>> one = mj.devices()[:1]
      >>> create_hybrid_device_mesh((1,), (1,), one, process_is_granule=True).shape
      (1,)
    """
    attribute = "process_index" if process_is_granule else "slice_index"
    machines: dict[int, list[Any]] = {}
    for d in client.devices() if devices is None else devices:
        number = getattr(d, attribute, None)
        if number is None:
            raise errors.value_error(
                f"Device {d} does not have attribute {attribute!r}.",
                tries=["process_is_granule=True"],
            )
        machines.setdefault(number, []).append(d)
    keys = sorted(machines) if should_sort_granules_by_key else list(machines)
    inner, outer = tuple(mesh_shape), tuple(dcn_mesh_shape)
    if math.prod(outer) != len(keys):
        raise errors.value_error(
            f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape {outer}"
        )
    if len(inner) != len(outer):
        raise errors.value_error(
            "create_hybrid_device_mesh: mesh_shape and dcn_mesh_shape differ in length:"
            f" {inner} and {outer}."
        )
    shape = [m * n for m, n in zip(outer, inner, strict=True)]
    grid = np.empty(shape, dtype=object)
    for at, key in zip(np.ndindex(*outer), keys, strict=True):
        block = tuple(slice(i * n, i * n + n) for i, n in zip(at, inner, strict=True))
        grid[block] = create_device_mesh(inner, machines[key])
    return grid
