"""Programs over several devices: where they run, and how operands and results lie.

A `Spread` is to partitioned programs what a `Placement` is to those on one device.  All
operands lie on its devices, each as its sharding says; those without one are whole on
each device.  Results lie as asked for, or as XLA chose.  Next: dispatch.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import errors, util
from ..ir import core
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ..types import dtypes
from ..types.avals import HOST, HOST_KINDS, shaped
from . import array as arrays
from . import client
from . import jaxlib_compat as compat
from . import sharding as shardings
from .array import ARRAYS, Array
from .compile import compile_module
from .lower import lower_jaxpr
from .mesh import Mesh
from .partition_spec import PartitionSpec
from .sharding import GSPMDSharding, NamedSharding


class Spread:
    """The devices of a partitioned program, and how its operands and results lie.

    ins, outs: a `NamedSharding` for each; None: whole on each device; as XLA likes.
    """

    __slots__ = ("device", "devices", "ins", "mesh", "outs", "platform", "whole")

    def __init__(
        self, mesh: Mesh, ins: tuple[Any, ...], outs: tuple[Any, ...] | None
    ) -> None:
        self.mesh = mesh
        self.devices = mesh.flat
        self.device = mesh.flat[0]
        self.platform = client.platform_of(self.device)
        self.ins = ins
        self.outs = outs
        self.whole = NamedSharding(mesh, PartitionSpec())

    def keeping(self, kept: Sequence[int]) -> Spread:
        """The same with some of the operands alone."""
        if len(kept) == len(self.ins):
            return self
        return spread(self.mesh, [self.ins[i] for i in kept], self.outs)

    def sharding_in(self, i: int) -> NamedSharding:
        """How operand number `i` lies."""
        return self.ins[i] or self.whole

    def lies_right(self, i: int, buffer: Any) -> bool:
        """Whether an ArrayImpl lies as operand number `i` is to lie."""
        want = self.sharding_in(i).internal(len(buffer.aval.shape))
        return buffer._sharding is want

    def results(self, executable: Any, avals: Sequence[Any]) -> list[Any]:
        """The C++ shardings of a program's results."""
        chosen = executable.get_output_shardings() if len(self.devices) > 1 else None
        found = []
        for i, aval in enumerate(avals):
            ndim = len(aval.shape)
            asked = self.outs[i] if self.outs is not None else None
            if asked is None:
                kind = HOST_KINDS[0] if aval.memory_space is HOST else None
                asked = self.whole
                if chosen is not None:
                    hlo = compat.HloSharding.from_proto(chosen[i])
                    asked = shardings.named(hlo, self.mesh, ndim, kind)
            found.append(asked.internal(ndim))
        return found

    def take(self, values: Sequence[Any]) -> list[Any]:
        """The values as ArrayImpls, each as its operand is to lie."""
        return [put(x, self.sharding_in(i)) for i, x in enumerate(values)]


_spreads: dict[Any, Spread] = {}


def spread(mesh: Mesh, ins: Sequence[Any], outs: Sequence[Any] | None = None) -> Spread:
    """The `Spread` of these shardings: one object for equal ones."""
    key = mesh, tuple(ins), None if outs is None else tuple(outs)
    found = _spreads.get(key)
    if found is None:
        found = _spreads.setdefault(key, Spread(*key))
    return found


def mesh_of(sharding: Any) -> Any:
    """The mesh of a sharding; of one that has none, its devices in a row."""
    if isinstance(sharding, NamedSharding):
        return sharding.mesh
    row = np.array(sharding.devices, dtype=object)
    return Mesh(row, ("devices",))


def lies(x: Any) -> Any:
    """How an array is spread over devices; None: it is on one, or no array."""
    if type(x) not in ARRAYS:  # what stands for one may say how it will lie
        found = getattr(x, "sharding", None)
    elif arrays.placement_of(x._b) is not None:
        return None
    else:
        found = shardings.of_buffer(x._b)
    return found if isinstance(found, (NamedSharding, GSPMDSharding)) else None


# --------------------------------------------------------------------------- putting


def put(x: Any, sharding: Any) -> Any:
    """A value as an ArrayImpl that lies as `sharding` says."""
    if type(x) in ARRAYS:
        x._check_alive()
        buffer = x._b
        inner = sharding.internal(len(buffer.aval.shape))
        if buffer._sharding is inner:
            return buffer
        mine = shardings.of_buffer(buffer)
        if mine.is_equivalent_to(sharding, len(buffer.aval.shape)):
            return compat.with_aval(buffer, buffer.aval, inner)
        sharding.check_compatible_aval(x.shape)
        if isinstance(mine, NamedSharding) and mine.devices == sharding.devices:
            return reshard(buffer, mine, sharding)
        if isinstance(mine, shardings.SingleDeviceSharding) and _whole(sharding):
            return _copies(buffer, sharding)
        return _cut(arrays.host_value(buffer), buffer.aval, sharding)
    aval = core.aval_of(x)
    if isinstance(x, core.Tracer):
        raise core.leak_error(x)
    sharding.check_compatible_aval(aval.shape)
    return _cut(np.asarray(x), aval, sharding)


