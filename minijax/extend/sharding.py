"""The public module `minijax.extend.sharding`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "runtime.sharding.shardings": "GSPMDSharding",
    "views.backends": """
        get_hlo_sharding_from_serialized_proto get_op_sharding_from_serialized_proto
        get_serialized_proto_from_hlo_sharding
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
