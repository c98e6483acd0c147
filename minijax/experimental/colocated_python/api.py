"""The public module `minijax.experimental.colocated_python.api`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "api.colocated": (
        "colocated_cpu_devices colocated_python colocated_python_class make_callable wrap_class"
    )
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
