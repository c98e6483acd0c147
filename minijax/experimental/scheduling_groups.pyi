"""The public module `minijax.experimental.scheduling_groups`: operations that run as a group."""

from ..api.compiler_hints import scheduling_group as scheduling_group
from ..api.compiler_hints import xla_metadata_call as xla_metadata_call
from ..api.compiler_hints import xla_metadata_call_p as xla_metadata_call_p
from ..base.paired import safe_map as map
from ..base.paired import safe_zip as zip
from ..base.paired import unsafe_map as unsafe_map
from ..base.paired import unsafe_zip as unsafe_zip

__all__ = [
    "map", "scheduling_group", "unsafe_map", "unsafe_zip", "xla_metadata_call",
    "xla_metadata_call_p", "zip"
]
