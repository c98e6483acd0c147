"""The public module `minijax.experimental.scheduling_groups`: operations that run as a group."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "base.paired": "map=safe_map zip=safe_zip unsafe_map unsafe_zip",
    "api.compiler_hints": "scheduling_group xla_metadata_call xla_metadata_call_p",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
