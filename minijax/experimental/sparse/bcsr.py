"""The public module `minijax.experimental.sparse.bcsr`: arrays by compressed rows."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.bcsr": "BCSR BCSRProperties",
    "surface.sparse.bcsr_ops": """bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general
        bcsr_dot_general_p bcsr_eliminate_zeros bcsr_extract bcsr_extract_p bcsr_fromdense
        bcsr_fromdense_p bcsr_sum_duplicates bcsr_todense bcsr_todense_p""",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
