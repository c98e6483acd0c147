"""The face `minijax.experimental.pjit`: what `jit` was called over meshes."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {"api.aot": "pjit=jit"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
