"""Special functions against SciPy; derivatives; ends of their ranges; messages."""

import math

import numpy as np
import pytest
import scipy.special as scipy
from laws import obeys

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

NARROW = ["float8_e4m3fn", "bfloat16", "float16"]
BITS = {"float8_e4m3fn": 4, "bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}

# name: (SciPy's function, lowest and highest argument)
UNARY = {
    "erf": (scipy.erf, -2, 2),
    "erfc": (scipy.erfc, -2, 2),
    "erf_inv": (scipy.erfinv, -0.9, 0.9),
    "lgamma": (scipy.gammaln, 2.5, 9),
    "digamma": (scipy.digamma, 2, 9),
    "bessel_i0e": (scipy.i0e, -20, 20),
    "bessel_i1e": (scipy.i1e, -20, 20),
}


def draw(shape, low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def log_uniform(n, low, high, seed):
    return 10 ** draw(n, low, high, seed)


def close(got, expected, dtype, units=8):
    eps = units * 2.0 ** (1 - BITS[dtype])
    got = np.asarray(got).astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=eps, atol=eps / 4)


@pytest.mark.parametrize("dtype", [*NARROW, "float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_values(name, dtype):
    function, low, high = UNARY[name]
    with mj.enable_x64(True):
        for shape in [(), (0, 2), (40,)]:
            x = draw(shape, low, high).astype(dtype)
            got = getattr(lax, name)(x)
            assert got.dtype == dtype and got.shape == shape
            close(got, function(x.astype(np.float64)), dtype, 20)


@pytest.mark.parametrize("name", UNARY)
def test_laws(name):
    _, low, high = UNARY[name]
    obeys(getattr(lax, name), draw((2, 3), low, high))


def test_bessel_functions_near_zero_and_of_large_numbers():
    with mj.enable_x64(True):
        x = np.array([0.0, 1e-300, 8.0, np.nextafter(8, 9), 1e4, 1e300, np.inf])
        np.testing.assert_allclose(lax.bessel_i0e(x), scipy.i0e(x), rtol=4e-15)
        np.testing.assert_allclose(lax.bessel_i0e(-x), scipy.i0e(x), rtol=4e-15)
        slope = mj.vmap(mj.grad(lax.bessel_i1e))(np.array([0.0, 1e-300]))
        np.testing.assert_allclose(slope, [0.5, 0.5])


def test_polygamma_and_zeta():
    x = draw((20,), 0.5, 6)
    with mj.enable_x64(True):
        for m in (0.0, 1.0, 2.0, 5.0):
            expected = scipy.polygamma(int(m), x)
            np.testing.assert_allclose(lax.polygamma(m, x), expected, rtol=1e-12)
        s = draw((20,), 1.5, 5, seed=1)
        np.testing.assert_allclose(lax.zeta(s, x), scipy.zeta(s, x), rtol=1e-12)
    obeys(lambda x: lax.polygamma(2.0, x), x[:3], exact=False)
    obeys(lax.zeta, x[:3] + 1, x[:3], derivatives=False)
    for dtype in NARROW:
        args = np.float32([2, 3]).astype(dtype), np.float32([2, 1.5]).astype(dtype)
        close(lax.zeta(*args), scipy.zeta([2, 3], [2, 1.5]), dtype)


# ------------------------------------------------------------------ incomplete gamma


def gamma_arguments(n=500):
    a = log_uniform(n, -2, 3, 0)
    return a, a * log_uniform(n, -1, 1, 1)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-11)])
def test_incomplete_gamma(dtype, tolerance):
    a, x = (v.astype(dtype) for v in gamma_arguments())
    wide = a.astype(np.float64), x.astype(np.float64)
    with mj.enable_x64(True):
        for function, expected in [
            (lax.igamma, scipy.gammainc(*wide)),
            (lax.igammac, scipy.gammaincc(*wide)),
        ]:
            got = np.asarray(function(a, x)).astype(np.float64)
            large = expected > 1e-30  # of smaller ones the exponent's rounding shows
            np.testing.assert_allclose(got[large], expected[large], rtol=tolerance)
            np.testing.assert_allclose(got, expected, atol=tolerance / 30)


