"""Placements: single devices, and the C++ shardings of values on them.

Each device has two canonical C++ shardings: one for values committed to it, one for
uncommitted values. Dispatch compares them by identity.  Next: ../arrays/transfers.py.
"""

from __future__ import annotations

from typing import Any

from ...types.avals import HOST, HOST_KINDS
from ..backends import client
from ..backends import jaxlib_compat as compat


class Placement:
    """A device, and the two C++ shardings of arrays on it."""

    __slots__ = (
        "committed_sharding",
        "device",
        "device_list",
        "devices",
        "kinds",
        "uncommitted_sharding",
        "platform",
    )

    def __init__(self, device: Any) -> None:
        self.device = device
        self.devices = (device,)
        self.uncommitted_sharding = compat.SingleDeviceSharding(device)
        self.committed_sharding = compat.SingleDeviceSharding(device)
        self.device_list = compat.DeviceList((device,))
        self.platform = client.platform_of(device)
        self.kinds: dict[str, Any] = {}

    @property
    def is_here(self) -> bool:
        """Whether the device belongs to this process."""
        return bool(self.device.process_index == self.device.client.process_index())

    def sharding_in_memory(self, kind: str) -> Any:
        """Return the C++ sharding of arrays in another memory of the device."""
        cached = self.kinds.get(kind)
        if cached is None:
            sharding = compat.SingleDeviceSharding(self.device, memory_kind=kind)
            cached = self.kinds.setdefault(kind, sharding)
        return cached

    def sharding_of(self, aval: Any, committed: bool) -> Any:
        """Return the C++ sharding of a value of type `aval` on this device."""
        if aval.memory_space is HOST:
            return self.sharding_in_memory(HOST_KINDS[0])
        return self.committed_sharding if committed else self.uncommitted_sharding


_placements: dict[Any, Placement] = {}
by_sharding: dict[int, tuple[Placement, bool]] = {}


def placement(device: Any) -> Placement:
    """Return the placement of a device: always the same object."""
    cached = _placements.get(device)
    if cached is None:
        # If two threads get here, only the winner's shardings become canonical.
        cached = _placements.setdefault(device, Placement(device))
        by_sharding[id(cached.uncommitted_sharding)] = (cached, False)
        by_sharding[id(cached.committed_sharding)] = (cached, True)
    return cached


def default_placement() -> Placement:
    """Return the placement of new uncommitted values."""
    return placement(client.default_device())


def placement_of(buffer: Any) -> tuple[Placement, bool] | None:
    """Return placement and commitment of a single-device ArrayImpl; None if it is sharded."""
    sharding = buffer._sharding
    cached = by_sharding.get(id(sharding))
    if cached is not None:
        return cached
    # C++ may make an equal sharding of its own, which is not in `by_sharding`.
    if isinstance(sharding, compat.SingleDeviceSharding):
        return placement(sharding._device), bool(buffer._committed)
    return None
