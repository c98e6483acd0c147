"""The public module `minijax.interpreters.xla`."""

from ..ir.core import aval_rules as pytype_aval_mappings
from ..views.backends import Backend as Backend
from ..views.backends import apply_primitive as apply_primitive
from ..views.backends import canonicalize_dtype_handlers as canonicalize_dtype_handlers

__all__ = [
    "Backend", "apply_primitive", "canonicalize_dtype_handlers", "pytype_aval_mappings"
]
