"""The public module `minijax.experimental.sparse.linalg`: linear systems, eigenvalues."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.direct": "spsolve spsolve_p",
    "surface.sparse.eigenvalues": "lobpcg_standard",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
