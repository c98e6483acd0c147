"""The public module `minijax.experimental.source_mapper.common`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "tools.source_maps": """
        CompileFn GenerateDumpFn Pass SourceMapDump all_passes compile_with_env
        filter_passes register_pass
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
