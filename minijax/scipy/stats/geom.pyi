"""The public module `minijax.scipy.stats.geom`: the geometric distribution."""

from ...surface.scipy.stats.discrete import geom as _geom

logpmf = _geom.logpmf
pmf = _geom.pmf

__all__ = [
    "logpmf", "pmf"
]
