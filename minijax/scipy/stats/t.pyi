"""The public module `minijax.scipy.stats.t`: Student's t distribution."""

from ...surface.scipy.stats.shaped import t as _t

logpdf = _t.logpdf
pdf = _t.pdf

__all__ = [
    "logpdf", "pdf"
]
