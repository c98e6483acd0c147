"""The public module `minijax.experimental.colocated_python.serialization`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"runtime.backends.jaxlib_compat": "DeviceList"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
