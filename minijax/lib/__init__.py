"""The public module `minijax.lib`: the compiler library."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"views.backends": "__version__=jaxlib_version"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
