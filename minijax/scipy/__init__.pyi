"""The face `minijax.scipy`: SciPy's interface on minijax arrays."""

from . import linalg as linalg
from . import sparse as sparse
from . import special as special
from . import stats as stats

__all__ = [
    "linalg", "sparse", "special", "stats"
]
