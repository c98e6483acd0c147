"""The face `minijax.lib`: the compiler library."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"views.backends": "__version__=jaxlib_version"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