def test_incomplete_gamma_of_large_arguments_close_to_each_other():
    a = np.array([1e3, 1e4, 3e4], np.float32)
    for ratio in (0.97, 1, 1.02):
        x = (a * ratio).astype(np.float32)
        expected = scipy.gammainc(a.astype(float), x.astype(float))
        np.testing.assert_allclose(lax.igamma(a, x), expected, atol=3e-6)


def test_incomplete_gamma_at_the_ends():
    nan, inf = math.nan, math.inf
    cases = [
        (0, 1, 1),
        (1, 0, 0),
        (1, inf, 1),
        (inf, 1, 0),
        (-1, 1, nan),
        (1, -1, nan),
        (nan, 1, nan),
        (1, nan, nan),
        (0, 0, nan),
        (1e-30, 1, 1),
        (1, 1e30, 1),
    ]
    a, x, p = np.array(cases, np.float32).T
    np.testing.assert_array_equal(lax.igamma(a, x), p)
    q = scipy.gammaincc(a.astype(float), x.astype(float))
    np.testing.assert_allclose(lax.igammac(a, x), q, rtol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 5e-6), ("float64", 1e-14)])
def test_upper_incomplete_gamma_of_small_parameters(dtype, tolerance):
    """It is about a E1(x), far below the last place of 1."""
    a, x = log_uniform(500, -30, 0, 2), log_uniform(500, -30, 0, 3) * 10
    a, x = a.astype(dtype), x.astype(dtype)
    wide = a.astype(np.float64), x.astype(np.float64)
    with mj.enable_x64(True):
        np.testing.assert_allclose(lax.igammac(a, x), scipy.gammaincc(*wide), rtol=tolerance)
        np.testing.assert_allclose(lax.igamma(a, x), scipy.gammainc(*wide), rtol=2 * tolerance)


def test_incomplete_gamma_laws():
    a, x = draw((2, 3), 0.5, 4), draw((2, 3), 0.5, 6, seed=1)
    obeys(lax.igamma, a, x, lanes=False)
    obeys(lax.igammac, a, x, lanes=False)
    obeys(lax.igamma, np.float64(2.5), x, derivatives=False, exact=False)
    obeys(lax.random_gamma_grad, a, x, lanes=False)
    obeys(lax.igamma_grad_a, a, x, lanes=False)


def test_slope_by_the_parameter():
    a, x = gamma_arguments(300)
    with mj.enable_x64(True):
        step = 1e-5 * a
        ahead, behind = scipy.gammainc(a + step, x), scipy.gammainc(a - step, x)
        np.testing.assert_allclose(
            lax.igamma_grad_a(a, x), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-8
        )


def test_derivatives_of_samples():
    """A sample keeps its place among all samples: P(a, x(a)) does not move."""
    with mj.enable_x64(True):
        a = np.repeat([0.05, 0.7, 1.0, 3.0, 40.0, 900.0], 5)
        p = np.tile([0.01, 0.2, 0.5, 0.8, 0.99], 6)
        x, step = scipy.gammaincinv(a, p), 1e-5 * a
        ahead = scipy.gammaincinv(a + step, p)
        behind = scipy.gammaincinv(a - step, p)
        expected = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(lax.random_gamma_grad(a, x), expected, rtol=1e-6)
        single = lax.random_gamma_grad(a.astype("f"), x.astype("f"))
        fine = x > 1e-30
        np.testing.assert_allclose(single[fine], expected[fine], rtol=2e-4)


