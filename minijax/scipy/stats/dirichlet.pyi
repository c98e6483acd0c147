"""The public module `minijax.scipy.stats.dirichlet`: the Dirichlet distribution."""

from ...surface.scipy.stats.vectors import dirichlet as _dirichlet

logpdf = _dirichlet.logpdf
pdf = _dirichlet.pdf

__all__ = [
    "logpdf", "pdf"
]
