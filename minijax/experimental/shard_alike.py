"""The public module `minijax.experimental.shard_alike`: arrays with equal shardings."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"prims.sharding_constraint": "shard_alike"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
