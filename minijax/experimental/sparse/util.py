"""The public module `minijax.experimental.sparse.util`: helpers of all formats."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.base": """CuSparseEfficiencyWarning SparseEfficiencyError
        Shape SparseEfficiencyWarning SparseInfo"""
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
