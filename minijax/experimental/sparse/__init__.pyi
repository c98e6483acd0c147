"""The public module `minijax.experimental.sparse`."""

from ...surface.sparse.api import empty as empty
from ...surface.sparse.api import eye as eye
from ...surface.sparse.api import random_bcoo as random_bcoo
from ...surface.sparse.api import todense as todense
from ...surface.sparse.api import todense_p as todense_p
from ...surface.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from ...surface.sparse.base import JAXSparse as JAXSparse
from ...surface.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from ...surface.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from ...surface.sparse.bcoo import BCOO as BCOO
from ...surface.sparse.bcoo_dense import bcoo_extract as bcoo_extract
from ...surface.sparse.bcoo_dense import bcoo_extract_p as bcoo_extract_p
from ...surface.sparse.bcoo_dense import bcoo_fromdense as bcoo_fromdense
from ...surface.sparse.bcoo_dense import bcoo_fromdense_p as bcoo_fromdense_p
from ...surface.sparse.bcoo_dense import bcoo_todense as bcoo_todense
from ...surface.sparse.bcoo_dense import bcoo_todense_p as bcoo_todense_p
from ...surface.sparse.bcoo_dot import bcoo_dot_general as bcoo_dot_general
from ...surface.sparse.bcoo_dot import bcoo_dot_general_p as bcoo_dot_general_p
from ...surface.sparse.bcoo_dot import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from ...surface.sparse.bcoo_dot import bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p
from ...surface.sparse.bcoo_dot import bcoo_spdot_general_p as bcoo_spdot_general_p
from ...surface.sparse.bcoo_layout import bcoo_sort_indices as bcoo_sort_indices
from ...surface.sparse.bcoo_layout import bcoo_sort_indices_p as bcoo_sort_indices_p
from ...surface.sparse.bcoo_layout import bcoo_sum_duplicates as bcoo_sum_duplicates
from ...surface.sparse.bcoo_layout import bcoo_sum_duplicates_p as bcoo_sum_duplicates_p
from ...surface.sparse.bcoo_layout import bcoo_transpose as bcoo_transpose
from ...surface.sparse.bcoo_layout import bcoo_transpose_p as bcoo_transpose_p
from ...surface.sparse.bcoo_layout import bcoo_update_layout as bcoo_update_layout
from ...surface.sparse.bcoo_products import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from ...surface.sparse.bcoo_products import bcoo_multiply_dense as bcoo_multiply_dense
from ...surface.sparse.bcoo_products import bcoo_multiply_sparse as bcoo_multiply_sparse
from ...surface.sparse.bcoo_shape import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from ...surface.sparse.bcoo_shape import bcoo_concatenate as bcoo_concatenate
from ...surface.sparse.bcoo_shape import bcoo_reduce_sum as bcoo_reduce_sum
from ...surface.sparse.bcoo_shape import bcoo_reshape as bcoo_reshape
from ...surface.sparse.bcoo_shape import bcoo_rev as bcoo_rev
from ...surface.sparse.bcoo_shape import bcoo_squeeze as bcoo_squeeze
from ...surface.sparse.bcoo_slicing import bcoo_dynamic_slice as bcoo_dynamic_slice
from ...surface.sparse.bcoo_slicing import bcoo_gather as bcoo_gather
from ...surface.sparse.bcoo_slicing import bcoo_slice as bcoo_slice
from ...surface.sparse.bcsr import BCSR as BCSR
from ...surface.sparse.bcsr_ops import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from ...surface.sparse.bcsr_ops import bcsr_concatenate as bcsr_concatenate
from ...surface.sparse.bcsr_ops import bcsr_dot_general as bcsr_dot_general
from ...surface.sparse.bcsr_ops import bcsr_dot_general_p as bcsr_dot_general_p
from ...surface.sparse.bcsr_ops import bcsr_extract as bcsr_extract
from ...surface.sparse.bcsr_ops import bcsr_extract_p as bcsr_extract_p
from ...surface.sparse.bcsr_ops import bcsr_fromdense as bcsr_fromdense
from ...surface.sparse.bcsr_ops import bcsr_fromdense_p as bcsr_fromdense_p
from ...surface.sparse.bcsr_ops import bcsr_sum_duplicates as bcsr_sum_duplicates
from ...surface.sparse.bcsr_ops import bcsr_todense as bcsr_todense
from ...surface.sparse.bcsr_ops import bcsr_todense_p as bcsr_todense_p
from ...surface.sparse.coo import COO as COO
from ...surface.sparse.coo import coo_fromdense as coo_fromdense
from ...surface.sparse.coo import coo_fromdense_p as coo_fromdense_p
from ...surface.sparse.coo import coo_matmat as coo_matmat
from ...surface.sparse.coo import coo_matmat_p as coo_matmat_p
from ...surface.sparse.coo import coo_matvec as coo_matvec
from ...surface.sparse.coo import coo_matvec_p as coo_matvec_p
from ...surface.sparse.coo import coo_todense as coo_todense
from ...surface.sparse.coo import coo_todense_p as coo_todense_p
from ...surface.sparse.csr import CSC as CSC
from ...surface.sparse.csr import CSR as CSR
from ...surface.sparse.csr import csr_fromdense as csr_fromdense
from ...surface.sparse.csr import csr_fromdense_p as csr_fromdense_p
from ...surface.sparse.csr import csr_matmat as csr_matmat
from ...surface.sparse.csr import csr_matmat_p as csr_matmat_p
from ...surface.sparse.csr import csr_matvec as csr_matvec
from ...surface.sparse.csr import csr_matvec_p as csr_matvec_p
from ...surface.sparse.csr import csr_todense as csr_todense
from ...surface.sparse.csr import csr_todense_p as csr_todense_p
from ...surface.sparse.derivatives import grad as grad
from ...surface.sparse.derivatives import jacfwd as jacfwd
from ...surface.sparse.derivatives import jacobian as jacobian
from ...surface.sparse.derivatives import jacrev as jacrev
from ...surface.sparse.derivatives import value_and_grad as value_and_grad
from ...surface.sparse.sparsify import sparsify as sparsify
from ...surface.sparse.tracing import SparseTracer as SparseTracer
from . import ad as ad
from . import api as api
from . import bcoo as bcoo
from . import bcsr as bcsr
from . import coo as coo
from . import csr as csr
from . import linalg as linalg
from . import random as random
from . import test_util as test_util
from . import transform as transform
from . import util as util

