"""The public module `minijax.experimental.sparse.ad`: derivatives."""

from ...surface.sparse.derivatives import grad as grad
from ...surface.sparse.derivatives import jacfwd as jacfwd
from ...surface.sparse.derivatives import jacobian as jacobian
from ...surface.sparse.derivatives import jacrev as jacrev
from ...surface.sparse.derivatives import value_and_grad as value_and_grad

__all__ = [
    "grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"
]
