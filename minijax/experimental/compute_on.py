"""The public module `minijax.experimental.compute_on`: where to compute."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.compiler_hints": "compute_on compute_on2"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
