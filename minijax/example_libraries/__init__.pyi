"""The public module `minijax.example_libraries`: small optimizers and layers."""

from . import optimizers as optimizers
from . import stax as stax

__all__ = [
    "optimizers", "stax"
]
