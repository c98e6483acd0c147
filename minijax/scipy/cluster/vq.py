"""The public module `minijax.scipy.cluster.vq`: vector quantization."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.codes": "vq"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
