"""The public module `minijax.scipy.optimize`: minimization of functions."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.scipy.optimize.bfgs": "OptimizeResults",
    "surface.scipy.optimize.minimize": "minimize",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
