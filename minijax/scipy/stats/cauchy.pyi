"""The public module `minijax.scipy.stats.cauchy`: the Cauchy distribution."""

from ...surface.scipy.stats.location_scale import cauchy as _cauchy

cdf = _cauchy.cdf
isf = _cauchy.isf
logcdf = _cauchy.logcdf
logpdf = _cauchy.logpdf
logsf = _cauchy.logsf
pdf = _cauchy.pdf
ppf = _cauchy.ppf
sf = _cauchy.sf

__all__ = [
    "cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"
]
