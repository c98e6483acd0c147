"""The public module `minijax.scipy.sparse.linalg`: iterative solvers of linear systems."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.scipy.krylov.conjugate": "bicgstab cg",
    "surface.scipy.krylov.gmres": "gmres",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
