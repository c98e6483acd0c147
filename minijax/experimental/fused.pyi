"""The public module `minijax.experimental.fused`: functions that run as one kernel."""

from ..api.compiler_hints import fused as fused
from ..api.compiler_hints import fused_p as fused_p
from ..base.paired import safe_map as map
from ..base.paired import safe_zip as zip
from ..base.paired import unsafe_map as unsafe_map
from ..base.paired import unsafe_zip as unsafe_zip

__all__ = [
    "fused", "fused_p", "map", "unsafe_map", "unsafe_zip", "zip"
]
