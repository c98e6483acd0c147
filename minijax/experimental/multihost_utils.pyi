"""The public module `minijax.experimental.multihost_utils`: communication between processes."""

from ..api.multihost import ProcessFailureError as ProcessFailureError
from ..api.multihost import assert_equal as assert_equal
from ..api.multihost import broadcast_one_to_all as broadcast_one_to_all
from ..api.multihost import global_array_to_host_local_array as global_array_to_host_local_array
from ..api.multihost import host_local_array_to_global_array as host_local_array_to_global_array
from ..api.multihost import live_devices as live_devices
from ..api.multihost import process_allgather as process_allgather
from ..api.multihost import reached_preemption_sync_point as reached_preemption_sync_point
from ..api.multihost import sync_global_devices as sync_global_devices
from ..prims.host_local import global_array_to_host_local_array_impl as global_array_to_host_local_array_impl
from ..prims.host_local import global_array_to_host_local_array_p as global_array_to_host_local_array_p
from ..prims.host_local import gtl_abstract_eval as gtl_abstract_eval
from ..prims.host_local import host_local_array_to_global_array_impl as host_local_array_to_global_array_impl
from ..prims.host_local import host_local_array_to_global_array_p as host_local_array_to_global_array_p
from ..prims.host_local import ltg_abstract_eval as ltg_abstract_eval
from ..prims.host_local import ltg_batcher as ltg_batcher
from ..runtime.sharding.partition_spec import PartitionSpec as P

__all__ = [
    "P", "ProcessFailureError", "assert_equal", "broadcast_one_to_all",
    "global_array_to_host_local_array", "global_array_to_host_local_array_impl",
    "global_array_to_host_local_array_p", "gtl_abstract_eval",
    "host_local_array_to_global_array", "host_local_array_to_global_array_impl",
    "host_local_array_to_global_array_p", "live_devices", "ltg_abstract_eval",
    "ltg_batcher", "process_allgather", "reached_preemption_sync_point",
    "sync_global_devices"
]
