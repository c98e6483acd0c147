"""The face `minijax.scipy`: SciPy's interface on minijax arrays."""

from . import special as special

__all__ = [
    "special"
]
