"""The public module `minijax.experimental.multihost_utils`: communication between processes."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "runtime.sharding.partition_spec": "P=PartitionSpec",
    "prims.host_local": """
        global_array_to_host_local_array_impl global_array_to_host_local_array_p
        gtl_abstract_eval host_local_array_to_global_array_impl
        host_local_array_to_global_array_p ltg_abstract_eval ltg_batcher
    """,
    "api.multihost": """
        ProcessFailureError assert_equal broadcast_one_to_all
        global_array_to_host_local_array host_local_array_to_global_array live_devices
        process_allgather reached_preemption_sync_point sync_global_devices
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
