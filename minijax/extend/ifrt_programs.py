"""The public module `minijax.extend.ifrt_programs`: programs in jaxlib's own forms."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"runtime.backends.jaxlib_compat": "ifrt_programs"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
