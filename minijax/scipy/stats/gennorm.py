"""The public module `minijax.scipy.stats.gennorm`: the generalized normal distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.shaped:gennorm": "cdf logpdf pdf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
