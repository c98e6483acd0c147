"""The face `minijax.experimental.array_serialization.serialization`: arrays on disk."""

from ...api.checkpoint_managers import AsyncManager as AsyncManager
from ...api.checkpoint_managers import BarrierTimeoutError as BarrierTimeoutError
from ...api.checkpoint_managers import GlobalAsyncCheckpointManager as GlobalAsyncCheckpointManager
from ...api.checkpoint_managers import GlobalAsyncCheckpointManagerBase as GlobalAsyncCheckpointManagerBase
from ...api.stored_arrays import async_deserialize as async_deserialize
from ...api.stored_arrays import async_serialize as async_serialize
from ...api.stored_arrays import get_tensorstore_spec as get_tensorstore_spec
from ...api.stored_arrays import is_remote_storage as is_remote_storage
from ...api.stored_arrays import run_deserialization as run_deserialization
from ...api.stored_arrays import run_serialization as run_serialization

__all__ = [
    "AsyncManager", "BarrierTimeoutError", "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase", "async_deserialize", "async_serialize",
    "get_tensorstore_spec", "is_remote_storage", "run_deserialization",
    "run_serialization"
]
