"""The face `minijax.experimental.source_mapper.generate_map`."""

from __future__ import annotations

from ...base.faces import face

_TABLE = {"tools.source_maps": "SourceMapGeneratorFn generate_sourcemaps"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
