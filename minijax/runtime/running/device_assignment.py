"""Choice of the devices that a computation runs on.

Committed operands decide: a sharded one contributes all of its devices. Shardings inside a
program and those passed to `jit` decide as well: together they request a placement. All of
these must name the same devices; uncommitted operands are moved there. If nothing is committed or
requested, the computation runs on the default device.

Operands that are elsewhere are moved by device_put.py.  Next: dispatch.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.contents import contents
from ...base import config, errors, option
from ...ir.jaxpr import Jaxpr, cached_on_jaxpr, closed_jaxprs
from ...types import dtypes
from ...types.avals import shaped
from ..arrays import array as arrays
from ..arrays.array import ARRAYS, ArrayImpl
from ..arrays.operands import to_buffer
from ..sharding import placement as placements
from ..sharding.mesh import Mesh, get_abstract_mesh
from ..sharding.partition_spec import PartitionSpec
from ..sharding.placement import Placement, mesh_of, partitions
from ..sharding.shardings import (
    GSPMDSharding,
    NamedSharding,
    OneOf,
    SingleDeviceSharding,
)
from .device_put import multi_device_sharding, put_operands

if TYPE_CHECKING:
    from ...types.aliases import Value
    from ..backends.jaxlib_types import Buffer, Device
    from ..sharding.shardings import Sharding

DEVICE_SHARDINGS = (NamedSharding, GSPMDSharding, SingleDeviceSharding)  # those with devices


def place_values(
    values: Sequence[Value],
    name: str,
    device: Device | None = None,
    requested: Placement | None = None,
    names: Sequence[str] = (),
    keep_layout: bool = False,
    kept_indices: Sequence[int] | None = None,
) -> tuple[list[Buffer], Placement]:
    """Return the operands as ArrayImpls at a common placement, and the placement.

    requested: the shardings requested for a function's arguments and results.
    names: the names of the operands in error messages.
    keep_layout: keep the memory layout of arrays that are already on the devices.
    kept_indices: the operands that the computation reads, to which `requested` refers; the
      others are returned unchanged.
    """
    if kept_indices is not None and len(kept_indices) < len(values):
        needed = [values[i] for i in kept_indices]
        called = [names[i] for i in kept_indices] if names else ()
        placed, placement = place_values(needed, name, device, requested, called, keep_layout)
        buffers = list(values)
        for i, buffer in zip(kept_indices, placed, strict=True):
            buffers[i] = buffer
        return buffers, placement
    if requested is None and device is None and (single := _single_placement(values)):
        to, target = to_buffer, single.uncommitted
        return [x if type(x) is ArrayImpl else to(x, target) for x in values], single
    placement = common_placement(values, name, requested, names)
    if device is not None and placement.mesh is None:
        target = placements.on_device(device)
        if (
            requested is not None
            and requested.committed
            and requested.devices != target.devices
        ):
            jit_sharding = "jit inside jit", SingleDeviceSharding(placement.device)
            raise incompatible_devices_error(
                describe_devices(target.devices), describe_sharding(*jit_sharding)
            )
        placement = target
    return put_operands(values, placement, keep_layout=keep_layout), placement


_NUMBERS = (bool, int, float, complex)


def _single_placement(values: Sequence[Any]) -> Placement | None:
    """Return the placement of operands that share one single-device sharding, or None in
    all other cases."""
    sharding: Any = None
    for x in values:
        if type(x) is not ArrayImpl:
            if type(x) not in _NUMBERS:
                return None
        elif x.is_deleted():
            return None
        elif sharding is None:
            sharding = x._sharding
        elif x._sharding is not sharding:
            return None
    return common_placement_on_device(sharding)


def common_placement_on_device(sharding: Any) -> Placement | None:
    """Return the placement of operands that all have this C++ sharding; None if they are on
    several devices, or if a mesh or a default device takes precedence."""
    placement = placements.by_sharding.get(id(sharding))
    if placement is None or placement.committed or not _was_default_set:
        return placement
    has_default = config.MESH.value is not None or config.DEFAULT_DEVICE.value is not None
    return None if has_default else placement


# Whether a mesh or a default device was ever set: until then dispatch reads no option.
_was_default_set = False


def _on_default(value: Any, local: bool) -> None:
    global _was_default_set
    _was_default_set = _was_default_set or value not in (None, option.UNSET)


config.MESH.watch(_on_default)
config.DEFAULT_DEVICE.watch(_on_default)


@cached_on_jaxpr
def shardings_in(jaxpr: Jaxpr) -> tuple[tuple[str, Any], ...]:
    """Return the shardings inside a program, each with a description: one for each list of
    devices."""
    by_devices: dict[Any, tuple[str, Any]] = {}
    for x in contents(jaxpr):
        sharding = NamedSharding(x, PartitionSpec()) if isinstance(x, Mesh) else x
        if isinstance(sharding, DEVICE_SHARDINGS) and sharding.devices:
            named_sharding = f"{_primitive_holding(jaxpr, x)} inside jit", sharding
            by_devices.setdefault((sharding.devices, type(sharding) is OneOf), named_sharding)
        for inner in closed_jaxprs({"": x}):
            for named_sharding in shardings_in(inner.jaxpr):
                by_devices.setdefault(
                    (named_sharding[1].devices, type(named_sharding[1]) is OneOf),
                    named_sharding,
                )
    return tuple(by_devices.values())


def _primitive_holding(jaxpr: Jaxpr, x: Any) -> str:
    """Return the name of the first primitive with `x` among its params."""
    return next(
        eqn.primitive.name
        for eqn in jaxpr.eqns
        for value in eqn.params.values()
        if value is x or (type(value) is tuple and x in value)
    )


def check_unread(x: Value, required_sharding: NamedSharding | None) -> None:
    """Raise ValueError if an unused operand's sharding differs from the requested one."""
    if required_sharding is None or committed_devices(x) is None:
        return
    ndim, sharding = len(x.shape), x.sharding
    replicated = required_sharding.is_fully_replicated, sharding.is_fully_replicated
    if any(replicated) and not all(replicated):
        raise sharding_mismatch_error(required_sharding, x)
    if not any(replicated) and required_sharding.hlo(ndim) != sharding.hlo(ndim):
        raise sharding_mismatch_error(required_sharding, x)


