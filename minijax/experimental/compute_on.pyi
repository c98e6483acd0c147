"""The public module `minijax.experimental.compute_on`: where to compute."""

from ..api.compiler_hints import compute_on as compute_on
from ..api.compiler_hints import compute_on2 as compute_on2

__all__ = [
    "compute_on", "compute_on2"
]
