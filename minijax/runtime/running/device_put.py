"""Placing values: on a device, in a memory, or as shards on several devices.

`put_value` is `device_put` of concrete values; `put_operand` places the operands of a
program. Both leave a value that is already where it should be as it is, move device arrays
from device to device, and go through the host only where nothing else can. Inside programs
a transfer is an operation (prims/device_put.py).

Next: device_assignment.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base import errors, util
from ...ir import core
from ...types import dtypes
from ...types.avals import DEVICE, HOST, HOST_KINDS, MemorySpace, shaped
from ..arrays import array as arrays
from ..arrays import transfers
from ..arrays.array import ARRAYS, Array, adopted, base_array, foreign
from ..arrays.operands import retained_buffer, to_array, to_buffer
from ..arrays.shards import shard_buffers
from ..backends import client
from ..backends import jaxlib_compat as compat
from ..lowering.context import physical
from ..sharding import placement as placements
from ..sharding import shardings
from ..sharding.mesh import Mesh
from ..sharding.partition_spec import PartitionSpec
from ..sharding.placement import Placement, placement_of
from ..sharding.shardings import (
    GSPMDSharding,
    NamedSharding,
    SingleDeviceSharding,
    aval_with_sharding,
    has_custom_layout,
)
from . import cross_process_checks
from .resharding import reshard, with_default_layout

if TYPE_CHECKING:
    from ...types.aliases import Aval, Value
    from ..backends.jaxlib_types import Buffer


def multi_device_sharding(x: Value) -> Any:
    """Return the sharding of a multi-device array, or None for any other value."""
    if type(x) not in ARRAYS or foreign(x):  # a type, for example, may have a sharding
        sharding = getattr(x, "sharding", None)
    elif placement_of(x) is not None:
        return None
    else:
        sharding = shardings.of_buffer(x)
    has_devices = isinstance(sharding, (NamedSharding, GSPMDSharding)) and sharding.devices
    return sharding if has_devices else None


# ---------------------------------------------------------------- operands of programs


def put_operand(x: Value, placement: Placement, i: int, keep_layout: bool = False) -> Buffer:
    """Return a value as an ArrayImpl, placed as operand number `i` of a program.

    keep_layout: keep a custom layout if only the layout is not the default.
    """
    if placement.mesh is not None:
        return put_sharded(x, placement.sharding_in(i), keep_layout)  # type: ignore[no-any-return]
    if type(x) in ARRAYS and not foreign(x):
        x._check_alive()
        return move_buffer(base_array(x), placement, keep_layout)
    return to_buffer(x, placement.uncommitted)


def put_operands(
    values: Sequence[Value],
    placement: Placement,
    kept_indices: Sequence[int] | None = None,
    keep_layout: bool = False,
) -> list[Buffer]:
    """Return the values as ArrayImpls, placed as a program's operands.

    kept_indices: the values that the program takes; the others are returned unchanged.
      None: it takes all.
    """
    if kept_indices is None:
        return [put_operand(x, placement, i, keep_layout) for i, x in enumerate(values)]
    buffers = list(values)
    for k, i in enumerate(kept_indices):
        buffers[i] = put_operand(values[i], placement, k, keep_layout)
    return buffers


def retained_constant(value: Value, placement: Placement) -> Buffer:
    """Return a captured constant as an ArrayImpl that its program keeps; unchanged for
    compile-only devices."""
    if placement.is_compile_only:
        return value  # type: ignore[no-any-return]
    if placement.mesh is not None:
        return put_sharded(value, placement.replicated)  # type: ignore[no-any-return]
    return move_buffer(retained_buffer(value, placement.uncommitted), placement)


def put_result(value: Value, aval: Aval, placement: Placement) -> Buffer:
    """Return a NumPy value as an ArrayImpl, placed like results that a program computed."""
    if placement.mesh is not None:
        return put_sharded(value, placement.replicated)  # type: ignore[no-any-return]
    return transfers.put_numpy(value, aval, placement)


def move_buffer(buffer: Buffer, placement: Placement, keep_layout: bool = False) -> Buffer:
    """Return the ArrayImpl on one device in its default layout; itself if it is there
    already."""
    current = placement_of(buffer)
    target = placement.uncommitted
    if current is None and _is_away_from_host(buffer, target.device):
        buffer = _gathered(with_default_layout(buffer))
        current = placement_of(buffer)
    if current is None:
        aval = buffer.aval.update(explicit=None)
        return transfers.put_numpy(transfers.host_value(buffer), aval, target)
    is_there = current.uncommitted is target
    if has_custom_layout(buffer) and not (keep_layout and is_there):
        buffer = with_default_layout(buffer)
    if is_there:
        return buffer
    if current.device.client is target.device.client:
        return compat.copy_to(buffer, target.device, target.sharding_of(buffer.aval))
    return transfers.put_numpy(transfers.host_value(buffer), buffer.aval, target)


# ----------------------------------------------------------------------------- shards


def put_sharded(x: Value, sharding: Any, keep_layout: bool = False) -> Any:
    """Return a value as an ArrayImpl with this sharding.

    keep_layout: keep a custom layout if the sharding of the array is equivalent.
    """
    x = adopted(x)
    if isinstance(sharding, NamedSharding) and not sharding.devices:
        if type(x) not in ARRAYS:
            raise errors.value_error(
                "Target sharding contains a `jax.sharding.AbstractMesh` which requires the"
                f" input passed should be a `jax.Array`. Got {type(x)}",
                tries=["a sharding over a Mesh"],
            )
        sharding = sharding.on(list(x.sharding._device_assignment))
    if type(x) not in ARRAYS:
        aval = core.aval_of(x)
        if isinstance(x, core.Tracer):
            raise core.leak_error(x)
        sharding.for_rank(len(aval.shape)).check_compatible_aval(aval.shape)
        return _shard_host_value(np.asarray(x), aval, sharding)
    x._check_alive()
    buffer = base_array(x)
    ndim = len(buffer.aval.shape)
    if has_custom_layout(buffer):
        if keep_layout and shardings.of_buffer(buffer).is_equivalent_to(sharding, ndim):
            return buffer
        buffer = with_default_layout(buffer)
    inner = sharding.cpp_sharding(ndim)
    if buffer._sharding is inner:
        aval = aval_with_sharding(buffer.aval, sharding)
        return buffer if aval is buffer.aval else compat.with_aval(buffer, aval, inner)
    # C++ shardings are never freed, so their ids are valid keys.
    cached = _direct.get((id(buffer._sharding), id(inner), buffer.aval))
    if cached is not None:
        return cached(buffer)
    current_sharding = shardings.of_buffer(buffer)
    if current_sharding.is_equivalent_to(sharding, ndim):
        return compat.with_aval(buffer, aval_with_sharding(buffer.aval, sharding), inner)
    sharding.for_rank(len(x.shape)).check_compatible_aval(x.shape)
    if isinstance(current_sharding, (NamedSharding, GSPMDSharding)):
        return _put_resharded(buffer, current_sharding, sharding)
    if isinstance(current_sharding, SingleDeviceSharding) and sharding.is_fully_replicated:
        return _replicate(buffer, sharding)
    if _is_away_from_host(buffer, sharding.devices[0], sharding.given_kind):
        return _shard_device_array(buffer, sharding)
    return _shard_host_value(transfers.host_value(buffer), buffer.aval, sharding)


def _put_resharded(buffer: Any, src_sharding: Any, sharding: Any) -> Any:
    """Reshard an array, through the host only if the client changes, or on CPUs if the
    number of devices does."""
    src_sharding, target_sharding, ndim = (
        _in_default_memory(src_sharding),
        _in_default_memory(sharding),
        len(buffer.aval.shape),
    )
    if src_sharding != target_sharding:
        both_named = isinstance(src_sharding, NamedSharding) and isinstance(
            target_sharding, NamedSharding
        )
        same_count = len(src_sharding.devices) == len(target_sharding.devices)
        if (
            not both_named
            or not same_count
            or src_sharding.devices[0].client is not target_sharding.devices[0].client
        ):
            if _is_away_from_host(buffer, sharding.devices[0], sharding.given_kind):
                return put_sharded(_gathered(buffer), sharding)
            return _shard_host_value(transfers.host_value(buffer), buffer.aval, sharding)
        same_devices = target_sharding
        if src_sharding.devices != target_sharding.devices:
            # One program runs on one list of devices: reshard on the source devices, in the
            # target's division, then copy the shards.
            grid = np.array(src_sharding.devices, dtype=object).reshape(
                target_sharding.mesh.axis_sizes
            )
            same_devices = NamedSharding(
                Mesh(grid, target_sharding.mesh.axis_names), target_sharding.spec
            )
        src_cpp_sharding = buffer._sharding
        buffer = _copy_shards(buffer, src_sharding)
        run = reshard(buffer, src_sharding, same_devices)
        if same_devices is sharding and src_cpp_sharding is src_sharding.cpp_sharding(ndim):
            # No other step is needed, so the next such array takes this one at once.
            key = id(src_cpp_sharding), id(same_devices.cpp_sharding(ndim)), buffer.aval
            util.remember(_direct, key, run, _MOST_DIRECT)
        buffer = run(buffer)
    return _copy_shards(buffer, sharding)


def _in_default_memory(sharding: Any) -> Any:
    """Return the sharding in the devices' default memory."""
    if sharding.given_kind is None:
        return sharding
    return sharding.with_memory_kind(str(sharding.devices[0].default_memory().kind))


