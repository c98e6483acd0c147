"""Choice of the devices that a computation runs on.

Committed operands decide: a sharded one contributes all of its devices. Shardings inside a
program and those passed to `jit` (`RequestedPlacement`) decide as well. All of these must
name the same devices; uncommitted operands are moved there. If nothing is committed or
requested, the computation runs on the default device.

This module runs no program.  Next: ../running/dispatch.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...analysis.contents import contents
from ...base import config, errors
from ...ir.jaxpr import Jaxpr, closed_jaxprs
from ...types import dtypes
from ...types.avals import shaped
from ..arrays import array as arrays
from ..arrays import transfers
from ..arrays.array import ARRAYS, ArrayImpl, base_array
from ..arrays.operands import to_buffer
from ..backends import jaxlib_compat as compat
from . import placement as placements
from .mesh import Mesh
from .partition_spec import PartitionSpec
from .partitioned_placement import (
    DEVICE_SHARDINGS,
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
    requested: RequestedPlacement | None = None,
    names: Sequence[str] = (),
    keep_layout: bool = False,
    kept_indices: Sequence[int] | None = None,
) -> tuple[list[Any], Any, bool]:
    """Return the operands as ArrayImpls on common devices, their placement, and whether it
    is committed.

    requested: the shardings requested for a function's arguments and results.
    names: the names of the operands in error messages.
    keep_layout: keep the memory layout of arrays that are already on the devices.
    kept_indices: the operands that the computation reads, to which `requested` refers; the
      others are returned unchanged.
    """
    if kept_indices is not None and len(kept_indices) < len(values):
        needed = [values[i] for i in kept_indices]
        called = [names[i] for i in kept_indices] if names else ()
        placed, placement, committed = place_values(
            needed, name, device, requested, called, keep_layout
        )
        buffers = list(values)
        for i, buffer in zip(kept_indices, placed, strict=True):
            buffers[i] = buffer
        return buffers, placement, committed
    if requested is None and device is None and (single := _single_placement(values)):
        placement, committed = single
        to = to_buffer
        buffers = [x if type(x) is ArrayImpl else to(x, placement) for x in values]
        return buffers, placement, committed
    placement, committed = common_placement(values, name, requested, names)
    if isinstance(placement, PartitionedPlacement):
        return placement.put_operands(values, keep_layout), placement, True
    if device is not None:
        target = placements.placement(device)
        if (
            requested is not None
            and not requested.among
            and requested.target not in (None, target)
        ):
            jit_sharding = "jit inside jit", SingleDeviceSharding(placement.devices[0])
            raise incompatible_devices_error(
                describe_devices(target.devices), describe_sharding(*jit_sharding)
            )
        placement, committed = target, True
    return buffers_at(values, placement, keep_layout=keep_layout), placement, committed


_NUMBERS = (bool, int, float, complex)


def _single_placement(values: Sequence[Any]) -> tuple[Placement, bool] | None:
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
    placed = placements.by_sharding.get(id(sharding))
    if placed is None or placed[1]:
        return placed
    # A mesh or default device, if set, takes precedence over uncommitted operands.
    has_default = config.MESH.value is not None or config.DEFAULT_DEVICE.value is not None
    return None if has_default else placed


def buffers_at(
    values: Sequence[Any],
    placement: Placement | PartitionedPlacement,
    kept_indices: Sequence[int] | None = None,
    keep_layout: bool = False,
) -> list[Any]:
    """Return the operands, converted to ArrayImpls at `placement`.

    kept_indices: the operands to convert; None: all.
    """
    if isinstance(placement, PartitionedPlacement):
        positions = (
            {i: k for k, i in enumerate(kept_indices)} if kept_indices is not None else None
        )
        put = put_sharded_keep_layout if keep_layout else put_sharded
        return [
            put(x, placement.sharding_in(i if positions is None else positions[i]))
            if positions is None or i in positions
            else x
            for i, x in enumerate(values)
        ]
    buffers = []
    needed = None if kept_indices is None else set(kept_indices)
    for i, x in enumerate(values):
        if needed is not None and i not in needed:
            buffers.append(x)
        elif type(x) in ARRAYS and not arrays.foreign(x):
            if x.is_deleted():
                raise RuntimeError(transfers.deleted_message(x.aval))
            buffers.append(move_buffer(base_array(x), placement, keep_layout))
        else:
            buffers.append(to_buffer(x, placement))
    return buffers


def shardings_in(jaxpr: Jaxpr) -> tuple[tuple[str, Any], ...]:
    """Return the shardings inside a program, each with a description: one for each list of
    devices."""
    memo = jaxpr.memo
    if "shardings" not in memo:
        by_devices: dict[Any, tuple[str, Any]] = {}
        for x in contents(jaxpr):
            sharding = NamedSharding(x, PartitionSpec()) if isinstance(x, Mesh) else x
            if isinstance(sharding, DEVICE_SHARDINGS) and sharding.devices:
                named_sharding = f"{_primitive_holding(jaxpr, x)} inside jit", sharding
                by_devices.setdefault(
                    (sharding.devices, type(sharding) is OneOf), named_sharding
                )
            for inner in closed_jaxprs({"": x}):
                for named_sharding in shardings_in(inner.jaxpr):
                    by_devices.setdefault(
                        (named_sharding[1].devices, type(named_sharding[1]) is OneOf),
                        named_sharding,
                    )
        memo["shardings"] = tuple(by_devices.values())
    return memo["shardings"]  # type: ignore[no-any-return]


def _primitive_holding(jaxpr: Jaxpr, x: Any) -> str:
    """Return the name of the first primitive with `x` among its params."""
    return next(
        eqn.primitive.name
        for eqn in jaxpr.eqns
        for value in eqn.params.values()
        if value is x or (type(value) is tuple and x in value)
    )


def check_unread(x: Any, required_sharding: Any) -> None:
    """Raise ValueError if an unused operand's sharding differs from the requested one."""
    if required_sharding is None or committed_devices(x) is None:
        return
    ndim, sharding = len(x.shape), x.sharding
    replicated = required_sharding.is_fully_replicated, sharding.is_fully_replicated
    if any(replicated) and not all(replicated):
        raise sharding_mismatch_error(required_sharding, x)
    if not any(replicated) and required_sharding.hlo(ndim) != sharding.hlo(ndim):
        raise sharding_mismatch_error(required_sharding, x)


