"""scipy.stats: distributions against SciPy in float64; derivatives; ends of supports."""

import importlib

import numpy as np
import pytest
import scipy.stats as reference

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy import stats
from minijax.tools.stubs import DISTRIBUTIONS

LOC, SCALE = 0.25, 1.5
ANY = [-30.0, -2.5, -0.3, 0.0, 0.7, 4.0, 30.0]
POSITIVE = [1e-3, 0.4, 1.0, 3.5, 40.0]
INTEGERS = [0.0, 1.0, 2.0, 4.0]
QUANTILES = ("ppf", "isf")
PLACES = np.array([0.0, 1e-9, 0.2, 0.5, 0.75, 0.999, 1.0])
# name: parameters, places in the support, places out of it (in standard form).
ROWS = {
    "norm": ((), ANY, []),
    "cauchy": ((), ANY, []),
    "laplace": ((), [-30.0, -1.0, 0.2, 4.0], []),
    "logistic": ((), ANY, []),
    "gumbel_l": ((), ANY[:-1], []),
    "gumbel_r": ((), ANY[1:], []),
    "t": ((2.5,), ANY, []),
    "expon": ((), POSITIVE, [-1.0]),
    "uniform": ((), [0.1, 0.5, 0.9], [-0.1, 1.1]),
    "gamma": ((2.5,), POSITIVE, [-1.0]),
    "chi2": ((3.0,), POSITIVE, [-1.0]),
    "pareto": ((2.5,), [1.1, 3.0, 50.0], [0.5, -1.0]),
    "beta": ((2.5, 0.8), [0.01, 0.5, 0.99], [-0.1, 1.1]),
    "truncnorm": ((-1.0, 2.0), [-0.99, 0.5, 1.99], [-1.1, 2.1]),
    "gennorm": ((1.5,), ANY, []),
    "vonmises": ((2.5,), [-3.0, 0.5, 2.0], []),
    "wrapcauchy": ((0.5,), [0.1, 1.0, 6.0], [-0.1, 6.5]),
    "bernoulli": ((0.3,), INTEGERS[:2], [-1.0, 2.0]),
    "binom": ((5.0, 0.3), INTEGERS, [-1.0, 6.0]),
    "nbinom": ((5.0, 0.3), INTEGERS, [-1.0]),
    "geom": ((0.3,), INTEGERS[1:], [0.0, -1.0]),
    "poisson": ((2.5,), INTEGERS, [-1.0, 0.5]),
    "betabinom": ((5.0, 2.5, 1.5), INTEGERS, [-1.0, 6.0]),
}
SLOPES = ("logpdf", "logpmf", "cdf", "ppf")
DENSITIES = ("logpdf", "pdf", "logpmf", "pmf")
BARE = {"gennorm": 0, "vonmises": 0, "wrapcauchy": 0}  # without location and scale


def functions(name):
    module = importlib.import_module(f"minijax.scipy.stats.{name}")
    return {n: getattr(module, n) for n in module.__all__ if n != "entropy"}


def moved(name):
    """Return the location and scale that a function has."""
    if name in BARE:
        return ()
    return (LOC, SCALE) if "pdf" in functions(name) else (1.0,)


def all_of(name):
    """Return all functions of a distribution as one function, for one program.

    Slopes in parameters of shape are those of densities alone.
    """

    def total(x, q, shape, rest):
        out = {}
        for n, f in functions(name).items():
            remaining = shape if n in DENSITIES else mj.lax.stop_gradient(shape)
            out[n] = f(q if n in QUANTILES else x, *remaining, *rest[: count(name, n)])
        return out

    return total


def count(name, n):
    """Return how many of location and scale a function takes."""
    return 0 if name == "bernoulli" and n in ("cdf", "ppf") else 2


def expected(name, x, q, shape, rest, step=0.0, direction=None):
    """Return SciPy's values at shifted arguments."""
    scipy_dist, out = getattr(reference, name), {}
    dx, dq, dshape, drest = direction or (0, 0, [0] * len(shape), [0] * len(rest))
    x, q = x + step * dx, q + step * dq
    rest = [r + step * d for r, d in zip(rest, drest, strict=True)]
    further = [s + step * d for s, d in zip(shape, dshape, strict=True)]
    for n in functions(name):
        remaining = further if n in DENSITIES else shape
        at = q if n in QUANTILES else x
        with np.errstate(all="ignore"):
            out[n] = getattr(scipy_dist, n)(at, *remaining, *rest[: count(name, n)])
            if name == "bernoulli" and n == "ppf":
                out[n] = np.maximum(out[n], 0)  # of 0, where SciPy has -1
    return out


