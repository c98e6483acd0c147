"""The cluster: jaxlib's coordination service, and this process's role in it.

Process 0 runs the service, and every process is a client of it. Through it, processes
discover all devices and exchange small values. Without `distributed.initialize` there is
one process. Next: client.py, whose clients use it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from ...base import config, errors, log
from . import jaxlib_compat as compat

if TYPE_CHECKING:
    from .jaxlib_types import CoordinationClient, CoordinationService
    from .process_membership import ProcessMembership


class Cluster:
    """The state of this process in the cluster. Libraries read its attributes by JAX's
    names."""

    def __init__(self) -> None:
        self.process_id = 0
        self.num_processes = 1
        self.service: CoordinationService | None = None  # in process 0
        self.client: CoordinationClient | Any = None  # None: there is no cluster
        self.preemption_sync_manager: Any = None
        self.coordinator_address: str | None = None
        self.partition_index: int | None = None
        self.membership: ProcessMembership | None = (
            None  # a ProcessMembership, if processes are watched
        )
        self._collectives: Any = None

    def join(
        self,
        address: str,
        bind: str,
        num_processes: int,
        process_id: int,
        timeout: int,
        heartbeat: int,
        shutdown: int,
        partition_index: int | None,
        membership: ProcessMembership | None,
    ) -> None:
        """Join the cluster, once `membership` has gathered all processes.

        Raises:
          RuntimeError: another process is missing, or this one is already in a cluster.
        """
        if self.client is not None:
            raise errors.error(
                RuntimeError, "distributed.initialize should only be called once."
            )
        split_address(address)
        _warn_of_proxies()
        if membership is not None:
            membership.gather(address, bind, timeout)
        if process_id == 0:
            self.service = compat.coordination_service(
                bind, num_processes, heartbeat, shutdown, bool(config.RECOVERABLE.value)
            )
        if membership is not None:
            membership.open()
        client = compat.coordination_client(address, process_id, timeout, heartbeat, shutdown)
        client.connect()
        self.client, self.membership = client, membership
        self.process_id, self.num_processes = process_id, num_processes
        self.coordinator_address, self.partition_index = address, partition_index
        if config.PREEMPTION.value:
            self.preemption_sync_manager = compat.preemption_manager(client)
        if membership is not None:
            membership.watch()
        _register_exit_hooks()
        log.log_line(
            config.DISTRIBUTED_DEBUG.value,
            "Process %s of %s, coordinated at %s.",
            process_id,
            num_processes,
            address,
        )

    def leave(self) -> None:
        """Leave the cluster, after all other processes do."""
        if self.membership is not None:
            self.membership.leave()
        if self.preemption_sync_manager is not None:
            self.preemption_sync_manager.shutdown()
        if self.client is not None:
            self.client.shutdown()
        if self.membership is not None:
            self.membership.close()
        if self.service is not None:
            self.service.shutdown()
        self.service = self.client = self.preemption_sync_manager = self.membership = None

    # ---- exchange of values
    def key_value_set(self, key: str, value: bytes) -> None:
        """Publish a value to all processes."""
        self.client.key_value_set_bytes(key, value, allow_overwrite=True)

    def blocking_key_value_get(self, key: str) -> bytes:
        """Return a value that another process publishes; wait for it."""
        while True:
            try:
                return self.client.blocking_key_value_get_bytes(key, 10_000)
            except compat.RuntimeFailure as e:
                if "DEADLINE_EXCEEDED" not in str(e):
                    raise

    # ---- options of platform clients
    def for_cpu(self) -> dict[str, Any]:
        """Return the arguments of a CPU client in a cluster."""
        if self.client is None:
            return {}
        return {
            "distributed_client": self.client,
            "node_id": self.process_id,
            "num_nodes": self.num_processes,
            "collectives": self._cpu_collectives(),
            "get_local_topology_timeout_minutes": config.LOCAL_TOPOLOGY.value,
            "get_global_topology_timeout_minutes": config.GLOBAL_TOPOLOGY.value,
        }

    def _cpu_collectives(self) -> Any:
        if config.CPU_COLLECTIVES.value == "mpi":
            if self._collectives is None:
                self._collectives = compat.mpi_collectives()
                self._collectives.Init()
                atexit.register(self._collectives.Finalize)
            return self._collectives
        host, _ = split_address(self.coordinator_address or "")
        near = host in ("localhost", "::1") or host.startswith("127.")
        # On one machine, its host name need not resolve to a reachable address.
        return compat.gloo_collectives(self.client, "127.0.0.1" if near else None)

    def for_cuda(self) -> dict[str, Any]:
        """Return the options of a GPU client in a cluster."""
        if self.client is None:
            return {}
        options = {"node_id": self.process_id, "num_nodes": self.num_processes}
        if self.partition_index is not None:
            options["partition_index"] = self.partition_index
        return options


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of `host:port` or `[host]:port`; raise ValueError otherwise."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise errors.value_error(
            f"the coordinator's address is not a host and a port: {address!r}.",
            tries=["'10.0.0.1:1234'", "'[::1]:1234'"],
        )
    return host.strip("[]"), int(port)


def _warn_of_proxies() -> None:
    if config.CHECK_PROXIES.value:
        proxies = [name for name in os.environ if "_proxy" in name.lower()]
        if proxies:
            log.logger.warning(
                "JAX detected proxy variable(s) in the environment as distributed setup:"
                " %s. On some systems, this may cause a hang of distributed.initialize"
                " and you may need to unset these ENV variable(s)",
                " ".join(proxies),
            )


state = Cluster()
_ready_for_exit = False


def _register_exit_hooks() -> None:
    global _ready_for_exit
    if _ready_for_exit:
        return
    _ready_for_exit = True
    before = sys.excepthook

    def hook(kind: Any, value: Any, traceback: Any) -> None:
        before(kind, value, traceback)
        _on_failure(kind, f"{kind.__name__}: {value}"[:2000])

    sys.excepthook = hook
    atexit.register(_at_exit)


_failed = False


def _on_failure(kind: type, why: str) -> None:
    """Notify the other processes of the error that ends this one, unless one of them caused
    it."""
    global _failed
    _failed = True
    membership = state.membership
    if membership is not None and not membership.explain(
        issubclass(kind, compat.RuntimeFailure)
    ):
        membership.fail(why)


def _at_exit() -> None:
    """Leave the cluster at exit; a process that failed does not wait for the others."""
    if not _failed:
        state.leave()
    else:
        # Keep both alive to the end of the interpreter: if the service is freed before the
        # client, it ends the process with a message of its own.
        for thing in (state.service, state.client):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        if state.membership is not None:
            state.membership.leave()
            state.membership.close()


def partition_from_environment() -> int | None:
    """Return the partition index set in the environment, or None."""
    index = os.environ.get("JAX_PARTITION_INDEX")
    if index is None and (index := os.environ.get("JAX_SLICE_INDEX")) is not None:
        warnings.warn(
            "JAX_SLICE_INDEX has been deprecated. Please use JAX_PARTITION_INDEX instead.",
            DeprecationWarning,
            stacklevel=3,
        )
    return None if index is None else int(index)
