"""The public module `minijax.scipy.optimize`: minimization of functions."""

from ..surface.scipy.optimize.bfgs import OptimizeResults as OptimizeResults
from ..surface.scipy.optimize.minimize import minimize as minimize

__all__ = [
    "OptimizeResults", "minimize"
]