def test_derivatives_of_samples_of_large_parameters():
    """To the last place, where all digits of P's slopes cancel."""
    a = np.repeat(np.float32([250, 1e3, 1e4, 1e5, 1e7]), 8)
    z = np.tile([-6, -2, -0.5, 0, 1e-4, 0.5, 2, 6], 5)
    x = (a + z * np.sqrt(a)).astype("f")
    single = lax.random_gamma_grad(a, x)
    with mj.enable_x64(True):
        a, x = a.astype(float), x.astype(float)
        wide = np.asarray(lax.random_gamma_grad(a, x))
        np.testing.assert_allclose(single, wide, rtol=2e-7)
        # Quantiles by those of the normal distribution (Cornish and Fisher).
        a, x, z, wide = (v[-16:] for v in (a, x, z, wide))
        for _ in range(4):
            location = a + (z**2 - 1) / 3 + (z**3 - 7 * z) / (36 * a**0.5)
            z = (x - location) / a**0.5
        slope = 1 + z / (2 * a**0.5) - (z**3 - 7 * z) / (72 * a**1.5)
        slope += (3 * z**4 + 7 * z**2 - 16) / (810 * a**2)
        np.testing.assert_allclose(wide, slope, rtol=1e-8)
        h = 1e-4 * a**0.5
        ahead, behind = lax.random_gamma_grad(a + h, x), lax.random_gamma_grad(a - h, x)
        _, along = mj.jvp(lambda a: lax.random_gamma_grad(a, x), (a,), (np.ones(16),))
        np.testing.assert_allclose(along, (ahead - behind) / (2 * h), rtol=1e-5)


def test_second_derivatives_of_samples():
    """The second derivative of x(a), where P(a, x(a)) does not move."""
    with mj.enable_x64(True):
        a = np.repeat([0.05, 0.7, 1.0, 3.0, 40.0, 900.0], 5)
        p = np.tile([0.01, 0.2, 0.5, 0.8, 0.99], 6)
        x, step = scipy.gammaincinv(a, p), 1e-3 * a
        ahead = scipy.gammaincinv(a + step, p)
        behind = scipy.gammaincinv(a - step, p)
        expected = (ahead - 2 * x + behind) / step**2
        move = lax.random_gamma_grad(a, x)
        _, bend = mj.jvp(lax.random_gamma_grad, (a, x), (np.ones_like(a), move))
        np.testing.assert_allclose(bend, expected, rtol=1e-3, atol=1e-9 / np.min(a))
    sample = lambda a: mj.random.gamma(mj.random.key(1), a)
    # Recorded from JAX 0.10.2, which has forward mode alone.
    np.testing.assert_allclose(
        mj.jvp(mj.grad(sample), (2.0,), (2.0,)), (0.81730276, 0.11775231), 1e-5
    )
    np.testing.assert_allclose(mj.grad(mj.grad(sample))(2.0), 0.11775231 / 2, 1e-5)


def test_slopes_at_the_ends():
    nan = math.nan
    a = np.array([1, 0, -1, 1, nan], np.float32)
    x = np.array([0, 1, 1, -1, 1], np.float32)
    for function in (lax.igamma_grad_a, lax.random_gamma_grad):
        np.testing.assert_array_equal(function(a, x), [0, nan, nan, nan, nan])


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_dtypes_are_computed_in_float32(dtype):
    a, x = np.float32([0.5, 2, 3]).astype(dtype), np.float32([0.5, 1, 4]).astype(dtype)
    wide = a.astype(np.float64), x.astype(np.float64)
    quarter = np.full(3, 0.25).astype(dtype)
    for got, expected in [
        (lax.igamma(a, x), scipy.gammainc(*wide)),
        (lax.igammac(a, x), scipy.gammaincc(*wide)),
        (lax.betainc(a, a, quarter), scipy.betainc(wide[0], wide[0], 0.25)),
    ]:
        assert got.dtype == dtype
        close(got, expected, dtype, 2)
    assert lax.random_gamma_grad(a, x).dtype == lax.igamma_grad_a(a, x).dtype == dtype


# ------------------------------------------------------------------- incomplete beta


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-11)])
def test_incomplete_beta(dtype, tolerance):
    n = 500
    a, b = (log_uniform(n, -2, 2, s).astype(dtype) for s in (0, 1))
    x = draw(n, 0, 1, seed=2).astype(dtype)
    expected = scipy.betainc(*(v.astype(np.float64) for v in (a, b, x)))
    with mj.enable_x64(True):
        got = np.asarray(lax.betainc(a, b, x)).astype(np.float64)
    np.testing.assert_allclose(got, expected, atol=tolerance, rtol=tolerance)


