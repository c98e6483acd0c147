"""The public module `minijax.scipy.sparse`."""

from . import linalg as linalg

__all__ = [
    "linalg"
]
