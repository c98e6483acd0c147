"""The public module `minijax.experimental.sparse.csr`: matrices by compressed rows."""

from ...surface.sparse.base import Shape as Shape
from ...surface.sparse.csr import CSC as CSC
from ...surface.sparse.csr import CSR as CSR
from ...surface.sparse.csr import csr_fromdense as csr_fromdense
from ...surface.sparse.csr import csr_fromdense_p as csr_fromdense_p
from ...surface.sparse.csr import csr_matmat as csr_matmat
from ...surface.sparse.csr import csr_matmat_p as csr_matmat_p
from ...surface.sparse.csr import csr_matvec as csr_matvec
from ...surface.sparse.csr import csr_matvec_p as csr_matvec_p
from ...surface.sparse.csr import csr_todense as csr_todense
from ...surface.sparse.csr import csr_todense_p as csr_todense_p

__all__ = [
    "CSC", "CSR", "Shape", "csr_fromdense", "csr_fromdense_p", "csr_matmat",
    "csr_matmat_p", "csr_matvec", "csr_matvec_p", "csr_todense", "csr_todense_p"
]
