"""The public module `minijax.experimental.shard_map`: the old signature of `shard_map`."""

from ..api.shard_map import shard_map_by_position as shard_map

__all__ = [
    "shard_map"
]
