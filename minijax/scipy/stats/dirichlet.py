"""The face `minijax.scipy.stats.dirichlet`: the distribution of Dirichlet."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.stats.vectors:dirichlet": "logpdf pdf"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
