"""The public module `minijax.scipy.stats.wrapcauchy`: the wrapped Cauchy distribution."""

from ...surface.scipy.stats.shaped import wrapcauchy as _wrapcauchy

logpdf = _wrapcauchy.logpdf
pdf = _wrapcauchy.pdf

__all__ = [
    "logpdf", "pdf"
]