def operands(name):
    shape, inside, outside = ROWS[name]
    rest = moved(name)
    x = np.array(inside + outside)
    if len(rest) > 1:
        x = x * SCALE
    return (x + rest[0] if rest else x), PLACES, shape, rest


def test_every_distribution_has_a_row():
    assert set(ROWS) == set(DISTRIBUTIONS.split()) - {
        "multinomial",
        "dirichlet",
        "multivariate_normal",
    }


@pytest.mark.parametrize("name", ROWS)
def test_values_and_slopes(name):
    args = operands(name)
    x, q, shape, rest = args
    is_discrete = "pmf" in functions(name)  # integers have no derivatives
    direction = (
        x * 0 + (not is_discrete),
        q * 0 + (not is_discrete),
        [0.0 if s == 5 else 0.5 for s in shape],
        [0.0] if is_discrete else [0.3, 0.7][: len(rest)],
    )
    reference_values = expected(name, *args)
    ahead, back = (expected(name, *args, h, direction) for h in (1e-6, -1e-6))

    def differentiated(t):
        dx, dq, dshape, drest = direction
        further = [
            [a + t * d for a, d in zip(*p, strict=True)]
            for p in ((shape, dshape), (rest, drest))
        ]
        return all_of(name)(x + t * dx, q + t * dq, *further)

    def some(values):  # what is slow to compile has slopes that follow from these
        heavy = name in ("norm", "gamma", "chi2", "beta", "truncnorm", "poisson")
        return {n: y for n, y in values.items() if not heavy or n in SLOPES}

    with mj.enable_x64():
        got, slopes = mj.jit(
            lambda t: (
                differentiated(t),
                mj.jvp(lambda t: some(differentiated(t)), (t,), (t + 1,))[1],
            )
        )(0.0)
    for n, y in got.items():
        np.testing.assert_allclose(y, reference_values[n], 2e-10, 1e-13, err_msg=n)
    for n in slopes:
        with np.errstate(all="ignore"):
            slope = (ahead[n] - back[n]) / 2e-6
        fine = np.isfinite(reference_values[n]) & np.isfinite(slope)
        fine |= (reference_values[n] == -np.inf) & (x is not q)
        slope = np.where(np.isfinite(reference_values[n]), slope, 0)
        if n in QUANTILES:
            fine &= (q > 1e-3) & (q < 1)
        np.testing.assert_allclose(
            np.asarray(slopes[n])[fine], slope[fine], 1e-5, 1e-6, err_msg=n
        )


@pytest.mark.parametrize("name", ["t", "pareto"])
def test_in_single_precision(name):
    args = operands(name)
    reference_values = expected(name, *args)
    for n, y in mj.jit(all_of(name))(*args).items():
        remaining = (PLACES > 0) & (PLACES < 1) if n in QUANTILES else np.ones(y.shape, bool)
        np.testing.assert_allclose(
            y[remaining], np.asarray(reference_values[n])[remaining], 3e-5, 1e-6, err_msg=n
        )


# --------------------------------------------------------------------- ends of supports


def test_at_infinity_and_nan():
    x = jnp.array([-np.inf, np.inf, np.nan])
    ends = {
        "logpdf": [-np.inf] * 2,
        "pdf": [0, 0],
        "cdf": [0, 1],
        "sf": [1, 0],
        "logcdf": [-np.inf, 0],
        "logsf": [0, -np.inf],
        "logpmf": [-np.inf] * 2,
        "pmf": [0, 0],
    }
    names = "gumbel_l gumbel_r gamma poisson".split()
    got = mj.jit(
        lambda: {
            (name, n): f(x, *ROWS[name][0])
            for name in names
            for n, f in functions(name).items()
            if n not in QUANTILES
        }
    )()
    for (name, n), y in got.items():
        np.testing.assert_array_equal(y, [*ends[n], np.nan], err_msg=f"{name}.{n}")


