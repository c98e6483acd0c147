"""The face `minijax.experimental.colocated_python.obj`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"api.colocated": "wrap_class"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
