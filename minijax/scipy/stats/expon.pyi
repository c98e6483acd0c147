"""The public module `minijax.scipy.stats.expon`: the exponential distribution."""

from ...surface.scipy.stats.location_scale import expon as _expon

cdf = _expon.cdf
logcdf = _expon.logcdf
logpdf = _expon.logpdf
logsf = _expon.logsf
pdf = _expon.pdf
ppf = _expon.ppf
sf = _expon.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"
]
