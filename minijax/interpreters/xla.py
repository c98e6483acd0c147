"""The public module `minijax.interpreters.xla`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "ir.core": "pytype_aval_mappings=aval_rules",
    "views.backends": "Backend apply_primitive canonicalize_dtype_handlers",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
