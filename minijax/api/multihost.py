"""Communication between the processes of a program, between its steps.

Programs over the devices of all processes gather, broadcast and compare values.  Every
process must call each of these functions, in the same order.  They also work with one
process.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..control.calls.jit import jit
from ..prims import lax
from ..prims.host_local import (
    global_array_to_host_local_array_p,
    host_local_array_to_global_array_p,
)
from ..prims.sharding_constraint import broadcast_sharding_prefix
from ..runtime.arrays.array import ARRAYS
from ..runtime.backends import client
from ..runtime.backends.cluster import state
from ..runtime.running import device_put
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.placement import mesh_of
from ..runtime.sharding.shardings import NamedSharding

if TYPE_CHECKING:
    from ..ir.core import Primitive
    from ..runtime.backends.jaxlib_types import Device
    from ..types.aliases import PyTree

_HOSTS = "processes"


def _process_mesh() -> Mesh:
    """Return the devices of all processes as a mesh with one row per process."""
    devices = client.devices()
    grid = np.array(devices, dtype=object)
    return Mesh(grid.reshape(client.process_count(), -1), (_HOSTS, "local_devices"))


def _stacked_over_processes(x: np.ndarray[Any, Any]) -> Any:
    """Return the global array whose rows are the arrays of the processes."""
    return host_local_array_to_global_array_p.bind(
        x, global_mesh=_process_mesh(), pspec=PartitionSpec(_HOSTS)
    )


def _replicated_value(x: Any) -> np.ndarray[Any, Any]:
    """Return the global value of an array, on each process."""
    mesh = x.sharding.mesh if isinstance(x.sharding, NamedSharding) else None
    replicated = NamedSharding(mesh or mesh_of(x.sharding), PartitionSpec())
    return np.asarray(device_put.put_value(x, replicated))


def _is_global(x: Any) -> bool:
    return type(x) in ARRAYS and not x.is_fully_addressable


def _sum_of_rows(rows: Any) -> Any:
    """Return the sum of rows; at most one row is nonzero."""
    if rows.dtype == np.bool_:
        return lax.reduce_or(rows, (0,))
    return lax.reduce_sum(rows, (0,))


_choose = jit(_sum_of_rows)


def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> PyTree:
    """Give every process the values of one process.

    Args:
      in_tree: a pytree of arrays or numbers, of the same shapes and dtypes everywhere.
      is_source: whether this process provides the values; true in exactly one process.
        None: process 0 provides them.

    Returns:
      The tree with NumPy arrays.

    Example:
      >>> import numpy as np
      >>> broadcast_one_to_all({'a': np.arange(2)})
      {'a': array([0, 1])}
    """
    if client.process_count() == 1:
        return tree.map(np.asarray, in_tree)
    if is_source is None:
        is_source = client.backend().process_index() == 0

    def one(x: Any) -> Any:
        value = np.asarray(x)
        stacked = _stacked_over_processes((value if is_source else np.zeros_like(value))[None])
        return np.asarray(_choose(stacked).addressable_data(0))

    return tree.map(one, in_tree)


def process_allgather(in_tree: PyTree, tiled: bool = False) -> PyTree:
    """Gather the values of all processes.

    Args:
      in_tree: a pytree of arrays or numbers, of the same shapes and dtypes everywhere.
      tiled: concatenate the values along their first axis instead of stacking them.

    Returns:
      The tree with NumPy arrays: the values of all processes, in order of processes; for a
      global array, its value.

    Raises:
      ValueError: `tiled` is False for a global array.

    Example:
      >>> import numpy as np
      >>> process_allgather(np.arange(2))
      array([[0, 1]])
    """

    def one(x: Any) -> Any:
        if _is_global(x):
            if not tiled:
                raise errors.value_error(
                    "Gathering global non-fully-addressable arrays only supports tiled=True",
                    why="processes hold shards of one value, not separate values.",
                )
            return _replicated_value(x)
        value = np.asarray(x)
        is_single_process = client.process_count() == 1
        if not tiled or (value.ndim == 0 and not is_single_process):
            value = value[None]
        return value if is_single_process else _replicated_value(_stacked_over_processes(value))

    return tree.map(one, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until every process has called this function.

    Args:
      name: identifies the call; it must be the same in all processes.

    Returns:
      None.

    Raises:
      AssertionError: the names differ.

    Example:
      >>> sync_global_devices('saved')
    """
    number = np.uint32(zlib.crc32(name.encode()))
    assert_equal(number, f"sync_global_devices name mismatch ('{name}')")


def assert_equal(in_tree: PyTree, fail_message: str = "") -> None:
    """Raise AssertionError unless all processes have the same values.

    Args:
      in_tree: a pytree of arrays or numbers, of the same shapes and dtypes everywhere.
      fail_message: the start of the error's message.

    Returns:
      None.

    Raises:
      AssertionError: the values differ.

    Example:
      >>> assert_equal({'step': 3}, 'steps differ')
    """
    gathered = process_allgather(in_tree, tiled=True)
    count = client.process_count()

    def expected(x: Any) -> Any:
        if _is_global(x):
            return np.asarray(x.addressable_data(0))
        value = np.asarray(x)
        return np.concatenate([value[None] if value.ndim == 0 else value] * count)

    expected_leaves = tree.leaves(tree.map(expected, in_tree))
    pairs = zip(expected_leaves, tree.leaves(gathered), strict=True)
    if not all(np.all(np.equal(a, b)) for a, b in pairs):
        raise AssertionError(f"{fail_message}. Expected: {gathered}; got: {in_tree}.")