def requested_placement_of(
    jaxprs: Sequence[Jaxpr], n: int, ins: Sequence[Any] = (), outs: Sequence[Any] | None = None
) -> Placement | None:
    """Return the placement that programs with `n` inputs request, or None if they request
    none.

    It is uncommitted if the programs would run on other devices as well.

    Raises:
      ValueError: two of them name different devices.
    """
    inside = [named_sharding for jaxpr in jaxprs for named_sharding in shardings_in(jaxpr)]
    named_shardings = [("ARG_SHARDING", s) for s in ins if isinstance(s, DEVICE_SHARDINGS)]
    named_shardings += [("explicit output sharding", s) for s in outs or () if s is not None]
    named_shardings += inside
    if not named_shardings:
        return None
    choices = [
        named_sharding for named_sharding in named_shardings if type(named_sharding[1]) is OneOf
    ]
    if choices:
        named_shardings = [
            named_sharding
            for named_sharding in named_shardings
            if type(named_sharding[1]) is not OneOf
        ]
        if not named_shardings:
            (device,), *others = dict.fromkeys(
                named_sharding[1].devices for named_sharding in choices
            )
            return None if others else placements.on_device(device, committed=False)
        for named_sharding in choices:
            if named_sharding[1].devices[0] not in named_shardings[0][1].devices:
                raise incompatible_devices_error(
                    *(describe_sharding(*s) for s in (named_shardings[0], named_sharding))
                )
    for named_sharding in named_shardings:
        if named_sharding[1].devices != named_shardings[0][1].devices:
            raise incompatible_devices_error(
                *(describe_sharding(*s) for s in (named_shardings[0], named_sharding))
            )
    in_shardings = [*[None] * (n - len(ins)), *ins]
    meshes = (s.mesh for _, s in named_shardings if isinstance(s, NamedSharding))
    mesh: Any = next(meshes, None)
    if mesh is None:
        return placements.on_device(named_shardings[0][1].devices[0], ins=in_shardings)
    if outs is not None:
        outs = [s if isinstance(s, NamedSharding) else None for s in outs]
    return partitions(mesh, in_shardings, outs)


