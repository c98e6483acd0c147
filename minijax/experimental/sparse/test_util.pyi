"""The public module `minijax.experimental.sparse.test_util`: helpers for tests."""

from ...surface.sparse.testing import BatchedDotGeneralProperties as BatchedDotGeneralProperties
from ...surface.sparse.testing import MATMUL_TOL as MATMUL_TOL
from ...surface.sparse.testing import SparseLayout as SparseLayout
from ...surface.sparse.testing import SparseTestCase as SparseTestCase
from ...surface.sparse.testing import is_sparse as is_sparse
from ...surface.sparse.testing import iter_bcsr_layouts as iter_bcsr_layouts
from ...surface.sparse.testing import iter_sparse_layouts as iter_sparse_layouts
from ...surface.sparse.testing import iter_subsets as iter_subsets
from ...surface.sparse.testing import rand_bcoo as rand_bcoo
from ...surface.sparse.testing import rand_bcsr as rand_bcsr
from ...surface.sparse.testing import rand_sparse as rand_sparse

__all__ = [
    "BatchedDotGeneralProperties", "MATMUL_TOL", "SparseLayout", "SparseTestCase",
    "is_sparse", "iter_bcsr_layouts", "iter_sparse_layouts", "iter_subsets",
    "rand_bcoo", "rand_bcsr", "rand_sparse"
]
