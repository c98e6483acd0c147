"""The public module `minijax.experimental.shard_map`: `shard_map` as it was called once."""

from ..api.shard_map import shard_map_by_position as shard_map

__all__ = [
    "shard_map"
]
