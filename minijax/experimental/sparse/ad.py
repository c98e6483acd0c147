"""The public module `minijax.experimental.sparse.ad`: derivatives."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.sparse.derivatives": "grad jacfwd jacobian jacrev value_and_grad"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
