"""Three derivatives in the tails, where values and hazards cancel, against mpmath.

The numbers are from `make tails`: differences of mpmath's values in 220 digits.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy import special, stats

# name: the function, and (where, its first, second and third derivative).
# fmt: off
ROWS = {
    "log_ndtr": (special.log_ndtr, [
        (-10000.0, [10000.0001, -0.99999999, 1.99999976e-12]),
        (-100.0, [100.009998, -0.99990006, 1.997603e-06]),
        (-3.0, [3.28309865, -0.929440813, 0.0314706728]),
        (2.0, [0.0552478627, -0.113548052, 0.184394815])]),
    "erfcx": (special.erfcx, [
        (-1.5, [-57.0900379, 208.577886, -854.093811]),
        (0.9, [-0.306622203, 0.361143366, -0.576430772]),
        (9.0, [-0.00684013442, 0.0014930286, -0.000486022947]),
        (10000.0, [-5.64189575e-09, 1.12837913e-12, -3.38513733e-16])]),
    "sinc": (jnp.sinc, [
        (1e-4, [-0.000328986802, -3.28986804, 0.00194818175]),
        (0.4, [-1.11952435, -1.8719587, 6.41500184]),
        (3.0, [-0.333333333, 0.222222222, 3.06764591])]),
    "i0e": (special.i0e, [
        (0.1, [-0.861802477, 1.27062049, -2.0995764]),
        (2.0, [-0.0932390333, 0.078843422, -0.096671716]),
        (9.0, [-0.00773454065, 0.00133297197, -0.000383979708]),
        (10000.0, [-1.99478621e-07, 2.99225413e-11, -7.48082238e-15])]),
    "i1e": (special.i1e, [
        (0.1, [0.40881801, -0.828955916, 1.55584414]),
        (2.0, [-0.0143956113, -0.017828294, 0.044570735]),
        (9.0, [-0.00640156868, 0.000948992258, -0.000228567037]),
        (10000.0, [-1.99448699e-07, 2.99150605e-11, -7.47820403e-15])]),
    "boxcox": (lambda p: special.boxcox(3.0, p), [
        (0.0, [0.60347448, 0.441989653, 0.364181449]),
        (1e-4, [0.603518681, 0.442026073, 0.364213458]),
        (-3.0, [0.0934327701, 0.0473879089, 0.0310179218])]),
    "gumbel_r.logsf": (stats.gumbel_r.logsf, [
        (-3.0, [-3.80054251e-08, -7.25353946e-07, -1.30804102e-05]),
        (20.0, [-0.999999999, -1.03057681e-09, 1.03057681e-09])]),
    "gumbel_r.logpdf": (stats.gumbel_r.logpdf, [
        (1e-4, [-9.99949976e-05, -0.999900005, 0.999900005]),
        (20.0, [-0.999999998, -2.06115362e-09, 2.06115362e-09])]),
    "gumbel_l.pdf": (stats.gumbel_l.pdf, [
        (-1e-4, [3.67861037e-05, -0.36784265, -0.367953001]),
        (3.0, [-7.25353943e-07, 1.30804101e-05, -0.000221271762])]),
    "logistic.logpdf": (stats.logistic.logpdf, [
        (1e-4, [-4.99999987e-05, -0.499999999, 2.49999993e-05]),
        (20.0, [-0.999999996, -4.12230723e-09, 4.12230721e-09])]),
    "gennorm.cdf": (lambda x: stats.gennorm.cdf(x, 3.0), [
        (1e-4, [0.5599232609, -1.679769698e-08, -0.000335953948])]),
    "truncnorm.cdf": (lambda x: stats.truncnorm.cdf(x, -1.0, 2.0), [
        (-0.997, [0.2964796438, 0.2955901986, -0.001776221949])]),
    "gamma.logsf": (lambda x: stats.gamma.logsf(x, 2.5), [
        (0.4, [-0.130564953, -0.37610082, 0.0915579909]),
        (100.0, [-0.985149239, -0.000147022926, 2.91092104e-06]),
        (10000.0, [-0.999850015, -1.49970002e-08, 2.99910009e-12])]),
}
# fmt: on
WIDE = [name for name in ROWS if name.startswith("gamma.")]


def derivatives(f, x):
    out = []
    for _ in range(3):
        f = mj.grad(f)
        out.append(f(x))
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_three_derivatives_in_the_tails(dtype):
    # The points are float32's, also in float64.
    points = {
        name: np.array([x for x, _ in rows], "float32").astype(dtype)
        for name, (_, rows) in ROWS.items()
        if dtype == "float64" or name not in WIDE
    }

    def run(points):
        return {
            name: mj.vmap(lambda x, f=ROWS[name][0]: derivatives(f, x))(x)
            for name, x in points.items()
        }

    with mj.enable_x64(dtype == "float64"):
        result = mj.jit(run)(points)
    for name, values in result.items():
        expected = np.array([w for _, w in ROWS[name][1]]).T
        rtol = 1e-7 if dtype == "float64" else 2e-4
        np.testing.assert_allclose(values, expected, rtol, err_msg=name)


def test_logarithms_of_probabilities_that_underflow():
    """Reference values from mpmath: ln Q(2.5, 1000), ln P(40, 0.001), ln I_0.00001(30, 2) ..."""
    rows = [
        (stats.gamma.logsf, (1000.0, 2.5), -989.92155),
        (stats.gamma.logsf, (1250.0, 539.0), -261.945591976),
        (stats.gamma.logcdf, (1e-3, 40.0), -386.63182),
        (stats.gamma.logcdf, (874.0, 1480.0), -177.219485079),
        (stats.beta.logcdf, (1e-5, 30.0, 2.0), -341.95379),
        (stats.beta.logcdf, (0.25, 700.0, 600.0), -249.732754209),
        (stats.beta.logsf, (0.75, 600.0, 700.0), -249.732754209),
    ]
    result = mj.jit(lambda: [f(*args) for f, args, _ in rows])()
    np.testing.assert_allclose(result, [expected for _, _, expected in rows], 1e-5)


def test_logarithms_of_probabilities_that_are_nearly_one():
    """Reference values from mpmath in 220 digits; in float32, 1 - x is rounded."""
    rows = [
        (stats.gamma.logcdf, (20.0, 0.3), -8.1884459e-11),
        (stats.gamma.logcdf, (100.0, 40.0), -2.9602567e-12),
        (stats.gamma.logsf, (1e-10, 2.5), -3.0090112e-26),
        (stats.gamma.logsf, (6.0, 40.0), -4.7539565e-20),
        (stats.gamma.logsf, (1e-30, 0.3), -1.1142416e-9),
        (stats.chi2.logcdf, (100.0, 1.0), -1.5239706e-23),
        (stats.beta.logsf, (1e-10, 1.0, 1.0), -1e-10),
        (stats.beta.logcdf, (0.5, 0.4, 40.0), -6.6790526e-14),
        (stats.beta.sf, (1e-10, 0.4, 0.7), 0.9999174),
    ]
    result = mj.jit(lambda: [f(*args) for f, args, _ in rows])()
    np.testing.assert_allclose(result, [expected for _, _, expected in rows], 2e-5)


def test_slopes_of_the_beta_distribution_at_points_whose_complement_is_rounded():
    """Slopes are -x^(a-1) (1-x)^(b-1) / B(a, b) ...; in float32 1 - x is 1 here."""
    derivatives_of = lambda f: mj.jit(lambda x: derivatives(f, x))(1e-10)
    result = derivatives_of(lambda x: stats.beta.sf(x, 0.4, 0.7))
    expected = [-330411.1, 1.9824665e15, -3.1719464e25]
    np.testing.assert_allclose(result, expected, 2e-5)
    result = derivatives_of(lambda x: stats.beta.logsf(x, 1.0, 1.0))
    np.testing.assert_allclose(result, [-1.0, -1.0, -2.0], 2e-5)
    # Where the probability is 0 in float32, and so are the slopes: -5e-47, about 3e-82.
    slopes = (
        mj.jit(mj.grad(stats.beta.logsf))(0.02, 30.0, 2.0),
        mj.jit(mj.grad(stats.beta.logcdf))(0.999999, 2.0, 15.0),
    )
    np.testing.assert_allclose(slopes, [0.0, 0.0], atol=1e-37)
