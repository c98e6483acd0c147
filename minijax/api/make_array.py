"""Arrays over several devices, assembled from shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..prims.sharding_constraint import broadcast_sharding_prefix
from ..runtime.arrays import array as arrays_of
from ..runtime.arrays import transfers
from ..runtime.arrays.array import ARRAYS, base_array
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.lowering.context import physical
from ..runtime.running import device_put
from ..runtime.running.resharding import array_with_layout
from ..runtime.sharding import shardings
from ..runtime.sharding.layouts import Format
from ..types import dtypes
from ..types.avals import MemorySpace, shaped

if TYPE_CHECKING:
    from ..runtime.arrays.array import Array
    from ..runtime.sharding.shardings import Sharding
    from ..types.aliases import DTypeLike, PyTree, Value


def _check_sharding(sharding: Any, what: str) -> None:
    if not isinstance(sharding, shardings.Sharding):
        raise errors.type_error(
            f"sharding should be an instance of `jax.sharding`. Got {sharding} of type"
            f" {type(sharding)}",
            where=what,
        )


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding | Format,
    data_callback: Callable[[Any], Value],
    dtype: DTypeLike | None = None,
) -> Array:
    """Create a sharded array from shards that a function returns.

    Args:
      shape: the shape of the global array.
      sharding: its sharding, or a `Format`.
      data_callback: called with the index of a shard, a tuple of slices into the global
        array; returns the shard, an array or number.  It is called once per distinct index.
      dtype: the dtype of the shards, to be checked; None: any.

    Returns:
      An array of that shape, committed to the sharding's devices.

    Raises:
      ValueError: a shard does not have the shape of its index, or has another dtype.

    Example:
      >>> import minijax as mj, numpy as np
      >>> where = mj.NamedSharding(mj.make_mesh((1,), ('x',)), mj.P('x'))
      >>> mj.make_array_from_callback((4,), where, lambda at: np.arange(4)[at])
      Array([0, 1, 2, 3], dtype=int32)
    """
    shape = tuple(shape)
    if isinstance(sharding, Format):
        sharding, layout = sharding.sharding_and_layout(shape, "make_array_from_callback")
        result = make_array_from_callback(shape, sharding, data_callback, dtype)
        return result if layout is None else array_with_layout(result, layout)
    _check_sharding(sharding, "make_array_from_callback")
    shards_by_index: dict[Any, Any] = {}
    shards = []
    indices = sharding.devices_indices_map(shape)
    addressable = sharding.addressable_devices
    local_devices = [d for d in indices if d in addressable]
    shard_shape = sharding.shard_shape(shape)
    for device in local_devices:
        at = indices[device]
        # Replicas have equal indices: call the function once for all of them.  Slices are
        # unhashable before Python 3.12.
        key = tuple((s.start, s.stop) for s in at)
        if key not in shards_by_index:
            shard = data_callback(at)
            shard = shard if type(shard) in ARRAYS else np.asarray(shard)
            if shard.shape != shard_shape:
                raise errors.value_error(
                    f"Expected shard shape {shard_shape} doesn't match the single device array"
                    f" shape {shard.shape}. Shape of Array is"
                    f" {shaped(shape, shard.dtype).str_short(False)} with sharding"
                    f" {sharding}",
                    which=f"what data_callback returned for index {at}",
                    where="make_array_from_callback",
                )
            shards_by_index[key] = shard
        shards.append(shards_by_index[key])
    shard_dtype = shards[0].dtype
    if dtype is not None and dtypes.as_dtype(dtype) != shard_dtype:
        raise errors.value_error(
            "If `dtype` is provided to `jax.make_array_from_callback`, it must match the"
            f" dtype of the addressable shards. Got dtype={dtypes.as_dtype(dtype)} and"
            f" shard dtype={shard_dtype}.",
            tries=["let data_callback return shards of that dtype"],
        )
    if isinstance(sharding, shardings.SingleDeviceSharding):
        return device_put.put_value(shards[0], sharding)
    result_dtype = dtypes.canonical(shard_dtype)
    space = MemorySpace.of_kind(sharding.memory_kind)
    aval = shaped(shape, result_dtype, False, space)
    stored_shards = [
        transfers.host_value(base_array(p))
        if type(p) in ARRAYS
        else dtypes.stored(p, result_dtype)
        for p in shards
    ]
    stored = shardings.aval_with_sharding(physical(aval), sharding)
    result = compat.put_shards(
        stored,
        sharding.cpp_sharding(len(stored.shape)),  # type: ignore[attr-defined]
        stored_shards,
        local_devices,
    )
    return arrays_of.wrap(result, aval)


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding,
    arrays: Sequence[Array],
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Create a sharded array from shards on their devices, without copies.

    Args:
      shape: the shape of the global array.
      sharding: its sharding.
      arrays: one array on each of this process's devices.
      dtype: the dtype of the shards; only needed if this process has none.

    Returns:
      An array of that shape, whose shards share memory with `arrays`.

    Raises:
      ValueError: there is not one shard per device, or shards have other shapes or dtypes.
      TypeError: `arrays` is not a list of arrays.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> where = mj.NamedSharding(mj.make_mesh((1,), ('x',)), mj.P('x'))
      >>> part = mj.device_put(jnp.arange(3), mj.devices()[0])
      >>> mj.make_array_from_single_device_arrays((3,), where, [part])
      Array([0, 1, 2], dtype=int32)
    """
    what = "make_array_from_single_device_arrays"
    _check_sharding(sharding, what)
    if not isinstance(arrays, (list, tuple)):
        raise errors.type_error(
            f"jax.{what} `arrays` argument must be a list or tuple, but got {type(arrays)}.",
            tries=["[x], for a single array"],
        )
    shape = tuple(shape)
    shard_shape = sharding.shard_shape(shape)
    if not arrays and dtype is None:
        raise errors.value_error(
            "If the Array has no addressable shards, `dtype` must be provided via the"
            f" `dtype` argument to `jax.{what}`."
        )
    for x in arrays:
        if type(x) not in ARRAYS:
            raise errors.type_error(
                f"Unsupported type for elements in `arrays`: {type(x)}",
                where=what,
                tries=["device_put(x, device)"],
            )
        if len(x.devices()) != 1:
            raise errors.value_error(
                "When making an array from single-device arrays the input arrays must have"
                f" one shard each. An argument array had {len(x.devices())} shard(s).",
                where=what,
            )
        if x.dtype != arrays[0].dtype:
            raise errors.value_error(
                "Input buffers to `Array` must have matching dtypes. Got"
                f" {x.dtype}, expected {arrays[0].dtype}.",
                where=what,
            )
    shards = _by_device(sharding, shape, arrays, what)
    for x in shards:
        if x.shape != shard_shape:
            raise errors.value_error(
                f"Expected shard shape {shard_shape} doesn't match the single device array shape"
                f" {x.shape}. Shape of Array is"
                f" {shaped(shape, x.dtype).str_short(False)} with sharding {sharding}",
                where=what,
            )
    if isinstance(sharding, shardings.SingleDeviceSharding):
        return device_put.put_value(shards[0], sharding)
    space = MemorySpace.of_kind(sharding.memory_kind)
    aval = shaped(shape, arrays[0].dtype, arrays[0].weak_type, space)
    return device_put.assemble(aval, sharding, list(map(base_array, shards)))


