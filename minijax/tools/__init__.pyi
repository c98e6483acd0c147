"""Floor 10: tools that look at programs from outside, and the `jax` alias."""

from ..tools.nan_finder import nans as nans
from ..tools.recompiles import watch as watch
from ..tools.recompiles import why as why

__all__ = [
    "nans", "watch", "why"
]
