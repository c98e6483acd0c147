"""The face `minijax.experimental.serialize_executable`: compiled programs as bytes."""

from ..api.serialized import deserialize_and_load as deserialize_and_load
from ..api.serialized import serialize as serialize

__all__ = [
    "deserialize_and_load", "serialize"
]
