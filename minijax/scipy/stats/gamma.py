"""The public module `minijax.scipy.stats.gamma`: the gamma distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.shaped:gamma": "cdf logcdf logpdf logsf pdf sf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