@pytest.mark.parametrize("name", ["expon", "gamma", "pareto", "truncnorm"])
def test_no_slopes_out_of_the_support(name):
    """In reverse mode, an infinite slope times 0 would be nan."""
    shape, _, outside = ROWS[name]

    def total(x, shape):
        values = (f(x, *shape) for n, f in functions(name).items() if n not in QUANTILES)
        return sum(map(jnp.sum, values))

    x = jnp.array([*outside, -1e3])
    slopes = mj.jit(mj.grad(total, (0, 1)))(x, tuple(shape))
    for y in mj.tree_util.tree_leaves(slopes):
        np.testing.assert_array_equal(y, np.zeros(y.shape))


FAR = [  # where simpler formulas overflow, cancel, or are off their tails
    ("cauchy.logpdf", (1e30,), -139.2998),
    ("cauchy.cdf", (-1e10,), 1e-10 / np.pi),
    ("cauchy.ppf", (1e-10,), -1e10 / np.pi),
    ("norm.isf", (1e-20,), 9.26234009),
    ("cauchy.ppf", (-0.1,), np.nan),
    ("cauchy.isf", (1.1,), np.nan),
    ("norm.logcdf", (-1e4,), -5.0000010e7),
    ("norm.pdf", (0.0, 0.0, -1.0), 0.39894228),
    ("t.logpdf", (1e15, 2.0), -3 * np.log(1e15)),
    ("chi2.logpdf", (0.0, 2.0), -np.log(2)),
    ("truncnorm.logpdf", (10.0, 9.0, 11.0), reference.truncnorm.logpdf(10, 9, 11)),
    ("binom.logpmf", (5e3, 1e4, 0.5), reference.binom.logpmf(5000, 10000, 0.5)),
    ("gumbel_r.logsf", (30.0,), -30),
    ("beta.pdf", (0.5, -1.0, 1.0), np.nan),
    ("t.logpdf", (1e25, 2.0), -3 * np.log(1e25)),
]


def test_far_tails():
    result = [functions(row[0].partition(".")[0])[row[0].partition(".")[2]] for row in FAR]
    got = mj.jit(lambda args: [f(*a) for f, a in zip(result, args, strict=True)])(
        [args for _, args, _ in FAR]
    )
    for y, (name, args, reference_values) in zip(got, FAR, strict=True):
        np.testing.assert_allclose(y, reference_values, 2e-4, err_msg=f"{name}{args}")
    assert mj.grad(stats.gennorm.cdf)(0.0, 1.5) == stats.gennorm.pdf(0.0, 1.5)


# To twenty digits, where gamma functions are large, and where log1p loses some.
PRECISE = [
    ("gamma.logpdf", (99000.0, 100000.0), -11.698937113313737196),
    ("gamma.logpdf", (16787216.0, 16777216.0), -12.216349103793574308),
    ("chi2.logpdf", (100200.0, 100000.0), -7.1238413916462983943),
    ("beta.logpdf", (0.625, 1000000.0, 600000.0), 6.9492348313901740935),
    ("beta.logpdf", (0.0001220703125, 3.5, 100000.0), 4.3593716154784718935),
    ("beta.logpdf", (0.9998779296875, 100000.0, 3.5), 4.3593716154784718935),
    ("beta.logpdf", (0.25, 100000000.0, 300000000.0), 9.8215372352145132991),
    ("beta.logpdf", (0.25, 1.0, 1.0), 0.0),
    ("poisson.logpmf", (100100, 100000.0), -6.7258851900188312141),
    ("binom.logpmf", (500100, 1000000.0, 0.5), -7.1535468617602107532),
    ("binom.logpmf", (3, 1000000.0, 3.814697265625e-06), -1.5898716430622725501),
    ("nbinom.logpmf", (100100, 100000.0, 0.5), -7.0477133003198376716),
    ("cauchy.logcdf", (0.375,), -0.48743426195578503909),
    ("gumbel_r.logsf", (0.125,), -0.53400645358483201649),
    ("gumbel_r.logsf", (800.0,), -800.0),
]


