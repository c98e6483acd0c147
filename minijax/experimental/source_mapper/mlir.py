"""The public module `minijax.experimental.source_mapper.mlir`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "tools.source_maps": """
        CALLSITE_REGEX LOC_REGEX SCOPED_REGEX SRC_REGEX Location Redirect
        create_mlir_sourcemap parse_mlir_locations
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
