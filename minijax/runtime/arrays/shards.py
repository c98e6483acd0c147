"""Shards of multi-device arrays: one by one, and assembled on the host.

Next: transfers.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import errors, util
from ...types.avals import shaped
from ..backends import jaxlib_compat as compat
from ..sharding.shardings import (
    CustomLayoutMeshSharding,
    has_custom_layout,
    mark_custom_layout,
    of_buffer,
)

if TYPE_CHECKING:
    from ..backends.jaxlib_types import Buffer


def shard_buffers(buffer: Buffer) -> list[Buffer]:
    """Return the single-device ArrayImpls of a sharded one, with their avals."""
    sharding = of_buffer(buffer)
    aval = buffer.aval
    shard_aval, _ = _shard_slices(sharding, aval)
    buffers = []
    for b in compat.shards_of(buffer):
        inner = b._sharding
        if not isinstance(inner, compat.SingleDeviceSharding):  # from a one-device program
            inner = compat.SingleDeviceSharding(inner._internal_device_list[0])
        if type(buffer._sharding) is CustomLayoutMeshSharding:
            inner = mark_custom_layout(inner)
        buffers.append(compat.with_aval(b, shard_aval, inner))
    return buffers


def gather(buffer: Buffer) -> np.ndarray[Any, Any]:
    """Return the full value of a sharded ArrayImpl."""
    aval, sharding = buffer.aval, of_buffer(buffer)
    sharding.check_no_sums()
    shard_aval, indices = _shard_slices(sharding, aval)
    if has_custom_layout(buffer):  # C++ converts each from its layout
        alone = shard_buffers(buffer)
        shards = [b._single_device_array_to_np_array_did_copy()[0] for b in alone]
    else:
        shards = compat.shards_to_host(buffer, shard_aval)
    if not shards or not (sharding.is_fully_replicated or sharding.is_fully_addressable):
        raise not_addressable_error()
    if not indices:
        return np.asarray(shards[0])
    result = np.empty(aval.shape, aval.dtype)
    for at, value in zip(indices, shards, strict=True):
        result[at] = value
    result.flags.writeable = False
    return result


def not_addressable_error() -> RuntimeError:
    """Return the error for reading a value with shards in other processes."""
    return errors.error(
        RuntimeError,
        "Fetching value for `jax.Array` that spans non-addressable (non process local)"
        " devices is not possible. You can use"
        " `jax.experimental.multihost_utils.process_allgather` to print the global array or"
        " use `.addressable_shards` method of jax.Array to inspect the addressable (process"
        " local) shards.",
        why="each process holds only the shards on its own devices.",
    )


@util.cached(1024)
def _shard_slices(sharding: Any, aval: Any) -> tuple[Any, list[tuple[slice, ...]]]:
    """Return the type of a value's shards, and their slices (none if it is replicated)."""
    shard_aval = shaped(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)
    if sharding.is_fully_replicated:
        return shard_aval, []
    addressable = sharding.addressable_devices
    slices = sharding.shard_slices(aval.shape)
    return shard_aval, [slices[d] for d in sharding.devices if d in addressable]
