"""The public module `minijax.experimental.sparse.bcsr`: arrays by compressed rows."""

from ...surface.sparse.bcsr import BCSR as BCSR
from ...surface.sparse.bcsr import BCSRProperties as BCSRProperties
from ...surface.sparse.bcsr_ops import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from ...surface.sparse.bcsr_ops import bcsr_concatenate as bcsr_concatenate
from ...surface.sparse.bcsr_ops import bcsr_dot_general as bcsr_dot_general
from ...surface.sparse.bcsr_ops import bcsr_dot_general_p as bcsr_dot_general_p
from ...surface.sparse.bcsr_ops import bcsr_eliminate_zeros as bcsr_eliminate_zeros
from ...surface.sparse.bcsr_ops import bcsr_extract as bcsr_extract
from ...surface.sparse.bcsr_ops import bcsr_extract_p as bcsr_extract_p
from ...surface.sparse.bcsr_ops import bcsr_fromdense as bcsr_fromdense
from ...surface.sparse.bcsr_ops import bcsr_fromdense_p as bcsr_fromdense_p
from ...surface.sparse.bcsr_ops import bcsr_sum_duplicates as bcsr_sum_duplicates
from ...surface.sparse.bcsr_ops import bcsr_todense as bcsr_todense
from ...surface.sparse.bcsr_ops import bcsr_todense_p as bcsr_todense_p

__all__ = [
    "BCSR", "BCSRProperties", "bcsr_broadcast_in_dim", "bcsr_concatenate",
    "bcsr_dot_general", "bcsr_dot_general_p", "bcsr_eliminate_zeros", "bcsr_extract",
    "bcsr_extract_p", "bcsr_fromdense", "bcsr_fromdense_p", "bcsr_sum_duplicates",
    "bcsr_todense", "bcsr_todense_p"
]
