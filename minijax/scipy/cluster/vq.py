"""The face `minijax.scipy.cluster.vq`: vector quantization."""

from __future__ import annotations

from ...base.lazy_modules import face

_TABLE = {"surface.scipy.codes": "vq"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