def _copy_shards(buffer: Any, sharding: Any) -> Any:
    """Copy the shards of an ArrayImpl to the devices and the memory of `sharding`."""
    inner = sharding.cpp_sharding(len(buffer.aval.shape))
    if buffer._sharding is inner:
        return buffer
    aval = buffer.aval.update(memory_space=MemorySpace.of_kind(sharding.given_kind))
    moved = compat.copy_shards(buffer, sharding.devices, inner)
    return compat.with_aval(moved, aval_with_sharding(aval, sharding), inner)


def _replicate(buffer: Any, sharding: Any) -> Any:
    """Replicate a single-device array over the devices of a sharding."""
    away = sharding.devices[0].client is not buffer._sharding._device.client
    if away or sharding.given_kind or buffer.aval.memory_space is HOST:
        return _shard_host_value(transfers.host_value(buffer), buffer.aval, sharding)
    addressable = sharding.addressable_devices
    copies = [
        compat.copy_to(buffer, d, compat.SingleDeviceSharding(d))
        for d in sharding.devices
        if d in addressable
    ]
    return compat.assemble(
        aval_with_sharding(buffer.aval, sharding),
        sharding.cpp_sharding(len(buffer.aval.shape)),
        copies,
    )


class _Division(NamedTuple):
    """How a sharding divides arrays of one shape among this process's devices.

    indices: the index of each device's shard.
    are_distinct: whether no two shards have an element in common, and none is empty.
    """

    devices: list[Any]
    indices: list[tuple[slice, ...]]
    cpp_sharding: Any
    are_distinct: bool


