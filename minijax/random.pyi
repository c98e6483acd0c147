"""Random numbers from explicit keys: `jax.random`."""

from .surface.random.choosing import bernoulli as bernoulli
from .surface.random.choosing import categorical as categorical
from .surface.random.choosing import choice as choice
from .surface.random.choosing import gumbel as gumbel
from .surface.random.choosing import permutation as permutation
from .surface.random.continuous import ball as ball
from .surface.random.continuous import cauchy as cauchy
from .surface.random.continuous import double_sided_maxwell as double_sided_maxwell
from .surface.random.continuous import exponential as exponential
from .surface.random.continuous import generalized_normal as generalized_normal
from .surface.random.continuous import laplace as laplace
from .surface.random.continuous import logistic as logistic
from .surface.random.continuous import lognormal as lognormal
from .surface.random.continuous import maxwell as maxwell
from .surface.random.continuous import pareto as pareto
from .surface.random.continuous import rayleigh as rayleigh
from .surface.random.continuous import triangular as triangular
from .surface.random.continuous import truncated_normal as truncated_normal
from .surface.random.continuous import wald as wald
from .surface.random.continuous import weibull_min as weibull_min
from .surface.random.discrete import binomial as binomial
from .surface.random.discrete import geometric as geometric
from .surface.random.discrete import multinomial as multinomial
from .surface.random.discrete import poisson as poisson
from .surface.random.discrete import rademacher as rademacher
from .surface.random.gammas import beta as beta
from .surface.random.gammas import chisquare as chisquare
from .surface.random.gammas import dirichlet as dirichlet
from .surface.random.gammas import f as f
from .surface.random.gammas import gamma as gamma
from .surface.random.gammas import loggamma as loggamma
from .surface.random.gammas import random_gamma_p as random_gamma_p
from .surface.random.gammas import t as t
from .surface.random.keys import PRNGKey as PRNGKey
from .surface.random.keys import clone as clone
from .surface.random.keys import fold_in as fold_in
from .surface.random.keys import key as key
from .surface.random.keys import key_data as key_data
from .surface.random.keys import key_dtype as key_dtype
from .surface.random.keys import key_impl as key_impl
from .surface.random.keys import split as split
from .surface.random.keys import wrap_key_data as wrap_key_data
from .surface.random.multivariate import multivariate_normal as multivariate_normal
from .surface.random.multivariate import orthogonal as orthogonal
from .surface.random.sampling import bits as bits
from .surface.random.sampling import normal as normal
from .surface.random.sampling import randint as randint
from .surface.random.sampling import uniform as uniform

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy",
    "chisquare", "choice", "clone", "dirichlet", "double_sided_maxwell", "exponential",
    "f", "fold_in", "gamma", "generalized_normal", "geometric", "gumbel", "key",
    "key_data", "key_dtype", "key_impl", "laplace", "loggamma", "logistic", "lognormal",
    "maxwell", "multinomial", "multivariate_normal", "normal", "orthogonal", "pareto",
    "permutation", "poisson", "rademacher", "randint", "random_gamma_p", "rayleigh",
    "split", "t", "triangular", "truncated_normal", "uniform", "wald", "weibull_min",
    "wrap_key_data"
]
