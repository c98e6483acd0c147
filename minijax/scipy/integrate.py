"""The face `minijax.scipy.integrate`: integrals of samples."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"surface.numpy.differences": "trapezoid"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
