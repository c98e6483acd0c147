"""The face `minijax.extend.ifrt_programs`: programs in jaxlib's own forms."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {"runtime.jaxlib_compat": "ifrt_programs"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
