"""Random numbers from explicit keys: `jax.random`.

A key is made from a seed, split wherever more are needed, and used once.  The same key
gives the same numbers, on every machine, eager or compiled.  Each name is loaded
from its package, `surface/random/`, when it is first used.
>>> import minijax as mj
>>> key = mj.random.key(0)
>>> key, subkey = mj.random.split(key)
>>> mj.random.normal(subkey, (2,)).shape
(2,)
"""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "surface.random.keys": """
        key PRNGKey wrap_key_data key_data key_impl key_dtype split fold_in clone
    """,
    "surface.random.sampling": "bits uniform normal randint",
    "surface.random.choosing": "bernoulli categorical choice gumbel permutation",
    "surface.random.continuous": """
        ball cauchy double_sided_maxwell exponential generalized_normal laplace logistic
        lognormal maxwell pareto rayleigh triangular truncated_normal wald weibull_min
    """,
    "surface.random.discrete": "binomial geometric multinomial poisson rademacher",
    "surface.random.gammas": "beta chisquare dirichlet f gamma loggamma random_gamma_p t",
    "surface.random.multivariate": "multivariate_normal orthogonal",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
