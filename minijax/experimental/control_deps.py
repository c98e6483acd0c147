"""The face `minijax.experimental.control_deps`: the order of operations."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {"api.hints": "control_dep schedule"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
