"""How arrays lie, in words of older interfaces; the mesh of `with mesh:`."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.devices import device_put
from ..api.make_array import make_array_from_single_device_arrays
from ..base import config, errors
from ..prims.explicit_sharding_rules import canonicalize_out_sharding
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
    """What an `out_sharding` asks for, over an abstract mesh; None if it says nothing.

    Args:
      sharding: over a mesh; or a spec, over the current one.
      api_name: the function that it was given to, for errors.
      check_mesh_consistency: whether its mesh must be the current one, if there is one.

    Raises:
      TypeError: it is something else.
      ValueError: there is no mesh, or it is another one; an axis that is not `Explicit`.
    """
    found: NamedSharding | None = canonicalize_out_sharding(api_name, sharding)
    now = get_abstract_mesh()
    if found is None or not check_mesh_consistency or now.empty:
        return found
    auto = found.mesh.are_all_axes_auto and now.are_all_axes_auto
    if found.mesh != now and not auto:
        raise errors.value_error(
            f"Context mesh {now} should match the mesh of sharding {found.mesh} passed to"
            f" {api_name}.",
            tries=["a PartitionSpec, over the current mesh"],
        )
    return found


class ResourceEnv:
    """The mesh of the block `with mesh:` around; an empty one where there is none."""

    __slots__ = ("_mesh",)

    def __init__(self, physical_mesh: Any = None) -> None:
        self._mesh = physical_mesh

    @property
    def physical_mesh(self) -> Mesh:
        mesh = config.ENTERED_MESH.value if self._mesh is None else self._mesh
        return mesh if isinstance(mesh, Mesh) else empty_mesh()

    def with_mesh(self, mesh: Mesh) -> ResourceEnv:
        """One with another mesh."""
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
    """What is current in this thread."""

    env = ResourceEnv()


thread_resources = _ThreadResources()


def empty_mesh() -> Mesh:
    """A mesh without devices."""
    return Mesh(np.empty(0, dtype=object), ())


@dataclasses.dataclass(frozen=True)
class ShardingContext:
    """The devices that a module is for."""

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: Any = None


@dataclasses.dataclass(frozen=True)
class SPMDAxisContext:
    """The mesh that a module is for, and the axes along which values in it are parts."""

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
    """The array of a type and sharding whose shards are `xs`, one per device.

    Args:
      aval: the type of the whole array.
      sharding: its sharding.
      xs: the shards, NumPy arrays or arrays.
      devices: the device of each shard.
      committed: whether the array keeps its device where others have theirs.
    """
    if len(devices) == 1 and not committed:
        return device_put(xs[0])
    shards = [device_put(x, d) for x, d in zip(xs, devices, strict=True)]
    return make_array_from_single_device_arrays(aval.shape, sharding, shards, dtype=aval.dtype)


def array_mapping_to_axis_resources(array_mapping: ArrayMapping) -> PartitionSpec:
    """The spec of a mapping from axes of a mesh to those of an array that they cut."""
    n = max(array_mapping.values(), default=-1) + 1
    cut = [tuple(a for a, i in array_mapping.items() if i == k) for k in range(n)]
    return PartitionSpec(*[c if len(c) > 1 else c[0] if c else None for c in cut])


def is_hlo_sharding_replicated(hc: Any) -> bool:
    """Whether each device has the whole array."""
    devices = 1 if hc.is_maximal() else hc.num_devices()
    return bool(hc.is_replicated()) or devices == 1


def are_hlo_shardings_equal(hc1: Any, hc2: Any) -> bool:
    """Whether arrays lie alike."""
    if hc1 is hc2 or (is_hlo_sharding_replicated(hc1) and is_hlo_sharding_replicated(hc2)):
        return True
    return bool(hc1 == hc2)


def op_sharding_to_indices(
    op_sharding: Any, shape: Sequence[int], num_devices: int
) -> tuple[tuple[slice, ...], ...]:
    """For each device, which part of an array of this shape it has."""
    cuts = num_shards_of(op_sharding, len(shape))
    places = shard_positions_of(op_sharding, len(shape), num_devices)
    return tuple(
        tuple(
            slice(int(p) * (n // k), (int(p) + 1) * (n // k)) if k > 1 else slice(None)
            for p, n, k in zip(row, shape, cuts, strict=True)
        )
        for row in places
    )
