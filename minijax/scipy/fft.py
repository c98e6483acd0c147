"""The face `minijax.scipy.fft`: cosine transforms."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"surface.scipy.fft": "dct idct dctn idctn"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
