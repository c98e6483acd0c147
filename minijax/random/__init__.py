"""Random numbers from explicit keys: the face of `jax.random`.

A key is made from a seed, split wherever more are needed, and used once.  The same key
gives the same numbers, on every machine, eager or compiled.  Names only; keys.py makes
keys, sampling.py the numbers that most programs draw.  What is drawn less often loads on
first use.

>>> import minijax as mj
>>> key = mj.random.key(0)
>>> key, subkey = mj.random.split(key)
>>> mj.random.normal(subkey, (2,)).shape
(2,)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .keys import PRNGKey as PRNGKey
from .keys import clone as clone
from .keys import fold_in as fold_in
from .keys import key as key
from .keys import key_data as key_data
from .keys import key_dtype as key_dtype
from .keys import key_impl as key_impl
from .keys import split as split
from .keys import wrap_key_data as wrap_key_data
from .sampling import bits as bits
from .sampling import normal as normal
from .sampling import randint as randint
from .sampling import uniform as uniform

if TYPE_CHECKING:
    from .choosing import bernoulli as bernoulli
    from .choosing import categorical as categorical
    from .choosing import choice as choice
    from .choosing import gumbel as gumbel
    from .choosing import permutation as permutation
    from .continuous import ball as ball
    from .continuous import cauchy as cauchy
    from .continuous import double_sided_maxwell as double_sided_maxwell
    from .continuous import exponential as exponential
    from .continuous import generalized_normal as generalized_normal
    from .continuous import laplace as laplace
    from .continuous import logistic as logistic
    from .continuous import lognormal as lognormal
    from .continuous import maxwell as maxwell
    from .continuous import pareto as pareto
    from .continuous import rayleigh as rayleigh
    from .continuous import triangular as triangular
    from .continuous import truncated_normal as truncated_normal
    from .continuous import wald as wald
    from .continuous import weibull_min as weibull_min
    from .discrete import binomial as binomial
    from .discrete import geometric as geometric
    from .discrete import multinomial as multinomial
    from .discrete import poisson as poisson
    from .discrete import rademacher as rademacher
    from .gammas import beta as beta
    from .gammas import chisquare as chisquare
    from .gammas import dirichlet as dirichlet
    from .gammas import f as f
    from .gammas import gamma as gamma
    from .gammas import loggamma as loggamma
    from .gammas import random_gamma_p as random_gamma_p
    from .gammas import t as t
    from .multivariate import multivariate_normal as multivariate_normal
    from .multivariate import orthogonal as orthogonal

_LATER = {
    "choosing": "bernoulli categorical choice gumbel permutation",
    "continuous": "ball cauchy double_sided_maxwell exponential generalized_normal"
    " laplace logistic lognormal maxwell pareto rayleigh triangular truncated_normal"
    " wald weibull_min",
    "discrete": "binomial geometric multinomial poisson rademacher",
    "gammas": "beta chisquare dirichlet f gamma loggamma random_gamma_p t",
    "multivariate": "multivariate_normal orthogonal",
}
_HOME_OF = {name: home for home, names in _LATER.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'minijax.random' has no attribute {name!r}")
    module = import_module(f"{__name__}.{home}")
    for other in _LATER[home].split():  # also in place of a submodule's own name
        globals()[other] = getattr(module, other)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
