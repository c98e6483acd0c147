"""Compiled programs as bytes, which another process on the same kind of machine runs.

What is written is the machine code with the types of arguments and results; trees are left
to the caller, since their nodes may be of any type.

Next: topologies.py.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import errors, tree
from ..runtime.backends import client as clients
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.running import compile as compiler
from ..runtime.running import dispatch
from ..runtime.sharding import placement
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.partitioned_placement import PartitionedPlacement, partitioned_placement
from ..runtime.sharding.shardings import NamedSharding
from .aot import ArgInfo, Compiled
from .eval_shape import struct_of

__all__ = ("deserialize_and_load", "serialize")


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """A compiled program as bytes, and the structures of its arguments and results.

    Args:
      compiled: what `jit(f).lower(...).compile()` returned.

    Returns:
      bytes, the structure of (args, kwargs), that of the result.

    Raises:
      ValueError: the program calls back into Python, or writes to references.

    Example:
      >>> import minijax as mj
      >>> compiled = mj.jit(lambda x: x * 2).lower(1.0).compile()
      >>> float(deserialize_and_load(*serialize(compiled))(3.0))
      6.0
    """
    if type(compiled) is not Compiled:  # a pmap: one program a device
        raise ValueError("Compilation does not support serialization")
    lowered: Any = compiled._lowered
    program = compiled._program
    if any(lowered._written) or lowered._before:
        raise errors.value_error(
            "can't serialize with a closed-over mutable array ref",
            tries=["pass its value, and return the new one"],
        )
    read = isinstance(lowered, _Read)
    calls = not read and lowered._lowered.callbacks
    if calls or not program.stable or program.ordered:
        raise errors.value_error(
            "Compilation does not support serialization",
            why="the program calls Python functions of this process.",
            tries=["take callbacks and prints out"],
        )
    place, executable = program.placement, program.executable
    if read:
        code = lowered.code
    elif compat.is_compile_only(place.device.client):
        code = executable.serialize()
    else:
        executable = compiler.compile_anew(
            lowered._lowered.module, place.devices, len(place.devices), compiled._options
        )
        code = place.device.client.serialize_executable(executable)
    lies = None
    if isinstance(place, PartitionedPlacement):
        outs = program.out_shardings if place.outs is None else place.outs
        lies = (
            place.mesh.axis_sizes,
            place.mesh.axis_names,
            place.mesh.axis_types,
            *(list(map(_told, row)) for row in (place.ins, outs)),
        )
    consts = lowered.consts if read else map(np.asarray, lowered._lowered.consts)
    told = {
        "code": code,
        "name": lowered._stage._jitted.name,
        "ids": [d.id for d in place.devices],
        "lies": lies,
        "committed": program.committed,
        "kept": list(lowered._kept),
        "arguments": list(lowered._stage.arg_types),
        "results": list(program.out_avals),
        "donated": tuple(lowered._donated),
        "consts": list(consts),
    }
    out = io.BytesIO()
    pickle.dump(told, out)
    return out.getvalue(), compiled.in_tree, compiled.out_tree


def _told(sharding: Any) -> Any:
    if not isinstance(sharding, NamedSharding):
        return None
    return sharding.spec, sharding._memory_kind


class _Read:
    """A program that was read, in place of what it was compiled of."""

    jaxpr = None  # that is not known
    _before: Sequence[Any] = ()

    def __init__(self, told: dict[str, Any], in_tree: Any, out_tree: Any) -> None:
        self._stage = self._jitted = self._call = self
        self.name, self.code = told["name"], told["code"]
        self.in_tree, self.out_tree = in_tree, out_tree
        self.arg_types = told["arguments"]
        self._kept, self._donated = told["kept"], told["donated"]
        self.consts = self._consts = told["consts"]
        self._written = (False,) * len(self.arg_types)
        self.in_avals = tree.unflatten(in_tree, self.arg_types)
        infos = map(ArgInfo, self.arg_types, self._donated)
        self.args_info = tree.unflatten(in_tree, list(infos))
        self.donate_argnums = tuple(i for i, d in enumerate(self._donated) if d)
        self.out_info = tree.unflatten(out_tree, list(map(struct_of, told["results"])))

    def names(self, _: Any) -> list[str]:
        """What the leaves of the arguments are called."""
        return tree.leaf_names(self.in_tree)


def deserialize_and_load(
    serialized: bytes,
    in_tree: Any,
    out_tree: Any,
    backend: Any = None,
    execution_devices: Sequence[Any] | None = None,
) -> Compiled:
    """The compiled program that `serialize` wrote.

    The bytes are code: read only what you trust.

    Args:
      serialized: the bytes.
      in_tree, out_tree: the structures of (args, kwargs) and of the result.
      backend: a platform such as 'cpu', or a client; None: the default one.
      execution_devices: the devices that it is to run on; those of the same numbers by
        default.

    Returns:
      What `compile` returned: it is called with arguments of those types.

    Raises:
      ValueError: the devices are those of another client, or fewer than it needs.

    Example:
      >>> import minijax as mj
      >>> written = serialize(mj.jit(lambda x: -x).lower(1).compile())
      >>> deserialize_and_load(*written)(2)
      Array(-2, dtype=int32, weak_type=True)
    """
    if backend is None or isinstance(backend, str):
        backend = clients.backend(backend)
    given = backend.devices() if execution_devices is None else list(execution_devices)
    if given and given[0].client != backend:
        other = given[0].client
        raise errors.value_error(
            "Execution devices belong to a client other than `backend`. Got backend"
            f" client: {(backend.platform, backend.platform_version)} and execution devices"
            f" client: {(other.platform, other.platform_version)}"
        )
    told = pickle.loads(serialized)
    devices = _devices(told["ids"], given, execution_devices is not None)
    options = compat.compile_options(devices, 1, len(devices), None)
    listed = compat.DeviceList(tuple(devices))
    executable = compat.knowing_lapack(
        backend.deserialize_executable, told["code"], listed, options
    )
    place: Any = placement.placement(devices[0])
    if told["lies"] is not None:
        sizes, names, types, ins, outs = told["lies"]
        grid = np.array(devices, dtype=object).reshape(sizes)
        mesh = Mesh(grid, names, axis_types=types)
        place = partitioned_placement(
            mesh, *([_made(mesh, s) for s in row] for row in (ins, outs))
        )
    consts = [dispatch.kept_const(c, place) for c in told["consts"]]
    program = dispatch.Program(
        executable,
        consts,
        told["kept"],
        len(told["arguments"]),
        told["results"],
        place,
        told["committed"],
        laid_out=True,
    )
    read: Any = _Read(told, in_tree, out_tree)
    return Compiled(read, program)


def _devices(ids: Sequence[int], given: Sequence[Any], chosen: bool) -> list[Any]:
    known = {d.id: d for d in given}
    if all(i in known for i in ids):
        return [known[i] for i in ids]
    if chosen and len(given) >= len(ids):
        return list(given[: len(ids)])
    raise errors.value_error(
        f"deserialize_and_load: the program runs on devices {list(ids)}; there are"
        f" {sorted(known)}.",
        tries=["execution_devices=jax.devices()[:n]"],
    )


def _made(mesh: Mesh, told: Any) -> Any:
    return None if told is None else NamedSharding(mesh, told[0], memory_kind=told[1])
