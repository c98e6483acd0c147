"""The public module `minijax.experimental.array_serialization.serialization`: arrays on disk."""

from __future__ import annotations

from typing import Any

from ...api import array_serialization
from ...base.lazy_modules import lazy_module

_TABLE = {
    "api.checkpoint_managers": """
        AsyncManager BarrierTimeoutError GlobalAsyncCheckpointManager
        GlobalAsyncCheckpointManagerBase
    """,
    "api.array_serialization": """
        async_deserialize async_serialize get_tensorstore_spec is_remote_storage
        run_deserialization run_serialization
    """,
}

_get, __dir__, __all__ = lazy_module(__name__, _TABLE)


def __getattr__(name: str) -> Any:
    if name == "TS_CONTEXT":  # TensorStore's, which is imported when it is asked for
        try:
            return array_serialization.default()
        except ImportError as e:
            raise AttributeError(str(e)) from None
    return _get(name)
