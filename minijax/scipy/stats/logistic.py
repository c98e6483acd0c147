"""The face `minijax.scipy.stats.logistic`: the logistic distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.location_scale:logistic": "cdf isf logpdf pdf ppf sf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
