"""The public module `minijax.experimental.source_mapper`: source lines of programs."""

from ...tools.source_maps import MappingsGenerator as MappingsGenerator
from ...tools.source_maps import Pass as Pass
from ...tools.source_maps import SourceMap as SourceMap
from ...tools.source_maps import SourceMapDump as SourceMapDump
from ...tools.source_maps import all_passes as all_passes
from ...tools.source_maps import canonicalize_filename as canonicalize_filename
from ...tools.source_maps import compile_with_env as compile_with_env
from ...tools.source_maps import create_mlir_sourcemap as create_mlir_sourcemap
from ...tools.source_maps import filter_passes as filter_passes
from ...tools.source_maps import generate_sourcemaps as generate_sourcemaps
from ...tools.source_maps import register_pass as register_pass
from . import common as common
from . import generate_map as generate_map
from . import hlo as hlo
from . import jaxpr as jaxpr
from . import mlir as mlir

__all__ = [
    "MappingsGenerator", "Pass", "SourceMap", "SourceMapDump", "all_passes",
    "canonicalize_filename", "common", "compile_with_env", "create_mlir_sourcemap",
    "filter_passes", "generate_map", "generate_sourcemaps", "hlo", "jaxpr", "mlir",
    "register_pass"
]
