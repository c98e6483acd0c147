"""The public module `minijax.experimental.colocated_python`: functions on the hosts."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"api.colocated": "colocated_cpu_devices colocated_python colocated_python_class"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, "api func obj serialization")