@pytest.mark.parametrize(("name", "at", "expected"), PRECISE)
def test_digits(name, at, expected):
    dist, function = name.split(".")
    fun = getattr(getattr(stats, dist), function)
    with mj.enable_x64(True):
        result = fun(*(np.float64(x) for x in at))
        np.testing.assert_allclose(result, expected, rtol=2e-14)
    result = fun(*(np.float32(x) for x in at))
    np.testing.assert_allclose(result, expected, rtol=4e-6)


# To the last digits, where logarithms are large, or where terms would cancel.
EXACT = [
    ("norm.pdf", (-9.180814743041992,), 1.9867468665310525e-19),
    ("cauchy.pdf", (-151.951171875,), 1.3785521841869104e-05),
    ("logistic.pdf", (-9.810821533203125,), 5.484874567834033e-05),
    ("laplace.pdf", (26.2576847076416,), 1.974251279968776e-12),
    ("expon.pdf", (5.0, 1.0, 0.25), 4 * np.exp(-16.0)),
    ("pareto.logcdf", (2.0, 12.0), np.log1p(-(2.0**-12))),
    ("binom.logpmf", (0.0, 4.0, 2.0**-19), -7.629401807216865e-06),
    ("binom.logpmf", (12.0, 12.0, 0.99993896484375), -0.0007324442276513271),
    ("nbinom.logpmf", (0.0, 3.5, 1 - 2.0**-15), -0.00010681315328516499),
]


@pytest.mark.parametrize(("name", "at", "expected"), EXACT)
def test_last_digits(name, at, expected):
    dist, function = name.split(".")
    fun = getattr(getattr(stats, dist), function)
    for dtype in (np.float64, np.float32):
        with mj.enable_x64(True):
            result = fun(*(dtype(x) for x in at))
        np.testing.assert_allclose(result, expected, rtol=6 * np.finfo(dtype).eps)


def test_slopes_of_certain_outcomes():
    """Slopes by k agree with neighbouring values; slopes by p are finite also at 0 and 1."""
    slope = mj.grad(stats.binom.logpmf, (0, 1, 2))
    near, at = slope(1e-4, 5.0, 0.3), slope(0.0, 5.0, 0.3)
    np.testing.assert_allclose(at, near, rtol=1e-3)
    near, at = slope(5.0, 5.0, 0.3), slope(4.9999, 5.0, 0.3)
    np.testing.assert_allclose(at[0], near[0], rtol=1e-3)
    np.testing.assert_allclose(at[2], near[2], rtol=1e-3)
    assert mj.grad(stats.binom.logpmf, 2)(0.0, 5.0, 1.0) == -np.inf
    assert mj.grad(stats.binom.logpmf, 2)(5.0, 5.0, 0.0) == np.inf
    assert mj.grad(stats.binom.logpmf, 2)(0.0, 5.0, 0.0) == -5
    slope = mj.grad(stats.nbinom.logpmf, (0, 1, 2))
    np.testing.assert_allclose(slope(0.0, 5.0, 0.3), slope(1e-4, 5.0, 0.3), rtol=1e-3)
    for dist in (stats.cauchy, stats.logistic, stats.laplace, stats.expon):
        assert np.isnan(dist.pdf(0.5, 0.0, -2.0))


# Slopes by p, or by the mean, of probabilities at its ends: of p^k (1-p)^(n-k) n! / ...
AT_ENDS = [
    (stats.binom.pmf, ((0.0, 7.0), (1.0, 7.0), (2.0, 7.0)), 0.0, (-7, 7, 0)),
    (stats.binom.pmf, ((7.0, 7.0), (6.0, 7.0), (3.0, 7.0)), 1.0, (7, -7, 0)),
    (stats.nbinom.pmf, ((0.0, 2.0), (1.0, 2.0), (2.0, 2.0)), 1.0, (2, -2, 0)),
    (stats.bernoulli.pmf, ((0.0,), (1.0,)), 0.0, (-1, 1)),
    (stats.geom.pmf, ((1.0,), (2.0,), (3.0,)), 1.0, (1, -1, 0)),
    (stats.poisson.pmf, ((0.0,), (1.0,), (2.0,)), 0.0, (-1, 1, 0)),
]


