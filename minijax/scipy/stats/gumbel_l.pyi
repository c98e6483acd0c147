"""The public module `minijax.scipy.stats.gumbel_l`: the Gumbel distribution of smallest values."""

from ...surface.scipy.stats.location_scale import gumbel_l as _gumbel_l

cdf = _gumbel_l.cdf
logcdf = _gumbel_l.logcdf
logpdf = _gumbel_l.logpdf
logsf = _gumbel_l.logsf
pdf = _gumbel_l.pdf
ppf = _gumbel_l.ppf
sf = _gumbel_l.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"
]