def common_placement(
    values: Sequence[Value],
    name: str,
    requested: Placement | None = None,
    names: Sequence[str] = (),
) -> Placement:
    """Return the common placement of operands.

    It is the device of the committed operands; otherwise that of any operand; otherwise the
    default device. If an operand is sharded, it is all of its devices.
    """
    chosen: tuple[int, Placement] | None = None
    uncommitted: Placement | None = None
    if requested is not None and not requested.committed:
        is_binding = all(multi_device_sharding(x) is None for x in values)
        requested = requested if is_binding else None
    if requested is not None and requested.mesh is not None:
        return _common_mesh_placement(values, name, requested, names)
    if requested is not None:
        return _common_device(values, name, requested, names)
    for i, x in enumerate(values):
        placement = _placement_of_value(x)
        if placement is None:
            if multi_device_sharding(x) is not None:
                return _common_mesh_placement(values, name, requested, names)
        elif not placement.committed:
            uncommitted = uncommitted or placement
        elif chosen is None:
            chosen = i, placement
        elif chosen[1] is not placement:
            pair = (chosen[0], values[chosen[0]]), (i, x)
            raise incompatible_devices_error(
                *(describe_argument(j, y, name, names) for j, y in pair)
            )
    if chosen is not None:
        return chosen[1]
    mesh = config.MESH.value
    if isinstance(mesh, Mesh):
        default_request = partitions(mesh, [None] * len(values))
        return _common_mesh_placement(values, name, default_request, names)
    if config.DEFAULT_DEVICE.value is not None or uncommitted is None:
        return placements.default_placement()
    return uncommitted


def _placement_of_value(x: Any) -> Placement | None:
    """Return the single-device placement of an array or a type."""
    if type(x) in ARRAYS and not arrays.foreign(x):
        return placements.placement_of(x)
    sharding = getattr(x, "sharding", None)
    if isinstance(sharding, SingleDeviceSharding):
        return placements.on_device(sharding.devices[0])
    return None


def _common_device(
    values: Sequence[Any], name: str, requested: Placement, names: Sequence[str]
) -> Placement:
    """Return the requested device; arguments with a requested sharding may be moved there."""
    target = placements.on_device(requested.device)
    ins = requested.ins or [None] * len(values)
    for i, (x, required_sharding) in enumerate(zip(values, ins, strict=True)):
        devices = committed_devices(x)
        if devices is None or devices == target.devices:
            continue
        if required_sharding is None:
            raise incompatible_devices_error(
                describe_argument(i, x, name, names), describe_devices(target.devices)
            )
        if len(devices) > 1:
            raise sharding_mismatch_error(required_sharding, x)
    return target


def _common_mesh_placement(
    values: Sequence[Any], name: str, requested: Placement | None, names: Sequence[str]
) -> Placement:
    """Return the common placement of operands, at least one of which is sharded."""
    requested_shardings = [None] * len(values) if requested is None else requested.ins
    current_shardings = list(map(multi_device_sharding, values))
    first = next((i for i, s in enumerate(current_shardings) if s is not None), None)
    mesh: Any = None if requested is None else requested.mesh
    has_target = mesh is not None
    if mesh is None and first is not None:
        mesh = mesh_of(current_shardings[first])
    ins: list[Any] = []
    for i, (x, required_sharding, current) in enumerate(
        zip(values, requested_shardings, current_shardings, strict=True)
    ):
        devices = committed_devices(x)
        if devices is not None:
            if devices != mesh.flat:
                description = describe_argument(i, x, name, names)
                if has_target or first is None:
                    raise incompatible_devices_error(description, describe_devices(mesh.flat))
                raise incompatible_devices_error(
                    describe_argument(first, values[first], name, names), description
                )
            if required_sharding is not None and not required_sharding.is_equivalent_to(
                x.sharding, len(x.shape)
            ):
                raise sharding_mismatch_error(required_sharding, x)
        if required_sharding is not None and isinstance(x, (np.ndarray, np.generic)):
            check_host_value(x, required_sharding)
        sharding = required_sharding or current
        ins.append(sharding if isinstance(sharding, NamedSharding) else None)
    return partitions(mesh, ins, None if requested is None else requested.outs)


def check_host_value(x: Value, required_sharding: Sharding) -> None:
    """Raise ValueError for a NumPy operand to be sharded over devices of several processes."""
    if required_sharding.is_fully_replicated or required_sharding.is_fully_addressable:
        return
    raise errors.value_error(
        "Passing non-trivial shardings for numpy inputs is not allowed. To fix this error,"
        " either specify a replicated sharding explicitly or use"
        " `jax.make_array_from_process_local_data(...)` to convert your host local numpy"
        " inputs to a jax.Array which you can pass to jit. If the numpy input is the same"
        " on each process, then you can use `jax.make_array_from_callback(...) to create a"
        " `jax.Array` which you can pass to jit. Got arg type:"
        f" {shaped(tuple(x.shape), dtypes.canonical(x.dtype)).str_short(False)}",
        which=f"sharding {required_sharding}",
    )


