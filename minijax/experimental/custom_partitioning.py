"""The public module `minijax.experimental.custom_partitioning`: partitioning rules."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "control.calls.custom_partitioning": "custom_partitioning custom_partitioning_p",
    "control.calls.sdy_sharding_rule": "ArrayMapping BATCHING CompoundFactor SdyShardingRule",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
