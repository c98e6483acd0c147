"""The public module `minijax.experimental.sparse.test_util`: helpers for tests."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.testing": """BatchedDotGeneralProperties MATMUL_TOL SparseLayout
        SparseTestCase is_sparse iter_bcsr_layouts iter_sparse_layouts iter_subsets
        rand_bcoo rand_bcsr rand_sparse"""
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
