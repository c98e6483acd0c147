"""The public module `minijax.scipy.stats.cauchy`: the Cauchy distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.location_scale:cauchy": "cdf isf logcdf logpdf logsf pdf ppf sf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