class RequestedPlacement(NamedTuple):
    """Shardings requested for a function's arguments and results (None: unconstrained)."""

    target: Mesh | Placement | None  # the devices; None: those of the arguments
    ins: Sequence[Any]
    outs: Sequence[Any] | None = None
    among: bool = False  # whether `target` is one of several possible devices


def requested_placement_of(
    jaxprs: Sequence[Jaxpr], n: int, ins: Sequence[Any] = (), outs: Sequence[Any] | None = None
) -> RequestedPlacement | None:
    """Return the placement that programs with `n` inputs request, or None if they request
    none.

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
            single = None if others else placements.placement(device)
            return RequestedPlacement(single, [None] * n, among=True)
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
    meshes = (s.mesh for _, s in named_shardings if isinstance(s, NamedSharding))
    target: Any = next(meshes, None) or placements.placement(named_shardings[0][1].devices[0])
    in_shardings = [*[None] * (n - len(ins)), *ins]
    out_shardings = [s if isinstance(s, NamedSharding) else None for s in outs or ()]
    return RequestedPlacement(target, in_shardings, out_shardings if outs is not None else None)


def common_placement(
    values: Sequence[Any],
    name: str,
    requested: RequestedPlacement | None = None,
    names: Sequence[str] = (),
) -> tuple[Any, bool]:
    """Return the common placement of operands, and whether it is committed.

    It is the device of the committed operands; otherwise that of any operand; otherwise the
    default device. If an operand is sharded, it is all of its devices.
    """
    chosen: tuple[int, Placement] | None = None
    uncommitted: Placement | None = None
    if (
        requested is not None
        and requested.among
        and any(multi_device_sharding(x) is not None for x in values)
    ):
        requested = None
    if requested is not None and isinstance(requested.target, Mesh):
        return _common_mesh_placement(values, name, requested, names), True
    if requested is not None and requested.target is not None:
        return _common_device(values, name, requested, names), True
    for i, x in enumerate(values):
        placed = _placement_of_value(x)
        if placed is None:
            if multi_device_sharding(x) is not None:
                return _common_mesh_placement(values, name, requested, names), True
            continue
        placement, committed = placed
        if not committed:
            uncommitted = uncommitted or placement
        elif chosen is None:
            chosen = i, placement
        elif chosen[1] is not placement:
            pair = (chosen[0], values[chosen[0]]), (i, x)
            raise incompatible_devices_error(
                *(describe_argument(j, y, name, names) for j, y in pair)
            )
    if chosen is not None:
        return chosen[1], True
    mesh = config.MESH.value
    if isinstance(mesh, Mesh):
        default_request = RequestedPlacement(mesh, [None] * len(values))
        return _common_mesh_placement(
            values,
            name,
            (requested and requested._replace(target=mesh)) or default_request,
            names,
        ), True
    if config.DEFAULT_DEVICE.value is not None or uncommitted is None:
        return placements.default_placement(), False
    return uncommitted, False


def _placement_of_value(x: Any) -> tuple[Placement, bool] | None:
    """Return the single-device placement of an array or a type, and whether it is
    committed."""
    if type(x) in ARRAYS and not arrays.foreign(x):
        return placements.placement_of(x)
    sharding = getattr(x, "sharding", None)
    if isinstance(sharding, SingleDeviceSharding):
        return placements.placement(sharding.devices[0]), True
    return None


def _common_device(
    values: Sequence[Any], name: str, requested: RequestedPlacement, names: Sequence[str]
) -> Placement:
    """Return the requested device; arguments with a requested sharding may be moved there."""
    target = requested.target
    assert isinstance(target, Placement)
    for i, (x, required_sharding) in enumerate(zip(values, requested.ins, strict=True)):
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
    values: Sequence[Any], name: str, requested: RequestedPlacement | None, names: Sequence[str]
) -> PartitionedPlacement:
    """Return the common placement of operands, at least one of which is sharded."""
    requested_shardings = [None] * len(values) if requested is None else requested.ins
    current_shardings = list(map(multi_device_sharding, values))
    first = next((i for i, s in enumerate(current_shardings) if s is not None), None)
    mesh: Any = None if requested is None else requested.target
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
    return partitioned_placement(mesh, ins, None if requested is None else requested.outs)


def check_host_value(x: Any, required_sharding: Any) -> None:
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


def matches_operand_sharding(
    x: Any, placement: Placement | PartitionedPlacement, k: int
) -> bool:
    """Whether a value is on the right devices for operand number `k` of a program."""
    devices = committed_devices(x)
    if devices is None:
        return True
    if isinstance(placement, Placement):
        return bool(devices == placement.devices)
    required_sharding = placement.sharding_in(k)
    return bool(required_sharding.is_equivalent_to(x.sharding, len(x.shape)))


def move_buffer(buffer: Any, placement: Placement, keep_layout: bool = False) -> Any:
    """Return the ArrayImpl on a device in its default layout; itself if it is there
    already."""
    placed = placements.placement_of(buffer)
    if placed is None:
        aval = buffer.aval.update(explicit=None)
        return transfers.put_numpy(transfers.host_value(buffer), aval, placement)
    if has_custom_layout(buffer) and not (keep_layout and placed[0] is placement):
        buffer = with_default_layout(buffer)
    if placed[0] is placement:
        return buffer
    if placed[0].device.client is placement.device.client:
        return compat.copy_to(
            buffer, placement.device, placement.sharding_of(buffer.aval, committed=False)
        )
    return transfers.put_numpy(transfers.host_value(buffer), buffer.aval, placement)
