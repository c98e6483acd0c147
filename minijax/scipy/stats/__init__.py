"""The public module `minijax.scipy.stats`: distributions and sample statistics."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE: dict[str, str] = {
    "surface.scipy.stats.summaries": "mode rankdata sem",
    "surface.scipy.stats.density": "gaussian_kde",
}
_MODULES = (
    "bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm"
    " geom gumbel_l gumbel_r laplace logistic multinomial multivariate_normal"
    " nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy"
)

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
