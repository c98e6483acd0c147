"""Copies between the host's memory and devices' memories.

The functions convert between jaxlib's `ArrayImpl` and values of Python and NumPy. For keys,
tokens and other operands see operands.py. Next: array.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import config, errors
from ...ir import core
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ...types.avals import WIDE_SCALARS, keeps_wide_dtype, numpy_aval, shaped
from ..backends import client, guards
from ..backends import jaxlib_compat as compat
from ..sharding import shardings
from ..sharding.mesh import Mesh
from ..sharding.partition_spec import PartitionSpec
from ..sharding.placement import Placement, default_placement, placement_of
from . import shards

if TYPE_CHECKING:
    from ...types.aliases import Aval, DType, Value
    from ..backends.jaxlib_types import Buffer

# ------------------------------------------------------------------- device to host


def host_value(buffer: Buffer) -> np.ndarray[Any, Any]:
    """Return the value of an ArrayImpl as a read-only NumPy array."""
    if buffer.aval.dtype == dtypes.float0:
        return np.zeros(buffer.aval.shape, dtypes.float0)
    placement = placement_of(buffer)
    if placement is None:
        return shards.gather(buffer)
    if client.cluster.client is not None and not placement.is_here:
        raise shards.not_addressable_error()
    if shardings.has_custom_layout(buffer):  # C++ converts it from its layout
        value: np.ndarray[Any, Any] = buffer._single_device_array_to_np_array_did_copy()[0]
        return value
    return compat.to_host(buffer)


def copied(buffer: Buffer) -> Buffer:
    """Return a copy of an ArrayImpl on the same devices."""
    placement = placement_of(buffer)
    if placement is None:
        sharding: Any = buffer._sharding
        if not shardings.has_custom_layout(buffer):
            sharding = shardings.of_buffer(buffer).cpp_sharding(len(buffer.aval.shape))
        copies = [copied(b) for b in shards.shard_buffers(buffer)]
        return compat.assemble(buffer.aval, sharding, copies)
    return compat.copy_to(buffer, placement.device, buffer._sharding)


def deleted_message(aval: Aval) -> str:
    """Return the message for the use of a deleted array."""
    return errors.message(
        f"Array has been deleted with shape={aval.str_short(False)}.",
        why="it was donated to a jitted function (donate_argnums), or .delete() was called.",
        tries=["use the function's result instead", "drop donate_argnums", "copy first"],
    )


# ------------------------------------------------------------------- host to device


def typed_constant(value: Value, dtype: DType) -> Value:
    """Return a constant of exactly this dtype, for use with operands of that dtype.

    It is a NumPy scalar. If the dtype has 64 bits and x64 mode is off, it is an array,
    because a NumPy scalar would be narrowed to 32 bits.
    """
    if isinstance(value, SymbolicDim):
        return value.of_dtype(dtype)
    x = dtype.type(value)
    if dtypes.narrow(dtype) is dtype or dtypes.wide_types():
        return x
    return put_numpy(np.asarray(x), shaped((), dtype))


def widen_scalars(args: Sequence[Value]) -> tuple[Value, ...]:
    """Return operands with 64-bit NumPy scalars as arrays, if other operands have 64 bits."""
    return tuple(
        typed_constant(x, x.dtype)
        if type(x) in WIDE_SCALARS and keeps_wide_dtype(x, args)
        else x
        for x in args
    )


def put_numpy(x: Value, aval: Aval | None = None, placement: Placement | None = None) -> Buffer:
    """Put a NumPy value on a device, as an ArrayImpl of type `aval`.

    placement: None: the default device, or all devices of the current mesh.
    """
    if aval is None:
        aval = numpy_aval(x)
    x = dtypes.stored(x, aval.dtype)
    if placement is None:
        mesh = config.MESH.value
        if type(mesh) is Mesh and x.dtype == aval.dtype:
            replicated = shardings.NamedSharding(mesh, PartitionSpec())
            local_devices = mesh.local_devices
            copies = [np.asarray(x, order="C")] * len(local_devices)
            return compat.put_shards(
                aval, replicated.cpp_sharding(x.ndim), copies, local_devices
            )
        placement = default_placement()
    sharding, device, committed = (
        placement.sharding_of(aval),
        placement.device,
        placement.committed,
    )
    if x.dtype == aval.dtype:
        return compat.put(x, aval, sharding, device, committed)
    held = compat.put(x, shaped(x.shape, x.dtype), sharding, device, committed)
    return compat.with_aval(held, aval, sharding)


# `put_numpy` of values that minijax makes, such as those of `jnp.ones`: transfer guards do
# not apply to them.
put_own: Callable[..., Any] = put_numpy


def _put_unguarded(x: Any, aval: Any) -> Any:
    with guards.internal_transfer():
        return put_numpy(x, aval)


def _use_guards() -> None:
    global put_own
    put_own = _put_unguarded


guards.at_first_use(_use_guards)

_scalars: dict[Any, Any] = {}


def put_scalar(x: bool | int | float | complex, placement: Placement) -> Buffer:
    """Put a Python scalar on a device, weakly typed; the result is cached."""
    aval = core.aval_of(x)
    # -0.0 equals 0.0, and nan does not equal itself, so neither can be a key.
    is_cacheable = x == x and (x != 0 or str(x) in ("0", "0.0", "False"))
    # With the type, because 1 == 1.0 == True.
    key = (x, type(x), aval.dtype, id(placement))
    cached = _scalars.get(key) if is_cacheable else None
    # Deleted, for example by donation: make a new one.
    if cached is None or cached.is_deleted():
        cached = compat.put(
            np.asarray(x, aval.dtype),
            aval,
            placement.cpp_sharding,
            placement.device,
            placement.committed,
        )
        if is_cacheable:
            if len(_scalars) > 4096:
                _scalars.clear()
            _scalars[key] = cached
    return cached


def put_typed_scalar(x: np.generic, placement: Placement) -> Buffer:
    """Put a NumPy scalar on a device; the result is cached."""
    aval = numpy_aval(x)
    key = (x.tobytes(), x.dtype, aval, id(placement))
    cached = _scalars.get(key)
    if cached is None or cached.is_deleted():
        cached = put_numpy(x, aval, placement)
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[key] = cached
    return cached


def put_unshared(x: bool | int | float | complex, placement: Placement) -> Buffer:
    """Put a Python scalar on a device, in memory of its own."""
    aval = core.aval_of(x)
    return put_numpy(np.asarray(x, aval.dtype), aval, placement)
