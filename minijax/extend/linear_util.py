"""The public module `minijax.extend.linear_util`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "views.linear_util": """
        StoreException WrappedFun _missing_debug_info=missing_debug_info cache
        merge_linear_aux transformation transformation2 transformation_with_aux
        transformation_with_aux2 wrap_init
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
