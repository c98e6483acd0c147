"""`device_put` of values: to a device, a memory, or shards on several devices.

Eager only; inside programs a transfer is an operation (prims/device_put.py).
Next: ../running/dispatch.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import errors
from ...ir import core
from ...types.avals import DEVICE, HOST_KINDS, MemorySpace
from ..backends import client, cross_process_checks
from ..backends import jaxlib_compat as compat
from ..sharding import device_assignment, shardings
from ..sharding import placement as placements
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

if TYPE_CHECKING:
    from ...types.aliases import Value
    from ..sharding.shardings import GSPMDSharding, NamedSharding


def put_value(x: Value, target: Any) -> Array:
    """Return a value, committed, on a device, sharding or memory space; None: the default
    device, uncommitted."""
    if isinstance(target, shardings.NamedSharding | shardings.GSPMDSharding):
        return put_global_array(x, target)
    x = arrays.adopted(x)
    if target is None:
        if type(x) in ARRAYS:
            return x  # type: ignore[no-any-return]
        return to_array(x, placements.default_placement())
    if isinstance(target, MemorySpace):
        kind = None if target is DEVICE else HOST_KINDS[0]
        sharding = multi_device_sharding(x)
        if sharding is not None:
            own = str(sharding.devices[0].default_memory().kind)
            return put_global_array(x, sharding.with_memory_kind(kind or own))
        return _put_on_device(x, _placement_of_value(x), kind)
    if isinstance(target, shardings.SingleDeviceSharding):
        (device,) = target.device_set
        return _put_on_device(x, placements.placement(device), target.given_kind)
    return _put_on_device(x, placements.placement(target), None)


def put_global_array(x: Value, sharding: NamedSharding | GSPMDSharding) -> Array:
    """Return a value sharded over the devices of a sharding.

    Raises:
      AssertionError: processes pass different values.
    """
    aval = core.aval_of(x)
    if client.cluster.client is not None:
        _check_same_on_processes(x, sharding)
    return arrays.wrap(put_sharded_keep_layout(x, sharding), aval)


def _check_same_on_processes(x: Any, sharding: Any) -> None:
    """Check that all processes pass the same value, if the devices belong to several."""
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


def _placement_of_value(x: Any) -> Placement:
    """Return the placement of a value that only changes its memory."""
    placed = placements.placement_of(x) if type(x) in ARRAYS else None
    return placements.default_placement() if placed is None else placed[0]


def _put_on_device(x: Any, target: Placement, kind: str | None) -> Array:
    """Return a value committed to a device, in a memory of this kind (None: the default)."""
    if type(x) not in ARRAYS:
        aval = core.aval_of(x)
        buffer = transfers.put_numpy(np.asarray(x), aval, target, committed=True)
        return buffer if kind is None else _put_on_device(buffer, target, kind)
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
    sharding = target.committed_sharding if kind is None else target.sharding_in_memory(kind)
    if x.aval.memory_space is space is DEVICE:
        placed = placements.placement_of(held)
        if has_custom_layout(held) and placed is not None and placed[0] is target:
            return x  # type: ignore[no-any-return]
        moved = device_assignment.move_buffer(held, target)
        if moved is held and x.committed:
            return x  # type: ignore[no-any-return]
    elif held._sharding is sharding:
        return x  # type: ignore[no-any-return]
    elif multi_device_sharding(x) is not None:  # through the host
        inner = held.aval.update(memory_space=DEVICE, explicit=None)
        buffer = transfers.put_numpy(transfers.host_value(held), inner, target, committed=True)
        array = arrays.wrap(buffer, x.aval)
        return array if kind is None else _put_on_device(array, target, kind)
    else:
        moved = compat.copy_to(with_default_layout(held), target.device, sharding)
    inner = held.aval.update(memory_space=space, explicit=None)
    aval = x.aval.update(memory_space=space, explicit=None)
    return arrays.wrap(compat.with_aval(moved, inner, sharding), aval)
