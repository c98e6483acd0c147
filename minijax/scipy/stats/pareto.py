"""The public module `minijax.scipy.stats.pareto`: the Pareto distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.shaped:pareto": "cdf logcdf logpdf logsf pdf ppf sf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
