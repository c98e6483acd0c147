"""One program in many processes: `initialize`, called first, and `shutdown`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from ..base import config, errors
from ..runtime.backends import client
from ..runtime.backends.cluster import partition_from_environment, state
from ..runtime.backends.process_membership import ProcessMembership
from . import cluster_environments


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Join the processes that run the same program over all their devices.

    Arguments that are left out are read from the environment of SLURM, Open MPI, an indexed
    Kubernetes job, or `python -m minijax.launch`.

    Args:
      coordinator_address: `host:port` at which process 0 listens.
      num_processes: the number of processes.
      process_id: the number of this process, from 0.
      local_device_ids: which GPUs of the machine belong to this process; None: all, except
        under SLURM and MPI, where each process has one.
      cluster_detection_method: 'slurm', 'ompi', 'k8s', 'launch', or 'mpi4py'; 'deactivate':
        read no environment; None: the detected one ('mpi4py' only by name).
      initialization_timeout: how many seconds to wait for the other processes.
      heartbeat_timeout_seconds: after how many seconds without a sign a process counts as
        dead.
      shutdown_timeout_seconds: how many seconds to wait for the others at the end.
      coordinator_bind_address: the address at which process 0 listens; None: all addresses.
      slice_index: the old name of `partition_index`.
      partition_index: the number of the machine's partition that this process belongs to.

    Returns:
      None, once all processes have joined.

    Raises:
      RuntimeError: devices have been used already, this is the second call, or a process
        did not join in time; the message names the process.
      ValueError: an argument is missing or out of range.
      TypeError: a number is not an int.

    Example:
      >>> import minijax as mj
      >>> mj.distributed.initialize('10.0.0.1:1234', 2, 0)  # doctest: +SKIP

    Differs from JAX: the error names a missing process, and when a process dies the others
    end immediately with an error.
    """
    if client.started():
        raise errors.error(
            RuntimeError,
            "jax.distributed.initialize() must be called before any JAX calls that might"
            " initialise the XLA backend. This includes any computation, but also calls to"
            " jax.devices, jax.device_put, and others.",
            why="devices of other processes cannot be added to a client.",
            tries=["call it first, right after the imports"],
        )
    address = coordinator_address or os.environ.get(cluster_environments.ADDRESS)
    ids = _device_ids(local_device_ids)
    settings = (address, num_processes, process_id, ids)
    if cluster_detection_method != "deactivate" and None in settings:
        environment = cluster_environments.find(cluster_detection_method)
        if environment is not None:
            port = os.environ.get("JAX_COORDINATOR_PORT")
            address = address or environment.address(port, initialization_timeout)
            num_processes = environment.processes() if num_processes is None else num_processes
            process_id = environment.process() if process_id is None else process_id
            if ids is None and (local_id := environment.local()) is not None:
                ids = [local_id]
    count, process_index = _checked_count_and_index(address, num_processes, process_id)
    bind = coordinator_bind_address or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS")
    assert address is not None
    if bind is None:
        bind = "[::]:" + address.rpartition(":")[2]
    if ids:
        config.config.update("jax_cuda_visible_devices", ",".join(map(str, ids)))
    if partition_index is None and slice_index is not None:
        warnings.warn(
            "`slice_index` has been deprecated. Please use `partition_index` instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        partition_index = slice_index
    if partition_index is None:
        partition_index = partition_from_environment()
    is_watched = count > 1 and not config.RECOVERABLE.value
    state.join(
        address,
        bind,
        count,
        process_index,
        initialization_timeout,
        heartbeat_timeout_seconds,
        shutdown_timeout_seconds,
        partition_index,
        ProcessMembership(process_index, count) if is_watched else None,
    )


def _device_ids(user_value: int | Sequence[int] | None) -> list[int] | None:
    if isinstance(user_value, int):
        return [user_value]
    if user_value is None and (ids_text := os.environ.get("JAX_LOCAL_DEVICE_IDS")):
        return list(map(int, ids_text.split(",")))
    return None if user_value is None else list(user_value)


def _checked_count_and_index(address: Any, count: Any, process_index: Any) -> tuple[int, int]:
    """Return the number of processes and this one's index, or raise if one is missing."""
    tries = ["jax.distributed.initialize('host:port', num_processes, process_id)"]
    for value, wrong in (
        (address, "coordinator_address should be defined."),
        (count, "Number of processes must be defined."),
        (process_index, "The process id of the current process must be defined."),
    ):
        if value is None:
            raise errors.value_error(
                wrong,
                why="it was not passed, and no detected environment provides it.",
                tries=tries,
            )
    for name, value, kind in (
        ("process_id", process_index, "nonnegative"),
        ("num_processes", count, "positive"),
    ):
        if not isinstance(value, int):
            raise errors.type_error(
                f"{name} must be a {kind} int. Got {name}={value} of type {type(value)}."
            )
    if not 0 <= process_index < count:
        raise errors.value_error(
            "process_id and num_processes must be nonnegative, with process_id <"
            f" num_processes. Got process_id={process_index}, num_processes={count}.",
            tries=tries,
        )
    return count, process_index


def is_initialized() -> bool:
    """Whether this process is one of several.

    Returns:
      True between `initialize` and `shutdown`.

    Example:
      >>> import minijax as mj
      >>> mj.distributed.is_initialized()
      False
    """
    return state.client is not None


def shutdown() -> None:
    """Leave the job, once all processes do; do nothing if there is no job.

    A process that ends normally calls this at exit.

    Returns:
      None.

    Example:
      >>> import minijax as mj
      >>> mj.distributed.shutdown()
    """
    state.leave()
