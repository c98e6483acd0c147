"""The public module `minijax.scipy.stats.gumbel_l`: the Gumbel distribution of smallest values."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.location_scale:gumbel_l": "cdf logcdf logpdf logsf pdf ppf sf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
