"""The face `minijax.scipy`: SciPy's interface on minijax arrays."""

from . import linalg as linalg
from . import signal as signal
from . import sparse as sparse
from . import special as special

__all__ = [
    "linalg", "signal", "sparse", "special"
]
