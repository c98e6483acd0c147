"""The face `minijax.experimental.custom_partitioning`: own programs of parts."""

from ..control.calls.custom_partitioning import custom_partitioning as custom_partitioning
from ..control.calls.custom_partitioning import custom_partitioning_p as custom_partitioning_p
from ..control.calls.sharding_rules import ArrayMapping as ArrayMapping
from ..control.calls.sharding_rules import BATCHING as BATCHING
from ..control.calls.sharding_rules import CompoundFactor as CompoundFactor
from ..control.calls.sharding_rules import SdyShardingRule as SdyShardingRule

__all__ = [
    "ArrayMapping", "BATCHING", "CompoundFactor", "SdyShardingRule",
    "custom_partitioning", "custom_partitioning_p"
]
