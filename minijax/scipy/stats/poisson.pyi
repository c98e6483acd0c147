"""The public module `minijax.scipy.stats.poisson`: the Poisson distribution."""

from ...surface.scipy.stats.discrete import poisson as _poisson

cdf = _poisson.cdf
entropy = _poisson.entropy
logpmf = _poisson.logpmf
pmf = _poisson.pmf

__all__ = [
    "cdf", "entropy", "logpmf", "pmf"
]
