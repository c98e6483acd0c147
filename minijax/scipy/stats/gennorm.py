"""The face `minijax.scipy.stats.gennorm`: the generalized normal distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.shaped:gennorm": "cdf logpdf pdf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
