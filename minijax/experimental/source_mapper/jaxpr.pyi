"""The public module `minijax.experimental.source_mapper.jaxpr`."""

from ...tools.source_maps import canonicalize_filename as canonicalize_filename
from ...tools.source_maps import compile_jaxpr as compile_jaxpr
from ...tools.source_maps import make_jaxpr_dump as make_jaxpr_dump

__all__ = [
    "canonicalize_filename", "compile_jaxpr", "make_jaxpr_dump"
]
