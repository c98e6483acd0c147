"""Environments of jobs as classes, as libraries extend them: `jax._src.clusters`.

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
        # A subclass of one of these is tried by name alone: its parent comes first.
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
        """Whether this process is one of such a job."""
        raise NotImplementedError("ClusterEnv subclasses must implement is_env_present")

    @classmethod
    def get_coordinator_address(
        cls, timeout_secs: int | None, override_coordinator_port: str | None
    ) -> str:
        """The `host:port` of the process that coordinates."""
        raise NotImplementedError(
            "ClusterEnv subclasses must implement get_coordinator_address"
        )

    @classmethod
    def get_process_count(cls) -> int:
        """How many processes the job has."""
        raise NotImplementedError("ClusterEnv subclasses must implement get_process_count")

    @classmethod
    def get_process_id(cls) -> int:
        """The number of this process."""
        raise NotImplementedError("ClusterEnv subclasses must implement get_process_id")

    @classmethod
    def get_local_process_id(cls) -> int | None:
        """The number of this process among those of its machine, if it is known."""
        return None


def _of(key: str, title: str) -> type[ClusterEnv]:
    """The class of one of our environments."""
    found = ENVIRONMENTS[key]
    address = lambda timeout_secs, override_coordinator_port: found.address(
        override_coordinator_port, timeout_secs or 300
    )
    return type(
        title,
        (ClusterEnv,),
        {
            "__doc__": f"Processes of a job that `cluster_detection_method={key!r}` selects.",
            "__module__": __name__,
            "name": key,
            "opt_in_only_method": found.by_name_only,
            "is_env_present": staticmethod(found.is_detected),
            "get_coordinator_address": staticmethod(address),
            "get_process_count": staticmethod(found.processes),
            "get_process_id": staticmethod(found.process),
            "get_local_process_id": staticmethod(found.local),
        },
    )


OmpiCluster = _of("ompi", "OmpiCluster")
SlurmCluster = _of("slurm", "SlurmCluster")
Mpi4pyCluster = _of("mpi4py", "Mpi4pyCluster")
K8sCluster = _of("k8s", "K8sCluster")