def _by_device(
    sharding: Any, shape: tuple[int, ...], arrays: Sequence[Any], what: str
) -> list[Any]:
    """Return single-device arrays in the order of a sharding's devices, one per device."""
    addressable = sharding.addressable_devices
    local_devices = [d for d in sharding.shard_slices(shape) if d in addressable]
    ids = [x.device.id for x in arrays]
    if len(arrays) != len(local_devices):
        raise errors.value_error(
            f"Expected {len(local_devices)} per-device arrays (this is how many devices are"
            f" addressable by the sharding), but got {len(arrays)}",
            where=what,
        )
    if len(set(ids)) != len(ids):
        raise errors.value_error(
            "When making an array from single-device arrays, the input arrays must be from"
            f" distinct devices, but got device IDs {ids}",
            where=what,
        )
    arrays_by_device = {x.device: x for x in arrays}
    if set(arrays_by_device) != set(local_devices):
        missing, unexpected = (
            {d.id for d in a} - {d.id for d in b}
            for a, b in ((local_devices, arrays_by_device), (arrays_by_device, local_devices))
        )
        raise errors.value_error(
            "Addressable devices and per-device arrays devices do not match. Sharding"
            f" contains devices {missing} that are not present in per-device arrays."
            f" Per-device arrays contain devices {unexpected} that are not present in the"
            " sharding.",
            where=what,
        )
    return [arrays_by_device[d] for d in local_devices]


