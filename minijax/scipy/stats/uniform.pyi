"""The public module `minijax.scipy.stats.uniform`: the uniform distribution."""

from ...surface.scipy.stats.location_scale import uniform as _uniform

cdf = _uniform.cdf
logpdf = _uniform.logpdf
pdf = _uniform.pdf
ppf = _uniform.ppf

__all__ = [
    "cdf", "logpdf", "pdf", "ppf"
]
