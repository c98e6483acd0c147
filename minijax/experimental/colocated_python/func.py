"""The public module `minijax.experimental.colocated_python.func`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"api.colocated": "make_callable"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
