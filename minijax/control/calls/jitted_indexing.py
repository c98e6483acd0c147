"""Reading and writing at one traced index, each as one called program.

Alone they compile once for all indices and run in one call; in a jaxpr they stay calls,
as in JAX.  The work is done in prims/gather/dynamic_slicing.py.
"""

from __future__ import annotations

from ...prims.gather import dynamic_slicing
from .jit import jit

_FIXED = ("axis", "keepdims", "allow_negative_indices")

dynamic_index_in_dim = jit(dynamic_slicing.dynamic_index_in_dim, static_argnames=_FIXED)
dynamic_update_index_in_dim = jit(
    dynamic_slicing.dynamic_update_index_in_dim,
    static_argnames=("axis", "allow_negative_indices"),
)
