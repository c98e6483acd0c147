"""The public module `minijax.experimental.array_serialization`: arrays on disk."""

from . import serialization as serialization

__all__ = [
    "serialization"
]