def test_slopes_of_probabilities_at_ends_of_their_parameter():
    result = mj.jit(
        lambda: [[mj.grad(f, len(row))(*row, at) for row in rows] for f, rows, at, _ in AT_ENDS]
    )()
    for slopes, (*_, reference_values) in zip(result, AT_ENDS, strict=True):
        np.testing.assert_allclose(slopes, reference_values, 1e-5)
    by_n_and_p = mj.grad(stats.binom.logpmf, (1, 2))(1.0, 7.0, 0.0)
    np.testing.assert_allclose(by_n_and_p, [1 / 7, np.inf], 1e-5)


def test_slopes_of_distribution_functions_are_densities():
    """They hold at the border, at infinity, and for large parameters in float32."""
    slope = mj.grad
    assert slope(stats.gamma.cdf)(0.0, 1.0) == 1
    assert slope(stats.chi2.sf)(0.0, 2.0) == -0.5
    assert slope(stats.beta.cdf)(1.0, 2.0, 1.0) == 2
    assert slope(stats.gamma.cdf)(np.inf, 2.0) == 0
    assert slope(stats.cauchy.logsf)(-np.inf) == slope(stats.cauchy.logcdf)(-np.inf) == 0
    large = slope(stats.gamma.cdf)(1e6, 1e6), slope(stats.beta.cdf)(0.5, 1e6, 1e6)
    reference_values = reference.gamma.pdf(1e6, 1e6), reference.beta.pdf(0.5, 1e6, 1e6)
    np.testing.assert_allclose(large, reference_values, 1e-5)
    assert np.isnan(stats.gennorm.cdf(np.nan, 2.0))


def test_entropy_of_poisson():
    mu = np.array([1e-8, 0.3, 8.0, 49.9, 50.1, 1e3])
    reference_values = reference.poisson.entropy(mu[1:])
    with mj.enable_x64():
        got, slope = mj.jit(mj.vmap(mj.value_and_grad(stats.poisson.entropy)))(mu)
    np.testing.assert_allclose(got[1:], reference_values, 1e-12)
    assert got[0] == pytest.approx(1.94206807474181e-7, rel=1e-12)  # the sum, in decimals
    ahead, back = (reference.poisson.entropy(mu[1:] + h) for h in (1e-5, -1e-5))
    np.testing.assert_allclose(slope[1:], (ahead - back) / 2e-5, 1e-6, 1e-7)
    ends = stats.poisson.entropy(jnp.array([0.0, -1.0, np.inf]), jnp.zeros((2, 1)))
    np.testing.assert_array_equal(ends, [[0, np.nan, np.inf]] * 2)


# ------------------------------------------------------------------------------- vectors


def test_multinomial():
    p = np.array([0.2, 0.3, 0.5])
    x = np.array([[1, 2, 3], [0, 0, 6], [2, 2, 1], [-1, 3, 4]])
    reference_values = reference.multinomial.logpmf(x, 6, p)
    got = stats.multinomial.logpmf(x, 6, p)
    np.testing.assert_allclose(got, reference_values, 1e-5)
    np.testing.assert_allclose(stats.multinomial.pmf(x, 6, p), np.exp(reference_values), 1e-5)
    assert np.isfinite(stats.multinomial.logpmf(x[:3], np.array([6, 6, 5]), p)).all()
    slope = mj.grad(lambda p: stats.multinomial.logpmf(jnp.array([0, 2, 3]), 5, p))
    np.testing.assert_allclose(slope(jnp.array([0.0, 0.4, 0.6])), [0, 5, 5], 1e-6)
    with pytest.raises(ValueError, match="x and n must be of integer type"):
        stats.multinomial.pmf(x * 1.0, 6, p)


