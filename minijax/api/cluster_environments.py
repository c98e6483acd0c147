"""Cluster launchers, which pass settings to processes by environment variables.

SLURM, Open MPI, Kubernetes (indexed jobs) and `minijax.launch`; also MPI through mpi4py,
if the user requests it by name.  Next: distributed.py, which calls `find`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import socket
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ..base import errors

# Ports for the coordinator: the last 4096.  Every process computes the port from the job's
# number, so that all agree without communication.
_FIRST_PORT = 65536 - 4096


class Environment(NamedTuple):
    """How a process of one kind of job finds its coordinator and its number."""

    is_detected: Callable[[], bool]  # whether this process belongs to such a job
    address: Callable[[str | None, float], str]  # from a port (or None) and a timeout
    processes: Callable[[], int]
    process: Callable[[], int]
    local: Callable[[], int | None]  # the number among this machine's processes
    by_name_only: bool = False  # used only if the user requests it by name


def _number(name: str) -> Callable[[], int]:
    return lambda: int(os.environ[name])


def _all_set(*names: str) -> Callable[[], bool]:
    return lambda: all(name in os.environ for name in names)


def _port(number: int) -> int:
    return number % 4096 + _FIRST_PORT


# ------------------------------------------------------------------------------- SLURM


def _slurm_address(port: str | None, _: float) -> str:
    """Return the first host of a list such as `node[001-004,007],other`."""
    nodes = os.environ["SLURM_STEP_NODELIST"]
    match = re.match(r"([^,\[]+)(?:\[([^,\-\]]+))?", nodes)
    if match is None:
        raise errors.error(RuntimeError, f"SLURM_STEP_NODELIST={nodes!r} contains no host.")
    host = match[1] + (match[2] or "")
    return f"{host}:{port or _port(int(os.environ['SLURM_JOB_ID']))}"


_SLURM = Environment(
    _all_set(
        "SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"
    ),
    _slurm_address,
    _number("SLURM_NTASKS"),
    _number("SLURM_PROCID"),
    _number("SLURM_LOCALID"),
)


# ---------------------------------------------------------------------------- Open MPI


_OMPI_URI = "OMPI_MCA_orte_hnp_uri"


def _ompi_address(port: str | None, _: float) -> str:
    """Return the launcher's host, from `job.0;tcp://10.0.0.1,10.1.0.1:34911` or `tcp6://[`."""
    uri = os.environ[_OMPI_URI]
    match = re.search(r"tcp://([^,:]+)|tcp6://\[([^,\]]+)", uri)
    if match is None:
        raise errors.error(
            RuntimeError,
            "Could not parse coordinator IP address from Open MPI environment.",
            which=f"OMPI_MCA_orte_hnp_uri={uri!r}",
            tries=["jax.distributed.initialize(coordinator_address='host:port')"],
        )
    host = match[1] or f"[{match[2]}]"
    return f"{host}:{port or _port(int(uri.split('.')[0]) // 4096)}"


_OMPI = Environment(
    _all_set(_OMPI_URI),
    _ompi_address,
    _number("OMPI_COMM_WORLD_SIZE"),
    _number("OMPI_COMM_WORLD_RANK"),
    _number("OMPI_COMM_WORLD_LOCAL_RANK"),
)


# -------------------------------------------------------------------------------- MPI


def _world() -> Any:
    return importlib.import_module("mpi4py.MPI").COMM_WORLD


def _mpi_address(port: str | None, _: float) -> str:
    """Return the host of rank 0, which a broadcast sends to all ranks."""
    world, host = _world(), socket.gethostname()
    address = f"{host}:{port or _port(sum(host.encode()))}"
    return str(world.bcast(address if world.Get_rank() == 0 else None, root=0))


def _mpi_local() -> int:
    shared = importlib.import_module("mpi4py.MPI").COMM_TYPE_SHARED
    return int(_world().Split_type(shared).Get_rank())


_MPI = Environment(
    lambda: importlib.util.find_spec("mpi4py") is not None,
    _mpi_address,
    lambda: int(_world().Get_size()),
    lambda: int(_world().Get_rank()),
    _mpi_local,
    by_name_only=True,
)


# -------------------------------------------------------------------------- Kubernetes

_KUBERNETES_PORT = "55527"
_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


