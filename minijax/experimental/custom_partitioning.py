"""The face `minijax.experimental.custom_partitioning`: own programs of parts."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {
    "control.calls.custom_partitioning": "custom_partitioning custom_partitioning_p",
    "control.calls.sharding_rules": "ArrayMapping BATCHING CompoundFactor SdyShardingRule",
}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