def test_dirichlet():
    alpha = np.array([1.5, 2.0, 3.0])
    x = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]).T
    reference_values = reference.dirichlet.logpdf(x, alpha)
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), reference_values, 1e-5)
    np.testing.assert_allclose(
        stats.dirichlet.pdf(x[:2], alpha), np.exp(reference_values), 1e-5
    )
    for out in ([0.2, 0.3, 0.6], [-0.2, 0.7, 0.5]):
        assert stats.dirichlet.logpdf(np.array(out), alpha) == -np.inf
        slope = mj.grad(stats.dirichlet.logpdf, (0, 1))(jnp.array(out), jnp.array(alpha))
        assert not np.any(slope)
    # On the edge: the density is 0, finite or infinite by the power of what is 0 there.
    for point, powers, log in (
        ([0.0, 0.25, 0.75], [1.0, 0.5, 2.0], None),
        ([0.0, 1.0], [1.0, 2.0], None),
        ([0.0], [1.0, 1.0], None),
        ([0.0, 1.0], [2.0, 1.0], None),
        ([0.0, 1.0], [0.5, 1.0], np.inf),
        ([-0.1, 1.1], [1.0, 1.0], -np.inf),
        ([0.5, 0.5], [0.0, 1.0], np.nan),
    ):
        log = reference.dirichlet.logpdf(point, powers) if log is None else log
        result = stats.dirichlet.logpdf(np.array(point), np.array(powers))
        np.testing.assert_allclose(result, log, 1e-6, atol=1e-6)
    at = jnp.array([0.0, 1.0]), jnp.array([1.0, 2.0])
    x_bar, alpha_bar = mj.grad(stats.dirichlet.logpdf, (0, 1))(*at)
    assert x_bar.tolist() == [0, 1] and alpha_bar[0] == -np.inf
    with pytest.raises(ValueError, match="`alpha` must be one-dimensional"):
        stats.dirichlet.logpdf(x, x)
    with pytest.raises(ValueError, match="one entry fewer"):
        stats.dirichlet.logpdf(np.ones(5) / 5, alpha)


COV = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 3.0]])


def test_normal_vectors():
    law, scipy_dist = stats.multivariate_normal, reference.multivariate_normal
    x, mean = np.array([[1.0, -0.5, 2.0], [0.3, 0.2, 0.1]]), np.array([0.5, 0.2, -1.0])
    reference_values = scipy_dist.logpdf(x, mean, COV)
    np.testing.assert_allclose(law.logpdf(x, mean, COV), reference_values, 1e-5)
    np.testing.assert_allclose(law.pdf(x, mean, COV), np.exp(reference_values), 1e-5)
    np.testing.assert_allclose(
        law.logpdf(x[:, None], mean, np.stack([COV, 2 * COV]))[:, 1],
        scipy_dist.logpdf(x, mean, 2 * COV),
        1e-5,
    )
    np.testing.assert_allclose(law.logpdf(x, mean, 2.0), scipy_dist.logpdf(x, mean, 2.0), 1e-5)
    np.testing.assert_allclose(
        law.logpdf(x[0], 0.5, 4.0), reference.norm.logpdf(x[0], 0.5, 2), 1e-5
    )
    assert np.isnan(law.logpdf(x[0], mean, -COV))
    step = 1e-6
    with mj.enable_x64():
        slopes = mj.grad(law.logpdf, (0, 1, 2))(x[0], mean, COV)
    for i in range(2):
        operands = [x[0], mean, COV]
        for j in range(3):
            operands[i] = np.eye(3)[j] * step + (x[0], mean)[i]
            ahead = scipy_dist.logpdf(*operands)
            operands[i] = np.eye(3)[j] * -step + (x[0], mean)[i]
            slope = (ahead - scipy_dist.logpdf(*operands)) / (2 * step)
            assert slopes[i][j] == pytest.approx(slope, rel=1e-6)
    inverse = np.linalg.inv(COV)
    white = inverse @ (x[0] - mean)
    np.testing.assert_allclose(slopes[2], (np.outer(white, white) - inverse) / 2, 1e-6)
    for shapes in ((3, 2), (2, 2), (3, 2)):
        with pytest.raises(ValueError, match="got incompatible shapes"):
            law.logpdf(x, mean, np.ones(shapes))
    with pytest.raises(NotImplementedError, match="allow_singular argument"):
        law.logpdf(x, mean, COV, allow_singular=True)


# ------------------------------------------------------------------------------- samples

SAMPLES = np.array([[3.0, 1.0, 2.0, 2.0, 5.0, 1.0], [2.0, 2.0, 1.0, 0.0, 2.0, 9.0]])


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    for axis in (None, 0, 1):
        reference_values = reference.rankdata(SAMPLES, method, axis=axis)
        reference_values = reference_values.ravel() if axis is None else reference_values
        np.testing.assert_array_equal(
            stats.rankdata(SAMPLES, method, axis=axis), reference_values
        )
    with_nan = stats.rankdata(np.where(SAMPLES == 9, np.nan, SAMPLES), method, axis=1)
    assert not np.isnan(with_nan[0]).any() and np.isnan(with_nan[1]).all()
    assert stats.rankdata(np.zeros(0), method).shape == (0,)


