"""Floor 10: tools that look at programs from outside, and the `jax` alias."""

from ..tools.nan_finder import nans as nans

__all__ = [
    "nans"
]
