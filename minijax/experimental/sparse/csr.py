"""The public module `minijax.experimental.sparse.csr`: matrices by compressed rows."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.base": "Shape",
    "surface.sparse.csr": """CSC CSR csr_fromdense csr_fromdense_p csr_matmat csr_matmat_p
        csr_matvec csr_matvec_p csr_todense csr_todense_p""",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
