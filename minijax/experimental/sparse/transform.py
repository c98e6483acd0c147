"""The public module `minijax.experimental.sparse.transform`: `sparsify` and its rules."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.sparsify": "sparsify",
    "surface.sparse.tracing": """SparseTrace SparseTracer sparse_rules_bcoo
        sparse_rules_bcsr""",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