def _each(name: str, values: PyTree, mesh: Mesh, pspecs: PyTree, prim: Primitive) -> PyTree:
    leaves, treedef = tree.flatten(values)
    specs = broadcast_sharding_prefix(name, treedef, pspecs)
    out = [
        prim.bind(x, global_mesh=mesh, pspec=spec)
        for x, spec in zip(leaves, specs, strict=True)
    ]
    return tree.unflatten(treedef, out)


def host_local_array_to_global_array(
    local_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Create global arrays from the data of each process.

    Args:
      local_inputs: a pytree of arrays: this process's data.  Data of several processes is
        concatenated along mesh axes that cross processes; if a spec does not shard an axis
        over them, all processes must have the same data.
      global_mesh: a mesh of all devices, in which each process's devices form a subcube.
      pspecs: a `PartitionSpec` over the mesh, or a pytree prefix of them.

    Returns:
      A tree of global arrays; arrays that are global already are returned unchanged.

    Raises:
      ValueError: a spec is None or does not fit; or a process's devices are not a subcube.

    Example:
      >>> import minijax as mj, numpy as np
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> host_local_array_to_global_array(np.arange(2.), mesh, mj.P('x'))
      Array([0., 1.], dtype=float32)
    """
    return _each(
        "input pspecs", local_inputs, global_mesh, pspecs, host_local_array_to_global_array_p
    )


def global_array_to_host_local_array(
    global_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Return this process's part of global arrays, each as one array on its own devices.

    Args:
      global_inputs: a pytree of global arrays.
      global_mesh: a mesh of all devices, in which each process's devices form a subcube.
      pspecs: a `PartitionSpec` over the mesh, or a pytree prefix of them: the sharding
        before the arrays are divided among processes.

    Returns:
      A tree of arrays; arrays that this process holds completely are returned unchanged.

    Raises:
      ValueError: a spec is None or does not fit; or a process's devices are not a subcube.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> global_array_to_host_local_array(jnp.arange(2.), mesh, mj.P('x'))
      Array([0., 1.], dtype=float32)
    """
    return _each(
        "output pspecs", global_inputs, global_mesh, pspecs, global_array_to_host_local_array_p
    )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether a process is about to be ended, so all processes should save at this step.

    Args:
      step_id: the number of the step; every process calls this function at each step.

    Returns:
      True at one step, the same in all processes, after a process has received SIGTERM.

    Raises:
      RuntimeError: `jax_enable_preemption_service` is off.

    Example:
      >>> reached_preemption_sync_point(1)
      False
    """
    if state.client is None:
        return False
    if state.preemption_sync_manager is None:
        raise errors.error(
            RuntimeError,
            "Preemption sync manager has not been initialized. Make sure the"
            " 'jax_enable_preemption_service' config is enabled.",
            tries=["set it before jax.distributed.initialize()"],
        )
    return bool(state.preemption_sync_manager.reached_sync_point(step_id))


class ProcessFailureError(Exception):
    """Processes failed within `live_devices`; `failed_devices` are their devices."""

    def __init__(self, failed_devices: set[Any]) -> None:
        self.failed_devices = failed_devices
        super().__init__(f"Devices failed: {failed_devices}")


def _incarnations(devices: Sequence[Any]) -> dict[Any, int]:
    """Return the devices of live processes, with the incarnation of each process."""
    holders = {d.process_index for d in devices}
    if state.process_id not in holders:
        raise errors.value_error(
            "Provided devices do not have any local devices.",
            why="a process must have devices among them to agree on which processes live.",
        )
    incarnations = state.client.get_live_nodes(sorted(holders))
    return {
        d: incarnations[d.process_index] for d in devices if d.process_index in incarnations
    }


_last_incarnations: dict[Any, int] | None = None


@contextlib.contextmanager
def live_devices(devices: Sequence[Device]) -> Iterator[list[Device]]:
    """Yield those devices whose processes are alive, for use in a block.

    For programs that continue without processes that have died: set
    `jax_enable_recoverability` before `jax.distributed.initialize`.

    Args:
      devices: devices of this and other processes, all of which must enter the block.

    Returns:
      A context manager whose value is the list of live devices.

    Raises:
      ProcessFailureError: processes died within the block.
      ValueError: no device belongs to this process.
      RuntimeError: `jax.distributed` is not initialized.

    Example:
      >>> import minijax as mj
      >>> with live_devices(mj.devices()) as devices:  # doctest: +SKIP
      ...     step(devices)
    """
    global _last_incarnations
    if state.client is None:
        raise errors.error(RuntimeError, "Distributed JAX not initialized.")
    if not devices:
        raise errors.value_error("No devices provided.", tries=["jax.devices()"])
    incarnations_before = (
        _incarnations(devices) if _last_incarnations is None else _last_incarnations
    )
    failure: Exception | None = None
    try:
        yield sorted(incarnations_before, key=lambda d: d.id)
    except Exception as e:
        failure = e
    incarnations_after = _last_incarnations = _incarnations(devices)
    if failed := {
        d
        for d, incarnation in incarnations_before.items()
        if incarnations_after.get(d) != incarnation
    }:
        raise ProcessFailureError(failed) from failure
    if failure is not None:
        raise failure
