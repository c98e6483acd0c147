"""The public module `minijax.scipy.optimize`: the least values of functions."""

from ..surface.scipy.optimize.bfgs import OptimizeResults as OptimizeResults
from ..surface.scipy.optimize.minimize import minimize as minimize

__all__ = [
    "OptimizeResults", "minimize"
]
