"""The public module `minijax.scipy.stats.truncnorm`: the normal distribution between two bounds."""

from ...surface.scipy.stats.truncated import truncnorm as _truncnorm

cdf = _truncnorm.cdf
logcdf = _truncnorm.logcdf
logpdf = _truncnorm.logpdf
logsf = _truncnorm.logsf
pdf = _truncnorm.pdf
sf = _truncnorm.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"
]
