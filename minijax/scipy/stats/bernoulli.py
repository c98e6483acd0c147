"""The face `minijax.scipy.stats.bernoulli`: the Bernoulli distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.discrete:bernoulli": "cdf logpmf pmf ppf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
