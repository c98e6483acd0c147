"""The face `minijax.scipy.stats.laplace`: the Laplace distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.location_scale:laplace": "cdf logpdf pdf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
