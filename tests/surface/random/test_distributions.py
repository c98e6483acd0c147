"""Samples against their distribution functions, and derivatives by parameters.

Each test draws one fixed sample, so that it passes always or never; a right sampler fails
a Kolmogorov-Smirnov or chi-square test at this level once in ten thousand.
"""

import numpy as np
import pytest
from scipy import special, stats

import minijax as mj
import minijax.numpy as jnp
from minijax import random
from tests import straight

N = 4000
LEVEL = 1e-4

CONTINUOUS = {
    "uniform": (lambda k, s: random.uniform(k, s), stats.uniform()),
    "uniform_range": (
        lambda k, s: random.uniform(k, s, minval=-2.0, maxval=5.0),
        stats.uniform(-2, 7),
    ),
    "normal": (lambda k, s: random.normal(k, s), stats.norm()),
    "exponential": (lambda k, s: random.exponential(k, s), stats.expon()),
    "laplace": (lambda k, s: random.laplace(k, s), stats.laplace()),
    "logistic": (lambda k, s: random.logistic(k, s), stats.logistic()),
    "cauchy": (lambda k, s: random.cauchy(k, s), stats.cauchy()),
    "gumbel": (lambda k, s: random.gumbel(k, s), stats.gumbel_r()),
    "gumbel_high": (lambda k, s: random.gumbel(k, s, mode="high"), stats.gumbel_r()),
    "gumbel_highest": (lambda k, s: random.gumbel(k, s, mode="highest"), stats.gumbel_r()),
    "lognormal": (lambda k, s: random.lognormal(k, 0.7, s), stats.lognorm(0.7)),
    "maxwell": (lambda k, s: random.maxwell(k, s), stats.maxwell()),
    "rayleigh": (lambda k, s: random.rayleigh(k, 2.0, s), stats.rayleigh(scale=2)),
    "pareto": (lambda k, s: random.pareto(k, 3.0, s), stats.pareto(3)),
    "weibull": (
        lambda k, s: random.weibull_min(k, 2.0, 1.5, s),
        stats.weibull_min(1.5, scale=2),
    ),
    "triangular": (
        lambda k, s: random.triangular(k, -1.0, 0.5, 2.0, s),
        stats.triang(0.5, loc=-1, scale=3),
    ),
    "truncated": (
        lambda k, s: random.truncated_normal(k, -0.5, 2.0, s),
        stats.truncnorm(-0.5, 2),
    ),
    "wald": (lambda k, s: random.wald(k, 1.5, s), stats.invgauss(1.5)),
    "gamma": (lambda k, s: random.gamma(k, 3.0, s), stats.gamma(3)),
    "gamma_small": (lambda k, s: random.gamma(k, 0.3, s), stats.gamma(0.3)),
    "loggamma": (lambda k, s: jnp.exp(random.loggamma(k, 0.4, s)), stats.gamma(0.4)),
    "beta": (lambda k, s: random.beta(k, 2.0, 0.7, s), stats.beta(2, 0.7)),
    "chisquare": (lambda k, s: random.chisquare(k, 4.0, s), stats.chi2(4)),
    "f": (lambda k, s: random.f(k, 5.0, 7.0, s), stats.f(5, 7)),
    "t": (lambda k, s: random.t(k, 3.0, s), stats.t(3)),
    "generalized_normal": (lambda k, s: random.generalized_normal(k, 3.0, s), stats.gennorm(3)),
    "double_sided_maxwell": (
        lambda k, s: abs(random.double_sided_maxwell(k, 1.0, 2.0, s) - 1) / 2,
        stats.maxwell(),
    ),
    "dirichlet": (
        lambda k, s: random.dirichlet(k, jnp.array([1.0, 2.0, 3.0]), s)[..., 1],
        stats.beta(2, 4),
    ),
    "ball_radius": (
        lambda k, s: jnp.linalg.norm(random.ball(k, 3, 2, s), axis=-1),
        stats.beta(3, 1),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    draw, distribution = CONTINUOUS[name]
    sample = np.asarray(draw(random.key(20), (N,)), np.float64)
    assert sample.shape == (N,) and np.isfinite(sample).all()
    assert stats.kstest(sample, distribution.cdf).pvalue > LEVEL


@pytest.mark.parametrize("impl", ["threefry4x32", "philox2x32", "philox4x32", "rbg"])
def test_other_keys(impl):
    key = random.key(11, impl=impl)
    for draw, distribution in (CONTINUOUS["normal"], CONTINUOUS["gamma"]):
        sample = np.asarray(draw(key, (N,)), np.float64)
        assert stats.kstest(sample, distribution.cdf).pvalue > LEVEL


DISCRETE = {
    "poisson": (lambda k, s: random.poisson(k, 4.0, s), stats.poisson(4)),
    "poisson_large": (lambda k, s: random.poisson(k, 40.0, s), stats.poisson(40)),
    "binomial": (lambda k, s: random.binomial(k, 12.0, 0.3, s), stats.binom(12, 0.3)),
    "binomial_large": (lambda k, s: random.binomial(k, 90.0, 0.4, s), stats.binom(90, 0.4)),
    "binomial_likely": (lambda k, s: random.binomial(k, 9, 0.8, s), stats.binom(9, 0.8)),
    "geometric": (lambda k, s: random.geometric(k, 0.3, s), stats.geom(0.3)),
    "bernoulli": (lambda k, s: random.bernoulli(k, 0.3, s), stats.bernoulli(0.3)),
    "bernoulli_high": (
        lambda k, s: random.bernoulli(k, 0.3, s, mode="high"),
        stats.bernoulli(0.3),
    ),
    "randint": (lambda k, s: random.randint(k, s, 3, 12), stats.randint(3, 12)),
    "randint_u8": (
        lambda k, s: random.randint(k, s, 250, 256, np.uint8),
        stats.randint(250, 256),
    ),
    "rademacher": (lambda k, s: random.rademacher(k, s) > 0, stats.bernoulli(0.5)),
    "categorical": (
        lambda k, s: random.categorical(k, jnp.log(jnp.array([0.2, 0.3, 0.5])), shape=s),
        stats.rv_discrete(values=([0, 1, 2], [0.2, 0.3, 0.5])),
    ),
    "choice": (
        lambda k, s: random.choice(k, 3, s, p=jnp.array([0.2, 0.3, 0.5])),
        stats.rv_discrete(values=([0, 1, 2], [0.2, 0.3, 0.5])),
    ),
    "multinomial": (
        lambda k, s: random.multinomial(k, 20.0, jnp.array([0.2, 0.3, 0.5]), shape=(*s, 3))[
            ..., 1
        ],
        stats.binom(20, 0.3),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    draw, distribution = DISCRETE[name]
    sample = np.asarray(draw(random.key(21), (N,))).astype(np.int64)
    low, high = (int(distribution.ppf(q)) for q in (0.005, 0.995))
    inner = np.arange(low, high + 1)
    counts = [(sample < low).sum(), *((sample == i).sum() for i in inner)]
    counts.append((sample > high).sum())
    expected = np.array(
        [distribution.cdf(low - 1), *distribution.pmf(inner), distribution.sf(high)]
    )
    exists = expected > 0
    assert np.asarray(counts)[~exists].sum() == 0
    expected = expected[exists] / expected[exists].sum() * N
    result = np.asarray(counts)[exists]
    assert stats.chisquare(result, expected).pvalue > LEVEL


# ------------------------------------------------------- bits, recorded from JAX 0.10.2


def test_bits_of_gumbel_numbers():
    def draw(*args, **options):
        return np.asarray(random.gumbel(random.key(3), (6,), *args, **options))

    assert draw(mode="highest").view(np.uint32).tolist() == [
        1076110585,
        3213034100,
        3174794875,
        3215455103,
        1066360522,
        1040796698,
    ]
    assert draw(mode="high").view(np.uint32).tolist() == [
        1076110589,
        3213034097,
        3174794845,
        3215455102,
        1066360522,
        1040796707,
    ]
    half = draw(np.float16, mode="highest")  # which stands for "high" there
    np.testing.assert_array_equal(half, draw(np.float16, mode="high"))
    with pytest.raises(ValueError, match="valid mode for gumbel"):
        draw(mode="lowest")


def test_choices_by_the_finest_gumbel_numbers():
    key, mode = random.key(3), "highest"
    result = random.categorical(key, jnp.zeros((8, 5)), mode=mode)
    assert result.tolist() == [0, 1, 1, 0, 1, 0, 4, 1]
    result = random.categorical(key, jnp.zeros((2, 5)), shape=(3, 2), replace=False, mode=mode)
    assert result.tolist() == [[0, 1], [4, 4], [2, 3]]
    result = random.choice(key, 5, (3,), False, jnp.arange(1.0, 6), mode=mode)
    assert result.tolist() == [4, 0, 2]


@pytest.mark.parametrize("dtype, last", [("float16", 718), ("bfloat16", 720)])
def test_binomial_numbers_are_drawn_in_the_type_of_the_probability(dtype, last):
    n, p = jnp.array([10, 100, 1000]), jnp.array([[0.1], [0.7]])
    result = random.binomial(random.key(3), n, p, dtype=dtype)
    assert result.dtype == dtype
    assert result.astype(int).tolist() == [[0, 10, 88], [7, 66, last]]


def test_parameters_of_more_axes_than_the_sample():
    key, three = random.key(3), jnp.array([1.0, 2.0, 3.0])
    result = random.weibull_min(key, three, jnp.array([[0.5], [2.0]]))
    expected = [[0.005919428, 0.011838855, 0.017758284], [0.27737668, 0.55475336, 0.83213]]
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert random.double_sided_maxwell(key, 0.0, three).shape == (3, 3)
    assert random.double_sided_maxwell(key, 0.0, three, (2,)).shape == (2, 3)


@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_normal_vectors_need_no_promotion(method):
    key, mean, cov = random.key(0), np.zeros(2, np.float32), np.eye(2, dtype=np.float32)
    draw = lambda mean, cov, shape=None: random.multivariate_normal(
        key, mean, cov, shape, method=method
    )
    with mj.numpy_dtype_promotion("strict"), mj.numpy_rank_promotion("raise"):
        assert mj.eval_shape(draw, mean, cov).shape == (2,)
        assert mj.eval_shape(lambda m, c: draw(m, c, (5, 3)), mean, cov).shape == (5, 3, 2)
        assert mj.eval_shape(draw, mean, np.stack([cov] * 4)).shape == (4, 2)


# -------------------------------------------------------------------------- many values


def test_orders():
    x = random.permutation(random.key(0), 3000)
    assert sorted(x.tolist()) == list(range(3000))
    rows = jnp.arange(12).reshape(4, 3)
    moved = random.permutation(random.key(1), rows)
    assert sorted(moved.tolist()) == rows.tolist()
    columns = random.permutation(random.key(1), rows, axis=1)
    assert sorted(columns.T.tolist()) == rows.T.tolist()
    free = random.permutation(random.key(2), jnp.tile(jnp.arange(50), (4, 1)), 1, True)
    assert [sorted(r) for r in free.tolist()] == [list(range(50))] * 4
    assert len({tuple(r) for r in free.tolist()}) == 4
    keys = random.split(random.key(0), 5)
    repeated = random.permutation(random.key(3), keys)
    assert sorted(random.key_data(repeated).tolist()) == sorted(random.key_data(keys).tolist())


def test_orders_are_equally_likely():
    keys = random.split(random.key(5), 2400)
    orders = mj.vmap(lambda k: random.permutation(k, 4))(keys)
    counts = np.unique(orders @ np.array([1000, 100, 10, 1]), return_counts=True)[1]
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > LEVEL


def test_choice_without_replacement():
    p = jnp.array([0.1, 0.2, 0.3, 0.4])
    keys = random.split(random.key(6), 2000)
    few = mj.vmap(lambda k: random.choice(k, 4, (2,), replace=False, p=p))(keys)
    assert (few[:, 0] != few[:, 1]).all()
    first = np.bincount(few[:, 0], minlength=4)
    assert stats.chisquare(first, 2000 * np.asarray(p, float) / p.sum()).pvalue > LEVEL
    both = random.categorical(random.key(0), jnp.zeros((3, 5)), shape=(5, 3), replace=False)
    assert [sorted(r) for r in both.T.tolist()] == [list(range(5))] * 3


def test_normal_vectors():
    mean = jnp.array([1.0, -2.0, 0.5])
    factor = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-1.0, 0.3, 0.7]], np.float32)
    cov = factor @ factor.T
    for method in ("cholesky", "eigh", "svd"):
        x = random.multivariate_normal(random.key(3), mean, cov, (N,), method=method)
        assert x.shape == (N, 3)
        np.testing.assert_allclose(x.mean(0), mean, atol=0.12)
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.3)
        white = np.linalg.solve(factor, np.asarray(x - mean).T)
        np.testing.assert_allclose(np.cov(white), np.eye(3), atol=0.07)
    x = random.multivariate_normal(random.key(0), jnp.zeros((5, 1, 3)), cov[None])
    assert x.shape == (5, 1, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_orthogonal_matrices(dtype):
    for n, m in ((4, 4), (3, 5), (5, 3), (1, 1)):
        q = random.orthogonal(random.key(0), n, (2,), dtype, m)
        assert q.shape == (2, n, m) and q.dtype == dtype
        small = q @ q.mT.conj() if n <= m else q.mT.conj() @ q
        np.testing.assert_allclose(
            small, np.broadcast_to(np.eye(min(n, m)), small.shape), atol=2e-6
        )
    turns = random.orthogonal(random.key(1), 2, (N // 4,), np.complex64)
    angles = np.angle(np.linalg.eigvals(turns)).ravel()
    assert stats.kstest((angles + np.pi) / (2 * np.pi), "uniform").pvalue > LEVEL


def test_points_of_balls():
    for p in (1, 1.5, 2, np.inf):
        x = random.ball(random.key(0), 2, p, (500,))
        assert x.shape == (500, 2)
        if p != np.inf:
            assert ((abs(np.asarray(x, np.float64)) ** p).sum(-1) <= 1 + 1e-5).all()


def test_complex_normal_numbers():
    x = np.asarray(random.normal(random.key(0), (N,), np.complex64))
    for part in (x.real, x.imag):
        assert stats.kstest(part * np.sqrt(2), "norm").pvalue > LEVEL
    assert abs(np.corrcoef(x.real, x.imag)[0, 1]) < 0.06


def test_extremes():
    nothing = random.binomial(random.key(0), jnp.array([jnp.nan, -1.0, jnp.inf]), 0.5)
    assert np.isnan(nothing[:2]).all() and nothing[2] == np.inf
    assert random.poisson(random.key(0), 0.0, (5,)).tolist() == [0] * 5
    assert random.bernoulli(random.key(0), jnp.array([0.0, 1.0])).tolist() == [False, True]
    assert random.choice(random.key(0), 0, (0,)).shape == (0,)
    for name in ("uniform", "normal", "gumbel", "exponential"):
        assert getattr(random, name)(random.key(0), (0, 3)).shape == (0, 3)


# -------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("a", [0.2, 0.9, 1.0, 2.5, 30.0])
def test_gamma_derivatives(a):
    key = random.key(4)
    x, slope = mj.jvp(lambda v: random.gamma(key, v, (50,)), (a,), (1.0,))
    h = 1e-4 * a
    x = np.asarray(x, np.float64)
    up, down = special.gammainc(a + h, x), special.gammainc(a - h, x)
    expected = -(up - down) / (2 * h) / stats.gamma(a).pdf(x)
    np.testing.assert_allclose(slope, expected, rtol=2e-3, atol=1e-5)
    log_slope = mj.jvp(lambda v: random.loggamma(key, v, (50,)), (a,), (1.0,))[1]
    sample = np.exp(np.asarray(random.loggamma(key, a, (50,)), np.float64))
    up, down = special.gammainc(a + h, sample), special.gammainc(a - h, sample)
    expected = -(up - down) / (2 * h) / stats.gamma(a).pdf(sample) / sample
    np.testing.assert_allclose(log_slope, expected, rtol=2e-3, atol=1e-4)


PARAMETERS = {
    "uniform": (lambda k, a: random.uniform(k, (20,), minval=a, maxval=4.0), 1.5),
    "lognormal": (lambda k, a: random.lognormal(k, a, (20,)), 0.6),
    "pareto": (lambda k, a: random.pareto(k, a, (20,)), 2.5),
    "rayleigh": (lambda k, a: random.rayleigh(k, a, (20,)), 2.5),
    "weibull": (lambda k, a: random.weibull_min(k, 2.0, a, (20,)), 2.5),
    "truncated": (lambda k, a: random.truncated_normal(k, a, 2.0, (20,)), -0.7),
    "triangular": (lambda k, a: random.triangular(k, 0.0, a, 2.0, (20,)), 0.7),
    "normal_vector": (
        lambda k, a: random.multivariate_normal(k, jnp.stack([a, a]), a * jnp.eye(2), (9,)),
        1.3,
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_derivatives_by_parameters(name):
    draw, a = PARAMETERS[name]
    key = random.key(8)
    with mj.enable_x64(True):
        _, slope = mj.jvp(lambda v: draw(key, v), (a,), (1.0,))
        h = 1e-5
        expected = (draw(key, a + h) - draw(key, a - h)) / (2 * h)
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_gamma_lanes():
    keys, a = random.split(random.key(9), 3), jnp.array([0.5, 1.0, 4.0])
    both = mj.vmap(lambda k, v: random.gamma(k, v, (2,)))(keys, a)
    shared = mj.vmap(lambda v: random.gamma(keys[0], v, (2,)))(a)
    for i in range(3):
        np.testing.assert_array_equal(both[i], random.gamma(keys[i], a[i], (2,)))
        np.testing.assert_array_equal(shared[i], random.gamma(keys[0], a[i], (2,)))


# ------------------------------------------------------------------------- arguments

KEY = random.key(0)


@pytest.mark.parametrize(
    ("args", "kwargs", "sentence"),
    [
        ((), {}, "missing 1 required positional argument: 'key'"),
        ((KEY,), {"b": 1.0}, "got an unexpected keyword argument 'b'"),
        ((KEY, 1.0, (), None), {"b": 1.0}, "got an unexpected keyword argument 'b'"),
        ((KEY, 1.0, (), None, 0), {}, "takes from 1 to 4 positional arguments"),
        ((KEY, 1.0), {"sigma": 2.0}, "got multiple values for argument 'sigma'"),
    ],
)
def test_invalid_arguments_raise_as_in_python(args, kwargs, sentence):
    with pytest.raises(TypeError) as caught:
        random.lognormal(*args, **kwargs)
    assert f"lognormal() {sentence}" in str(caught.value)


def test_arguments_by_name_are_those_by_position():
    expected = random.lognormal(KEY, 0.5, (3,), jnp.float16)
    for args, kwargs in (
        ((KEY, 0.5), {"dtype": "float16", "shape": [3]}),
        ((), {"shape": jnp.array([3]), "key": KEY, "dtype": jnp.float16, "sigma": 0.5}),
    ):
        assert (random.lognormal(*args, **kwargs) == expected).all()


def test_out_sharding_is_accepted_only_where_supported():
    assert random.wald(KEY, 1.0, out_sharding=None).shape == ()
    with pytest.raises(TypeError, match="unexpected keyword argument 'out_sharding'"):
        random.weibull_min(KEY, 1.0, 1.0, out_sharding=None)


@pytest.mark.parametrize(
    "draw",
    [
        lambda k: random.maxwell(k, (2,), "bfloat16"),
        lambda k: random.ball(k, 3, 2, (2,), "float16"),
        lambda k: random.dirichlet(k, jnp.ones(3, "bfloat16"), (2,), "bfloat16"),
        lambda k: random.double_sided_maxwell(k, 0.0, 1.0, (2,), "float16"),
    ],
)
def test_halves_are_summed_in_single_precision(draw):
    """The bits then agree with sums that are rounded once."""
    sums = [
        e.invars[0].aval.dtype
        for e in straight.equations(mj.make_jaxpr(draw)(KEY).jaxpr)
        if e.primitive.name == "reduce_sum"
    ]
    assert sums == [np.float32]


def test_ranges_with_further_axes_of_size_one():
    """One number is drawn for each element of the shape, within its range."""
    one, three = random.uniform(KEY), random.uniform(KEY, (3,))
    low, high = jnp.full(1, 2.0), jnp.full(1, 4.0)
    result = random.uniform(KEY, (), jnp.float32, low, high)
    assert result.shape == (1,) and result[0] == 2 * one + 2
    assert random.uniform(KEY, (), jnp.float32, 2.0, high) == 2 * one + 2
    result = random.uniform(KEY, (3,), jnp.float32, low, jnp.full((1, 3), 4.0))
    np.testing.assert_array_equal(result, 2 * three + 2)
    for shape, high in (((), jnp.ones(3)), ((1, 3), jnp.ones((2, 1)))):
        with pytest.raises(TypeError, match="do not broadcast to the shape"):
            random.uniform(KEY, shape, jnp.float32, 0.0, high)


@pytest.mark.parametrize(
    "dtype, drawn",
    (("bool", [2, 2, 2]), ("int8", [2, 2, 2]), ("uint32", [2, 2, 2]), ("int64", [3, 2, 2])),
)
def test_choices_by_integer_weights_have_the_bits_of_their_float_dtype(dtype, drawn):
    """Recorded from JAX 0.10.2 with x64: only 64-bit integer weights become float64."""
    with mj.enable_x64(True):
        weights = jnp.array([1, 0, 1, 1], dtype)
        result = mj.random.choice(mj.random.key(1), 4, (3,), p=weights)
    assert result.tolist() == drawn
