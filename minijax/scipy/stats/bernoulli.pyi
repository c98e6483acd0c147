"""The public module `minijax.scipy.stats.bernoulli`: the Bernoulli distribution."""

from ...surface.scipy.stats.discrete import bernoulli as _bernoulli

cdf = _bernoulli.cdf
logpmf = _bernoulli.logpmf
pmf = _bernoulli.pmf
ppf = _bernoulli.ppf

__all__ = [
    "cdf", "logpmf", "pmf", "ppf"
]
