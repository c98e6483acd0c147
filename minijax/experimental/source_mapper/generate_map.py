"""The public module `minijax.experimental.source_mapper.generate_map`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"tools.source_maps": "SourceMapGeneratorFn generate_sourcemaps"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
