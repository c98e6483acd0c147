"""Shardings that users see: how an array lies on devices.

Inside, an array carries a canonical C++ sharding; the objects here describe it.
Next: dispatch.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..types.avals import shaped
from . import jaxlib_compat as compat


class Sharding:
    """How an array is laid out on devices."""

    @property
    def device_set(self) -> set[Any]:
        raise TypeError(f"{type(self).__name__} names no devices")

    @property
    def memory_kind(self) -> str | None:
        return None

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set[Any]:
        me = next(iter(self.device_set)).client.process_index()
        return {d for d in self.device_set if d.process_index == me}

    @property
    def is_fully_addressable(self) -> bool:
        return len(self.addressable_devices) == len(self.device_set)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def devices_indices_map(self, shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
        """Which part of a global array of `shape` each device holds."""
        return {d: (slice(None),) * len(shape) for d in self.device_set}

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one device's part of a global array of `shape`."""
        return tuple(shape)

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        return bool(self == other)


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    >>> import minijax as mj
    >>> mj.numpy.ones(2).sharding
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    __slots__ = ("_device", "_memory_kind")

    def __init__(self, device: Any, *, memory_kind: str | None = None) -> None:
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
    def given_kind(self) -> str | None:
        """The memory kind, where it is not the device's default."""
        default = str(self._device.default_memory().kind)
        return None if self._memory_kind in (None, default) else self._memory_kind

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        """The same device's memory of another kind."""
        return SingleDeviceSharding(self._device, memory_kind=kind)

    @property
    def device_set(self) -> set[Any]:
        return {self._device}

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind or str(self._device.default_memory().kind)

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and (
            self._device == other._device and self.memory_kind == other.memory_kind
        )

    def __repr__(self) -> str:
        kind = self.memory_kind
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={kind})"


class PmapSharding(Sharding):
    """One slice along `axis` on each of `devices`: the results of `pmap`."""

    __slots__ = ("axis", "devices")

    def __init__(self, devices: Sequence[Any], axis: int = 0) -> None:
        self.devices = tuple(devices)
        self.axis = axis

    @property
    def device_set(self) -> set[Any]:
        return set(self.devices)

    @property
    def memory_kind(self) -> str | None:
        return str(self.devices[0].default_memory().kind)

    @property
    def is_fully_replicated(self) -> bool:
        return len(self.devices) == 1

    def devices_indices_map(self, shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
        full = [slice(None)] * len(shape)
        out = {}
        for i, d in enumerate(self.devices):
            full[self.axis] = slice(i, i + 1)
            out[d] = tuple(full)
        return out

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        out = list(shape)
        del out[self.axis]
        return tuple(out)

    def internal(self, ndim: int) -> Any:
        """The C++ sharding of arrays of this rank."""
        key = (self.devices, self.axis, ndim)
        found = _internal.get(key)
        if found is None:
            tiles = [1] * ndim
            tiles[self.axis] = len(self.devices)
            made = compat.GSPMDSharding(
                compat.DeviceList(self.devices),
                compat.HloSharding.iota_tile(tuple(tiles)),
            )
            found = _internal.setdefault(key, made)  # which lives on, for its id
            _described[id(found)] = self
        return found

    def __hash__(self) -> int:
        return hash((self.devices, self.axis))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PmapSharding) and (
            (self.devices, self.axis) == (other.devices, other.axis)
        )

    def __repr__(self) -> str:
        return f"PmapSharding(devices={list(self.devices)}, axis={self.axis})"


_internal: dict[Any, Any] = {}
_described: dict[int, Sharding] = {}


def of_buffer(buffer: Any) -> Sharding:
    """The sharding of an ArrayImpl, for users."""
    inner = buffer._sharding
    if isinstance(inner, compat.SingleDeviceSharding):
        return SingleDeviceSharding(inner._device, memory_kind=inner._memory_kind)
    found = _described.get(id(inner))
    if found is None:
        # C++ handed back an equal sharding of its own: find ours by value.
        ndim = len(buffer.aval.shape)
        dims = inner._hlo_sharding.tile_assignment_dimensions()
        axis = next((i for i, n in enumerate(dims[:ndim]) if n > 1), 0)
        found = PmapSharding(tuple(inner._internal_device_list), axis)
        found.internal(ndim)
    return found


def shard_buffers(buffer: Any) -> list[Any]:
    """The single-device ArrayImpls of a sharded one, with their avals."""
    sharding = of_buffer(buffer)
    aval = buffer.aval
    part = shaped(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)
    out = []
    for b in buffer._arrays:
        single = b._sharding
        out.append(compat.with_aval(b, part, single))
    return out


def gather(buffer: Any) -> np.ndarray[Any, Any]:
    """The whole value of a sharded ArrayImpl."""
    sharding = of_buffer(buffer)
    parts = [compat.to_host(b) for b in shard_buffers(buffer)]
    if isinstance(sharding, PmapSharding):
        return np.stack(parts, axis=sharding.axis)
    raise TypeError(f"minijax bug: cannot gather {sharding}")
