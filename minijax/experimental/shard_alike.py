"""The face `minijax.experimental.shard_alike`: arrays that lie alike."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {"prims.sharding": "shard_alike"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
