"""The public module `minijax.experimental.pjit`: `jit` over the mesh of a block."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.aot": "pjit"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
