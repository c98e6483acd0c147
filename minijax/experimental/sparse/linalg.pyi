"""The public module `minijax.experimental.sparse.linalg`: linear systems, eigenvalues."""

from ...surface.sparse.direct import spsolve as spsolve
from ...surface.sparse.direct import spsolve_p as spsolve_p
from ...surface.sparse.eigenvalues import lobpcg_standard as lobpcg_standard

__all__ = [
    "lobpcg_standard", "spsolve", "spsolve_p"
]