def test_modes():
    for axis in (None, 0, 1):
        for keepdims in (False, True):
            got = stats.mode(SAMPLES, axis, keepdims=keepdims)
            reference_values = reference.mode(SAMPLES, axis, keepdims=keepdims)
            for x, y in zip(got, reference_values, strict=True):
                np.testing.assert_array_equal(x, y)
                assert x.shape == np.shape(y)
    assert str(stats.mode(np.array([np.nan, 1, np.nan])).count) == "2"
    assert np.isnan(stats.mode(np.zeros((0, 2))).mode).all()
    assert stats.mode(np.array([True, False, True])).mode.dtype == bool


def test_standard_errors():
    holed = np.where(SAMPLES == 9, np.nan, SAMPLES)
    for axis in (None, 0, 1):
        for ddof in (0, 1):
            reference_values = reference.sem(SAMPLES, axis, ddof)
            np.testing.assert_allclose(stats.sem(SAMPLES, axis, ddof), reference_values, 1e-5)
        if axis == 0:
            continue  # SciPy warns of single numbers
        reference_values = reference.sem(holed, axis, nan_policy="omit")
        got = stats.sem(holed, axis, nan_policy="omit", keepdims=True)
        np.testing.assert_allclose(np.squeeze(got), np.squeeze(reference_values), 1e-5)


POLICIES = [
    (ValueError, "Illegal nan_policy value 'x'", "x"),
    (NotImplementedError, "omit is not implemented", "omit"),
    (NotImplementedError, "we cannot know whether `x` contains nans", "raise"),
]


@pytest.mark.parametrize("kind, words, policy", POLICIES)
def test_policies(kind, words, policy):
    for f in (stats.mode, stats.rankdata):
        with pytest.raises(kind, match=words):
            f(SAMPLES, nan_policy=policy)
    if policy != "omit":
        with pytest.raises(ValueError, match=f"{policy} is not supported"):
            stats.sem(SAMPLES, nan_policy=policy)


KERNELS = [
    (SAMPLES, {"bw_method": "silverman"}),
    (SAMPLES, {"bw_method": 0.4}),
    (SAMPLES[0], {"weights": np.arange(1.0, 7.0)}),
]


@pytest.mark.parametrize("data, options", KERNELS)
def test_estimates_of_densities(data, options):
    ours, scipy_dist = (
        stats.gaussian_kde(data, **options),
        reference.gaussian_kde(data, **options),
    )
    d = ours.d
    points = np.array([[0.5, 2.0, 60.0], [1.0, 3.0, 60.0]])[:d]
    close = {"rtol": 1e-4}
    np.testing.assert_allclose(ours.logpdf(points), scipy_dist.logpdf(points), **close)
    np.testing.assert_allclose(ours(points)[:2], scipy_dist(points)[:2], **close)
    np.testing.assert_allclose(ours.covariance, scipy_dist.covariance, **close)
    np.testing.assert_allclose(ours.inv_cov, scipy_dist.inv_cov, **close)
    np.testing.assert_allclose(ours.neff, scipy_dist.neff, **close)
    mean, cov = np.ones(d), np.eye(d) * 2
    np.testing.assert_allclose(
        ours.integrate_gaussian(mean, cov), scipy_dist.integrate_gaussian(mean, cov), **close
    )
    np.testing.assert_allclose(
        ours.integrate_kde(ours), scipy_dist.integrate_kde(scipy_dist), **close
    )
    if d == 1:
        box = ours.integrate_box_1d(1.0, 2.5)
        np.testing.assert_allclose(box, scipy_dist.integrate_box_1d(1.0, 2.5), **close)
    repeated = mj.jit(lambda k: k)(ours)
    assert (repeated.n, repeated.d) == (6, d)
    assert repeated.resample(mj.random.key(0), (3,)).shape == (d, 3)


