"""The public module `minijax.experimental.shard_alike`: arrays with equal shardings."""

from ..prims.sharding_constraint import shard_alike as shard_alike

__all__ = [
    "shard_alike"
]
