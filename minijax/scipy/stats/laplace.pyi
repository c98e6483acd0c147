"""The public module `minijax.scipy.stats.laplace`: the Laplace distribution."""

from ...surface.scipy.stats.location_scale import laplace as _laplace

cdf = _laplace.cdf
logpdf = _laplace.logpdf
pdf = _laplace.pdf

__all__ = [
    "cdf", "logpdf", "pdf"
]
