"""The public module `minijax.experimental.sparse.coo`: matrices by coordinates."""

from ...surface.sparse.base import Shape as Shape
from ...surface.sparse.coo import COO as COO
from ...surface.sparse.coo import COOInfo as COOInfo
from ...surface.sparse.coo import coo_fromdense as coo_fromdense
from ...surface.sparse.coo import coo_fromdense_p as coo_fromdense_p
from ...surface.sparse.coo import coo_matmat as coo_matmat
from ...surface.sparse.coo import coo_matmat_p as coo_matmat_p
from ...surface.sparse.coo import coo_matvec as coo_matvec
from ...surface.sparse.coo import coo_matvec_p as coo_matvec_p
from ...surface.sparse.coo import coo_todense as coo_todense
from ...surface.sparse.coo import coo_todense_p as coo_todense_p

__all__ = [
    "COO", "COOInfo", "Shape", "coo_fromdense", "coo_fromdense_p", "coo_matmat",
    "coo_matmat_p", "coo_matvec", "coo_matvec_p", "coo_todense", "coo_todense_p"
]
