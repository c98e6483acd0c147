"""The public module `minijax.export`: serialization of programs."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "api.export.exported": """
        DisabledSafetyCheck Exported default_export_platform deserialize export
        maximum_supported_calling_convention_version
        minimum_supported_calling_convention_version symbolic_args_specs SymbolicScope
        is_symbolic_dim symbolic_shape
    """,
    "api.export.serialization": """
        register_namedtuple_serialization register_pytree_node_serialization
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
