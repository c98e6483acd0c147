"""Devices in the form of a mesh: near ones along its last axes.

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

# How devices of a kind are put in order, where that is not by their places: a function of
# the mesh's shape and the devices, which gives an array of them, or None.
device_kind_handler_dict: dict[str, Callable[..., Any]] = {}


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices as an array, for `Mesh`.

    TPUs are ordered by their places in the machine, so that the last axes of the mesh lie
    along its own; other devices keep their order.

    Args:
      mesh_shape: sizes of the mesh's axes, those with most traffic last.
      devices: which devices; None: all.
      contiguous_submeshes: that the devices of a process are a block of the mesh; of TPUs
        it cannot be asked for yet, of others it says nothing.
      allow_split_physical_axes: that an axis of the machine may be shared by several of
        the mesh; it may, without a request.

    Returns:
      A NumPy array of devices, of shape `mesh_shape`.

    Raises:
      ValueError: there are not as many devices.
      NotImplementedError: TPUs, and `contiguous_submeshes`.

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
                "create_device_mesh: contiguous_submeshes of TPUs.",
                why="they are ordered by their places alone.",
                tries=["Mesh(np.array(devices).reshape(...), names), ordered by hand"],
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
    """Devices of several machines as an array: each a block of it.

    Args:
      mesh_shape: sizes of the axes within a machine (or slice).
      dcn_mesh_shape: in how many machines each axis is continued.
      devices: which devices; None: all.
      process_is_granule: a machine is what one process has; else what `slice_index` says.
      should_sort_granules_by_key: order machines by that number; else as they come.
      allow_split_physical_axes: as for `create_device_mesh`.

    Returns:
      A NumPy array of devices; its shape is the product of the two, axis by axis.

    Raises:
      ValueError: devices have no `slice_index`, or there are not as many machines, or not
        as many devices in each.

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
