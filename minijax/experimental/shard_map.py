"""The public module `minijax.experimental.shard_map`: the old signature of `shard_map`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"api.shard_map": "shard_map:=shard_map_by_position"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
