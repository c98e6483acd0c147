"""Placement: where a program runs, and how its operands and results are placed.

A program runs on one device; as SPMD partitions over the devices of a mesh; or, for `pmap`,
as replicas on them. `on_device`, `partitions` and `replicas` make these three placements.
Equal placements are one object that is never freed, so `is` compares them, and their ids
are cache keys.

A placement on one device is also that of arrays: dispatch reads it from an array's C++
sharding by one lookup in `by_sharding`.  Next: ../arrays/transfers.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...types import dtypes
from ...types.avals import HOST, HOST_KINDS
from ..backends import client
from ..backends import jaxlib_compat as compat
from . import layouts, shardings
from .mesh import Mesh
from .partition_spec import PartitionSpec
from .shardings import NamedSharding, SingleDeviceSharding

if TYPE_CHECKING:
    from ...types.aliases import Aval, AxisName
    from ..backends.jaxlib_types import Buffer, CppSharding, Device, Executable


class _Key(NamedTuple):
    """What a placement is made of."""

    devices: tuple[Any, ...]
    committed: bool
    mesh: Mesh | None
    ins: tuple[Any, ...]
    outs: tuple[Any, ...] | None
    layouts: tuple[tuple[Any, ...], tuple[Any, ...]] | None
    replica_axes: tuple[tuple[Any, int], ...]


class Placement:
    """Where a program runs, and the sharding and layout of each operand and result.

    devices: the program's devices, in the order of its partitions or replicas.
    committed: whether its results are committed to them.
    mesh: the mesh of operands and results; None: the program runs on one device.
    ins: the sharding of each operand; None: replicated. On one device: the sharding that a
      user has requested for it, or empty.
    outs: the sharding of each result; None: XLA chooses it. None in place of the tuple: XLA
      chooses all, or the program runs on one device.
    layouts: the layouts of operands and of results (None: the device's default); None in
      place of the pair: all have the default.
    replica_axes: the named axes over which replicas are numbered, in row-major order;
      empty: the devices run partitions.
    cpp_sharding: on one device, the canonical C++ sharding of arrays on it.
    uncommitted: on one device, the same placement for uncommitted values.
    """

    __slots__ = (
        "_by_kind",
        "_key",
        "committed",
        "cpp_sharding",
        "device",
        "devices",
        "ins",
        "is_spmd",
        "layouts",
        "mesh",
        "outs",
        "platform",
        "replica_axes",
        "replicated",
        "uncommitted",
    )

    uncommitted: Placement

    def __init__(self, key: _Key) -> None:
        self._key = key
        self.devices, self.committed, self.mesh, self.ins, self.outs = key[:5]
        self.layouts, self.replica_axes = key[5:]
        self.device = key.devices[0]
        self.platform = client.platform_of(self.device)
        self.is_spmd = key.mesh is not None and not key.replica_axes
        self.cpp_sharding: CppSharding = None
        self.replicated: NamedSharding | None = None
        if key.mesh is not None:
            self.replicated = NamedSharding(key.mesh, PartitionSpec())
            self.uncommitted = self
            return
        self._by_kind: dict[str, Any] = {}
        base_key = _on_device(self.device, key.committed)
        if key != base_key:  # arrays have the same C++ sharding in any layout
            base = _intern(base_key)
            self.cpp_sharding, self.uncommitted = base.cpp_sharding, base.uncommitted
            return
        self.cpp_sharding = compat.SingleDeviceSharding(self.device)
        self.uncommitted = (
            _intern(base_key._replace(committed=False)) if key.committed else self
        )

    def __repr__(self) -> str:
        parts = [", ".join(map(str, self.devices))]
        parts += [] if self.committed else ["uncommitted"]
        for what in ("ins", "outs", "layouts", "replica_axes"):
            parts += [f"{what}={value}"] if (value := getattr(self, what)) else []
        return f"Placement({'; '.join(parts)})"

    # ---- other placements
    def with_layouts(self, ins: Sequence[Any], outs: Sequence[Any]) -> Placement:
        """Return the placement with these layouts of operands and results."""
        return _intern(self._key._replace(layouts=(tuple(ins), tuple(outs))))

    def with_results(self, outs: Sequence[Any]) -> Placement:
        """Return the placement with these shardings of results."""
        return _intern(self._key._replace(outs=tuple(outs)))

    def with_operands(self, kept_indices: Sequence[int]) -> Placement:
        """Return the placement of a program that takes only these operands."""
        key = self._key
        if self.mesh is not None and len(kept_indices) != len(self.ins):
            key = key._replace(ins=tuple(self.ins[i] for i in kept_indices))
        if self.layouts is not None and len(kept_indices) != len(self.layouts[0]):
            ins, outs = self.layouts
            key = key._replace(layouts=(tuple(ins[i] for i in kept_indices), outs))
        return self if key is self._key else _intern(key)

    # ---- facts
    @property
    def num_replicas(self) -> int:
        """The number of replicas that run the program."""
        return len(self.devices) if self.replica_axes else 1

    @property
    def num_partitions(self) -> int:
        """The number of partitions that a replica of the program is divided into."""
        return 1 if self.replica_axes else len(self.devices)

    @property
    def is_compile_only(self) -> bool:
        """Whether this process lacks the devices, so that programs cannot run."""
        return bool(compat.is_compile_only(self.device.client))

    @property
    def is_here(self) -> bool:
        """Whether the first device belongs to this process."""
        return bool(self.device.process_index == self.device.client.process_index())

    @property
    def layout_modes(self) -> tuple[list[str], list[str]] | None:
        """XLA's layout modes of operands and results; None: all have the default."""
        if self.layouts is None:
            return None
        ins, outs = self.layouts
        return list(map(layouts.layout_mode, ins)), list(map(layouts.layout_mode, outs))

    # ---- operands
    def sharding_in(self, i: int) -> Any:
        """Return the sharding of operand number `i`."""
        if self.mesh is None:
            return SingleDeviceSharding(self.device)
        return self.ins[i] or self.replicated

    def cpp_sharding_in(self, i: int, aval: Aval) -> CppSharding:
        """Return the C++ sharding that operand number `i`, of stored type `aval`, must have."""
        if self.mesh is None:
            return self.sharding_of(aval)
        return self.sharding_in(i).cpp_sharding(len(aval.shape))

    def accepts(self, i: int, buffer: Buffer) -> bool:
        """Whether an ArrayImpl can be operand number `i` of a program as it is."""
        if self.mesh is None:
            current = placement_of(buffer)
            is_there = current is not None and current.uncommitted is self.uncommitted
            return is_there and not shardings.has_custom_layout(buffer)
        if self.cpp_sharding_in(i, buffer.aval) is buffer._sharding:
            return True
        if shardings.has_custom_layout(buffer):
            return False
        ndim = len(buffer.aval.shape)
        return bool(shardings.of_buffer(buffer).is_equivalent_to(self.sharding_in(i), ndim))

    # ---- results
    def sharding_of(self, aval: Aval) -> CppSharding:
        """Return the C++ sharding of a value of type `aval` on the one device."""
        if aval.memory_space is HOST:
            return self.sharding_in_memory(HOST_KINDS[0])
        return self.cpp_sharding

    def sharding_in_memory(self, kind: str) -> CppSharding:
        """Return the C++ sharding of arrays in another memory of the one device."""
        cached = self._by_kind.get(kind)
        if cached is None:
            sharding = compat.SingleDeviceSharding(self.device, memory_kind=kind)
            cached = self._by_kind.setdefault(kind, sharding)
        return cached

    def result_types(self, avals: Sequence[Aval]) -> list[Aval]:
        """Return the types of a program's results, given those of its jaxpr: a replica's
        result is a shard."""
        if not self.replica_axes or self.outs is None:
            return list(avals)
        out: list[Aval] = []
        for aval, sharding in zip(avals, self.outs, strict=True):
            pairs = zip(aval.shape, sharding.num_shards(len(aval.shape)), strict=True)
            out.append(aval.update(shape=tuple([n * k for n, k in pairs])))
        return out

    def results(
        self, executable: Executable, avals: Sequence[Aval], in_avals: Sequence[Aval] = ()
    ) -> list[Any]:
        """Return the C++ shardings of a program's results, which have the types `avals`.

        in_avals: the types of the operands. If XLA's sharding of a result equals that of an
          operand of the same rank, the result gets that operand's sharding object.
        """
        if self.mesh is None:
            cpp_shardings = [self.sharding_of(a) for a in avals]
        else:
            cpp_shardings = self._shardings_over_mesh(executable, avals, in_avals)
        if self.layouts is None:
            return cpp_shardings
        return layouts.result_shardings(executable, cpp_shardings, self.device)

    def _shardings_over_mesh(
        self, executable: Any, avals: Sequence[Any], in_avals: Sequence[Any]
    ) -> list[Any]:
        outs: Sequence[Any] = self.outs or (None,) * len(avals)
        chosen: Any = None
        by_hlo: dict[Any, Any] = {}
        if None in outs and len(self.devices) > 1:
            chosen = executable.get_output_shardings()
        for s, a in zip(self.ins, in_avals, strict=False) if None in outs else ():
            if s is not None and hasattr(a, "shape") and not dtypes.is_extended(a.dtype):
                n = len(a.shape)
                kind = getattr(s, "_memory_kind", None)
                by_hlo.setdefault((n, s.hlo(n), kind), s)
        cpp_shardings = []
        for i, (aval, sharding) in enumerate(zip(avals, outs, strict=True)):
            ndim = len(aval.shape)
            if sharding is None:
                kind = HOST_KINDS[0] if aval.memory_space is HOST else None
                hlo = compat.HloSharding.replicate()
                if chosen is not None:
                    hlo = compat.HloSharding.from_proto(chosen[i])
                sharding = by_hlo.get((ndim, hlo, kind))
                if sharding is None:
                    assert self.mesh is not None
                    sharding = shardings.sharding_of_hlo(hlo, self.mesh, ndim, kind)
            cpp_shardings.append(sharding.cpp_sharding(ndim))
        return cpp_shardings


_placements: dict[_Key, Placement] = {}
# The id of an array's C++ sharding -> its placement. These shardings are never freed.
by_sharding: dict[int, Placement] = {}
_on_devices: dict[tuple[Any, bool], Placement] = {}  # by device, and whether committed


def _intern(key: _Key) -> Placement:
    cached = _placements.get(key)
    if cached is None:
        # If two threads get here, only the winner's shardings become canonical.
        cached = _placements.setdefault(key, Placement(key))
        if key == _on_device(key.devices[0], key.committed):
            by_sharding[id(cached.cpp_sharding)] = cached
            _on_devices[cached.device, cached.committed] = cached
    return cached


def _on_device(device: Any, committed: bool) -> _Key:
    return _Key((device,), committed, None, (), None, None, ())


def on_device(device: Device, committed: bool = True, ins: Sequence[Any] = ()) -> Placement:
    """Return the placement of programs and values on one device.

    ins: the shardings that a user has requested for the operands, if any.
    """
    if not ins and (cached := _on_devices.get((device, committed))) is not None:
        return cached
    return _intern(_on_device(device, committed)._replace(ins=tuple(ins)))


def partitions(mesh: Mesh, ins: Sequence[Any], outs: Sequence[Any] | None = None) -> Placement:
    """Return the placement of SPMD programs over a mesh with these shardings."""
    results = None if outs is None else tuple(outs)
    return _intern(_Key(mesh.flat, True, mesh, tuple(ins), results, None, ()))


def replicas(
    devices: Sequence[Device],
    mesh: Mesh,
    ins: Sequence[Any],
    outs: Sequence[Any],
    replica_axes: Sequence[tuple[AxisName, int]],
) -> Placement:
    """Return the placement of programs that run as one replica on each device.

    mesh: over those of the devices that belong to this process.
    """
    return _intern(
        _Key(tuple(devices), True, mesh, tuple(ins), tuple(outs), None, tuple(replica_axes))
    )


def default_placement() -> Placement:
    """Return the placement of new uncommitted values."""
    return on_device(client.default_device(), committed=False)


def placement_of(buffer: Buffer) -> Placement | None:
    """Return the placement of a single-device ArrayImpl; None if it is sharded."""
    sharding = buffer._sharding
    cached = by_sharding.get(id(sharding))
    if cached is not None:
        return cached
    # C++ may make an equal sharding of its own, which is not in `by_sharding`.
    if isinstance(sharding, compat.SingleDeviceSharding):
        return on_device(sharding._device, bool(buffer._committed))
    return None


def mesh_of(sharding: Any) -> Mesh:
    """Return the mesh of a sharding; if it has none, a one-dimensional mesh of its devices."""
    if isinstance(sharding, NamedSharding):
        return sharding.mesh  # type: ignore[return-value]
    row = np.array(sharding.devices, dtype=object)
    return Mesh(row, ("devices",))
