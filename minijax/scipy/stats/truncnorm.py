"""The public module `minijax.scipy.stats.truncnorm`: the truncated normal distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.truncated:truncnorm": "cdf logcdf logpdf logsf pdf sf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
