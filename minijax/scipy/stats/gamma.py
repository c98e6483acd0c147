"""The face `minijax.scipy.stats.gamma`: the gamma distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.shaped:gamma": "cdf logcdf logpdf logsf pdf sf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
