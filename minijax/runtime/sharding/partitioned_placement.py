"""Placement of programs over several devices, and resharding of arrays.

A `PartitionedPlacement` is to partitioned programs what a `Placement` is to single-device
programs. It has a sharding for each operand; operands without one are replicated. Results
have the requested shardings, or those that XLA chose. Next: ../running/dispatch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, errors, util
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...types import dtypes
from ...types.avals import HOST, HOST_KINDS, MemorySpace, shaped
from ...types.type_sharding import UNSHARDED
from ..arrays import array as arrays
from ..arrays import transfers
from ..arrays.array import ARRAYS, Array, adopted, base_array, foreign
from ..backends import client
from ..backends import jaxlib_compat as compat
from ..lowering.context import has_explicit_shardings, physical
from ..lowering.lower_jaxpr import lower_jaxpr
from ..running import pacing
from ..running.compile import compile_module
from . import layout_conversion, shardings
from . import placement as placements
from .layouts import Layout
from .mesh import Mesh, get_abstract_mesh
from .partition_spec import PartitionSpec
from .shardings import (
    GSPMDSharding,
    NamedSharding,
    SingleDeviceSharding,
    aval_with_sharding,
    has_custom_layout,
)

DEVICE_SHARDINGS = (NamedSharding, GSPMDSharding, SingleDeviceSharding)  # those with devices


class PartitionedPlacement:
    """The devices of a partitioned program, and the shardings of its operands and results.

    ins, outs: a `NamedSharding` for each. None: the operand is replicated; XLA chooses the
    sharding of the result.
    """

    __slots__ = ("device", "devices", "ins", "mesh", "outs", "platform", "replicated")

    def __init__(self, mesh: Mesh, ins: tuple[Any, ...], outs: tuple[Any, ...] | None) -> None:
        self.mesh = mesh
        self.devices = mesh.flat
        self.device = mesh.flat[0]
        self.platform = client.platform_of(self.device)
        self.ins = ins
        self.outs = outs
        self.replicated = NamedSharding(mesh, PartitionSpec())

    def select_operands(self, kept_indices: Sequence[int]) -> PartitionedPlacement:
        """Return the placement with only these operands."""
        if len(kept_indices) == len(self.ins):
            return self
        return partitioned_placement(self.mesh, [self.ins[i] for i in kept_indices], self.outs)

    def typed(self, closed: ClosedJaxpr) -> PartitionedPlacement:
        """Return the placement with the result shardings that the program's types contain."""
        if not self.mesh.are_all_axes_explicit:
            return self
        same_mesh = all(s is None or s.mesh == self.mesh for s in self.ins)
        if same_mesh and not has_explicit_shardings(closed.jaxpr):
            return self
        requested = self.outs or (None,) * len(closed.out_avals)
        outs = [
            s or self._result_sharding(a)
            for s, a in zip(requested, closed.out_avals, strict=True)
        ]
        return partitioned_placement(self.mesh, self.ins, outs)

    def _result_sharding(self, aval: Any) -> NamedSharding:
        """Return a result's sharding: over its type's mesh, if that has another shape."""
        explicit = getattr(aval, "type_sharding", UNSHARDED).explicit
        if explicit is None or explicit.mesh.shape_tuple == self.mesh.shape_tuple:
            return NamedSharding(self.mesh, aval.sharding.spec)
        return explicit.on(self.devices)

    def sharding_in(self, i: int) -> NamedSharding:
        """Return the sharding of operand number `i`."""
        return self.ins[i] or self.replicated

    def has_operand_sharding(self, i: int, buffer: Any) -> bool:
        """Whether an ArrayImpl has the sharding of operand number `i`."""
        expected = self.sharding_in(i).cpp_sharding(len(buffer.aval.shape))
        return buffer._sharding is expected

    def results(
        self, executable: Any, avals: Sequence[Any], in_avals: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the C++ shardings of a program's results.

        in_avals: the types of the operands. If XLA's sharding of a result equals that of an
        operand of the same rank, the result gets that operand's sharding object.
        """
        chosen = executable.get_output_shardings() if len(self.devices) > 1 else None
        by_hlo: dict[Any, Any] = {}
        for s, a in zip(self.ins, in_avals, strict=False):
            if s is not None and hasattr(a, "shape") and not dtypes.is_extended(a.dtype):
                n = len(a.shape)
                kind = getattr(s, "_memory_kind", None)
                by_hlo.setdefault((n, s.hlo(n), kind), s)
        cpp_shardings = []
        for i, aval in enumerate(avals):
            ndim = len(aval.shape)
            sharding = self.outs[i] if self.outs is not None else None
            if sharding is None:
                kind = HOST_KINDS[0] if aval.memory_space is HOST else None
                hlo = compat.HloSharding.replicate()
                if chosen is not None:
                    hlo = compat.HloSharding.from_proto(chosen[i])
                sharding = by_hlo.get((ndim, hlo, kind))
                if sharding is None:
                    sharding = shardings.sharding_of_hlo(hlo, self.mesh, ndim, kind)
            cpp_shardings.append(sharding.cpp_sharding(ndim))
        return cpp_shardings

    def put_operands(self, values: Sequence[Any], keep_layout: bool = False) -> list[Any]:
        """Return the values as ArrayImpls with the shardings of the operands.

        keep_layout: keep custom memory layouts; otherwise convert to the default layout.
        """
        put = put_sharded_keep_layout if keep_layout else put_sharded
        return [put(x, self.sharding_in(i)) for i, x in enumerate(values)]


_placements: dict[Any, PartitionedPlacement] = {}


def partitioned_placement(
    mesh: Mesh, ins: Sequence[Any], outs: Sequence[Any] | None = None
) -> PartitionedPlacement:
    """Return the `PartitionedPlacement` of these shardings: one object for equal ones."""
    key = mesh, tuple(ins), None if outs is None else tuple(outs)
    cached = _placements.get(key)
    if cached is None:
        cached = _placements.setdefault(key, PartitionedPlacement(*key))
    return cached


def mesh_of(sharding: Any) -> Any:
    """Return the mesh of a sharding; if it has none, a one-dimensional mesh of its devices."""
    if isinstance(sharding, NamedSharding):
        return sharding.mesh
    row = np.array(sharding.devices, dtype=object)
    return Mesh(row, ("devices",))


def multi_device_sharding(x: Any) -> Any:
    """Return the sharding of a multi-device array, or None for any other value."""
    if type(x) not in ARRAYS or foreign(x):  # a type, for example, may have a sharding
        sharding = getattr(x, "sharding", None)
    elif placements.placement_of(x) is not None:
        return None
    else:
        sharding = shardings.of_buffer(x)
    has_devices = isinstance(sharding, (NamedSharding, GSPMDSharding)) and sharding.devices
    return sharding if has_devices else None


# ------------------------------------------------------------------------- transfers


def put_sharded(x: Any, sharding: Any) -> Any:
    """Return a value as an ArrayImpl with this sharding."""
    x = adopted(x)
    if isinstance(sharding, NamedSharding) and not sharding.devices:
        if type(x) not in ARRAYS:
            raise errors.value_error(
                "Target sharding contains a `jax.sharding.AbstractMesh` which requires the"
                f" input passed should be a `jax.Array`. Got {type(x)}",
                tries=["a sharding over a Mesh"],
            )
        sharding = sharding.on(list(x.sharding._device_assignment))
    if type(x) in ARRAYS:
        x._check_alive()
        buffer = base_array(x)
        if has_custom_layout(buffer):
            buffer = with_default_layout(buffer)
        inner = sharding.cpp_sharding(len(buffer.aval.shape))
        if buffer._sharding is inner:
            aval = aval_with_sharding(buffer.aval, sharding)
            return buffer if aval is buffer.aval else compat.with_aval(buffer, aval, inner)
        cached = _reshardings.get((id(buffer._sharding), id(inner), buffer.aval))
        if cached is not None:
            return cached(buffer)
        current_sharding = shardings.of_buffer(buffer)
        if current_sharding.is_equivalent_to(sharding, len(buffer.aval.shape)):
            return compat.with_aval(buffer, aval_with_sharding(buffer.aval, sharding), inner)
        sharding.for_rank(len(x.shape)).check_compatible_aval(x.shape)
        if isinstance(current_sharding, (NamedSharding, GSPMDSharding)):
            return _reshard(buffer, current_sharding, sharding)
        if isinstance(current_sharding, SingleDeviceSharding) and _is_replicated(sharding):
            return _replicate(buffer, sharding)
        return _shard_host_value(transfers.host_value(buffer), buffer.aval, sharding)
    aval = core.aval_of(x)
    if isinstance(x, core.Tracer):
        raise core.leak_error(x)
    sharding.for_rank(len(aval.shape)).check_compatible_aval(aval.shape)
    return _shard_host_value(np.asarray(x), aval, sharding)


def put_sharded_keep_layout(x: Any, sharding: Any) -> Any:
    """Put a value like `put_sharded`, but keep the layout if the sharding is equivalent."""
    if type(x) in ARRAYS and not foreign(x) and has_custom_layout(base_array(x)):
        x._check_alive()
        buffer = base_array(x)
        current_sharding = shardings.of_buffer(buffer)
        if current_sharding.is_equivalent_to(sharding, len(buffer.aval.shape)):
            return buffer
    return put_sharded(x, sharding)


def with_layout(buffer: Any, layout: Any) -> Any:
    """Return the ArrayImpl in this layout on the same devices; None: the default layout."""
    if placements.placement_of(buffer) is not None:
        return layout_conversion.with_layout(buffer, layout)
    src_layout = layout_conversion.buffer_layout(buffer)
    modes = layout_conversion.layout_mode(src_layout), layout_conversion.layout_mode(layout)
    if modes[0] == modes[1]:
        return buffer
    sharding = shardings.of_buffer(buffer)
    return compiled_resharding(buffer, sharding, sharding, modes)(buffer)


def with_default_layout(buffer: Any) -> Any:
    """Return the ArrayImpl in the devices' default layout."""
    return with_layout(buffer, None) if has_custom_layout(buffer) else buffer


def array_with_layout(x: Any, layout: Layout | None) -> Any:
    """Return the array in this layout on the same devices; None: the default layout.

    The words of a random key stay adjacent: their axes are the minor ones.
    """
    buffer = arrays.base_array(x)
    if layout is not None and buffer is not x:
        major_to_minor = (*layout.major_to_minor, *range(x.ndim, len(buffer.aval.shape)))
        layout = Layout(major_to_minor, layout.tiling)
    if layout is None and not has_custom_layout(buffer):
        return x
    return arrays.wrap(with_layout(buffer, layout), x.aval)


def _reshard(buffer: Any, src_sharding: Any, sharding: Any) -> Any:
    """Reshard an array, through the host only if the number of devices or the client
    changes."""
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
        reshard = compiled_resharding(buffer, src_sharding, same_devices)
        if same_devices is sharding and src_cpp_sharding is src_sharding.cpp_sharding(
            ndim
        ):  # no other step needed
            key = id(src_cpp_sharding), id(same_devices.cpp_sharding(ndim)), buffer.aval
            util.remember(_reshardings, key, reshard, _MOST_RESHARDINGS)
        buffer = reshard(buffer)
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


def _is_replicated(sharding: Any) -> bool:
    return bool(sharding.is_fully_replicated)


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


def _shard_host_value(value: np.ndarray[Any, Any], aval: Any, sharding: Any) -> Any:
    """Put the shards of a NumPy array on their devices."""
    shape = aval.shape
    space = MemorySpace.of_kind(sharding.given_kind)
    aval = aval_with_sharding(aval.update(memory_space=space), sharding)
    key = sharding, shape
    cached = _shard_slices.get(key)
    if cached is None:
        slices = sharding.devices_indices_map(shape)
        addressable = sharding.addressable_devices
        local_devices = [d for d in sharding.devices if d in addressable]
        cached = (
            local_devices,
            [slices[d] for d in local_devices],
            sharding.cpp_sharding(len(shape)),
        )
        util.remember(_shard_slices, key, cached, _MOST_RESHARDINGS)
    devices, indices, inner = cached
    value = dtypes.stored(value, aval.dtype)
    # C++ reads the buffers as contiguous memory.
    shards = [np.asarray(value[at], order="C") for at in indices]
    if value.dtype == aval.dtype:
        return compat.put_shards(aval, inner, shards, devices)
    held = compat.put_shards(
        shaped(shape, value.dtype, False, space, aval.type_sharding), inner, shards, devices
    )
    return compat.with_aval(held, aval, inner)


def assemble(aval: Any, sharding: Any, shards: Sequence[Any]) -> Array:
    """Return the global array whose shards are already on this process's devices."""
    stored = aval_with_sharding(physical(aval), sharding)
    inner = sharding.cpp_sharding(len(stored.shape))
    array = compat.assemble(stored, inner, list(map(with_default_layout, shards)))
    for shard in shards:
        arrays.share_memory(shard, array)
    return arrays.wrap(array, aval)


# (sharding, sharding, aval) -> the compiled resharding. The shardings may also be ids of
# C++ shardings: those are never freed, so an id is never reused.
_reshardings: dict[Any, Any] = util.cache({})
_MOST_RESHARDINGS = 1024
# (sharding, shape) -> devices, the index of each one's shard, the C++ sharding
_shard_slices: dict[Any, Any] = util.cache({})


def compiled_resharding(
    buffer: Any, src_sharding: Any, sharding: Any, modes: tuple[str, str] | None = None
) -> Callable[[Any], Any]:
    """Return a compiled function that reshards such an ArrayImpl on the same devices.

    modes: the layout modes of the operand and of the result.
    """
    aval = buffer.aval
    key: Any = (src_sharding, sharding, aval) if modes is None else (src_sharding, aval, *modes)
    reshard = _reshardings.get(key)
    if reshard is None:
        var = Var(aval)
        closed = ClosedJaxpr(Jaxpr([], [var], [var], []))
        placement = PartitionedPlacement(mesh_of(sharding), (src_sharding,), (sharding,))
        layout_modes = None if modes is None else ([modes[0]], [modes[1]])
        lowered = lower_jaxpr(
            closed,
            "reshard",
            placement.platform,
            placement=placement,
            layout_modes=layout_modes,
        )
        executable = compile_module(
            lowered.module, placement.devices, partitions=len(placement.devices)
        )
        inner = sharding.cpp_sharding(len(aval.shape))
        if modes is not None:
            first = placement.devices[0]
            (inner,) = layout_conversion.result_shardings(executable, [inner], first)
        handler = compat.result_handler(aval_with_sharding(aval, sharding), inner, True)
        run, handlers = executable.execute_sharded, [handler]
        pace = pacing.pace_of(placement.devices)
        if pace is not None:
            run = pacing.paced(run, pace)
        reshard = lambda buffer: run([buffer]).consume_with_handlers(handlers)[0]
        util.remember(_reshardings, key, reshard, _MOST_RESHARDINGS)
    return reshard


# ------------------------------------------------------------------------------ errors


def committed_devices(x: Any) -> tuple[Any, ...] | None:
    """Return the devices that a value or type is committed to; None: it is uncommitted."""
    sharding = multi_device_sharding(x)
    if sharding is not None:
        return sharding.devices  # type: ignore[no-any-return]
    if type(x) in ARRAYS and not foreign(x):
        placed = placements.placement_of(x)
        return placed[0].devices if placed is not None and placed[1] else None
    declared = getattr(x, "sharding", None)
    return declared.devices if isinstance(declared, SingleDeviceSharding) else None


def check_meshes(name: str, values: Sequence[Any]) -> bool:
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


def describe_argument(i: int, x: Any, name: str, names: Sequence[str] = ()) -> str:
    """Describe argument number `i` for an error; `names` are the known argument names."""
    called = names[i] if i < len(names) and names[i] else f"args[{i}]"
    aval = shaped(tuple(x.shape), x.dtype).str_short(False)
    location = _describe_location(committed_devices(x) or ())
    return f"argument {called} of {name} with shape {aval} and {location}"


def describe_sharding(what: str, sharding: Any) -> str:
    """Describe a requested sharding for an error."""
    return f"{what} {_describe_location(sharding.devices)}"


def describe_devices(devices: Sequence[Any]) -> str:
    """Describe the devices of a program for an error."""
    return f"a sharding {_describe_location(devices)}"


def incompatible_devices_error(first: str, second: str) -> ValueError:
    """Return the error for arguments or shardings on different devices."""
    return errors.value_error(
        f"Received incompatible devices for jitted computation. Got {first} and {second}",
        why="all arguments of a jitted function must be on the same devices.",
        tries=["device_put one of them to the other's sharding"],
    )


def sharding_mismatch_error(requested: Any, x: Any) -> ValueError:
    """Return the error for an argument whose sharding differs from `in_shardings`."""
    aval = shaped(tuple(x.shape), x.dtype).str_short(False)
    return errors.value_error(
        "Sharding passed to jit does not match the sharding on the respective"
        f" arg. Got jit sharding: {requested},\narg sharding: {x.sharding} for arg"
        f" type: {aval}",
        tries=["device_put it first", "in_shardings=None: keep the argument's sharding"],
    )
