"""Arrays over several devices, made of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..runtime import jaxlib_compat as compat
from ..runtime import placing, spread
from ..runtime import sharding as shardings
from ..runtime.array import Array
from ..types import dtypes
from ..types.avals import shaped


def _check_sharding(sharding: Any, what: str) -> None:
    if not isinstance(sharding, shardings.Sharding):
        raise errors.type_error(
            f"sharding should be an instance of `jax.sharding`. Got {sharding} of type"
            f" {type(sharding)}",
            where=what,
        )


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any],
    dtype: Any = None,
) -> Any:  # fmt: skip
    """An array spread over devices, of parts that a function makes.

    Args:
      shape: the shape of the whole array.
      sharding: how it lies on devices.
      data_callback: called with the index of a part, a tuple of slices into the whole
        array; returns the part, an array or number.  Equal parts are made once.
      dtype: the dtype; None: that of the parts.

    Returns:
      An array of that shape, committed to the sharding's devices.

    Raises:
      ValueError: a part has another shape than its index says.

    Example:
      >>> import minijax as mj, numpy as np
      >>> where = mj.NamedSharding(mj.make_mesh((1,), ('x',)), mj.P('x'))
      >>> mj.make_array_from_callback((4,), where, lambda at: np.arange(4)[at])
      Array([0, 1, 2, 3], dtype=int32)
    """
    _check_sharding(sharding, "make_array_from_callback")
    shape = tuple(shape)
    found: dict[Any, Any] = {}
    parts = []
    where = sharding.devices_indices_map(shape)
    mine = sharding.addressable_devices
    here = [d for d in where if d in mine]
    want = sharding.shard_shape(shape)
    for device in here:
        at = where[device]
        key = tuple((s.start, s.stop) for s in at)
        if key not in found:
            part = np.asarray(data_callback(at))
            if part.shape != want:
                raise errors.value_error(
                    f"The shape of the part {part.shape} does not match the shape of its"
                    f" index {want}.",
                    which=f"index {at}",
                    where="make_array_from_callback",
                )
            found[key] = part
        parts.append(found[key])
    given = parts[0].dtype if dtype is None else dtype
    kind = dtypes.canonical(given)
    aval = shaped(shape, kind)
    parts = [dtypes.stored(p, kind) for p in parts]
    if isinstance(sharding, shardings.SingleDeviceSharding):
        return placing.put_one(parts[0], sharding)
    return Array(compat.put_parts(aval, sharding.internal(len(shape)), parts, here))


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """An array spread over devices, of parts that lie there already; nothing is copied.

    Args:
      shape: the shape of the whole array.
      sharding: how it lies on devices.
      arrays: one array on each of this process's devices.
      dtype: the dtype; None: that of the parts.

    Returns:
      An array of that shape, whose parts share their memory with `arrays`.

    Raises:
      ValueError: the parts are not one a device, or of the wrong shape.

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
            f"arrays argument to {what} must be a sequence, got {type(arrays)}"
        )
    shape = tuple(shape)
    if isinstance(sharding, shardings.SingleDeviceSharding):
        return placing.put_one(arrays[0], sharding)
    where = sharding.devices_indices_map(shape)
    mine = sharding.addressable_devices
    order = {d: i for i, d in enumerate(d for d in where if d in mine)}
    parts: list[Any] = [None] * len(order)
    want = sharding.shard_shape(shape)
    for x in arrays:
        device = x.device
        if device not in order or parts[order[device]] is not None:
            raise errors.value_error(
                "Expected one array on each of the sharding's devices"
                f" {sorted(d.id for d in order)}, got arrays on"
                f" {[getattr(a.device, 'id', a.device) for a in arrays]}.",
                where=what,
            )
        if x.shape != want:
            raise errors.value_error(
                f"Expected shard shape {want} doesn't match the single device array shape"
                f" {x.shape}. Shape of Array is"
                f" {shaped(shape, x.dtype).str_short(False)} with sharding {sharding}",
                where=what,
            )
        parts[order[device]] = x._b
    if None in parts:
        raise errors.value_error(
            f"Expected {len(order)} arrays, one on each device, got {len(arrays)}.",
            where=what,
        )
    kind = arrays[0].dtype if dtype is None else dtypes.canonical(dtype)
    return spread.assemble(shaped(shape, kind, arrays[0].weak_type), sharding, parts)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Any:
    """An array spread over devices, of the data that this process has.

    Args:
      sharding: how the array lies on devices.
      local_data: this process's part, an array or a pytree of them.
      global_shape: the shape of the whole; None: as this process is the only one, that
        of `local_data`.

    Returns:
      An array of that shape.

    Raises:
      ValueError: the data does not fill this process's part.

    Example:
      >>> import minijax as mj, numpy as np
      >>> where = mj.NamedSharding(mj.make_mesh((1,), ('x',)), mj.P('x'))
      >>> mj.make_array_from_process_local_data(where, np.arange(2))
      Array([0, 1], dtype=int32)
    """
    data = np.asarray(local_data)
    shape = data.shape if global_shape is None else tuple(global_shape)
    if data.shape != shape:
        raise errors.value_error(
            f"local_data of shape {data.shape} does not fill an array of shape {shape}.",
            why="this process has all devices of the sharding.",
        )
    return make_array_from_callback(shape, sharding, lambda at: data[at])
