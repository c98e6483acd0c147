"""The public module `minijax.api_util`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "views.backends": "safe_map safe_zip",
    "views.linear_util": """
        argnums_partial debug_info donation_vector flatten_axes flatten_fun
        flatten_fun_nokwargs rebase_donate_argnums shaped_abstractify
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
