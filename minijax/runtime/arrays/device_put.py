"""Putting values where they are wanted: a device, a memory, slices on several devices.

Eager only; inside programs a transfer is an operation (prims/device_put.py).
Next: ../running/dispatch.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...types.avals import DEVICE, HOST_KINDS, MemorySpace
from ..backends import client, cross_process_checks
from ..backends import jaxlib_compat as compat
from ..sharding import device_assignment, placement, shardings
from ..sharding.partitioned_placement import (
    multi_device_sharding,
    put_sharded_keep_layout,
    with_default_layout,
)
from ..sharding.placement import Placement
from ..sharding.shardings import has_custom_layout
from . import array as arrays
from . import transfers
from .array import ARRAYS, Array, base_array
from .operands import to_array


def put_value(x: Any, where: Any) -> Array:
    """One value at a place: a device, a sharding or a memory space (committed), or None,
    the default device."""
    if isinstance(where, shardings.NamedSharding | shardings.GSPMDSharding):
        return put_global_array(x, where)
    x = arrays.adopted(x)
    if where is None:
        if type(x) in ARRAYS:
            return x  # type: ignore[no-any-return]
        return to_array(x, placement.default_placement())  # type: ignore[no-any-return]
    if isinstance(where, MemorySpace):
        kind = None if where is DEVICE else HOST_KINDS[0]
        lie = multi_device_sharding(x)
        if lie is not None:
            own = str(lie.devices[0].default_memory().kind)
            return put_global_array(x, lie.with_memory_kind(kind or own))
        return _put_in(x, _place_of(x), kind)
    if isinstance(where, shardings.SingleDeviceSharding):
        (device,) = where.device_set
        return _put_in(x, placement.placement(device), where.given_kind)
    return _put_in(x, placement.placement(where), None)


def put_global_array(x: Any, sharding: Any) -> Array:
    """One value cut over the devices of a sharding.

    Raises:
      AssertionError: of several processes, each gives another one.
    """
    aval = core.aval_of(x)
    if client.cluster.client is not None:
        _check_common(x, sharding)
    return arrays.wrap(put_sharded_keep_layout(x, sharding), aval)


def _check_common(x: Any, sharding: Any) -> None:
    """Where others have some of the devices, all are to give the same value."""
    if not sharding.devices or sharding.is_fully_addressable:
        return
    if type(x) in ARRAYS:
        if not x.is_fully_addressable:
            return
        if x.committed:
            raise errors.value_error(
                "device_put's second argument must be a Device or a Sharding which"
                f" represents addressable devices, but got {sharding}. Please pass device"
                " or Sharding which represents addressable devices.",
                why="the array is committed to devices of this process.",
                tries=["jax.make_array_from_process_local_data(sharding, x)"],
            )
    if not isinstance(x, core.Tracer):
        value = transfers.host_value(base_array(x)) if type(x) in ARRAYS else np.asarray(x)
        cross_process_checks.check_same_value(x, value, sharding.devices)


def _place_of(x: Any) -> Placement:
    """The place of a value that changes only its memory."""
    found = placement.placement_of(x) if type(x) in ARRAYS else None
    return placement.default_placement() if found is None else found[0]


def _put_in(x: Any, place: Placement, kind: str | None) -> Array:
    """One value on a device, committed, in a memory of this kind (None: the device's)."""
    if type(x) not in ARRAYS:
        aval = core.aval_of(x)
        there = transfers.put_numpy(np.asarray(x), aval, place, committed=True)
        return there if kind is None else _put_in(there, place, kind)
    x._check_alive()
    held = base_array(x)
    if client.cluster.client is not None and not x._is_readable:
        raise errors.value_error(
            "When the second argument to `device_put` is a Device, the first argument must"
            " be a fully addressable array or a non-addressable array with a single device"
            f" sharding. Got value with devices {x.devices()}",
            tries=["multihost_utils.process_allgather(x, tiled=True)"],
        )
    space = MemorySpace.of_kind(kind)
    sharding = place.committed_sharding if kind is None else place.kept(kind)
    if x.aval.memory_space is space is DEVICE:
        alone = placement.placement_of(held)
        if has_custom_layout(held) and alone is not None and alone[0] is place:
            return x  # type: ignore[no-any-return]
        moved = device_assignment.move_buffer(held, place)
        if moved is held and x.committed:
            return x  # type: ignore[no-any-return]
    elif held._sharding is sharding:
        return x  # type: ignore[no-any-return]
    elif multi_device_sharding(x) is not None:  # by way of the host
        inner = held.aval.update(memory_space=DEVICE, explicit_sharding=None)
        there = transfers.put_numpy(transfers.host_value(held), inner, place, committed=True)
        found = arrays.wrap(there, x.aval)
        return found if kind is None else _put_in(found, place, kind)
    else:
        moved = compat.copy_to(with_default_layout(held), place.device, sharding)
    inner = held.aval.update(memory_space=space, explicit_sharding=None)
    aval = x.aval.update(memory_space=space, explicit_sharding=None)
    return arrays.wrap(compat.with_aval(moved, inner, sharding), aval)
