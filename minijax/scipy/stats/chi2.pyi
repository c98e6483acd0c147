"""The public module `minijax.scipy.stats.chi2`: the chi-squared distribution."""

from ...surface.scipy.stats.shaped import chi2 as _chi2

cdf = _chi2.cdf
logcdf = _chi2.logcdf
logpdf = _chi2.logpdf
logsf = _chi2.logsf
pdf = _chi2.pdf
sf = _chi2.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"
]
