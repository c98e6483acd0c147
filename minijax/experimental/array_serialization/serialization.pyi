"""The public module `minijax.experimental.array_serialization.serialization`: arrays on disk."""

from ...api.array_serialization import async_deserialize as async_deserialize
from ...api.array_serialization import async_serialize as async_serialize
from ...api.array_serialization import get_tensorstore_spec as get_tensorstore_spec
from ...api.array_serialization import is_remote_storage as is_remote_storage
from ...api.array_serialization import run_deserialization as run_deserialization
from ...api.array_serialization import run_serialization as run_serialization
from ...api.checkpoint_managers import AsyncManager as AsyncManager
from ...api.checkpoint_managers import BarrierTimeoutError as BarrierTimeoutError
from ...api.checkpoint_managers import GlobalAsyncCheckpointManager as GlobalAsyncCheckpointManager
from ...api.checkpoint_managers import GlobalAsyncCheckpointManagerBase as GlobalAsyncCheckpointManagerBase

__all__ = [
    "AsyncManager", "BarrierTimeoutError", "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase", "async_deserialize", "async_serialize",
    "get_tensorstore_spec", "is_remote_storage", "run_deserialization",
    "run_serialization"
]
