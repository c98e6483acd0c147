"""The public module `minijax.scipy.stats.multinomial`: the multinomial distribution."""

from ...surface.scipy.stats.vectors import multinomial as _multinomial

logpmf = _multinomial.logpmf
pmf = _multinomial.pmf

__all__ = [
    "logpmf", "pmf"
]
