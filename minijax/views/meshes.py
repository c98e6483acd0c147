"""How arrays lie, in words of older interfaces; the mesh of `with mesh:`."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import config
from ..runtime.mesh import Mesh
from ..runtime.partition_spec import PartitionSpec
from ..runtime.sharding import parts_of, places_of

MeshAxisName = Any
Index = int | slice | tuple[int | slice, ...]
ArrayMapping = OrderedDict[MeshAxisName, int]


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


class UnspecifiedValue:
    """Stands where nothing says how a value lies."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = UnspecifiedValue()


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
    if hc1 is hc2 or (
        is_hlo_sharding_replicated(hc1) and is_hlo_sharding_replicated(hc2)
    ):
        return True
    return bool(hc1 == hc2)


def op_sharding_to_indices(
    op_sharding: Any, shape: Sequence[int], num_devices: int
) -> tuple[tuple[slice, ...], ...]:
    """For each device, which part of an array of this shape it has."""
    cuts = parts_of(op_sharding, len(shape))
    places = places_of(op_sharding, len(shape), num_devices)
    return tuple(
        tuple(
            slice(int(p) * (n // k), (int(p) + 1) * (n // k)) if k > 1 else slice(None)
            for p, n, k in zip(row, shape, cuts, strict=True)
        )
        for row in places
    )