def make_array_from_process_local_data(
    sharding: PyTree, local_data: PyTree, global_shape: PyTree = None
) -> PyTree:
    """Create a sharded array from the data that this process has.

    Args:
      sharding: the sharding of the global array.
      local_data: the data of this process, an array or a pytree of them.  Along each axis it
        is either the global data, or the shards of this process's devices, in order.
      global_shape: the global shape, or a pytree of shapes; None: `local_data` holds this
        process's shards along all axes.

    Returns:
      An array of that shape (a tree of them).

    Raises:
      ValueError: the data is neither global nor this process's shards.

    Example:
      >>> import minijax as mj, numpy as np
      >>> where = mj.NamedSharding(mj.make_mesh((1,), ('x',)), mj.P('x'))
      >>> mj.make_array_from_process_local_data(where, np.arange(2))
      Array([0, 1], dtype=int32)
    """
    leaves, treedef = tree.flatten(local_data)
    if global_shape is None or _is_shape(global_shape):
        shapes = [global_shape] * len(leaves)
    else:
        shapes = tree.leaves(global_shape, is_leaf=lambda x: x is None or _is_shape(x))
    leaf_shardings = broadcast_sharding_prefix(
        "make_array_from_process_local_data", treedef, sharding
    )
    return tree.unflatten(
        treedef,
        [_from_process(*each) for each in zip(leaf_shardings, leaves, shapes, strict=True)],
    )


def _is_shape(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(isinstance(n, (int, np.integer)) for n in x)


def _from_process(sharding: Any, local_data: Any, global_shape: Any) -> Any:
    data = local_data if hasattr(local_data, "shape") else np.asarray(local_data)
    local = tuple(data.shape)
    if sharding.is_fully_addressable:
        shape = local if global_shape is None else tuple(global_shape)
        if local != shape:
            raise errors.value_error(
                "When calling `make_array_from_process_local_data` on a single process,"
                " global_shape should be None or equal to local_data.shape."
                f" Got global_shape={shape} and local_data.shape={local}.",
                why="this process has all devices of the sharding.",
            )
        return make_array_from_callback(shape, sharding, lambda at: data[at])
    shards_along = _shards_along(sharding, len(local))
    if global_shape is None:
        shape = tuple(
            n * k // max(len(held_shards), 1)
            for n, (held_shards, k) in zip(local, shards_along, strict=True)
        )
    else:
        shape = tuple(global_shape)
    if len(shape) != len(local):
        raise errors.value_error(
            f"global_shape={shape} and local_data.shape={local} differ in rank."
        )
    for i, (n, global_size, (held_shards, k)) in enumerate(
        zip(local, shape, shards_along, strict=True)
    ):
        local_size = global_size * len(held_shards) // k
        if n not in (global_size, local_size) or (n != global_size and global_size % k):
            raise errors.value_error(
                "Invalid host data, each dimension should match either global or process"
                f" shape. In dimension {i}, the process data has {n} elements. Process"
                f" addresses {local_size} elements and global_shape={shape}.",
                which=f"local_data of shape {local}, with sharding {sharding}",
            )
    sizes = sharding.shard_shape(shape)

    def local_shard(at: Any) -> Any:
        local_index = []
        for i, s in enumerate(at):
            if local[i] == shape[i]:
                local_index.append(s)
                continue
            n, (parts, _) = sizes[i], shards_along[i]
            k = parts.index((s.start or 0) // n) if n else 0
            local_index.append(slice(k * n, (k + 1) * n))
        return data[tuple(local_index)]

    return make_array_from_callback(shape, sharding, local_shard)


def _shards_along(sharding: Any, ndim: int) -> list[tuple[list[int], int]]:
    """Return for each axis the shards that this process holds, and the number of shards.

    The process counts as holding all shards if the shards of processes overlap.
    """
    if isinstance(sharding, shardings.NamedSharding):
        num_shards, positions = sharding.num_shards(ndim), sharding.shard_positions(ndim)
    else:
        num_shards = shardings.num_shards_of(sharding.hlo(ndim), ndim)
        positions = shardings.shard_positions_of(
            sharding.hlo(ndim), ndim, len(sharding.devices)
        )
    process_index = sharding.devices[0].client.process_index()
    result = []
    for axis, k in enumerate(num_shards):
        positions_by_process: dict[int, set[int]] = {}
        for device, position in zip(sharding.devices, positions[:, axis].tolist(), strict=True):
            positions_by_process.setdefault(device.process_index, set()).add(position)
        held_sets = set(map(frozenset, positions_by_process.values()))
        is_disjoint = sum(map(len, held_sets)) == k and len(set(map(len, held_sets))) == 1
        result.append(
            (
                sorted(positions_by_process.get(process_index, ()))
                if is_disjoint
                else list(range(k)),
                k,
            )
        )
    return result
