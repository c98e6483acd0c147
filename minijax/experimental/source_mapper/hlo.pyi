"""The public module `minijax.experimental.source_mapper.hlo`."""

from ...tools.source_maps import HloPass as HloPass
from ...tools.source_maps import METADATA_REGEX as METADATA_REGEX
from ...tools.source_maps import optimized_generate_dump as optimized_generate_dump
from ...tools.source_maps import original_hlo_generate_dump as original_hlo_generate_dump
from ...tools.source_maps import parse_hlo_dump as parse_hlo_dump
from ...tools.source_maps import stable_hlo_generate_dump as stable_hlo_generate_dump
from ...tools.source_maps import trace_and_lower as trace_and_lower

__all__ = [
    "HloPass", "METADATA_REGEX", "optimized_generate_dump",
    "original_hlo_generate_dump", "parse_hlo_dump", "stable_hlo_generate_dump",
    "trace_and_lower"
]
