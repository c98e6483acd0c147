"""The face `minijax.experimental.colocated_python.api`."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {
    "api.colocated": (
        "colocated_cpu_devices colocated_python colocated_python_class make_callable wrap_class"
    )
}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