def test_incomplete_beta_at_the_ends():
    nan, inf = math.nan, math.inf
    cases = [
        (0, 1, 0.5, 1),
        (1, 0, 0.5, 0),
        (-1, 1, 0.5, nan),
        (1, 1, 0, 0),
        (1, 1, 1, 1),
        (1, 1, 1.5, nan),
        (1, 1, -0.5, nan),
        (inf, 1, 0.5, 0),
        (1, inf, 0.5, 1),
        (nan, 1, 0.5, nan),
        (0, 0, 0.5, nan),
        (0, 1, 0, 0),
        (1, 0, 1, 1),
        (1, 0, 0, 0),
        (0, 1, 1, 1),
        (0, 0, 0, nan),
        (inf, inf, 0.5, nan),
        (inf, 1, 1, 1),
    ]
    a, b, x, expected = np.array(cases, np.float32).T
    np.testing.assert_array_equal(lax.betainc(a, b, x), expected)


def test_incomplete_beta_laws():
    x = draw((2, 3), 0.1, 0.9)
    obeys(lambda x: lax.betainc(2.0, 3.5, x), x, exact=False)
    a = draw((2, 3), 0.5, 3, seed=1)
    obeys(lax.betainc, a, a + 1, x, derivatives=False, lanes=False)


# --------------------------------------------------------------------------- messages


def test_derivatives_that_raise():
    with pytest.raises(ValueError, match="polygamma gradient with respect to m is not"):
        mj.grad(lax.polygamma)(1.0, 2.0)
    for i in (0, 1):
        with pytest.raises(ValueError, match="gradient with respect to a and b not supp"):
            mj.grad(lax.betainc, argnums=i)(1.0, 2.0, 0.5)
    twice = [mj.grad(f) for f in (lax.igamma_grad_a, lax.random_gamma_grad)]
    for function in (lax.zeta, *twice):
        with pytest.raises(NotImplementedError, match="has no derivative rule"):
            mj.grad(function)(2.0, 1.0)


@pytest.mark.parametrize("name", [*UNARY, "igamma", "zeta", "polygamma", "betainc"])
def test_only_floats(name):
    count = {"igamma": 2, "zeta": 2, "polygamma": 2, "betainc": 3}.get(name, 1)
    full = "regularized_incomplete_beta" if name == "betainc" else name
    for x in (1, np.complex64(1)):
        with pytest.raises(TypeError, match=f"{full} does not accept dtype"):
            getattr(lax, name)(*[x] * count)


def test_weak_types():
    assert lax.erf(1.0).weak_type and lax.igamma(1.0, 1.0).weak_type
    assert not lax.igamma(np.float32(1), 1.0).weak_type


def test_the_lower_tail_is_precise():
    a = np.array([10, 10, 30, 100, 3], np.float32)
    x = np.array([1e-3, 0.1, 3, 40, 1e-10], np.float32)
    expected = scipy.gammainc(np.float64(a), np.float64(x))
    np.testing.assert_allclose(lax.igamma(a, x), expected, rtol=2e-5)


# x, ln |Gamma(x)| and its first four derivatives, by mpmath in 40 digits: next to the
# zeros, where formulas meet, and far below 0.
LOG_GAMMA = np.array([
    (1 + 2**-18, -2.201891050127488e-6, -0.5772093899935381, 1.644924895929113,
     -2.404089034087378, 6.493844469583747),
    (1 - 2**-20, 5.504765026737052e-7, -0.5772172336339979, 1.64493635959277,
     -2.404119999433726, 6.493963135715179),
    (1.25, -0.09827183642181316, -0.2274535333762654, 1.197329154507111,
     -1.32773993753692, 2.782144009188396),
    (2 - 2**-12, -0.0001031996102979921, 0.422626868447575, 0.6450327421681634,
     -0.4042344234114072, 0.4941558378703281),
    (2 + 2**-18, 1.612798939558402e-6, 0.4227867953237481, 0.6449325252799883,
     -0.4041119220963498, 0.4939360214450139),
    (3.4375, 1.132675990380211, 1.082295040164156, 0.3372606486692079,
     -0.1127346040179581, 0.07473141793830039),
    (3.5625, 1.270561763711629, 1.123595482565306, 0.323729606485391,
     -0.1039392846654791, 0.06622064922099862),
    (0.28125, 1.163709554778972, -3.746227037580804, 13.79912971431203,
     -91.14321909438441, 961.4527781280722),
    (2**-20, 13.8629430607239, -1048576.577214096, 1099511627777.645,
     -2.305843009213694e18, 7.253554917687775e24),
    (1e6, 12815504.56914761, 13.81551005796419, 1.000000500000167e-6,
     -1.0000010000005e-12, 2.000003000002e-18),
    (-0.5625, 1.280840290889007, -0.5315500519418058, 9.374486540974488,
     -13.57020254192106, 225.3539315366226),
    (-8.25, -9.65209664382234, 5.311189336168409, 19.62504691762201,
     124.0120878252515, 1558.54249039929),
    (-20.3125, -41.95260917921298, 5.134795021386718, 14.22797574086915,
     59.93254471218022, 659.2328632186721),
    (-1000.375, -5913.494940977349, 8.209920222555209, 11.56196168012008,
     30.09353611662242, 345.7249801428077),
])  # fmt: skip