__all__ = [
    "BCOO", "BCSR", "COO", "CSC", "CSR", "CuSparseEfficiencyWarning", "JAXSparse",
    "SparseEfficiencyError", "SparseEfficiencyWarning", "SparseTracer", "ad", "api",
    "bcoo", "bcoo_broadcast_in_dim", "bcoo_concatenate", "bcoo_conv_general_dilated",
    "bcoo_dot_general", "bcoo_dot_general_p", "bcoo_dot_general_sampled",
    "bcoo_dot_general_sampled_p", "bcoo_dynamic_slice", "bcoo_extract",
    "bcoo_extract_p", "bcoo_fromdense", "bcoo_fromdense_p", "bcoo_gather",
    "bcoo_multiply_dense", "bcoo_multiply_sparse", "bcoo_reduce_sum", "bcoo_reshape",
    "bcoo_rev", "bcoo_slice", "bcoo_sort_indices", "bcoo_sort_indices_p",
    "bcoo_spdot_general_p", "bcoo_squeeze", "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p", "bcoo_todense", "bcoo_todense_p", "bcoo_transpose",
    "bcoo_transpose_p", "bcoo_update_layout", "bcsr", "bcsr_broadcast_in_dim",
    "bcsr_concatenate", "bcsr_dot_general", "bcsr_dot_general_p", "bcsr_extract",
    "bcsr_extract_p", "bcsr_fromdense", "bcsr_fromdense_p", "bcsr_sum_duplicates",
    "bcsr_todense", "bcsr_todense_p", "coo", "coo_fromdense", "coo_fromdense_p",
    "coo_matmat", "coo_matmat_p", "coo_matvec", "coo_matvec_p", "coo_todense",
    "coo_todense_p", "csr", "csr_fromdense", "csr_fromdense_p", "csr_matmat",
    "csr_matmat_p", "csr_matvec", "csr_matvec_p", "csr_todense", "csr_todense_p",
    "empty", "eye", "grad", "jacfwd", "jacobian", "jacrev", "linalg", "random",
    "random_bcoo", "sparsify", "test_util", "todense", "todense_p", "transform", "util",
    "value_and_grad"
]
