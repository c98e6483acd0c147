"""The public module `minijax.experimental.xla_metadata`: metadata of operations."""

from ..api.xla_metadata import set_xla_metadata as set_xla_metadata

__all__ = [
    "set_xla_metadata"
]
