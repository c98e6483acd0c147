"""The public module `minijax.experimental.control_deps`: dependencies that order operations."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.compiler_hints": "control_dep schedule"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
