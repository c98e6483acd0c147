"""The face `minijax.scipy.stats.multinomial`: the multinomial distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.vectors:multinomial": "logpmf pmf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
