"""The public module `minijax.experimental.serialize_executable`: compiled programs as bytes."""

from ..api.serialize_executable import deserialize_and_load as deserialize_and_load
from ..api.serialize_executable import serialize as serialize

__all__ = [
    "deserialize_and_load", "serialize"
]