def matches_operand_sharding(x: Value, placement: Placement, k: int) -> bool:
    """Whether a value is on the right devices for operand number `k` of a program."""
    devices = committed_devices(x)
    if devices is None:
        return True
    if placement.mesh is None:
        return bool(devices == placement.devices)
    return bool(placement.sharding_in(k).is_equivalent_to(x.sharding, len(x.shape)))


# ------------------------------------------------------------------------------ errors


def committed_devices(x: Value) -> tuple[Device, ...] | None:
    """Return the devices that a value or type is committed to; None: it is uncommitted."""
    sharding = multi_device_sharding(x)
    if sharding is not None:
        return sharding.devices  # type: ignore[no-any-return]
    if type(x) in ARRAYS and not arrays.foreign(x):
        placement = placements.placement_of(x)
        return placement.devices if placement is not None and placement.committed else None
    declared = getattr(x, "sharding", None)
    return declared.devices if isinstance(declared, SingleDeviceSharding) else None


def check_meshes(name: str, values: Sequence[Value]) -> bool:
    """Raise ValueError if operands or the current mesh have different meshes, and one of
    these meshes has `Explicit` axes.

    Return False if they differ and `minijax_recast_mesh` is on: the current mesh was then
    derived from another one.
    """
    context_mesh = get_abstract_mesh()
    operand_meshes = []
    for x in values:
        sharding = multi_device_sharding(x)
        if isinstance(sharding, NamedSharding) and sharding.mesh.axis_names:
            operand_meshes.append((x, sharding.mesh.abstract_mesh))
    meshes = (
        (*(m for _, m in operand_meshes), context_mesh)
        if context_mesh.axis_names
        else [m for _, m in operand_meshes]
    )
    if not any(m.explicit_axes for m in meshes):
        return True
    tries = ["jax.sharding.reshard(x, sharding)", "jax.device_put(x, sharding)"]
    for x, mesh in operand_meshes:
        differs = bool(context_mesh.axis_names) and mesh != context_mesh
        if not differs and mesh == operand_meshes[0][1]:
            continue
        if config.RECAST_MESH.peek():
            return False
        if differs:
            aval = shaped(tuple(x.shape), x.dtype).str_short(False)
            raise errors.value_error(
                f"For primitive {name}, context mesh {context_mesh} should match the aval mesh"
                f" {mesh} for shape {aval}.",
                tries=tries,
            )
        raise errors.value_error(
            "Mesh for all inputs should be equal. Got one mesh:"
            f" {operand_meshes[0][1]} and another mesh: {mesh}",
            where=name,
            tries=tries,
        )
    return True


def _describe_location(devices: Sequence[Any]) -> str:
    ids = [d.id for d in devices]
    return f"with device ids {ids} on platform {devices[0].platform.upper()}"


def describe_argument(i: int, x: Value, name: str, names: Sequence[str] = ()) -> str:
    """Describe argument number `i` for an error; `names` are the known argument names."""
    called = names[i] if i < len(names) and names[i] else f"args[{i}]"
    aval = shaped(tuple(x.shape), x.dtype).str_short(False)
    location = _describe_location(committed_devices(x) or ())
    return f"argument {called} of {name} with shape {aval} and {location}"


def describe_sharding(what: str, sharding: Any) -> str:
    """Describe a requested sharding for an error."""
    return f"{what} {_describe_location(sharding.devices)}"


def describe_devices(devices: Sequence[Device]) -> str:
    """Describe the devices of a program for an error."""
    return f"a sharding {_describe_location(devices)}"


def incompatible_devices_error(first: str, second: str) -> ValueError:
    """Return the error for arguments or shardings on different devices."""
    return errors.value_error(
        f"Received incompatible devices for jitted computation. Got {first} and {second}",
        why="all arguments of a jitted function must be on the same devices.",
        tries=["device_put one of them to the other's sharding"],
    )


def sharding_mismatch_error(requested: Sharding, x: Value) -> ValueError:
    """Return the error for an argument whose sharding differs from `in_shardings`."""
    aval = shaped(tuple(x.shape), x.dtype).str_short(False)
    return errors.value_error(
        "Sharding passed to jit does not match the sharding on the respective"
        f" arg. Got jit sharding: {requested},\narg sharding: {x.sharding} for arg"
        f" type: {aval}",
        tries=["device_put it first", "in_shardings=None: keep the argument's sharding"],
    )
