"""Functions may promote internally where JAX's options forbid it; callers may not.

No values are computed: the options take effect while programs are traced.
"""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import nn, random

KEY = random.key(0)
FLOATS = ["float32", "float16", "bfloat16"]


def one(shape, dtype="float32"):
    return jnp.ones(shape, dtype)


ANY_FLOAT = {
    "var": lambda d: jnp.var(one((3, 4), d), axis=0, ddof=1, where=one((3, 4), bool)),
    "std": lambda d: jnp.std(one((3, 4), d)),
    "nanvar": lambda d: jnp.nanvar(one((3, 4), d), axis=0),
    "var in float32": lambda d: jnp.var(one(3, d), dtype="float32"),
    "std in float16": lambda d: jnp.std(one(3, d), dtype="float16"),
    "nanvar in complex64": lambda d: jnp.nanvar(one(3, d), dtype="complex64"),
    "products in int32": lambda d: jnp.dot(
        one(3, d), one(3, bool), preferred_element_type="int32"
    ),
    "median": lambda d: jnp.median(one((3, 4), d)),
    "quantile": lambda d: jnp.quantile(one(3, d), jnp.array([0.5, 0.2])),
    "percentile": lambda d: jnp.nanpercentile(one((3, 4), d), 30, axis=0),
    "cov": lambda d: jnp.cov(one((3, 4), d), fweights=None),
    "aweights": lambda d: jnp.cov(one((3, 4), d), aweights=one(4, d)),
    "corrcoef": lambda d: jnp.corrcoef(one((3, 4), d)),
    "gradient": lambda d: jnp.gradient(one((3, 4), d), 2.0, axis=0),
    "norm": lambda d: jnp.linalg.norm(one((3, 4), d), 3, axis=0),
    "polyfit": lambda d: jnp.polyfit(one(5, d), one(5, d), 2, cov=True),
    "polyfit of columns": lambda d: jnp.polyfit(one(5, d), one((5, 2), d), 1, cov=True),
    "softmax": lambda d: nn.softmax(one((3, 4), d), where=one((3, 4), bool)),
    "logsumexp": lambda d: nn.logsumexp(one((3, 4), d), b=one((3, 4), d)),
    "gelu": lambda d: nn.gelu(one(3, d), approximate=False),
    "slope of a norm": lambda d: mj.grad(jnp.linalg.norm)(one((3, 4), d)),
    "slope of var": lambda d: mj.grad(jnp.var)(one((3, 4), d)),
    "slope of median": lambda d: mj.grad(jnp.median)(one((3, 4), d)),
    "slope of sinc": lambda d: mj.grad(lambda x: jnp.sinc(x).sum())(one(3, d)),
    "beta": lambda d: random.beta(KEY, one(3, d), one(3, d), dtype=d),
    "gamma": lambda d: random.gamma(KEY, one(3, d), dtype=d),
    "uniform": lambda d: random.uniform(KEY, (3,), d, 0.5, 2),
    "truncated": lambda d: random.truncated_normal(KEY, -1.0, 1.0, (3,), d),
}
FLOAT32 = {
    "det": lambda d: mj.grad(lambda x: jnp.linalg.det(x))(one((3, 3), d)),
    "slogdet": lambda d: mj.grad(lambda x: jnp.linalg.slogdet(x)[1])(one((3, 3), d)),
    "pinv": lambda d: jnp.linalg.pinv(one((3, 4), d), rtol=1e-3),
    "multivariate": lambda d: random.multivariate_normal(KEY, one(2, d), one((2, 2), d)),
    "multivariate lanes": lambda d: random.multivariate_normal(
        KEY, one(2, d), one((3, 2, 2), d)
    ),
    "cross": lambda d: jnp.cross(one((3, 3), d), one(3, d)),
    "heaviside": lambda d: jnp.heaviside(one((3, 3), d), one(3, d)),
    "array_equiv": lambda d: jnp.array_equiv(one((3, 3), d), one(3, d)),
    "matvec": lambda d: jnp.matvec(one((3, 3), d), one(3, d)),
    "broadcast_arrays": lambda d: jnp.broadcast_arrays(one((3, 3), d), one(3, d)),
    "gcd": lambda d: jnp.gcd(one((3, 3), int), one(3, int)),
    "generalized normal": lambda d: random.generalized_normal(KEY, one(3, int), (2, 3)),
}
COMPLEX = {
    "corrcoef": lambda d: jnp.corrcoef(one((3, 4), d)),
    "logsumexp": lambda d: nn.logsumexp(one((3, 4), d), return_sign=True),
    "logmeanexp": lambda d: nn.logmeanexp(one((3, 4), d)),
    "var": lambda d: jnp.var(one((3, 4), d)),
    "he_uniform": lambda d: nn.initializers.he_uniform()(KEY, (3, 3), d),
    "lecun_normal": lambda d: nn.initializers.lecun_normal()(KEY, (3, 3), d),
    "glorot_normal": lambda d: nn.initializers.glorot_normal()(KEY, (3, 3), d),
    "orthogonal": lambda d: nn.initializers.orthogonal()(KEY, (3, 3), d),
}
CALLS = {(name, d): fun for name, fun in ANY_FLOAT.items() for d in FLOATS}
CALLS |= {(name, "float32"): fun for name, fun in FLOAT32.items()}
CALLS |= {(name, "complex64"): fun for name, fun in COMPLEX.items()}


