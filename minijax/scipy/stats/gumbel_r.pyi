"""The public module `minijax.scipy.stats.gumbel_r`: the Gumbel distribution of largest values."""

from ...surface.scipy.stats.location_scale import gumbel_r as _gumbel_r

cdf = _gumbel_r.cdf
logcdf = _gumbel_r.logcdf
logpdf = _gumbel_r.logpdf
logsf = _gumbel_r.logsf
pdf = _gumbel_r.pdf
ppf = _gumbel_r.ppf
sf = _gumbel_r.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"
]
