"""The public module `minijax.experimental.profiler`: profiles for the compiler."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.profiler": "get_profiled_instructions_proto"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
