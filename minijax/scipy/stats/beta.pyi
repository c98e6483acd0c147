"""The public module `minijax.scipy.stats.beta`: the beta distribution."""

from ...surface.scipy.stats.shaped import beta as _beta

cdf = _beta.cdf
logcdf = _beta.logcdf
logpdf = _beta.logpdf
logsf = _beta.logsf
pdf = _beta.pdf
sf = _beta.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"
]
