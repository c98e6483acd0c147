"""The public module `minijax.scipy.stats.multivariate_normal`: normal vectors."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.vectors:multivariate_normal": "logpdf pdf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
