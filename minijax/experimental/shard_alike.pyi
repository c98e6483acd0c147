"""The public module `minijax.experimental.shard_alike`: arrays that lie alike."""

from ..prims.sharding_constraint import shard_alike as shard_alike

__all__ = [
    "shard_alike"
]
