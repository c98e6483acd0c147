"""The public module `minijax.scipy.stats.norm`: the normal distribution."""

from ...surface.scipy.stats.location_scale import norm as _norm

cdf = _norm.cdf
isf = _norm.isf
logcdf = _norm.logcdf
logpdf = _norm.logpdf
logsf = _norm.logsf
pdf = _norm.pdf
ppf = _norm.ppf
sf = _norm.sf

__all__ = [
    "cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"
]