@util.cached(1024)
def _division(sharding: Any, shape: tuple[int, ...]) -> _Division:
    slices = sharding.devices_indices_map(shape)
    addressable = sharding.addressable_devices
    devices = [d for d in sharding.devices if d in addressable]
    indices = [slices[d] for d in devices]
    # Shards of one sharding are equal or have no element in common.
    are_distinct = len(set(map(_bounds, indices))) == len(indices) and 0 not in shape
    return _Division(devices, indices, sharding.cpp_sharding(len(shape)), are_distinct)


def _bounds(index: tuple[slice, ...]) -> tuple[Any, ...]:
    return tuple([(s.start, s.stop) for s in index])


def _shard_host_value(value: np.ndarray[Any, Any], aval: Any, sharding: Any) -> Any:
    """Put the shards of a NumPy array on their devices."""
    shape = aval.shape
    space = MemorySpace.of_kind(sharding.given_kind)
    aval = aval_with_sharding(aval.update(memory_space=space), sharding)
    devices, indices, inner, are_distinct = _division(sharding, shape)
    value = dtypes.stored(value, aval.dtype)
    # C++ reads the buffers as contiguous memory.
    shards = [np.asarray(value[at], order="C") for at in indices]
    if value.dtype == aval.dtype:
        return compat.put_shards(aval, inner, shards, devices, are_distinct)
    held_aval = shaped(shape, value.dtype, False, space, aval.type_sharding)
    held = compat.put_shards(held_aval, inner, shards, devices, are_distinct)
    return compat.with_aval(held, aval, inner)


def _shard_device_array(buffer: Any, sharding: Any) -> Any:
    """Put the shards of a single-device array on their devices, without the host."""
    devices, indices, inner, _ = _division(sharding, buffer.aval.shape)
    shards: dict[Any, Any] = {}
    copies = []
    for device, at in zip(devices, indices, strict=True):
        shard = shards.get(_bounds(at))
        if shard is None:
            shard = shards[_bounds(at)] = buffer[at]
        copies.append(compat.copy_to(shard, device, compat.SingleDeviceSharding(device)))
    return compat.assemble(aval_with_sharding(buffer.aval, sharding), inner, copies)


