"""The face `minijax.experimental.profiler`: what the compiler learns of profiles."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"api.profiler": "get_profiled_instructions_proto"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
