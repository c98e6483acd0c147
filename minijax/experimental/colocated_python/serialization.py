"""The face `minijax.experimental.colocated_python.serialization`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"runtime.backends.jaxlib_compat": "DeviceList"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
