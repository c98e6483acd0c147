"""The public module `minijax.scipy.stats.multinomial`: the multinomial distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.vectors:multinomial": "logpmf pmf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
