"""The public module `minijax.scipy.stats.vonmises`: the von Mises distribution."""

from ...surface.scipy.stats.shaped import vonmises as _vonmises

logpdf = _vonmises.logpdf
pdf = _vonmises.pdf

__all__ = [
    "logpdf", "pdf"
]
