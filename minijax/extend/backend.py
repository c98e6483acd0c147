"""The public module `minijax.extend.backend`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.devices": "clear_backends",
    "runtime.backends.client": """
        get_backend:=backend get_default_device:=default_device register_backend_factory
    """,
    "views.backends": """
        backend_xla_version backends clear_in_memory_compilation_cache get_compile_options
        register_backend_cache
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
