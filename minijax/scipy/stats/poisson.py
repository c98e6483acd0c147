"""The face `minijax.scipy.stats.poisson`: the Poisson distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.discrete:poisson": "cdf entropy logpmf pmf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
