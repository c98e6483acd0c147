"""Where a computation runs: what its operands, its program and its function say.

A committed operand binds, and one that lies on several devices brings them all; a program
may hold shardings, and a function may have been told some (`RequestedPlacement`).  What binds must
agree; what does not is moved there.  Where nothing binds, it is the default device.

This room runs nothing.  Next: ../running/dispatch.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base import config, errors
from ...ir.jaxpr import Jaxpr, closed_jaxprs, contents
from ...types import dtypes
from ...types.avals import shaped
from ..arrays import array as arrays
from ..arrays import transfers
from ..arrays.array import ARRAYS, ArrayImpl, base_array
from ..arrays.operands import to_buffer
from ..backends import jaxlib_compat as compat
from . import placement
from .mesh import Mesh
from .partition_spec import PartitionSpec
from .partitioned_placement import (
    PLACES,
    PartitionedPlacement,
    committed_devices,
    describe_argument,
    describe_devices,
    describe_sharding,
    incompatible_devices_error,
    mesh_of,
    multi_device_sharding,
    partitioned_placement,
    put_sharded,
    put_sharded_keep_layout,
    sharding_mismatch_error,
    with_default_layout,
)
from .placement import Placement
from .shardings import (
    NamedSharding,
    OneOf,
    SingleDeviceSharding,
    has_custom_layout,
)


def place_values(
    values: Sequence[Any],
    name: str,
    device: Any = None,
    over: RequestedPlacement | None = None,
    names: Sequence[str] = (),
    as_they_lie: bool = False,
    kept: Sequence[int] | None = None,
) -> tuple[list[Any], Any, bool]:
    """ArrayImpls of values where their computation runs: a device, or several.

    over: the shardings that a function's arguments and results are to have.
    names: what the values are called, for errors.
    as_they_lie: leave those there in the order in which they lie in memory.
    kept: those that the computation needs, of which `over` tells; the others stay as
      they are, wherever they lie.
    """
    if kept is not None and len(kept) < len(values):
        needed = [values[i] for i in kept]
        called = [names[i] for i in kept] if names else ()
        placed, where, committed = place_values(needed, name, device, over, called, as_they_lie)
        buffers = list(values)
        for i, buffer in zip(kept, placed, strict=True):
            buffers[i] = buffer
        return buffers, where, committed
    if over is None and device is None and (found := _one_place(values)):
        where, committed = found
        to = to_buffer
        buffers = [x if type(x) is ArrayImpl else to(x, where) for x in values]
        return buffers, where, committed
    where, committed = common_place(values, name, over, names)
    if isinstance(where, PartitionedPlacement):
        return where.take(values, as_they_lie), where, True
    if device is not None:
        there = placement.placement(device)
        if over is not None and not over.among and over.where not in (None, there):
            said = "jit inside jit", SingleDeviceSharding(where.devices[0])
            raise incompatible_devices_error(
                describe_devices(there.devices), describe_sharding(*said)
            )
        where, committed = there, True
    return buffers_at(values, where, as_they_lie=as_they_lie), where, committed


_NUMBERS = (bool, int, float, complex)


def _one_place(values: Sequence[Any]) -> tuple[Placement, bool] | None:
    """The device of values that all lie there alike; None where it takes a closer look."""
    place: Any = None
    for x in values:
        if type(x) is not ArrayImpl:
            if type(x) not in _NUMBERS:
                return None
        elif x.is_deleted():
            return None
        elif place is None:
            place = x._sharding
        elif x._sharding is not place:
            return None
    found = placement.by_sharding.get(id(place))
    if found is None or found[1]:
        return found
    said = config.MESH.value is not None or config.DEFAULT_DEVICE.value is not None
    return None if said else found


def buffers_at(
    values: Sequence[Any],
    where: Placement | PartitionedPlacement,
    kept: Sequence[int] | None = None,
    as_they_lie: bool = False,
) -> list[Any]:
    """ArrayImpls of values at a place, of those `kept`; None: of all."""
    if isinstance(where, PartitionedPlacement):
        lie = {i: k for k, i in enumerate(kept)} if kept is not None else None
        cut = put_sharded_keep_layout if as_they_lie else put_sharded
        return [
            cut(x, where.sharding_in(i if lie is None else lie[i]))
            if lie is None or i in lie
            else x
            for i, x in enumerate(values)
        ]
    buffers = []
    needed = None if kept is None else set(kept)
    for i, x in enumerate(values):
        if needed is not None and i not in needed:
            buffers.append(x)
        elif type(x) in ARRAYS and not arrays.foreign(x):
            if x.is_deleted():
                raise RuntimeError(transfers.deleted_message(x.aval))
            buffers.append(move_buffer(base_array(x), where, as_they_lie))
        else:
            buffers.append(to_buffer(x, where))
    return buffers


def shardings_in(jaxpr: Jaxpr) -> tuple[tuple[str, Any], ...]:
    """The shardings of values inside of a program, and what says so: one for each list
    of devices."""
    memo = jaxpr.memo
    if "shardings" not in memo:
        found: dict[Any, tuple[str, Any]] = {}
        for x in contents(jaxpr):
            lie = NamedSharding(x, PartitionSpec()) if isinstance(x, Mesh) else x
            if isinstance(lie, PLACES) and lie.devices:
                said = f"{_holder(jaxpr, x)} inside jit", lie
                found.setdefault((lie.devices, type(lie) is OneOf), said)
            for inner in closed_jaxprs({"": x}):
                for said in shardings_in(inner.jaxpr):
                    found.setdefault((said[1].devices, type(said[1]) is OneOf), said)
        memo["shardings"] = tuple(found.values())
    return memo["shardings"]  # type: ignore[no-any-return]


def _holder(jaxpr: Jaxpr, x: Any) -> str:
    """The name of the first primitive that holds something among its params."""
    return next(
        eqn.primitive.name
        for eqn in jaxpr.eqns
        for value in eqn.params.values()
        if value is x or (type(value) is tuple and x in value)
    )


def check_unread(x: Any, want: Any) -> None:
    """ValueError if a value that no result needs lies otherwise than is asked for."""
    if want is None or committed_devices(x) is None:
        return
    ndim, lie = len(x.shape), x.sharding
    whole = want.is_fully_replicated, lie.is_fully_replicated
    if any(whole) and not all(whole):
        raise sharding_mismatch_error(want, x)
    if not any(whole) and want.hlo(ndim) != lie.hlo(ndim):
        raise sharding_mismatch_error(want, x)


class RequestedPlacement(NamedTuple):
    """What a function says of how its arguments and results lie (None: as they like)."""

    where: Mesh | Placement | None  # where it runs; None: as the arguments say
    ins: Sequence[Any]
    outs: Sequence[Any] | None = None
    among: bool = False  # more devices may run it, of which `where` is one


def requested_placement_of(
    jaxprs: Sequence[Jaxpr], n: int, ins: Sequence[Any] = (), outs: Sequence[Any] | None = None
) -> RequestedPlacement | None:
    """What programs with `n` inputs say of their devices; None if they say nothing.

    Raises:
      ValueError: two of them name different devices.
    """
    inside = [said for jaxpr in jaxprs for said in shardings_in(jaxpr)]
    given = [("ARG_SHARDING", s) for s in ins if isinstance(s, PLACES)]
    given += [("explicit output sharding", s) for s in outs or () if s is not None]
    given += inside
    if not given:
        return None
    some = [said for said in given if type(said[1]) is OneOf]
    if some:
        given = [said for said in given if type(said[1]) is not OneOf]
        if not given:
            (device,), *others = dict.fromkeys(said[1].devices for said in some)
            place = None if others else placement.placement(device)
            return RequestedPlacement(place, [None] * n, among=True)
        for said in some:
            if said[1].devices[0] not in given[0][1].devices:
                raise incompatible_devices_error(
                    *(describe_sharding(*s) for s in (given[0], said))
                )
    for said in given:
        if said[1].devices != given[0][1].devices:
            raise incompatible_devices_error(*(describe_sharding(*s) for s in (given[0], said)))
    meshes = (s.mesh for _, s in given if isinstance(s, NamedSharding))
    where: Any = next(meshes, None) or placement.placement(given[0][1].devices[0])
    asked = [*[None] * (n - len(ins)), *ins]
    known = [s if isinstance(s, NamedSharding) else None for s in outs or ()]
    return RequestedPlacement(where, asked, known if outs is not None else None)


def common_place(
    values: Sequence[Any],
    name: str,
    over: RequestedPlacement | None = None,
    names: Sequence[str] = (),
) -> tuple[Any, bool]:
    """Where values are computed with: the device that the committed ones agree on, else
    that of any, else the default; or all devices of those that lie on several."""
    chosen: tuple[int, Placement] | None = None
    loose: Placement | None = None
    if (
        over is not None
        and over.among
        and any(multi_device_sharding(x) is not None for x in values)
    ):
        over = None
    if over is not None and isinstance(over.where, Mesh):
        return _common_spread(values, name, over, names), True
    if over is not None and over.where is not None:
        return _common_device(values, name, over, names), True
    for i, x in enumerate(values):
        found = _place_of(x)
        if found is None:
            if multi_device_sharding(x) is not None:
                return _common_spread(values, name, over, names), True
            continue
        where, committed = found
        if not committed:
            loose = loose or where
        elif chosen is None:
            chosen = i, where
        elif chosen[1] is not where:
            pair = (chosen[0], values[chosen[0]]), (i, x)
            raise incompatible_devices_error(
                *(describe_argument(j, y, name, names) for j, y in pair)
            )
    if chosen is not None:
        return chosen[1], True
    mesh = config.MESH.value
    if isinstance(mesh, Mesh):
        asked = RequestedPlacement(mesh, [None] * len(values))
        return _common_spread(
            values, name, (over and over._replace(where=mesh)) or asked, names
        ), True
    if config.DEFAULT_DEVICE.value is not None or loose is None:
        return placement.default_placement(), False
    return loose, False


def _place_of(x: Any) -> tuple[Placement, bool] | None:
    """The one device of an array, and whether it binds; or that which a type names."""
    if type(x) in ARRAYS and not arrays.foreign(x):
        return placement.placement_of(x)
    said = getattr(x, "sharding", None)
    if isinstance(said, SingleDeviceSharding):
        return placement.placement(said.devices[0]), True
    return None


def _common_device(
    values: Sequence[Any], name: str, over: RequestedPlacement, names: Sequence[str]
) -> Placement:
    """The device that a function names; arguments that it names are moved there."""
    place = over.where
    assert isinstance(place, Placement)
    for i, (x, want) in enumerate(zip(values, over.ins, strict=True)):
        devices = committed_devices(x)
        if devices is None or devices == place.devices:
            continue
        if want is None:
            raise incompatible_devices_error(
                describe_argument(i, x, name, names), describe_devices(place.devices)
            )
        if len(devices) > 1:
            raise sharding_mismatch_error(want, x)
    return place


def _common_spread(
    values: Sequence[Any], name: str, over: RequestedPlacement | None, names: Sequence[str]
) -> PartitionedPlacement:
    """The devices of values of which some lie on several, and how each one lies."""
    asked = [None] * len(values) if over is None else over.ins
    mine = list(map(multi_device_sharding, values))
    first = next((i for i, s in enumerate(mine) if s is not None), None)
    mesh: Any = None if over is None else over.where
    given = mesh is not None
    if mesh is None and first is not None:
        mesh = mesh_of(mine[first])
    ins: list[Any] = []
    for i, (x, want, lie) in enumerate(zip(values, asked, mine, strict=True)):
        devices = committed_devices(x)
        if devices is not None:
            if devices != mesh.flat:
                here = describe_argument(i, x, name, names)
                if given or first is None:
                    raise incompatible_devices_error(here, describe_devices(mesh.flat))
                raise incompatible_devices_error(
                    describe_argument(first, values[first], name, names), here
                )
            if want is not None and not want.is_equivalent_to(x.sharding, len(x.shape)):
                raise sharding_mismatch_error(want, x)
        if want is not None and isinstance(x, (np.ndarray, np.generic)):
            check_given(x, want)
        found = want or lie
        ins.append(found if isinstance(found, NamedSharding) else None)
    return partitioned_placement(mesh, ins, None if over is None else over.outs)


def check_given(x: Any, want: Any) -> None:
    """ValueError if of several processes each is to give all of a value to be cut."""
    if want.is_fully_replicated or want.is_fully_addressable:
        return
    raise errors.value_error(
        "Passing non-trivial shardings for numpy inputs is not allowed. To fix this error,"
        " either specify a replicated sharding explicitly or use"
        " `jax.make_array_from_process_local_data(...)` to convert your host local numpy"
        " inputs to a jax.Array which you can pass to jit. If the numpy input is the same"
        " on each process, then you can use `jax.make_array_from_callback(...) to create a"
        " `jax.Array` which you can pass to jit. Got arg type:"
        f" {shaped(tuple(x.shape), dtypes.canonical(x.dtype)).str_short(False)}",
        which=f"sharding {want}",
    )


def matches_operand_sharding(x: Any, where: Placement | PartitionedPlacement, k: int) -> bool:
    """Whether a value may be operand number `k` of a program that runs at `where`."""
    devices = committed_devices(x)
    if devices is None:
        return True
    if isinstance(where, Placement):
        return bool(devices == where.devices)
    want = where.sharding_in(k)
    return bool(want.is_equivalent_to(x.sharding, len(x.shape)))


def move_buffer(buffer: Any, where: Placement, as_it_lies: bool = False) -> Any:
    """The ArrayImpl on a device, in its own order: itself if it is there."""
    found = placement.placement_of(buffer)
    if found is None:
        aval = buffer.aval.update(explicit_sharding=None)
        return transfers.put_numpy(transfers.host_value(buffer), aval, where)
    if has_custom_layout(buffer) and not (as_it_lies and found[0] is where):
        buffer = with_default_layout(buffer)
    if found[0] is where:
        return buffer
    if found[0].device.client is where.device.client:
        return compat.copy_to(
            buffer, where.device, where.sharding_of(buffer.aval, committed=False)
        )
    return transfers.put_numpy(transfers.host_value(buffer), buffer.aval, where)
