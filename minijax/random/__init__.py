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

from .keys import *
from .sampling import *

if TYPE_CHECKING:
    from .choosing import *
    from .continuous import *
    from .discrete import *
    from .gammas import *
    from .multivariate import *

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
