"""The public module `minijax.scipy.fft`: cosine transforms."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"surface.scipy.fft": "dct idct dctn idctn"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