def _in_kubernetes() -> bool:
    if "KUBERNETES_SERVICE_HOST" not in os.environ:
        return False
    if importlib.util.find_spec("kubernetes") is not None:
        return True
    warnings.warn(
        "Kubernetes environment detected, but the `kubernetes` package is not installed to"
        " enable automatic bootstrapping in this environment: pip install kubernetes.",
        stacklevel=3,
    )
    return False


def _kubernetes() -> Any:
    kubernetes = importlib.import_module("kubernetes")
    kubernetes.config.load_incluster_config()
    return kubernetes.client


def _job_and_pod() -> tuple[Any, Any]:
    """Return the job of this pod, and the pod, from the API server."""
    api = _kubernetes()
    with open(_NAMESPACE) as f:
        namespace = f.read().strip()
    ip = socket.gethostbyname(os.environ["HOSTNAME"])
    try:
        pods = api.CoreV1Api().list_namespaced_pod(
            namespace=namespace, field_selector=f"status.podIP={ip}"
        )
        pod = pods.items[0]
        job = api.BatchV1Api().read_namespaced_job(
            name=pod.metadata.labels["job-name"], namespace=namespace
        )
    except api.exceptions.ApiException as e:
        raise errors.error(
            RuntimeError,
            f"Kubernetes API Error: {e.status} - {e.reason}",
            why="this pod's service account must be allowed to read pods and jobs."
            if e.status == 403
            else None,
            tries=["jax.distributed.initialize(address, num_processes, process_id)"],
        ) from e
    except (IndexError, KeyError):
        raise errors.error(
            RuntimeError,
            "In K8s, cluster automatic bootstrap only supports Job/JobSet.",
            why="this pod does not belong to a job.",
            tries=["jax.distributed.initialize(address, num_processes, process_id)"],
        ) from None
    return job, pod


def _kubernetes_address(port: str | None, timeout: float) -> str:
    """Return the host of the job's first pod, under the service that its pods share."""
    job, pod = _job_and_pod()
    labels = job.metadata.labels or {}
    group = labels.get("jobset.sigs.k8s.io/jobset-name") or pod.spec.subdomain
    if group is None:
        raise errors.error(
            RuntimeError,
            "Pods within a job need a headless service in order to communicate with each"
            " other.",
            why="the pods have no spec.subdomain, which is part of the first pod's host name.",
            tries=["spec.template.spec.subdomain: <name of a headless service>"],
        )
    host = f"{job.metadata.name}-0.{group}"
    deadline = time.monotonic() + timeout
    while True:  # the first pod may not have a DNS name yet
        try:
            socket.getaddrinfo(host, None)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    return f"{host}:{port or _KUBERNETES_PORT}"


def _kubernetes_index() -> int:
    index = os.environ.get("JOB_COMPLETION_INDEX")
    if index is None:
        raise errors.error(
            RuntimeError,
            "To enable automatic bootstrap in a K8s cluster, jobs must be indexed by"
            ' setting `completionMode: "Indexed"`.',
        )
    return int(index)


_KUBERNETES = Environment(
    _in_kubernetes,
    _kubernetes_address,
    lambda: int(_job_and_pod()[0].spec.parallelism),
    _kubernetes_index,
    lambda: None,
)


# --------------------------------------------------------------------- minijax.launch

ADDRESS, COUNT, INDEX = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
_LAUNCHED = Environment(
    _all_set(ADDRESS, COUNT, INDEX),
    lambda *_: os.environ[ADDRESS],
    _number(COUNT),
    _number(INDEX),
    lambda: None,
)

ENVIRONMENTS = {
    "launch": _LAUNCHED,
    "ompi": _OMPI,
    "slurm": _SLURM,
    "mpi4py": _MPI,
    "k8s": _KUBERNETES,
}


def find(method: str | None) -> Environment | None:
    """Return the environment of this process, or the one that `method` names."""
    if method is None:
        automatic = ENVIRONMENTS.values()
        return next((e for e in automatic if not e.by_name_only and e.is_detected()), None)
    environment = ENVIRONMENTS.get(method)
    if environment is None or not environment.is_detected():
        wrong = "is not available" if environment else "is unknown"
        raise errors.value_error(
            f"jax.distributed.initialize(): cluster_detection_method={method!r} {wrong}.",
            why="its environment variables are not set." if environment else None,
            tries=[", ".join(map(repr, (*ENVIRONMENTS, "deactivate")))],
        )
    return environment
