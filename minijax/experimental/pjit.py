"""The face `minijax.experimental.pjit`: `jit` over the mesh of a block."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"api.aot": "pjit"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
