"""The public module `minijax.scipy.stats.logistic`: the logistic distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.location_scale:logistic": "cdf isf logpdf pdf ppf sf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
