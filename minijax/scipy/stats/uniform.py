"""The public module `minijax.scipy.stats.uniform`: the uniform distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.location_scale:uniform": "cdf logpdf pdf ppf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
