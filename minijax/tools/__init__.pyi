"""Floor 11: tools that look at programs from outside, and the `jax` alias."""

from ..tools.costs import Roofline as Roofline
from ..tools.costs import cost as cost
from ..tools.footprint import memory as memory
from ..tools.nan_finder import nans as nans
from ..tools.recompiles import watch as watch
from ..tools.recompiles import why as why

__all__ = [
    "Roofline", "cost", "memory", "nans", "watch", "why"
]
