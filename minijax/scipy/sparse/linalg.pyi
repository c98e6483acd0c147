"""The public module `minijax.scipy.sparse.linalg`: iterative solvers of linear systems."""

from ...surface.scipy.krylov.conjugate import bicgstab as bicgstab
from ...surface.scipy.krylov.conjugate import cg as cg
from ...surface.scipy.krylov.gmres import gmres as gmres

__all__ = [
    "bicgstab", "cg", "gmres"
]
