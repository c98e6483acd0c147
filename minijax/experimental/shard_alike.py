"""The face `minijax.experimental.shard_alike`: arrays that lie alike."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"prims.sharding_constraint": "shard_alike"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
