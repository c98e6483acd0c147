"""The public module `minijax.scipy.stats.logistic`: the logistic distribution."""

from ...surface.scipy.stats.location_scale import logistic as _logistic

cdf = _logistic.cdf
isf = _logistic.isf
logpdf = _logistic.logpdf
pdf = _logistic.pdf
ppf = _logistic.ppf
sf = _logistic.sf

__all__ = [
    "cdf", "isf", "logpdf", "pdf", "ppf", "sf"
]
