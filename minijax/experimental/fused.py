"""The public module `minijax.experimental.fused`: functions that run as one kernel."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.compiler_hints": "fused fused_p",
    "base.paired": "map=safe_map zip=safe_zip unsafe_map unsafe_zip",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
