"""The public module `minijax.scipy.stats.multivariate_normal`: the multivariate normal distribution."""

from ...surface.scipy.stats.vectors import multivariate_normal as _multivariate_normal

logpdf = _multivariate_normal.logpdf
pdf = _multivariate_normal.pdf

__all__ = [
    "logpdf", "pdf"
]
