"""The public module `minijax.experimental.sparse.coo`: matrices by coordinates."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.base": "Shape",
    "surface.sparse.coo": """COO COOInfo coo_fromdense coo_fromdense_p coo_matmat
        coo_matmat_p coo_matvec coo_matvec_p coo_todense coo_todense_p""",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