def _is_away_from_host(buffer: Any, target: Any, kind: str | None = None) -> bool:
    """Whether an array should get to the device `target`, in a memory of this kind, without
    passing through the host. A CPU's memory is the host's."""
    device = next(iter(buffer.devices()))
    return (
        client.platform_of(device) != "cpu"
        and device.client is target.client
        and kind is None
        and buffer.aval.memory_space is DEVICE
        and buffer._is_readable
    )


def _gathered(buffer: Any) -> Any:
    """Return the value of a sharded array on one of its devices."""
    source = shardings.of_buffer(buffer)
    replicated = NamedSharding(placements.mesh_of(source), PartitionSpec())
    return shard_buffers(reshard(buffer, source, replicated)(buffer))[0]


def assemble(aval: Aval, sharding: Any, shards: Sequence[Buffer]) -> Array:
    """Return the global array whose shards are already on this process's devices."""
    stored = aval_with_sharding(physical(aval), sharding)
    inner = sharding.cpp_sharding(len(stored.shape))
    array = compat.assemble(stored, inner, list(map(with_default_layout, shards)))
    for shard in shards:
        arrays.share_memory(shard, array)
    return arrays.wrap(array, aval)


# (id of the C++ sharding, id of the one it gets, aval) -> what reshards it in one step
_direct: dict[Any, Any] = util.cache({})
_MOST_DIRECT = 1024


# ------------------------------------------------------------------------- device_put


def put_value(x: Value, target: Any) -> Array:
    """Return a value, committed, on a device, sharding or memory space; None: the default
    device, uncommitted."""
    if isinstance(target, shardings.NamedSharding | shardings.GSPMDSharding):
        return put_global_array(x, target)
    x = adopted(x)
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
        return _put_on_device(x, _own_placement(x), kind)
    if isinstance(target, shardings.SingleDeviceSharding):
        (device,) = target.device_set
        return _put_on_device(x, placements.on_device(device), target.given_kind)
    return _put_on_device(x, placements.on_device(target), None)


def put_global_array(x: Value, sharding: NamedSharding | GSPMDSharding) -> Array:
    """Return a value sharded over the devices of a sharding.

    Raises:
      AssertionError: processes pass different values.
    """
    aval = core.aval_of(x)
    if client.cluster.client is not None:
        _check_same_on_processes(x, sharding)
    return arrays.wrap(put_sharded(x, sharding, keep_layout=True), aval)


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


def _own_placement(x: Any) -> Placement:
    """Return the placement of a value that only changes its memory."""
    current = placement_of(x) if type(x) in ARRAYS else None
    return placements.on_device((current or placements.default_placement()).device)


def _put_on_device(x: Any, target: Placement, kind: str | None) -> Array:
    """Return a value committed to a device, in a memory of this kind (None: the default)."""
    if type(x) not in ARRAYS:
        aval = core.aval_of(x)
        buffer = transfers.put_numpy(np.asarray(x), aval, target)
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
    sharding = target.cpp_sharding if kind is None else target.sharding_in_memory(kind)
    if x.aval.memory_space is space is DEVICE:
        current = placement_of(held)
        if has_custom_layout(held) and current is not None and current.device is target.device:
            return x  # type: ignore[no-any-return]
        moved = move_buffer(held, target)
        if moved is held and x.committed:
            return x  # type: ignore[no-any-return]
    elif held._sharding is sharding:
        return x  # type: ignore[no-any-return]
    elif multi_device_sharding(x) is not None:  # through the host
        inner = held.aval.update(memory_space=DEVICE, explicit=None)
        buffer = transfers.put_numpy(transfers.host_value(held), inner, target)
        array = arrays.wrap(buffer, x.aval)
        return array if kind is None else _put_on_device(array, target, kind)
    else:
        moved = compat.copy_to(with_default_layout(held), target.device, sharding)
    inner = held.aval.update(memory_space=space, explicit=None)
    aval = x.aval.update(memory_space=space, explicit=None)
    return arrays.wrap(compat.with_aval(moved, inner, sharding), aval)
