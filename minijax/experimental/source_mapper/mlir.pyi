"""The public module `minijax.experimental.source_mapper.mlir`."""

from ...tools.source_maps import CALLSITE_REGEX as CALLSITE_REGEX
from ...tools.source_maps import LOC_REGEX as LOC_REGEX
from ...tools.source_maps import Location as Location
from ...tools.source_maps import Redirect as Redirect
from ...tools.source_maps import SCOPED_REGEX as SCOPED_REGEX
from ...tools.source_maps import SRC_REGEX as SRC_REGEX
from ...tools.source_maps import create_mlir_sourcemap as create_mlir_sourcemap
from ...tools.source_maps import parse_mlir_locations as parse_mlir_locations

__all__ = [
    "CALLSITE_REGEX", "LOC_REGEX", "Location", "Redirect", "SCOPED_REGEX", "SRC_REGEX",
    "create_mlir_sourcemap", "parse_mlir_locations"
]
