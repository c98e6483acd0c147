"""The public module `minijax.experimental.source_mapper.hlo`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "tools.source_maps": """
        METADATA_REGEX HloPass optimized_generate_dump original_hlo_generate_dump
        parse_hlo_dump stable_hlo_generate_dump trace_and_lower
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
