"""The public module `minijax.scipy.stats.binom`: the binomial distribution."""

from ...surface.scipy.stats.discrete import binom as _binom

logpmf = _binom.logpmf
pmf = _binom.pmf

__all__ = [
    "logpmf", "pmf"
]