def test_errors_of_density_estimates():
    rows = [
        ("multiple elements", lambda: stats.gaussian_kde(np.ones(1))),
        ("of length n", lambda: stats.gaussian_kde(np.ones(3), weights=np.ones(2))),
        ("bw_method", lambda: stats.gaussian_kde(SAMPLES, "x")),
        ("points have dimension 3", lambda: stats.gaussian_kde(SAMPLES)(np.ones((3, 4)))),
        ("only handles 1D", lambda: stats.gaussian_kde(SAMPLES).integrate_box_1d(0, 1)),
    ]
    for words, make in rows:
        with pytest.raises(ValueError, match=words):
            make()
    recorded = [0.4434732496738434, -0.44931474328041077, -1.1050528287887573]
    data = np.array(
        [
            0.1257302165031433,
            -0.13210485875606537,
            0.6404226422309875,
            0.10490011423826218,
            -0.5356693863868713,
            0.3615950644016266,
            1.3040000200271606,
        ]
    )
    # Recorded from JAX 0.10.2: the same draws of the same key.
    drawn = stats.gaussian_kde(data).resample(mj.random.key(0), (3,))
    np.testing.assert_allclose(drawn[0, ::-1], recorded, 1e-4)


# name: parameters without a distribution, by SciPy.
INVALID = {
    "gamma": [(-1.0,), (0.0,)],
    "chi2": [(-1.0,)],
    "pareto": [(0.0,)],
    "t": [(-2.0,)],
    "beta": [(0.0, 1.0), (2.0, -1.0)],
    "gennorm": [(-1.0,)],
    "poisson": [(-1.0,)],
    "bernoulli": [(-0.5,), (1.5,)],
    "geom": [(1.5,)],
    "binom": [(5.0, 1.5), (-1.0, 0.5)],
    "nbinom": [(0.0, 0.5), (5.0, -0.5)],
    "betabinom": [(5.0, 0.0, 1.0), (5.0, 1.0, -1.0), (-1.0, 1.0, 1.0)],
}
SCALES = [(0.0, -1.0), (0.0, 0.0), (0.0, np.nan)]


def test_parameters_without_a_distribution():
    """All functions are nan, also outside the support, as in SciPy.

    The rule is one for all functions: here are those that compile fast.
    """
    x = np.array([-1.0, 0.0, 0.5, 3.0, 1e3], "float32")
    table = {}  # by name and number of parameters
    for name, (shape, _, _) in ROWS.items():
        rows = list(INVALID.get(name, ()))
        rows += [(*shape[:i], np.nan, *shape[i + 1 :]) for i in range(len(shape))]
        if len(moved(name)) == 2 and name != "norm":
            rows += [(*shape, *scale) for scale in SCALES]
        for row in rows:
            table.setdefault((name, len(row)), []).append(row)
    quick = {"pdf", "pmf", "ppf"}
    table = {
        (name, n, size): (f, np.array(rows, "float32").T[..., None])
        for (name, size), rows in table.items()
        for n, f in functions(name).items()
        if n in quick or (name, n) in (("expon", "cdf"), ("pareto", "logsf"))
    }
    result = mj.jit(lambda: {key: f(x, *rows) for key, (f, rows) in table.items()})()
    for key, y in result.items():
        assert np.isnan(y).all(), key


def test_types():
    """The values were recorded from JAX 0.10.2."""
    wide, narrow = jnp.full(2, 0.3), jnp.full(2, 0.3, "bfloat16")
    for f, weak in (
        (stats.norm.logpdf, False),
        (stats.norm.logcdf, False),
        (stats.expon.cdf, True),
        (stats.uniform.cdf, False),
        (stats.cauchy.ppf, False),
        (stats.gumbel_r.sf, False),
    ):
        assert f(wide).weak_type is weak
    assert stats.norm.logpdf(0.3).weak_type and not stats.uniform.cdf(0.3).weak_type
    assert stats.bernoulli.ppf(narrow, 0.3).dtype == jnp.bfloat16
    assert stats.expon.logpdf(jnp.arange(2)).dtype == jnp.float32
    z = jnp.array([0.3 + 0.4j])
    np.testing.assert_allclose(stats.norm.logpdf(z), [-0.8839385 - 0.12j], 1e-6)
    with pytest.raises(TypeError, match=r"expon\.cdf does not accept dtype complex64"):
        stats.expon.cdf(z)
    with pytest.raises(TypeError, match=r"norm\.pdf requires ndarray or scalar arguments"):
        stats.norm.pdf([1.0])
