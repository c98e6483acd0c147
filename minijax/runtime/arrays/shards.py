"""The parts of an array over several devices: one by one, and put together on the host.

Next: transfers.py.
"""

from __future__ import annotations

from typing import Any

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

# (sharding, aval) -> the type of the parts, and which parts they are
_indices: dict[Any, Any] = util.cache({})


def shard_buffers(buffer: Any) -> list[Any]:
    """The single-device ArrayImpls of a sharded one, with their avals."""
    sharding = of_buffer(buffer)
    aval = buffer.aval
    part, _ = _cuts_of(sharding, aval)
    found = []
    for b in compat.shards_of(buffer):
        inner = b._sharding
        if not isinstance(inner, compat.SingleDeviceSharding):  # of a program on one
            inner = compat.SingleDeviceSharding(inner._internal_device_list[0])
        if type(buffer._sharding) is CustomLayoutMeshSharding:
            inner = mark_custom_layout(inner)
        found.append(compat.with_aval(b, part, inner))
    return found


def gather(buffer: Any) -> np.ndarray[Any, Any]:
    """The whole value of a sharded ArrayImpl."""
    aval, lies = buffer.aval, of_buffer(buffer)
    lies.check_no_sums()
    part, indices = _cuts_of(lies, aval)
    if has_custom_layout(buffer):  # C++ reads each in its order
        alone = shard_buffers(buffer)
        parts = [b._single_device_array_to_np_array_did_copy()[0] for b in alone]
    else:
        parts = compat.parts_to_host(buffer, part)
    if not parts or not (lies.is_fully_replicated or lies.is_fully_addressable):
        raise not_here()
    if not indices:
        return np.asarray(parts[0])
    found = np.empty(aval.shape, aval.dtype)
    for at, value in zip(indices, parts, strict=True):
        found[at] = value
    found.flags.writeable = False
    return found


def not_here() -> RuntimeError:
    """The error for reading a value of which other processes have parts."""
    return errors.error(
        RuntimeError,
        "Fetching value for `jax.Array` that spans non-addressable (non process local)"
        " devices is not possible. You can use"
        " `jax.experimental.multihost_utils.process_allgather` to print the global array or"
        " use `.addressable_shards` method of jax.Array to inspect the addressable (process"
        " local) shards.",
        why="each process has the parts that lie on its own devices.",
    )


def _cuts_of(sharding: Any, aval: Any) -> tuple[Any, list[tuple[slice, ...]]]:
    """The type of a value's parts, and which they are; none where each is the whole."""
    key = sharding, aval
    found = _indices.get(key)
    if found is None:
        part = shaped(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)
        mine = sharding.addressable_devices
        where = sharding.parts_or_terms(aval.shape)
        indices = [where[d] for d in sharding.devices if d in mine]
        if sharding.is_fully_replicated:
            indices = []
        found = util.remember(_indices, key, (part, indices), 1024)
    return found  # type: ignore[no-any-return]
