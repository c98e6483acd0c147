"""Cluster environments as classes, which libraries subclass: `jax._src.clusters`.

`distributed.initialize` also tries the classes that a library defines.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..api.cluster_environments import ENVIRONMENTS, Environment


class ClusterEnv:
    """How the processes of a job find each other; subclasses define the class methods.

    name: the value of `cluster_detection_method` that selects it.
    opt_in_only_method: whether it is used only if it is selected by name.
    """

    name: str = ""
    opt_in_only_method: bool = False
    _cluster_types: ClassVar[list[type[ClusterEnv]]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ClusterEnv._cluster_types.append(cls)
        # A subclass that inherits `name` is registered under its class name: its parent
        # already has the other one.
        name = vars(cls).get("name") or cls.__name__
        ENVIRONMENTS.setdefault(
            name,
            Environment(
                cls.is_env_present,
                lambda port, seconds: cls.get_coordinator_address(int(seconds), port),
                cls.get_process_count,
                cls.get_process_id,
                cls.get_local_process_id,
                cls.opt_in_only_method,
            ),
        )

    @classmethod
    def is_env_present(cls) -> bool:
        """Whether this process belongs to such a job."""
        raise NotImplementedError("ClusterEnv subclasses must implement is_env_present")

    @classmethod
    def get_coordinator_address(
        cls, timeout_secs: int | None, override_coordinator_port: str | None
    ) -> str:
        """Return the `host:port` of the coordinating process."""
        raise NotImplementedError(
            "ClusterEnv subclasses must implement get_coordinator_address"
        )

    @classmethod
    def get_process_count(cls) -> int:
        """Return the number of processes in the job."""
        raise NotImplementedError("ClusterEnv subclasses must implement get_process_count")

    @classmethod
    def get_process_id(cls) -> int:
        """Return the number of this process."""
        raise NotImplementedError("ClusterEnv subclasses must implement get_process_id")

    @classmethod
    def get_local_process_id(cls) -> int | None:
        """Return the number of this process on its machine, if known."""
        return None


def _cluster_class(key: str, title: str) -> type[ClusterEnv]:
    """Return the class of one of our environments."""
    environment = ENVIRONMENTS[key]
    address = lambda timeout_secs, override_coordinator_port: environment.address(
        override_coordinator_port, timeout_secs or 300
    )
    return type(
        title,
        (ClusterEnv,),
        {
            "__doc__": f"Processes of a job that `cluster_detection_method={key!r}` selects.",
            "__module__": __name__,
            "name": key,
            "opt_in_only_method": environment.by_name_only,
            "is_env_present": staticmethod(environment.is_detected),
            "get_coordinator_address": staticmethod(address),
            "get_process_count": staticmethod(environment.processes),
            "get_process_id": staticmethod(environment.process),
            "get_local_process_id": staticmethod(environment.local),
        },
    )


OmpiCluster = _cluster_class("ompi", "OmpiCluster")
SlurmCluster = _cluster_class("slurm", "SlurmCluster")
Mpi4pyCluster = _cluster_class("mpi4py", "Mpi4pyCluster")
K8sCluster = _cluster_class("k8s", "K8sCluster")