@pytest.mark.parametrize("dtype, tol", [(np.float32, 1.2e-6), (np.float64, 4e-15)])
def test_log_gamma_and_its_derivatives_to_the_last_digits(dtype, tol):
    def together(x):
        out, f = [], lax.lgamma
        for _ in range(5):
            out.append(f(x))
            f = mj.grad(f)
        return out

    with mj.enable_x64():
        got = mj.jit(mj.vmap(together))(LOG_GAMMA[:, 0].astype(dtype))
    np.testing.assert_allclose(np.transpose(got), LOG_GAMMA[:, 1:], rtol=tol)


def test_polygamma_of_high_orders_and_at_ends():
    with mj.enable_x64():
        orders = np.array([12.0, 20, 5, 13, 4, 4, 3, 1, 2, 1, 1.5, -1])
        points = np.array([2.5, -20.4375, -9.25, -9.25, np.inf, -30, 1e60, -30])
        points = np.append(points, [0.0, -np.inf, 1, 1])
        got = mj.jit(lax.polygamma)(orders, points)
    expected = [-3256.697980402698, 8.382292520296503e25, 492231.2668416894]
    expected += [1.671553517726138e18, -0.0, np.nan, 2e-180, np.inf, np.nan, np.inf]
    np.testing.assert_allclose(got, [*expected, np.nan, np.nan], rtol=2e-13)


@pytest.mark.parametrize("dtype, tol", [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_digamma_is_precise_near_its_zero(dtype, tol):
    """By Taylor's series there, of mpmath's derivatives."""
    x = (1.4616321449683623 + np.array([-1e-5, 1e-6, 1e-5])).astype(dtype)
    with mj.enable_x64():
        got = mj.jit(lax.digamma)(x)
    gap = (x.astype(np.float64) - 1.4616321449683622) - 9.549995429965697e-17
    slopes = -0.4427631689835921, 0.2584997609556510
    expected = gap * (0.9676722454476212 + gap * (slopes[0] + gap * slopes[1]))
    np.testing.assert_allclose(got, expected, rtol=tol)


def test_zeta_far_below_0():
    """Sums of powers with integer exponents, by SciPy."""
    s, q = (
        np.array([2.0, 3, 7, 13, 20, 2]),
        np.array([-20.3, -12.25, -9.375, -8.75, -6.25, 1.5]),
    )
    with mj.enable_x64():
        got = mj.jit(lax.zeta)(s, q)
    np.testing.assert_allclose(got, scipy.zeta(s, q), rtol=1e-13)
    small = mj.jit(lax.zeta)(np.float32(s), np.float32(q))
    expected = scipy.zeta(s, np.float32(q).astype(float))
    np.testing.assert_allclose(small, expected, rtol=5e-6)


def test_incomplete_gamma_functions_of_the_size_of_nan():
    """XLA simplifies |x| >= 0 to true, even for nan."""
    x = jnp.array([np.nan, 1.0])
    results = mj.jit(
        lambda x: (lax.igamma(0.5 + 0 * x[1], abs(x)), lax.igammac(0.5 + 0 * x[1], abs(x)))
    )(x)
    for y in results:
        assert np.isnan(y).tolist() == [True, False]
