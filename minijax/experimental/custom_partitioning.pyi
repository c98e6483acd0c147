"""The public module `minijax.experimental.custom_partitioning`: partitioning rules."""

from ..control.calls.custom_partitioning import custom_partitioning as custom_partitioning
from ..control.calls.custom_partitioning import custom_partitioning_p as custom_partitioning_p
from ..control.calls.sdy_sharding_rule import ArrayMapping as ArrayMapping
from ..control.calls.sdy_sharding_rule import BATCHING as BATCHING
from ..control.calls.sdy_sharding_rule import CompoundFactor as CompoundFactor
from ..control.calls.sdy_sharding_rule import SdyShardingRule as SdyShardingRule

__all__ = [
    "ArrayMapping", "BATCHING", "CompoundFactor", "SdyShardingRule",
    "custom_partitioning", "custom_partitioning_p"
]
