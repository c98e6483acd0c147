"""The public module `minijax.scipy.stats.gennorm`: the generalized normal distribution."""

from ...surface.scipy.stats.shaped import gennorm as _gennorm

cdf = _gennorm.cdf
logpdf = _gennorm.logpdf
pdf = _gennorm.pdf

__all__ = [
    "cdf", "logpdf", "pdf"
]
