"""The face `minijax.scipy.stats.vonmises`: the von Mises distribution."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.shaped:vonmises": "logpdf pdf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
