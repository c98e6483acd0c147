"""The public module `minijax.scipy.stats.t`: the t distribution of Student."""

from ...surface.scipy.stats.shaped import t as _t

logpdf = _t.logpdf
pdf = _t.pdf

__all__ = [
    "logpdf", "pdf"
]