def _whole(sharding: Any) -> bool:
    return bool(sharding.is_fully_replicated)


def _copies(buffer: Any, sharding: Any) -> Any:
    """A single-device array on every device of a sharding."""
    if sharding.devices[0].client is not buffer._sharding._device.client:
        return _cut(arrays.host_value(buffer), buffer.aval, sharding)
    parts = [
        compat.copy_to(buffer, d, compat.SingleDeviceSharding(d))
        for d in sharding.devices
    ]
    return compat.assemble(
        buffer.aval, sharding.internal(len(buffer.aval.shape)), parts
    )


def _cut(value: np.ndarray[Any, Any], aval: Any, sharding: Any) -> Any:
    """A NumPy array cut into the parts that the devices hold."""
    shape = aval.shape
    key = sharding, shape
    found = _cuts.get(key)
    if found is None:
        where = sharding.devices_indices_map(shape)
        mine = sharding.addressable_devices
        here = [d for d in sharding.devices if d in mine]
        found = here, [where[d] for d in here], sharding.internal(len(shape))
        util.remember(_cuts, key, found, _MOST_MOVES)
    devices, indices, inner = found
    value = dtypes.stored(value, aval.dtype)
    parts = [np.asarray(value[at], order="C") for at in indices]
    if value.dtype == aval.dtype:
        return compat.put_parts(aval, inner, parts, devices)
    held = compat.put_parts(shaped(shape, value.dtype), inner, parts, devices)
    return compat.with_aval(held, aval, inner)


def assemble(aval: Any, sharding: Any, parts: Sequence[Any]) -> Array:
    """One array of the parts that lie on this process's devices already."""
    whole = compat.assemble(aval, sharding.internal(len(aval.shape)), list(parts))
    return Array(whole)


_moves: dict[Any, Any] = util.cache({})
_MOST_MOVES = 1024
# (sharding, shape) -> devices, the index of each one's part, the C++ sharding
_cuts: dict[Any, Any] = util.cache({})


def reshard(buffer: Any, mine: Any, sharding: Any) -> Any:
    """An ArrayImpl on the same devices in another way: a program moves its parts."""
    aval = buffer.aval
    key = mine, sharding, aval
    found = _moves.get(key)
    if found is None:
        var = Var(aval)
        closed = ClosedJaxpr(Jaxpr([], [var], [var], []))
        where = Spread(mesh_of(sharding), (mine,), (sharding,))
        lowered = lower_jaxpr(closed, "reshard", where.platform, spread=where)
        executable = compile_module(
            lowered.module, where.devices, partitions=len(where.devices)
        )
        inner = sharding.internal(len(aval.shape))
        handler = compat.result_handler(aval, inner, True)
        found = executable.execute_sharded, [handler]
        util.remember(_moves, key, found, _MOST_MOVES)
    run, handlers = found
    return run([buffer]).consume_with_handlers(handlers)[0]


def _told(which: str, x: Any, name: str) -> str:
    ids = [d.id for d in (x.sharding.devices if lies(x) is not None else [x.device])]
    return (
        f"{which} of {name} with shape {x.aval.str_short(False)} and with device ids"
        f" {ids} on platform {next(iter(x.devices())).platform.upper()}"
    )


_INCOMPATIBLE = "Received incompatible devices for jitted computation. Got"
_TRIES = ["device_put one of them to the other's sharding"]


def incompatible(
    first: tuple[int, Any], other: tuple[int, Any], name: str
) -> ValueError:
    """The error for operands (their numbers and values) on different devices."""
    one, two = (_told(f"argument number {i}", x, name) for i, x in (first, other))
    return errors.value_error(
        f"{_INCOMPATIBLE} {one} and {two}",
        why="a program runs on the devices on which all its arguments lie.",
        tries=_TRIES,
    )


def incompatible_mesh(at: tuple[int, Any], mesh: Mesh, name: str) -> ValueError:
    """The error for an operand that is not on the devices on which a program must run."""
    ids = [d.id for d in mesh.flat]
    told = _told(f"argument number {at[0]}", at[1], name)
    return errors.value_error(
        f"{_INCOMPATIBLE} {told} and a sharding with device ids {ids}",
        why="a sharding inside of the program names other devices.",
        tries=_TRIES,
    )
