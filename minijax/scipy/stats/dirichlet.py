"""The public module `minijax.scipy.stats.dirichlet`: the Dirichlet distribution."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.stats.vectors:dirichlet": "logpdf pdf"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
