"""The public module `minijax.scipy.integrate`: integrals of samples."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"surface.numpy.differences": "trapezoid"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
