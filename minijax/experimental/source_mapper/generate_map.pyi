"""The public module `minijax.experimental.source_mapper.generate_map`."""

from ...tools.source_maps import SourceMapGeneratorFn as SourceMapGeneratorFn
from ...tools.source_maps import generate_sourcemaps as generate_sourcemaps

__all__ = [
    "SourceMapGeneratorFn", "generate_sourcemaps"
]
