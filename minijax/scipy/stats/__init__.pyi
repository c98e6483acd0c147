"""The public module `minijax.scipy.stats`: distributions and sample statistics."""

from ...surface.scipy.stats.density import gaussian_kde as gaussian_kde
from ...surface.scipy.stats.summaries import mode as mode
from ...surface.scipy.stats.summaries import rankdata as rankdata
from ...surface.scipy.stats.summaries import sem as sem
from . import bernoulli as bernoulli
from . import beta as beta
from . import betabinom as betabinom
from . import binom as binom
from . import cauchy as cauchy
from . import chi2 as chi2
from . import dirichlet as dirichlet
from . import expon as expon
from . import gamma as gamma
from . import gennorm as gennorm
from . import geom as geom
from . import gumbel_l as gumbel_l
from . import gumbel_r as gumbel_r
from . import laplace as laplace
from . import logistic as logistic
from . import multinomial as multinomial
from . import multivariate_normal as multivariate_normal
from . import nbinom as nbinom
from . import norm as norm
from . import pareto as pareto
from . import poisson as poisson
from . import t as t
from . import truncnorm as truncnorm
from . import uniform as uniform
from . import vonmises as vonmises
from . import wrapcauchy as wrapcauchy

__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon",
    "gamma", "gaussian_kde", "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace",
    "logistic", "mode", "multinomial", "multivariate_normal", "nbinom", "norm",
    "pareto", "poisson", "rankdata", "sem", "t", "truncnorm", "uniform", "vonmises",
    "wrapcauchy"
]
