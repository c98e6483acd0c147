"""The public module `minijax.experimental.source_mapper`: source lines of programs."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "tools.source_maps": """
        MappingsGenerator Pass SourceMap SourceMapDump all_passes canonicalize_filename
        compile_with_env create_mlir_sourcemap filter_passes generate_sourcemaps
        register_pass
    """
}

__getattr__, __dir__, __all__ = lazy_module(
    __name__, _TABLE, "common generate_map hlo jaxpr mlir"
)