@pytest.mark.parametrize(("name", "dtype"), CALLS)
def test_functions_do_not_promote_internally(name, dtype):
    fun = CALLS[name, dtype]
    expected = mj.eval_shape(lambda: fun(dtype))
    with mj.numpy_dtype_promotion("strict"):
        assert mj.eval_shape(lambda: fun(dtype)) == expected
    with mj.numpy_rank_promotion("raise"):
        assert mj.eval_shape(lambda: fun(dtype)) == expected


INSIDE = {  # JAX refuses these, although only the function mixes dtypes
    "log_softmax": lambda: nn.log_softmax(one(3, int)),
    "log1mexp": lambda: nn.log1mexp(one(3, int)),
    "standardize": lambda: nn.standardize(one(3, int)),
    "relu": lambda: nn.relu(one(3, bool)),
    "celu": lambda: nn.celu(one(3, int)),
    "unwrap": lambda: jnp.unwrap(one(3, int)),
    "polyder": lambda: jnp.polyder(one((3, 2))),
}


@pytest.mark.parametrize("name", INSIDE)
def test_mixed_types_inside_functions_are_allowed(name):
    expected = mj.eval_shape(INSIDE[name])
    with mj.numpy_dtype_promotion("strict"), mj.numpy_rank_promotion("raise"):
        assert mj.eval_shape(INSIDE[name]) == expected


RANKS = {
    "add": lambda: one((3, 3)) + one(3),
    "matvec": lambda: jnp.matvec(one((3, 3)), one((3, 3))),
    "vecmat": lambda: jnp.vecmat(one((3, 3)), one((3, 3))),
    "vecdot": lambda: jnp.vecdot(one((3, 3)), one(3)),
    "vectorize": lambda: jnp.vectorize(lambda a, b: a + b)(one((3, 3)), one(3)),
    "vectorize cores": lambda: jnp.vectorize(jnp.add, signature="(n),()->(n)")(one(3), one(3)),
    "linspace": lambda: jnp.linspace(one((3, 3)), one(3)),
    "polyval": lambda: jnp.polyval(one((3, 2)), one((5, 2))),
    "jit": lambda: mj.jit(jnp.matvec)(one((3, 3)), one((3, 3))),
}
# The ranks differ in the operands' core axes, but not in the axes that broadcast.
CORES = {
    "matvec": lambda: jnp.matvec(one((2, 3, 3)), one((2, 3))),
    "vecmat": lambda: jnp.vecmat(one(3), one((3, 3))),
    "vectorize": lambda: jnp.vectorize(jnp.add, signature="(n),()->(n)")(one((3, 3)), one(3)),
    "scalar": lambda: jnp.vectorize(jnp.add)(one((3, 3)), 1.0),
    "polyval": lambda: jnp.polyval(one((3, 2)), one(2)),
    "coefficients": lambda: jnp.polyval(one(3), one((3, 3))),
}
TYPES = {
    "add": lambda: one(3) + one(3, "float16"),
    "where": lambda: jnp.where(one(3, bool), one(3, int), 0.5),
    "standardize": lambda: nn.standardize(one(3, int), mean=one(3), variance=one(3)),
    "celu": lambda: nn.celu(one(3, int), one(3)),
    "celu by a number": lambda: nn.celu(one(3, int), 2.0),
    "elu": lambda: nn.elu(one(3, int), alpha=one(3)),
    "squareplus": lambda: nn.squareplus(one(3, int), one(3)),
    "unwrap": lambda: jnp.unwrap(one(3, int), period=1.5),
    "polyval": lambda: jnp.polyval(one(3, int), one(3)),
    "interp": lambda: jnp.interp(one(3), one(3, int), one(3)),
}


@pytest.mark.parametrize("name", RANKS)
def test_rank_promotion_is_refused(name):
    mj.eval_shape(RANKS[name])
    with mj.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
        mj.eval_shape(RANKS[name])


@pytest.mark.parametrize("name", CORES)
def test_ranks_of_cores_may_differ(name):
    expected = mj.eval_shape(CORES[name])
    with mj.numpy_rank_promotion("raise"):
        assert mj.eval_shape(CORES[name]) == expected


@pytest.mark.parametrize("name", TYPES)
def test_dtype_promotion_is_refused(name):
    mj.eval_shape(TYPES[name])
    with (
        mj.numpy_dtype_promotion("strict"),
        pytest.raises(mj.dtypes.TypePromotionError, match="implicit"),
    ):
        mj.eval_shape(TYPES[name])
