"""The public module `minijax.experimental.sparse`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "surface.sparse.api": "empty eye random_bcoo todense todense_p",
    "surface.sparse.base": """CuSparseEfficiencyWarning JAXSparse SparseEfficiencyError
        SparseEfficiencyWarning""",
    "surface.sparse.bcoo": "BCOO",
    "surface.sparse.bcoo_dense": """bcoo_extract bcoo_extract_p bcoo_fromdense
        bcoo_fromdense_p bcoo_todense bcoo_todense_p""",
    "surface.sparse.bcoo_dot": """bcoo_dot_general bcoo_dot_general_p
        bcoo_dot_general_sampled bcoo_dot_general_sampled_p bcoo_spdot_general_p""",
    "surface.sparse.bcoo_layout": """bcoo_sort_indices bcoo_sort_indices_p
        bcoo_sum_duplicates bcoo_sum_duplicates_p bcoo_transpose bcoo_transpose_p
        bcoo_update_layout""",
    "surface.sparse.bcoo_products": """bcoo_conv_general_dilated bcoo_multiply_dense
        bcoo_multiply_sparse""",
    "surface.sparse.bcoo_shape": """bcoo_broadcast_in_dim bcoo_concatenate bcoo_reduce_sum
        bcoo_reshape bcoo_rev bcoo_squeeze""",
    "surface.sparse.bcoo_slicing": "bcoo_dynamic_slice bcoo_gather bcoo_slice",
    "surface.sparse.bcsr": "BCSR",
    "surface.sparse.bcsr_ops": """bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general
        bcsr_dot_general_p bcsr_extract bcsr_extract_p bcsr_fromdense bcsr_fromdense_p
        bcsr_sum_duplicates bcsr_todense bcsr_todense_p""",
    "surface.sparse.coo": """COO coo_fromdense coo_fromdense_p coo_matmat coo_matmat_p
        coo_matvec coo_matvec_p coo_todense coo_todense_p""",
    "surface.sparse.csr": """CSC CSR csr_fromdense csr_fromdense_p csr_matmat csr_matmat_p
        csr_matvec csr_matvec_p csr_todense csr_todense_p""",
    "surface.sparse.derivatives": "grad jacfwd jacobian jacrev value_and_grad",
    "surface.sparse.sparsify": "sparsify",
    "surface.sparse.tracing": "SparseTracer",
}

_MODULES = "ad api bcoo bcsr coo csr linalg random test_util transform util"

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
