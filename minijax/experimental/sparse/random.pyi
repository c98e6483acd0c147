"""The public module `minijax.experimental.sparse.random`."""

from ...surface.sparse.api import random_bcoo as random_bcoo

__all__ = [
    "random_bcoo"
]
