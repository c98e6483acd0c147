"""The public module `minijax.scipy.stats.truncnorm`: the truncated normal distribution."""

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
