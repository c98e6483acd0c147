"""The public module `minijax.scipy.stats.pareto`: the Pareto distribution."""

from ...surface.scipy.stats.shaped import pareto as _pareto

cdf = _pareto.cdf
logcdf = _pareto.logcdf
logpdf = _pareto.logpdf
logsf = _pareto.logsf
pdf = _pareto.pdf
ppf = _pareto.ppf
sf = _pareto.sf

__all__ = [
    "cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"
]
