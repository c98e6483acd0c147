"""The public module `minijax.experimental.source_mapper.jaxpr`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"tools.source_maps": "canonicalize_filename compile_jaxpr make_jaxpr_dump"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
