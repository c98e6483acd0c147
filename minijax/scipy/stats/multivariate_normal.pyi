"""The public module `minijax.scipy.stats.multivariate_normal`: normal vectors."""

from ...surface.scipy.stats.vectors import multivariate_normal as _multivariate_normal

logpdf = _multivariate_normal.logpdf
pdf = _multivariate_normal.pdf

__all__ = [
    "logpdf", "pdf"
]
