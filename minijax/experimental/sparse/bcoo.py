"""The public module `minijax.experimental.sparse.bcoo`: arrays by coordinates."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.bcoo": "BCOO BCOOProperties=Properties",
    "surface.sparse.bcoo_dense": """bcoo_extract bcoo_extract_p bcoo_fromdense
        bcoo_fromdense_p bcoo_todense bcoo_todense_p""",
    "surface.sparse.bcoo_dot": """bcoo_dot_general bcoo_dot_general_p
        bcoo_dot_general_sampled bcoo_dot_general_sampled_p bcoo_spdot_general_p""",
    "surface.sparse.bcoo_layout": """bcoo_eliminate_zeros bcoo_sort_indices
        bcoo_sort_indices_p bcoo_sum_duplicates bcoo_sum_duplicates_p bcoo_transpose
        bcoo_transpose_p bcoo_update_layout""",
    "surface.sparse.bcoo_products": """bcoo_conv_general_dilated bcoo_multiply_dense
        bcoo_multiply_sparse""",
    "surface.sparse.bcoo_shape": """bcoo_broadcast_in_dim bcoo_concatenate bcoo_reduce_sum
        bcoo_reshape bcoo_rev bcoo_squeeze""",
    "surface.sparse.bcoo_slicing": "bcoo_dynamic_slice bcoo_gather bcoo_slice",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
