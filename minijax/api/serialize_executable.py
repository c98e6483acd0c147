"""Compiled programs as bytes, for other processes on the same kind of machine.

The bytes contain the machine code and the types of arguments and results.  The caller keeps
the trees, since their nodes may be of any type.

Next: topologies.py.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..runtime.backends import client as clients
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.running import compile as compiler
from ..runtime.running.device_put import retained_constant
from ..runtime.running.program import Program
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.placement import on_device, partitions
from ..runtime.sharding.shardings import NamedSharding
from .aot import ArgInfo, Compiled
from .eval_shape import struct_of

if TYPE_CHECKING:
    from ..base.tree import PyTreeDef
    from ..runtime.backends.jaxlib_types import Client, Device

__all__ = ("deserialize_and_load", "serialize")


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """Return a compiled program as bytes, with the trees of its arguments and results.

    Args:
      compiled: the result of `jit(f).lower(...).compile()`.

    Returns:
      The bytes, the tree of (args, kwargs), and the tree of the result.

    Raises:
      ValueError: the program calls back into Python, or writes to references.

    Example:
      >>> import minijax as mj
      >>> compiled = mj.jit(lambda x: x * 2).lower(1.0).compile()
      >>> float(deserialize_and_load(*serialize(compiled))(3.0))
      6.0
    """
    if type(compiled) is not Compiled:  # a pmap has one program per device
        raise ValueError("Compilation does not support serialization")
    lowered: Any = compiled._lowered
    program = compiled._program
    if any(lowered._written) or lowered._captured:
        raise errors.value_error(
            "can't serialize with a closed-over mutable array ref",
            tries=["pass its value, and return the new one"],
        )
    is_loaded = isinstance(lowered, _LoadedStages)
    has_callbacks = not is_loaded and lowered._lowered.module.callbacks
    if has_callbacks or not program.stable or program.ordered:
        raise errors.value_error(
            "Compilation does not support serialization",
            why="the program calls Python functions of this process.",
            tries=["remove callbacks and prints"],
        )
    placement, executable = program.placement, program.executable
    if is_loaded:
        code = lowered.code
    elif placement.is_compile_only:
        code = executable.serialize()
    else:
        # An executable that was loaded from the disk cache cannot be serialized again.
        executable = compiler.compile_anew(
            lowered._lowered.module.module,
            placement.devices,
            placement.num_partitions,
            {
                **dict(lowered._lowered.request.options.compiler),
                **(compiled._compiler_options or {}),
            },
        )
        code = placement.device.client.serialize_executable(executable)
    mesh_and_shardings = None
    if placement.mesh is not None:
        outs = program.out_shardings if placement.outs is None else placement.outs
        mesh_and_shardings = (
            placement.mesh.axis_sizes,
            placement.mesh.axis_names,
            placement.mesh.axis_types,
            *(list(map(_sharding_state, row)) for row in (placement.ins, outs)),
        )
    consts = lowered.consts if is_loaded else map(np.asarray, lowered._lowered.module.consts)
    state = {
        "code": code,
        "name": lowered._stage._jitted.name,
        "ids": [d.id for d in placement.devices],
        "mesh": mesh_and_shardings,
        "committed": placement.committed,
        "kept": list(compiled._kept_indices),
        "arguments": list(lowered._stage.arg_types),
        "results": list(program.out_avals),
        "donated": tuple(lowered._donated),
        "consts": list(consts),
    }
    out = io.BytesIO()
    pickle.dump(state, out)
    return out.getvalue(), compiled.in_tree, compiled.out_tree


def _sharding_state(sharding: Any) -> Any:
    if not isinstance(sharding, NamedSharding):
        return None
    return sharding.spec, sharding._memory_kind


class _LoadedStages:
    """The stages of a program that was read from bytes, in place of `Lowered` and others."""

    jaxpr = None  # not stored
    _captured: Sequence[Any] = ()

    def __init__(self, state: dict[str, Any], in_tree: Any, out_tree: Any) -> None:
        # `Compiled` reads fields of these stages by path: one object stands for all of them.
        self._stage = self._jitted = self._call = self
        self.name, self.code = state["name"], state["code"]
        self.in_tree, self.out_tree = in_tree, out_tree
        self.arg_types = state["arguments"]
        self._donated, self.consts = state["donated"], state["consts"]
        self._written = (False,) * len(self.arg_types)
        self.in_avals = tree.unflatten(in_tree, self.arg_types)
        infos = map(ArgInfo, self.arg_types, self._donated)
        self.args_info = tree.unflatten(in_tree, list(infos))
        self.donate_argnums = tuple(i for i, d in enumerate(self._donated) if d)
        self.out_info = tree.unflatten(out_tree, list(map(struct_of, state["results"])))

    def names(self, _: Any) -> list[str]:
        """Return names of the leaves of the arguments."""
        return tree.leaf_names(self.in_tree)


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | Client | None = None,
    execution_devices: Sequence[Device] | None = None,
) -> Compiled:
    """Load a compiled program that `serialize` wrote.

    The bytes contain machine code: load only bytes that you trust.

    Args:
      serialized: the bytes.
      in_tree, out_tree: the structures of (args, kwargs) and of the result.
      backend: a platform such as 'cpu', or a client; None: the default one.
      execution_devices: the devices to run on; by default those with the same numbers as
        before.

    Returns:
      A compiled program, as from `compile`; it takes arguments of the same types.

    Raises:
      ValueError: the devices belong to another client, or are fewer than the program needs.

    Example:
      >>> import minijax as mj
      >>> written = serialize(mj.jit(lambda x: -x).lower(1).compile())
      >>> deserialize_and_load(*written)(2)
      Array(-2, dtype=int32, weak_type=True)
    """
    if backend is None or isinstance(backend, str):
        backend = clients.backend(backend)
    available = backend.devices() if execution_devices is None else list(execution_devices)
    if available and available[0].client != backend:
        other = available[0].client
        raise errors.value_error(
            "Execution devices belong to a client other than `backend`. Got backend"
            f" client: {(backend.platform, backend.platform_version)} and execution devices"
            f" client: {(other.platform, other.platform_version)}"
        )
    state = pickle.loads(serialized)
    devices = _devices(state["ids"], available, execution_devices is not None)
    options = compat.compile_options(devices, 1, len(devices), None)
    device_list = compat.DeviceList(tuple(devices))
    executable = compat.with_lapack(
        backend.deserialize_executable, state["code"], device_list, options
    )
    target = on_device(devices[0], state["committed"])
    if state["mesh"] is not None:
        sizes, names, types, ins, outs = state["mesh"]
        grid = np.array(devices, dtype=object).reshape(sizes)
        mesh = Mesh(grid, names, axis_types=types)
        target = partitions(
            mesh, *([_sharding_from_state(mesh, s) for s in row] for row in (ins, outs))
        )
    consts = [retained_constant(c, target) for c in state["consts"]]
    kept_indices, results = state["kept"], state["results"]
    # The executable has the layouts.
    target = target.with_layouts([None] * len(kept_indices), [None] * len(results))
    if len(kept_indices) == len(state["arguments"]) and not consts:
        kept_indices = None  # all of them
    program = Program(executable, target, results, (), consts, kept_indices)
    stages: Any = _LoadedStages(state, in_tree, out_tree)
    return Compiled(stages, program)


def _devices(ids: Sequence[int], available: Sequence[Any], is_explicit: bool) -> list[Any]:
    by_id = {d.id: d for d in available}
    if all(i in by_id for i in ids):
        return [by_id[i] for i in ids]
    if is_explicit and len(available) >= len(ids):
        return list(available[: len(ids)])
    raise errors.value_error(
        f"deserialize_and_load: the program needs devices {list(ids)}, but this process has"
        f" {sorted(by_id)}.",
        tries=["execution_devices=jax.devices()[:n]"],
    )


def _sharding_from_state(mesh: Mesh, state: Any) -> Any:
    return None if state is None else NamedSharding(mesh, state[0], memory_kind=state[1])
