"""Shardings under names of older interfaces; the mesh of `with mesh:`."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.devices import device_put
from ..api.make_array import make_array_from_single_device_arrays
from ..base import config, errors
from ..prims.sharding_specs import canonicalize_out_sharding
from ..runtime.sharding.mesh import Mesh, get_abstract_mesh
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding, num_shards_of, shard_positions_of

MeshAxisName = Any
Index = int | slice | tuple[int | slice, ...]
ArrayMapping = OrderedDict[MeshAxisName, int]


def canonicalize_sharding(
    sharding: NamedSharding | PartitionSpec | None,
    api_name: str,
    check_mesh_consistency: bool = True,
) -> NamedSharding | None:
    """Return an `out_sharding` over an abstract mesh; None if it is None.

    Args:
      sharding: a sharding over a mesh, or a spec over the current mesh.
      api_name: the function with this argument, for errors.
      check_mesh_consistency: whether its mesh must be the current one, if there is one.

    Raises:
      TypeError: `sharding` is something else.
      ValueError: no mesh is set, or another one is; or an axis is not `Explicit`.
    """
    canonical: NamedSharding | None = canonicalize_out_sharding(api_name, sharding)
    current_mesh = get_abstract_mesh()
    if canonical is None or not check_mesh_consistency or current_mesh.empty:
        return canonical
    auto = canonical.mesh.are_all_axes_auto and current_mesh.are_all_axes_auto
    if canonical.mesh != current_mesh and not auto:
        raise errors.value_error(
            f"Context mesh {current_mesh} should match the mesh of sharding"
            f" {canonical.mesh} passed to {api_name}.",
            tries=["pass a PartitionSpec, over the current mesh"],
        )
    return canonical


class ResourceEnv:
    """The mesh of the enclosing block `with mesh:`, or an empty one."""

    __slots__ = ("_mesh",)

    def __init__(self, physical_mesh: Any = None) -> None:
        self._mesh = physical_mesh

    @property
    def physical_mesh(self) -> Mesh:
        mesh = config.ENTERED_MESH.value if self._mesh is None else self._mesh
        return mesh if isinstance(mesh, Mesh) else empty_mesh()

    def with_mesh(self, mesh: Mesh) -> ResourceEnv:
        """Return an environment with another mesh."""
        return ResourceEnv(mesh)

    @property
    def physical_resource_axes(self) -> set[Any]:
        return set(self.physical_mesh.axis_names)

    resource_axes = physical_resource_axes

    @property
    def shape(self) -> Any:
        return self.physical_mesh.shape

    @property
    def local_shape(self) -> Any:
        return self.physical_mesh.local_mesh.shape

    def __repr__(self) -> str:
        return f"ResourceEnv(mesh={self.physical_mesh!r})"


class _ThreadResources:
    """The resources that are current in this thread."""

    env = ResourceEnv()


thread_resources = _ThreadResources()


def empty_mesh() -> Mesh:
    """Return a mesh without devices."""
    return Mesh(np.empty(0, dtype=object), ())


@dataclasses.dataclass(frozen=True)
class ShardingContext:
    """The devices that a module is for."""

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: Any = None


@dataclasses.dataclass(frozen=True)
class SPMDAxisContext:
    """The mesh that a module is for, and the axes along which its values are shards."""

    mesh: Any
    manual_axes: frozenset[MeshAxisName] = frozenset()


def batched_device_put(
    aval: Any,
    sharding: Any,
    xs: Sequence[Any],
    devices: Sequence[Any],
    committed: bool = True,
    **_: Any,
) -> Any:
    """Make the array of a type and sharding from its shards, one per device.

    Args:
      aval: the type of the global array.
      sharding: its sharding.
      xs: the shards, NumPy arrays or arrays.
      devices: the device of each shard.
      committed: whether the array is committed to its devices.
    """
    if len(devices) == 1 and not committed:
        return device_put(xs[0])
    shards = [device_put(x, d) for x, d in zip(xs, devices, strict=True)]
    return make_array_from_single_device_arrays(aval.shape, sharding, shards, dtype=aval.dtype)


def array_mapping_to_axis_resources(array_mapping: ArrayMapping) -> PartitionSpec:
    """Convert a mapping from mesh axes to the array axes that they shard to a spec."""
    n = max(array_mapping.values(), default=-1) + 1
    spec_entries = [tuple(a for a, i in array_mapping.items() if i == k) for k in range(n)]
    return PartitionSpec(*[c if len(c) > 1 else c[0] if c else None for c in spec_entries])


def is_hlo_sharding_replicated(hc: Any) -> bool:
    """Whether each device has the full array."""
    devices = 1 if hc.is_maximal() else hc.num_devices()
    return bool(hc.is_replicated()) or devices == 1


def are_hlo_shardings_equal(hc1: Any, hc2: Any) -> bool:
    """Whether two shardings are equal."""
    if hc1 is hc2 or (is_hlo_sharding_replicated(hc1) and is_hlo_sharding_replicated(hc2)):
        return True
    return bool(hc1 == hc2)


def op_sharding_to_indices(
    op_sharding: Any, shape: Sequence[int], num_devices: int
) -> tuple[tuple[slice, ...], ...]:
    """Return for each device the index of its shard in an array of this shape."""
    num_shards = num_shards_of(op_sharding, len(shape))
    shard_positions = shard_positions_of(op_sharding, len(shape), num_devices)
    return tuple(
        tuple(
            slice(int(p) * (n // k), (int(p) + 1) * (n // k)) if k > 1 else slice(None)
            for p, n, k in zip(row, shape, num_shards, strict=True)
        )
        for row in shard_positions
    )
