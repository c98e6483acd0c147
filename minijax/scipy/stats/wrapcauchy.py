"""The face `minijax.scipy.stats.wrapcauchy`: the wrapped Cauchy distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.shaped:wrapcauchy": "logpdf pdf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
