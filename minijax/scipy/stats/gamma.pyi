"""The public module `minijax.scipy.stats.gamma`: the gamma distribution."""

from ...surface.scipy.stats.shaped import gamma as _gamma

cdf = _gamma.cdf
logcdf = _gamma.logcdf
logpdf = _gamma.logpdf
logsf = _gamma.logsf
pdf = _gamma.pdf
sf = _gamma.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"
]
