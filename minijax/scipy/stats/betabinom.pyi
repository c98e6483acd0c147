"""The public module `minijax.scipy.stats.betabinom`: the beta-binomial distribution."""

from ...surface.scipy.stats.discrete import betabinom as _betabinom

logpmf = _betabinom.logpmf
pmf = _betabinom.pmf

__all__ = [
    "logpmf", "pmf"
]
