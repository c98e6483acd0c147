"""The face `minijax.interpreters.pxla`."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {
    "runtime.mesh": "Mesh",
    "views.meshes": "thread_resources",
}  # fmt: skip

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
