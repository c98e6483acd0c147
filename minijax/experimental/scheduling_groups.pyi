"""The face `minijax.experimental.scheduling_groups`: operations that run as a group."""

from ..api.hints import scheduling_group as scheduling_group
from ..api.hints import xla_metadata_call as xla_metadata_call
from ..api.hints import xla_metadata_call_p as xla_metadata_call_p

__all__ = [
    "scheduling_group", "xla_metadata_call", "xla_metadata_call_p"
]
