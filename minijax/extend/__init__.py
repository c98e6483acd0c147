"""The public module `minijax.extend`: interfaces for libraries."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {}

_MODULES = (
    "backend core ifrt_programs linear_util lowering mlir random sharding source_info_util xla"
)

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
