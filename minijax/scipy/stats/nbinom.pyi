"""The public module `minijax.scipy.stats.nbinom`: the negative binomial distribution."""

from ...surface.scipy.stats.discrete import nbinom as _nbinom

logpmf = _nbinom.logpmf
pmf = _nbinom.pmf

__all__ = [
    "logpmf", "pmf"
]
