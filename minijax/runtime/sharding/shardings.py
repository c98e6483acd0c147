"""Shardings: the public classes, and the C++ shardings that arrays carry.

An array carries a canonical C++ sharding, one object for equal ones; the public objects
describe it. Next: ../running/dispatch.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import errors, util
from ...types import avals
from ..backends import client
from ..backends import jaxlib_compat as compat
from .mesh import AbstractMesh, AxisType, Mesh, get_abstract_mesh
from .partition_spec import UNCONSTRAINED, PartitionSpec, axes_of, check_spec

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from ...types.aliases import Aval, AxisName, Reduced
    from ..backends.jaxlib_types import Buffer, CppSharding, Device, DeviceList, HloSharding


class UnspecifiedValue:
    """Type of `UNSPECIFIED`, for values without a requested sharding."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = UnspecifiedValue()


class Sharding:
    """How an array is divided over devices."""

    @property
    def device_set(self) -> set[Device]:
        """The devices."""
        raise TypeError(f"{type(self).__name__} names no devices")

    @property
    def memory_kind(self) -> str | None:
        """The kind of the devices' memory; None: the default."""
        return None

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices of this process."""
        me = next(iter(self.device_set)).client.process_index()
        return {d for d in self.device_set if d.process_index == me}

    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        """This process's devices, in program order. Libraries read this attribute."""
        addressable = self.addressable_devices
        return tuple(d for d in self._device_assignment if d in addressable)

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        raise TypeError(f"{type(self).__name__} names no devices")

    @property
    def has_addressable_devices(self) -> bool:
        """Whether some devices belong to this process."""
        return bool(self.addressable_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return len(self.addressable_devices) == len(self.device_set)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the full array."""
        return True

    def devices_indices_map(self, shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """Return the slices of a global array of `shape` that each device holds."""
        return {d: (slice(None),) * len(shape) for d in self.device_set}

    def check_no_sums(self) -> None:
        """Raise NotImplementedError if devices hold terms of sums: none do here."""

    def shard_slices(self, shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """Return the slices of a global array that each device holds, or holds a term of."""
        return self.devices_indices_map(shape)

    def terms_of_devices(self) -> list[Any]:
        """Return for each device, in order, the number of the term of a sum that it holds."""
        return [0] * len(self.device_set)

    def addressable_devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> dict[Device, tuple[slice, ...]]:
        """Return `devices_indices_map` for this process's devices."""
        addressable = self.addressable_devices
        slices = self.devices_indices_map(global_shape)
        return {d: at for d, at in slices.items() if d in addressable}

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of one device's shard of a global array of `shape`."""
        return tuple(shape)

    def check_compatible_aval(self, shape: Sequence[int], what: str | None = None) -> None:
        """Raise ValueError unless an array of this shape can be sharded so: any can."""

    def check_rank(self, shape: Sequence[int], what: str | None = None) -> None:
        """Raise ValueError unless a value of this shape has the sharded axes."""

    def for_rank(self, ndim: int) -> Sharding:
        """Return the sharding for arrays of rank `ndim`: without further Nones in the spec."""
        return self

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both shard arrays of rank `ndim` in the same way."""
        return bool(self == other)


def _default_kind(device: Any) -> str:
    try:
        return str(device.default_memory().kind)
    except compat.RuntimeFailure:  # a compile-only device may have no default memory
        return "device"


class SingleDeviceSharding(Sharding):
    """The full array on one device.

    >>> import minijax as mj
    >>> mj.numpy.ones(2).sharding
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    __module__ = "minijax.sharding"

    __slots__ = ("_device", "_memory_kind")

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self._device = device
        self._memory_kind = memory_kind
        kinds = [m.kind for m in device.addressable_memories()]
        if memory_kind is not None and memory_kind not in kinds:
            platform = device.platform
            raise errors.value_error(
                f"Could not find memory addressable by device {platform}. Device"
                f" {platform} can address the following memory kinds:"
                f" {', '.join(kinds)}. Got memory kind: {memory_kind}",
                which=f"memory_kind={memory_kind!r}",
                tries=[f"memory_kind={k!r}" for k in kinds[:2]],
            )

    @property
    def devices(self) -> tuple[Device, ...]:
        """The device, as a one-element tuple."""
        return (self._device,)

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return self.devices

    @property
    def given_kind(self) -> str | None:
        """The memory kind, or None for the device's default."""
        default = str(self._device.default_memory().kind)
        return None if self._memory_kind in (None, default) else self._memory_kind

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        """Return the sharding with another memory of the device."""
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __reduce__(self) -> Reduced:
        return _rebuild_single, (client.ids_of(self.devices), self._memory_kind)

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind or _default_kind(self._device)

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and (
            self._device == other._device and self.memory_kind == other.memory_kind
        )

    def __repr__(self) -> str:
        kind = self.memory_kind
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Return the sharding of full arrays on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; None: the default.

    Returns:
      A `SingleDeviceSharding`.

    Raises:
      ValueError: the device has no such memory.

    >>> import minijax as mj
    >>> make_single_device_sharding(mj.devices()[0]).num_devices
    1
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class OneOf(SingleDeviceSharding):
    """One of a program's devices, named by an operation inside the program."""

    __slots__ = ()


class IndivisibleError(ValueError):
    """An array axis cannot be divided evenly over mesh axes."""


def _rebuild_single(ids: Any, kind: Any) -> SingleDeviceSharding:
    return SingleDeviceSharding(*client.devices_of(*ids), memory_kind=kind)


class _MultiDeviceSharding(Sharding):
    """Base class of shardings over several devices; `devices` is in program order."""

    devices: tuple[Device, ...]

    @property
    def device_set(self) -> set[Device]:
        return set(self._device_assignment)

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return self.devices

    @property
    def _internal_device_list(self) -> DeviceList:
        return device_list(self.devices)

    def hlo(self, ndim: int) -> HloSharding:
        """Return the XLA sharding of arrays of this rank."""
        raise TypeError(f"minijax bug: {type(self).__name__} has no form for XLA")

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> HloSharding:
        return self.hlo(num_dimensions)

    def cpp_sharding(self, ndim: int) -> CppSharding:
        """Return the C++ sharding of arrays of this rank: one object for equal shardings."""
        key = (self, ndim)
        cached = _cpp_shardings.get(key)
        if cached is None:
            kind = getattr(self, "_memory_kind", None)
            mesh, hlo = getattr(self, "mesh", None), self.hlo(ndim)
            first = _meshes.setdefault((self.devices, hlo, kind), mesh)
            # C++ reads attributes of unknown classes through Python, so the usual case, a
            # single mesh, has the plain class.
            form = compat.GSPMDSharding if first == mesh else _OtherMeshSharding
            sharding = form(device_list(self.devices), hlo, memory_kind=kind)
            cached = _cpp_shardings.setdefault(key, sharding)  # kept forever: its id is a key
            _user_shardings[id(cached)] = self
        return cached

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both shard arrays of this rank in the same way."""
        if self == other:
            return True
        if not isinstance(other, _MultiDeviceSharding):
            alone = len(self.devices) == 1 and isinstance(other, SingleDeviceSharding)
            return alone and self.device_set == other.device_set
        return (
            self.devices == other.devices
            and self.memory_kind == other.memory_kind
            and bool(self.hlo(ndim) == other.hlo(ndim))
        )


class _OtherMeshSharding(compat.GSPMDSharding):  # type: ignore[misc]
    """The C++ sharding of arrays divided as arrays over another mesh are.

    C++ looks up programs by shardings and treats shardings that divide arrays in the same
    way as equal. With another mesh, however, results have that mesh in their sharding, and
    other types if axes are `Explicit`. Therefore each object of this class equals only
    itself. The first of several such meshes uses the plain class.
    """

    # C++ reads these from classes that it does not know:
    @property
    def memory_kind(self) -> Any:
        return self._memory_kind

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._hlo_sharding


class CustomLayoutSharding(compat.SingleDeviceSharding):  # type: ignore[misc]
    """The C++ sharding of arrays with a custom layout.

    Each object equals only itself, so that C++ never reuses a program compiled for another
    layout.
    """

    # C++ reads these from classes that it does not know:
    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind  # type: ignore[no-any-return]

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> HloSharding:
        return compat.HloSharding.replicate()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class CustomLayoutMeshSharding(_OtherMeshSharding):
    """`CustomLayoutSharding` for several devices; `user_sharding` is the public sharding."""

    user_sharding: Sharding


def mark_custom_layout(inner: CppSharding) -> CppSharding:
    """Return a C++ sharding, marked as one of arrays with a custom layout."""
    if isinstance(inner, compat.SingleDeviceSharding):
        return CustomLayoutSharding(inner._device, memory_kind=inner._memory_kind)
    kind = inner._memory_kind
    sharding = CustomLayoutMeshSharding(
        inner._internal_device_list, inner._hlo_sharding, memory_kind=kind
    )
    sharding.user_sharding = _user_shardings[id(inner)]
    return sharding


def has_custom_layout(buffer: Buffer) -> bool:
    """Whether an ArrayImpl has a custom layout."""
    return type(buffer._sharding) in (CustomLayoutSharding, CustomLayoutMeshSharding)


# (devices, HloSharding, memory) -> the first mesh with this division
_meshes: dict[Any, Any] = {}
_device_lists: dict[tuple[Any, ...], Any] = {}


def device_list(devices: tuple[Device, ...]) -> DeviceList:
    """Return the C++ list of devices: one object for equal lists."""
    cached = _device_lists.get(devices)
    if cached is None:
        cached = _device_lists.setdefault(devices, compat.DeviceList(devices))
    return cached  # type: ignore[no-any-return]


_compatible: dict[Any, bool] = util.cache({})  # shardings and shapes known to be compatible


def _check_sums(spec: PartitionSpec, mesh: Any) -> None:
    """Raise unless the reduced and unreduced axes of a spec are `Explicit` axes of the
    mesh."""
    for kind, axes in (("Unreduced", spec.unreduced), ("Reduced", spec.reduced)):
        for axis in axes:
            if axis not in mesh.axis_names:
                raise errors.value_error(
                    f"{kind} axes {axis} is not found in mesh.axis_names={mesh.axis_names}."
                    f" Got pspec={spec}",
                    tries=[f"one of {', '.join(map(str, mesh.axis_names))}"],
                )
            if axis not in mesh.explicit_axes:
                raise errors.value_error(
                    f"{kind} axes can only refer to mesh axes that is of type `Explicit`."
                    f" Got {kind.lower()} axes: {axes} and mesh: {mesh}",
                    why="types record unreduced and reduced axes of Explicit mesh axes only.",
                )


class NamedSharding(_MultiDeviceSharding):
    """Arrays sharded over the axes of a mesh according to a spec.

    Args:
      mesh: a `Mesh`, or an `AbstractMesh` for types only.
      spec: a `PartitionSpec`.
      memory_kind: the kind of memory; None: the devices' default.

    Raises:
      ValueError: the spec names an axis that the mesh lacks, or the same axis twice.

    >>> import minijax as mj
    >>> mesh = mj.make_mesh((1,), ('x',))
    >>> NamedSharding(mesh, mj.P('x')).spec
    P('x',)
    """

    __module__ = "minijax.sharding"

    __slots__ = ("_hash", "_holders", "_memory_kind", "_explicit", "devices", "mesh", "spec")

    def __init__(
        self,
        mesh: Mesh | AbstractMesh,
        spec: PartitionSpec,
        *,
        memory_kind: str | None = None,
        _logical_device_ids: tuple[int, ...] | None = None,
    ) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise errors.type_error(
                f"Unexpected type {type(mesh)} for NamedSharding.mesh: {mesh!r}"
            )
        if not isinstance(spec, PartitionSpec):
            raise errors.type_error(
                "Unexpected type"
                f" {type(spec)} for NamedSharding.spec. Expected PartitionSpec but got"
                f" {spec!r}.",
                tries=["jax.sharding.PartitionSpec(...)"],
            )
        check_spec(spec, mesh.axis_names)
        if UNCONSTRAINED in spec and AxisType.Auto not in mesh.axis_types:
            raise errors.value_error(
                f"{spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are"
                f" `Auto`. Got mesh axis_types: {mesh.axis_types}",
                why="the compiler chooses shardings only along Auto axes.",
                tries=["None for that axis"],
            )
        if spec.unreduced or spec.reduced:
            _check_sums(spec, mesh)
        self.mesh = mesh
        self.spec = spec
        self.devices = mesh.flat if isinstance(mesh, Mesh) else ()
        default = None
        if self.devices and memory_kind is not None:
            default = str(self.devices[0].default_memory().kind)
            SingleDeviceSharding(self.devices[0], memory_kind=memory_kind)  # raises
        self._memory_kind = None if memory_kind == default else memory_kind
        # Cached: shardings are dict keys on every call.
        self._hash = hash((mesh, spec, self._memory_kind))
        self._holders: list[int] | None = None
        self._explicit: dict[int, NamedSharding | None] = {}

    def to_explicit(self, ndim: int) -> NamedSharding | None:
        """Return the part that types record: the sharding along `Explicit` axes, or None."""
        if AxisType.Explicit not in self.mesh.axis_types:
            return None
        if ndim not in self._explicit:
            explicit_axes = set(self.mesh.explicit_axes)
            spec = [
                tuple(a for a in axes if a in explicit_axes) or None
                for axes in self.tiles(ndim)
            ]
            mesh, sharding = self.mesh.abstract_mesh, None
            sums = self.spec.unreduced & explicit_axes, self.spec.reduced & explicit_axes
            if any(spec) or any(sums):
                sharding = NamedSharding(mesh, PartitionSpec(*spec)).with_sums(*sums)
            self._explicit[ndim] = sharding
        return self._explicit[ndim]

    @property
    def memory_kind(self) -> str | None:
        if self._memory_kind is not None or not self.devices:
            return self._memory_kind
        return _default_kind(self.devices[0])

    @property
    def given_kind(self) -> str | None:
        """The memory kind, or None for the devices' default."""
        return self._memory_kind

    @property
    def num_devices(self) -> int:
        return int(self.mesh.size)

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """Return the sharding with another kind of memory."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def with_spec(self, spec: Iterable[AxisName]) -> NamedSharding:
        """Return the sharding with another spec over the same mesh."""
        new_spec = spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec)
        return NamedSharding(self.mesh, new_spec, memory_kind=self._memory_kind)

    def with_entries(self, entries: Iterable[AxisName]) -> NamedSharding | None:
        """Return the sharding with other spec entries; None if nothing is sharded, reduced
        or unreduced."""
        spec = self.spec.update(partitions=tuple(entries))
        if not (any(spec) or spec.unreduced or spec.reduced):
            return None
        return self.with_spec(spec)

    def with_sums(
        self, unreduced: AbstractSet[AxisName], reduced: AbstractSet[AxisName]
    ) -> NamedSharding:
        """Return the sharding with these unreduced and reduced axes."""
        if self.spec.unreduced == unreduced and self.spec.reduced == reduced:
            return self
        return self.with_spec(self.spec.update(unreduced=unreduced, reduced=reduced))

    def of_cotangents(self) -> NamedSharding:
        """Return the sharding of cotangents: unreduced where values are reduced, and vice
        versa."""
        return self.with_sums(self.spec.reduced, self.spec.unreduced)

    def update(self, **changes: Any) -> NamedSharding:
        """Return the sharding with `mesh`, `spec` or `memory_kind` replaced."""
        fields = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self._memory_kind}
        return NamedSharding(**{**fields, **changes})

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        if not self.devices:
            raise errors.value_error(
                "device_set is not implemented for `jax.sharding.AbstractMesh`.",
                which=str(self),
                tries=["a sharding over a Mesh"],
            )
        return self.devices

    @property
    def replicated_axes(self) -> frozenset[AxisName]:
        """The mesh axes along which arrays are replicated."""
        used = {a for axes in self.tiles(len(self.spec)) for a in axes}
        return frozenset(self.mesh.axis_names) - used

    def on(self, devices: Sequence[Device]) -> NamedSharding:
        """Return the sharding over these devices, if its mesh is abstract."""
        if self.devices:
            return self
        if len(devices) != self.mesh.size:
            raise errors.value_error(
                f"{self} needs {self.mesh.size} devices, but there are {len(devices)}.",
                tries=["a sharding over a Mesh of these devices"],
            )
        grid = np.array(devices, dtype=object).reshape(self.mesh.axis_sizes)
        mesh = Mesh(grid, self.mesh.axis_names, self.mesh.axis_types)
        return NamedSharding(mesh, self.spec, memory_kind=self._memory_kind)

    def tiles(self, ndim: int) -> list[tuple[AxisName, ...]]:
        """Return for each axis of an array of this rank the mesh axes that shard it."""
        return [axes_of(self.spec[i]) if i < len(self.spec) else () for i in range(ndim)]

    def num_shards(self, ndim: int) -> list[int]:
        """Return the number of shards along each axis."""
        sizes = self.mesh.shape
        return [math.prod(sizes[a] for a in axes) for axes in self.tiles(ndim)]

    @property
    def is_fully_replicated(self) -> bool:
        replicated = all(n == 1 for n in self.num_shards(len(self.spec)))
        return replicated and not self.spec.unreduced

    def check_compatible_aval(self, shape: Sequence[int], what: str | None = None) -> None:
        """Raise ValueError unless an array of this shape can be sharded so.

        what: a description of the array for the error.
        """
        key = self, tuple(shape)
        if key in _compatible:
            return
        self.check_rank(shape, what)
        num_shards = self.num_shards(len(shape))
        for i, (n, k) in enumerate(zip(shape, num_shards, strict=True)):
            if n % k:
                raise errors.error(
                    IndivisibleError,
                    f"Sharding {self} implies that array axis {i} is partitioned {k}"
                    f" times, but the dimension size is {n} (full shape: {tuple(shape)},"
                    f" per-dimension tiling factors: {num_shards} should evenly divide the"
                    " shape)",
                    which=what and f"one of {what}",
                    tries=["pad the axis", "shard another axis, or none"],
                )
        util.remember(_compatible, key, True, 4096)

    def check_rank(self, shape: Sequence[int], what: str | None = None) -> None:
        """Raise ValueError unless a value of this shape has as many axes as the spec."""
        if len(self.spec) <= len(shape):
            return
        wrong = (
            f"Sharding {self} is only valid for values of rank at least"
            f" {len(self.spec)}, but was applied to a value of rank {len(shape)}."
        )
        if not shape:
            wrong += " For scalars the PartitionSpec should be P()"
        if what is not None:
            wrong = (
                f"One of {what} is incompatible with its sharding annotation {self}: {wrong}"
            )
        raise errors.value_error(
            wrong, tries=["a spec with at most as many entries as the value has axes"]
        )

    def for_rank(self, ndim: int) -> NamedSharding:
        rest = self.spec[ndim:]
        if not rest or any(entry is not None for entry in rest):
            return self
        return self.with_spec(self.spec.update(partitions=tuple(self.spec[:ndim])))

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        self.for_rank(len(shape)).check_compatible_aval(shape)
        return tuple(n // k for n, k in zip(shape, self.num_shards(len(shape)), strict=True))

    def shard_positions(self, ndim: int) -> np.ndarray[Any, Any]:
        """Return for each device, in order, the index of its shard along each axis."""
        names, sizes = list(self.mesh.axis_names), self.mesh.axis_sizes
        grid = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        positions = np.zeros((grid.shape[1], ndim), np.int64)
        for i, axes in enumerate(self.tiles(ndim)):
            for axis in axes:
                at = names.index(axis)
                positions[:, i] = positions[:, i] * sizes[at] + grid[at]
        return positions

    def terms_of_devices(self) -> list[Any]:
        names, sizes = list(self.mesh.axis_names), self.mesh.axis_sizes
        grid = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        at = [i for i, n in enumerate(names) if n in self.spec.unreduced]
        return list(map(tuple, grid[at].T.tolist()))

    def holder(self, shard: int) -> int:
        """Return the number of a device that holds shard `shard` along the first axis."""
        if self._holders is None:
            shard_of_device = self.shard_positions(1)[:, 0].tolist()
            self._holders = [shard_of_device.index(i) for i in range(max(shard_of_device) + 1)]
        return self._holders[shard]

    def check_no_sums(self) -> None:
        """Raise NotImplementedError if devices hold terms of sums."""
        if self.spec.unreduced:
            raise errors.error(
                NotImplementedError,
                "device_indices_map doesn't work with unreduced.",
                which=f"{self.spec}",
                why="each device holds a term of a sum, which is not a slice of the array.",
                tries=[
                    "jax.sharding.reshard(x, sharding), which computes the sum",
                    "x.addressable_shards, for the terms",
                ],
            )

    def devices_indices_map(self, shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        self.check_no_sums()
        return self.shard_slices(shape)

    def shard_slices(self, shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        shard_shape, num_shards = self.shard_shape(shape), self.num_shards(len(shape))
        slices = {}
        for device, position in zip(
            self._device_assignment, self.shard_positions(len(shape)), strict=True
        ):
            slices[device] = tuple(
                slice(int(p) * n, (int(p) + 1) * n) if k > 1 else slice(None)
                for p, n, k in zip(position, shard_shape, num_shards, strict=True)
            )
        return slices

    def hlo(self, ndim: int) -> HloSharding:
        sizes, names = self.mesh.axis_sizes, list(self.mesh.axis_names)
        num_shards = self.num_shards(ndim)
        terms = [i for i, n in enumerate(names) if n in self.spec.unreduced]
        if all(n == 1 for n in num_shards) and not terms:
            return compat.HloSharding.replicate()
        # The transposition of the device grid: first the mesh axes that shard, in the order
        # of the array axes.
        used = [names.index(a) for axes in self.tiles(ndim) for a in axes]
        left = [i for i in range(len(names)) if i not in used and i not in terms]
        groups = ((left, compat.REPLICATED), (terms, compat.UNREDUCED))
        rest = [(math.prod(sizes[i] for i in g), kind) for g, kind in groups]
        return compat.HloSharding.iota_tile(
            (*num_shards, *(n for n, _ in rest if n > 1)),
            tuple(sizes),
            (*used, *left, *terms),
            [kind for n, kind in rest if n > 1],
        )

    def shardy(
        self, ndim: int, symbol: str, free: frozenset[int] = frozenset(), more: bool = False
    ) -> str:
        """Return the attribute of the `sdy` dialect; `symbol` names the mesh.

        free: axes whose sharding the compiler chooses.
        more: whether the compiler may shard all axes further.
        """
        rest = ["?"] if more else []
        dims = []
        for i, axes in enumerate(self.tiles(ndim)):
            entry = self.spec[i] if i < len(self.spec) else None
            if entry is UNCONSTRAINED or i in free:
                dims.append("{?}")
            else:
                dims.append("{" + ", ".join([*(f'"{a}"' for a in axes), *rest]) + "}")
        return f"#sdy.sharding<@{symbol}, [{', '.join(dims)}]{self.terms()}>"

    def terms(self) -> str:
        """Return the `sdy` text for the unreduced mesh axes, along which values are terms
        of sums."""
        names = [f'"{a}"' for a in self.mesh.axis_names if a in self.spec.unreduced]
        return f", unreduced={{{', '.join(names)}}}" if names else ""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, NamedSharding) and (
            (self.mesh, self.spec, self._memory_kind)
            == (other.mesh, other.spec, other._memory_kind)
        )

    def __repr__(self) -> str:
        kind = f", memory_kind={self.memory_kind}" if self.memory_kind else ""
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"

    def __reduce__(self) -> Reduced:
        return _rebuild_named, (self.mesh, self.spec, self._memory_kind)


def aval_with_sharding(aval: Aval, sharding: Any) -> Aval:
    """Return the type `aval` with the explicit part of a sharding."""
    is_named = isinstance(sharding, NamedSharding)
    explicit = sharding.to_explicit(len(aval.shape)) if is_named else None
    return aval if explicit == aval.type_sharding.explicit else aval.update(explicit=explicit)


@avals.no_sharding.fill
def no_sharding(ndim: int) -> NamedSharding:
    """Return the sharding of types of `ndim` axes without one."""
    return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * ndim))


def _rebuild_named(mesh: Any, spec: Any, kind: Any) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=kind)


class GSPMDSharding(_MultiDeviceSharding):
    """A sharding chosen by XLA that no spec over a mesh expresses."""

    __slots__ = ("_hlo", "_memory_kind", "devices")

    def __init__(
        self,
        devices: Sequence[Device],
        op_sharding: HloSharding,
        *,
        memory_kind: str | None = None,
    ) -> None:
        self.devices = tuple(devices)
        is_hlo = isinstance(op_sharding, compat.HloSharding)
        self._hlo = op_sharding if is_hlo else compat.HloSharding.from_proto(op_sharding)
        self._memory_kind: str | None = memory_kind

    @property
    def memory_kind(self) -> str | None:
        return str(self._memory_kind or self.devices[0].default_memory().kind)

    @property
    def given_kind(self) -> str | None:
        """The memory kind, or None for the devices' default."""
        return self._memory_kind

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        """Return the sharding with another kind of memory."""
        default = str(self.devices[0].default_memory().kind)
        own_kind = None if kind == default else kind
        return GSPMDSharding(self.devices, self._hlo, memory_kind=own_kind)

    def hlo(self, ndim: int) -> HloSharding:
        return self._hlo

    @property
    def is_fully_replicated(self) -> bool:
        return bool(self._hlo.is_replicated()) or len(self.devices) == 1

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        num_shards = num_shards_of(self._hlo, len(shape))
        return tuple(n // k for n, k in zip(shape, num_shards, strict=True))

    def devices_indices_map(self, shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        shard_shape, num_shards = self.shard_shape(shape), num_shards_of(self._hlo, len(shape))
        positions = shard_positions_of(self._hlo, len(shape), len(self.devices))
        return {
            d: tuple(
                slice(int(p) * n, (int(p) + 1) * n) if k > 1 else slice(None)
                for p, n, k in zip(position, shard_shape, num_shards, strict=True)
            )
            for d, position in zip(self.devices, positions, strict=True)
        }

    def __hash__(self) -> int:
        return hash((self.devices, self._hlo, self._memory_kind))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSPMDSharding) and (
            (self.devices, self._memory_kind) == (other.devices, other._memory_kind)
            and bool(self._hlo == other._hlo)
        )

    def __repr__(self) -> str:
        return f"GSPMDSharding({self._hlo!r}, memory_kind={self.memory_kind})"

    def __reduce__(self) -> Reduced:
        ids = client.ids_of(self.devices)
        return _rebuild_gspmd, (ids, self._hlo.to_proto(), self._memory_kind)


def _rebuild_gspmd(ids: Any, proto: Any, kind: Any) -> GSPMDSharding:
    return GSPMDSharding(client.devices_of(*ids), proto, memory_kind=kind)


def num_shards_of(hlo: HloSharding, ndim: int) -> list[int]:
    """Return the number of shards of an XLA sharding along each axis."""
    if hlo.is_replicated() or hlo.is_maximal():
        return [1] * ndim
    return [int(n) for n in hlo.tile_assignment_dimensions()[:ndim]]


def shard_positions_of(hlo: HloSharding, ndim: int, n: int) -> np.ndarray[Any, Any]:
    """Return for each of `n` devices the index of its shard along each axis."""
    if hlo.is_replicated() or hlo.is_maximal():
        return np.zeros((n, ndim), np.int64)
    dims = hlo.tile_assignment_dimensions()
    device_ids = np.asarray(hlo.tile_assignment_devices()).reshape(dims)
    positions = np.zeros((n, ndim), np.int64)
    for position in np.ndindex(*dims):
        positions[device_ids[position]] = position[:ndim]
    return positions


def sharding_of_hlo(
    hlo: HloSharding, mesh: Mesh, ndim: int, kind: str | None = None
) -> NamedSharding | GSPMDSharding:
    """Return an XLA sharding over a mesh's devices, as a `NamedSharding` if a spec
    expresses it."""
    num_shards, positions = (
        num_shards_of(hlo, ndim),
        shard_positions_of(hlo, ndim, len(mesh.flat)),
    )
    sizes = mesh.axis_sizes
    grid = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
    left = [i for i in range(len(sizes)) if sizes[i] > 1]
    spec: list[Any] = []
    for k, axis_positions in zip(num_shards, positions.T, strict=True):
        axes = _axes_for(k, axis_positions, left, sizes, grid)
        if axes is None:
            return GSPMDSharding(mesh.flat, hlo, memory_kind=kind)
        left = [i for i in left if i not in axes]
        spec.append(tuple(mesh.axis_names[i] for i in axes))
    while spec and not spec[-1]:
        spec.pop()
    return NamedSharding(mesh, PartitionSpec(*spec), memory_kind=kind)


def _axes_for(
    k: int, axis_positions: Any, left: list[int], sizes: tuple[int, ...], grid: Any
) -> tuple[int, ...] | None:
    """Return the mesh axes, in order, that divide an axis into `k` shards at these
    positions."""
    if k == 1:
        return ()
    for i in left:
        if k % sizes[i]:
            continue
        inner = k // sizes[i]
        if not (axis_positions // inner == grid[i]).all():
            continue
        rest = [j for j in left if j != i]
        inner_axes = _axes_for(inner, axis_positions % inner, rest, sizes, grid)
        if inner_axes is not None:
            return (i, *inner_axes)
    return None


_cpp_shardings: dict[Any, Any] = {}
_user_shardings: dict[int, Any] = {}


def user_sharding_of(inner: CppSharding) -> Any:
    """Return the public sharding of a C++ sharding."""
    if isinstance(inner, compat.SingleDeviceSharding):
        return SingleDeviceSharding(inner._device, memory_kind=inner._memory_kind)
    return (
        inner.user_sharding
        if type(inner) is CustomLayoutMeshSharding
        else _user_shardings[id(inner)]
    )


def of_buffer(buffer: Buffer) -> Any:
    """Return the public sharding of an ArrayImpl."""
    inner = buffer._sharding
    if isinstance(inner, compat.SingleDeviceSharding):
        return SingleDeviceSharding(inner._device, memory_kind=inner._memory_kind)
    if type(inner) is CustomLayoutMeshSharding:
        return inner.user_sharding
    cached = _user_shardings.get(id(inner))
    if cached is None:  # C++ returned its own, equal sharding
        ndim = len(buffer.aval.shape)
        fallback = GSPMDSharding(
            tuple(inner._internal_device_list),
            inner._hlo_sharding,
            memory_kind=inner._memory_kind,
        )
        for other in list(_user_shardings.values()):
            if other.is_equivalent_to(fallback, ndim):
                return other
        return fallback
    return cached
