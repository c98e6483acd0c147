"""The public module `minijax.experimental.sparse.transform`: `sparsify` and its rules."""

from ...surface.sparse.sparsify import sparsify as sparsify
from ...surface.sparse.tracing import SparseTrace as SparseTrace
from ...surface.sparse.tracing import SparseTracer as SparseTracer
from ...surface.sparse.tracing import sparse_rules_bcoo as sparse_rules_bcoo
from ...surface.sparse.tracing import sparse_rules_bcsr as sparse_rules_bcsr

__all__ = [
    "SparseTrace", "SparseTracer", "sparse_rules_bcoo", "sparse_rules_bcsr", "sparsify"
]
