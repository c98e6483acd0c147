"""Special functions against SciPy in float64 and float32, derivatives by differences."""

import numpy as np
import pytest
import scipy.special as scipy

import minijax as mj
from minijax.scipy import special

inf, nan = np.inf, np.nan


def grid(low, high, n=60):
    """Return points of an interval, some of them near its ends."""
    return np.linspace(low, high, n) + 1e-3 * np.sin(np.arange(n))


def powers(low, high, n=60):
    """Return points of many magnitudes."""
    return 10 ** np.linspace(low, high, n)


def pairs(*axes):
    return [x.ravel() for x in np.meshgrid(*axes)]


triples = quadruples = pairs
SIGNED = np.concatenate([-powers(-8, 1.5), [0.0], powers(-8, 1.5)])
POSITIVE = np.concatenate([powers(-8, 4), [1.0, 2.0, 8.0]])
PROBABILITY = np.concatenate([powers(-30, -0.4), grid(0.02, 0.98)])

# name: (SciPy's function, arguments, relative error in units of float64's last place,
# the same in float32).  Where a function is zero the error is relative to 0.1.
ROWS = {
    "digamma": (scipy.digamma, [POSITIVE], 40, 40),
    "gammaln": (scipy.gammaln, [POSITIVE], 40, 40),
    "gamma": (scipy.gamma, [grid(-4.9, 30)], 400, 400),
    "gammasgn": (scipy.gammasgn, [grid(-5.6, 5)], 0, 0),
    "loggamma": (scipy.loggamma, [POSITIVE], 40, 40),
    "erf": (scipy.erf, [SIGNED], 8, 8),
    "erfc": (scipy.erfc, [grid(-4, 9)], 400, 400),
    "erfinv": (scipy.erfinv, [grid(-0.99, 0.99)], 8, 8),
    "expit": (scipy.expit, [SIGNED], 40, 40),
    "logit": (scipy.logit, [PROBABILITY], 8, 8),
    "entr": (scipy.entr, [np.append(POSITIVE, 0)], 8, 8),
    "ndtr": (scipy.ndtr, [grid(-9, 9)], 400, 400),
    "ndtri": (scipy.ndtri, [PROBABILITY], 8, 8),
    "log_ndtr": (scipy.log_ndtr, [np.append(grid(-60, 30), grid(-2, 6))], 8, 8),
    "i0": (scipy.i0, [grid(-30, 30)], 40, 400),
    "i0e": (scipy.i0e, [SIGNED], 8, 8),
    "i1": (scipy.i1, [grid(-30, 30)], 40, 400),
    "i1e": (scipy.i1e, [SIGNED], 8, 8),
    "factorial": (scipy.factorial, [grid(0, 30)], 400, 400),
    "xlogy": (scipy.xlogy, pairs(grid(-2, 2, 9), POSITIVE[::7]), 8, 8),
    "xlog1py": (scipy.xlog1py, pairs(grid(-2, 2, 9), POSITIVE[::7]), 8, 8),
    "rel_entr": (scipy.rel_entr, pairs(POSITIVE[::7], POSITIVE[3::8]), 40, 40),
    "kl_div": (scipy.kl_div, pairs(POSITIVE[::7], POSITIVE[3::8]), 80, 80),
    "boxcox": (scipy.boxcox, pairs(POSITIVE[::7], grid(-2, 2, 9)), 80, 80),
    "boxcox1p": (scipy.boxcox1p, pairs(POSITIVE[::7], grid(-2, 2, 9)), 80, 80),
    "beta": (scipy.beta, pairs(powers(-2, 1, 9), powers(-2, 1, 8)), 400, 400),
    "betaln": (scipy.betaln, pairs(powers(-2, 0.9, 15), powers(-2, 0.9, 14)), 200, 200),
    "gammainc": (scipy.gammainc, pairs(powers(-1, 1, 8), powers(-1, 1, 9)), 200, 200),
    "gammaincc": (scipy.gammaincc, pairs(powers(-1, 1, 8), powers(-1, 1, 9)), 200, 200),
    "poch": (scipy.poch, pairs(powers(-1, 1, 8), powers(-1, 1, 9)), 400, 400),
    "comb": (scipy.comb, pairs(grid(21, 30, 8), grid(0, 20, 9)), 400, 400),
    "erfcx": (scipy.erfcx, [np.append(grid(-5, 10), powers(-3, 2))], 20, 20),
    "dawsn": (scipy.dawsn, [np.append(SIGNED, powers(0, 2))], 100, 20),
    "exp1": (scipy.exp1, [powers(-8, 1.9)], 8, 8),
    "expi": (scipy.expi, [np.append(-powers(-8, 1.9), powers(-8, 1.9))], 40, 40),
    "expn": (scipy.expn, pairs(np.r_[0.0:12:2, 1, 3, 50], powers(-3, 1.6, 15)), 40, 40),
    "sici": (scipy.sici, [np.append(SIGNED[SIGNED != 0], powers(1, 3))], 40, 40),
    "fresnel": (scipy.fresnel, [grid(-9, 9)], 20, 20),
    "spence": (scipy.spence, [np.append(powers(-5, 5), grid(0.9, 1.1))], 80, 8),
    "owens_t": (scipy.owens_t, pairs(grid(-4, 4, 9), grid(-3, 3, 10)), 400, 100),
    "zeta": (scipy.zeta, pairs(grid(1.2, 8, 8), powers(-1, 1.5, 9)), 8, 20),
    "hyp1f1": (
        scipy.hyp1f1,
        triples([0.3, 2.5, -2], [0.4, 3.0], grid(-30, 30, 12)),
        1000,
        4000,
    ),
    "hyp2f1": (
        scipy.hyp2f1,
        quadruples([0.3, -1.2, -2, 2], [0.7, 1.1], [1.9, 2.7], grid(-9, 0.9, 12)),
        1000,
        1000,
    ),
}
# Those that are not differentiated by all arguments: by which.
MOVES = {"gammasgn": (), "expn": (1,)}


def called(function, *args):
    """Return a function's result; several results are stacked in one array."""
    out = function(*args)
    return np.stack(out) if isinstance(out, tuple) else out


def close(got, expected, units, dtype):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == np.asarray(np.zeros(0, dtype)).dtype or got.dtype.kind == "c"
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(
        got.astype(expected.dtype), expected, rtol=units * eps, atol=units * eps / 10
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ROWS)
def test_values(name, dtype):
    function, args, *units = ROWS[name]
    args = [x.astype(dtype) for x in args]
    with mj.enable_x64(dtype == "float64"):
        got = called(getattr(special, name), *args)
        with np.errstate(all="ignore"):
            expected = called(function, *[x.astype(np.float64) for x in args])
            if dtype == "float32":
                fits = np.abs(np.asarray(expected)) < 1e38
                expected = np.where(fits, expected, np.sign(expected) * inf)
        close(got, expected, units[dtype == "float32"], dtype)


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    function, args, *_ = ROWS[name]
    keep = np.linspace(0, len(args[0]) - 1, 24).astype(int)
    args = [x[keep] for x in args]
    with mj.enable_x64(True), np.errstate(all="ignore"):
        f = getattr(special, name)
        for i in MOVES.get(name, range(len(args))):
            rest = list(args)
            x = rest.pop(i)
            x = np.where(np.abs(x) < 1e-3, 0.25, x)

            def of(x, i=i, rest=rest):
                return (*rest[:i], x, *rest[i:])

            step = 2e-4 * np.minimum(np.abs(x), 1)
            _, slope = mj.jvp(lambda x, of=of: f(*of(x)), (x,), (np.ones_like(x),))
            slope = np.stack(slope) if isinstance(slope, tuple) else slope
            ahead = [called(function, *of(x + k * step)) for k in (-2, -1, 1, 2)]
            weights = np.array([1, -8, 8, -1]) / 12
            expected = np.tensordot(weights, np.array(ahead), 1) / step
            fine = np.isfinite(expected)
            scale = np.abs(expected) + np.abs(called(function, *of(x)) / x)
            wrong = np.abs(slope - expected) > 1e-6 * scale
            assert not (wrong & fine).any(), (x[wrong & fine], i)


def test_hypergeometric_functions_in_closed_form():
    x = np.r_[1 - powers(-12, -2, 20), -powers(-3, 10, 20)]
    s = np.sqrt(abs(x))
    arc = np.where(x < 0, np.arctan(s), np.log1p(s) - np.log(abs(1 - x)) / 2)
    closed = [
        ((1.0, 1.0, 2.0), -np.log1p(-x) / x),
        ((0.5, 1.0, 1.5), arc / s),
        ((-2.0, 3.0, 1.5), 1 - 4 * x + 3.2 * x * x),
    ]
    with mj.enable_x64(True):
        for parameters, expected in closed:
            got = special.hyp2f1(*parameters, x)
            np.testing.assert_allclose(got, expected, rtol=2e-13)
    at_one = scipy.hyp2f1(0.5, 0.25, 2, 1)
    assert special.hyp2f1(0.5, 0.25, 2.0, 1.0) == pytest.approx(at_one, rel=5e-6)
    assert special.hyp2f1(0.5, 1.0, -2.0, 0.5) == inf
    assert special.hyp1f1(-1.0, -2.0, 1.0) == 1.5


def test_derivatives_where_series_end():
    # Recorded from mpmath, to 15 places.
    @mj.jit
    def slopes():
        f, g = special.hyp2f1, special.hyp1f1
        return (
            mj.grad(f)(-2.0, 1.0, 2.5, 0.8),
            mj.grad(f, argnums=3)(-2.0, 1.5, 1.2, -3.0),
            mj.grad(g)(1.0, 2.0, -250.0),
            mj.grad(mj.grad(g))(1.0, 2.0, -250.0),
        )

    expected = (0.131793210674686, -11.0227272727273, -0.0243786418128108, 0.142032066837091)
    with mj.enable_x64(True):
        np.testing.assert_allclose(slopes(), expected, rtol=1e-12)


def test_faddeeva():
    x, y = np.meshgrid(np.append(SIGNED[::7], [0, 3.2]), np.append(grid(-2, 9, 14), 0))
    z = (x + 1j * y).ravel()
    with mj.enable_x64(True):
        close(special.wofz(z), scipy.wofz(z), 200, "float64")
        close(special.erfcx(z[z.real > -3]), scipy.erfcx(z[z.real > -3]), 200, "float64")
        real = np.r_[5.0, 9.0]  # the real part is e^(-x^2), to the last place
        np.testing.assert_allclose(special.wofz(real).real, np.exp(-(real**2)), rtol=1e-14)
        _, slope = mj.jvp(special.wofz, (z[:9],), (np.ones_like(z[:9]),))
        ahead = scipy.wofz(z[:9] + 1e-5) - scipy.wofz(z[:9] - 1e-5)
        np.testing.assert_allclose(slope, ahead / 2e-5, rtol=1e-7, atol=1e-9)
    single = z[np.abs(z.imag) < 5].astype("complex64")
    close(special.wofz(single), scipy.wofz(single.astype("complex128")), 60, "float32")


def test_bessel_functions_of_all_orders():
    z = np.r_[-7.0, -0.5, 0.0, 1e-3, 0.3, 1, 9, 30]
    orders = np.arange(31)[:, None]
    with mj.enable_x64(True):
        got = special.bessel_jn(z, v=30, n_iter=90)
        np.testing.assert_allclose(got, scipy.jv(orders, z), rtol=1e-12, atol=1e-280)
        f = mj.jacrev(lambda z: special.bessel_jn(z, v=30, n_iter=90))
        slopes = mj.jit(mj.vmap(f))(z).T
        np.testing.assert_allclose(slopes, scipy.jvp(orders, z), rtol=1e-11, atol=1e-15)
    got = special.bessel_jn(z.astype("float32"), v=60)
    np.testing.assert_allclose(got[:31], scipy.jv(orders, z), rtol=1e-4, atol=1e-6)
    assert got.shape == (61, 8)
    assert special.bessel_jn([1.0], v=-1).shape == (0, 1)
    with pytest.raises(ValueError, match="does not support complex"):
        special.bessel_jn(1j, v=1)


def test_legendre_functions():
    z = np.r_[-1, -0.9, 0, 0.3, 0.99, 1]
    with mj.enable_x64(True):
        for normalized in (False, True):
            got = special.lpmn_values(4, 4, z, normalized)
            expected = scipy.assoc_legendre_p_all(4, 4, z, norm=normalized)[0]
            expected = abs(np.swapaxes(expected, 0, 1)[:5])
            if normalized:  # SciPy's is another norm, and wrong at the ends
                got, expected = got[..., 1:-1], expected[..., 1:-1] / np.sqrt(2 * np.pi)
            np.testing.assert_allclose(abs(got), expected, atol=1e-13)
        values, slopes = special.lpmn(4, 4, z)
        both = scipy.assoc_legendre_p_all(4, 4, z, diff_n=1)
        expected = np.swapaxes(both, 1, 2)[:, :5]
        np.testing.assert_allclose(values, expected[0], atol=1e-13)
        np.testing.assert_allclose(slopes[..., 1:-1], expected[1, ..., 1:-1], atol=1e-12)
        _, along = mj.jvp(
            lambda z: special.lpmn_values(4, 4, z, False), (z,), (np.ones_like(z),)
        )
        np.testing.assert_allclose(along, slopes)
    # At the ends, recorded from JAX 0.10.2.
    ends = [[-0.0, 1, -3, 6], [0, -inf, inf, -inf], [0, 0, 6, -30], [0, 0, 0, 0]]
    np.testing.assert_allclose(slopes[:4, :4, 0], ends)
    with pytest.raises(NotImplementedError, match="m!=n are not yet supported"):
        special.lpmn(2, 3, z)
    with pytest.raises(ValueError, match="z must be a 1D array"):
        special.lpmn(2, 2, 0.5)


def test_spherical_harmonics():
    n, m = np.array([(n, m) for n in range(5) for m in range(-n, n + 1)]).T
    theta, phi = np.linspace(0.1, 3, n.size), np.linspace(0, 6, n.size)
    with mj.enable_x64(True):
        got = special.sph_harm_y(n, m, theta, phi)
        np.testing.assert_allclose(got, scipy.sph_harm_y(n, m, theta, phi), atol=1e-14)
        f = lambda n, m, t: special.sph_harm_y(n, m, t, 0.5, n_max=4).real
        slope = mj.jit(mj.vmap(mj.grad(f, 2)))
        expected = scipy.sph_harm_y(n, m, theta, 0.5, diff_n=1)[1][..., 0].real
        np.testing.assert_allclose(slope(n, m, theta), expected, atol=1e-13)
    lower = special.sph_harm_y(np.r_[9], np.r_[2], 0.3, 0.2, n_max=3)
    np.testing.assert_allclose(lower, scipy.sph_harm_y([3], 2, 0.3, 0.2), rtol=1e-5)
    with pytest.raises(NotImplementedError, match="'diff_n' argument"):
        special.sph_harm_y(n, m, theta, phi, diff_n=1)


EDGES = {
    "erfcx": ([-30.0, -inf, inf], [inf, inf, 0.0]),
    "dawsn": ([-inf, inf, 0.0], [0.0, 0.0, 0.0]),
    "exp1": ([0.0, inf, -1.0], [inf, 0.0, nan]),
    "expi": ([0.0, inf, -inf], [-inf, inf, 0.0]),
    "sici": ([-inf, inf], [[-np.pi / 2, np.pi / 2], [nan, 0.0]]),
    "fresnel": ([-inf, inf, 1e30], [[-0.5, 0.5, 0.5]] * 2),
    "spence": ([-1.0, 0.0, 1.0], [nan, np.pi**2 / 6, 0.0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    x, expected = EDGES[name]
    got = called(getattr(special, name), np.array([*x, nan], "float32"))
    expected = np.concatenate([expected, np.full_like(got[..., :1], nan)], -1)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_edges_of_two_arguments():
    n, x = [0.0, 1, 2, 5, 1.5, -1, 2], [0.0, 0, 0, 0, 1, 1, -1]
    np.testing.assert_allclose(
        special.expn(np.r_[n], np.r_[x]), [inf, inf, 1, 0.25, nan, nan, nan]
    )
    h, a = [0.0, 0, 1, inf, nan], [1.0, inf, -inf, 1, 1]
    expected = [0.125, 0.25, -0.07932762, 0, nan]
    np.testing.assert_allclose(special.owens_t(np.r_[h], np.r_[a]), expected, rtol=1e-5)


def test_types():
    half, weak = mj.numpy.float16(0.5), 0.5
    for name in ("exp1", "sici"):
        for x, dtype in ((half, "float16"), (weak, "float32"), (1, "float32")):
            for out in mj.tree.leaves(getattr(special, name)(x)):
                assert (out.dtype, out.weak_type) == (dtype, False)
    assert special.owens_t(half, half).dtype == "float32"
    assert special.wofz(half).dtype == "complex64"
    assert special.zeta(2.0, 1).weak_type
    with pytest.raises(NotImplementedError, match="Riemann zeta function"):
        special.zeta(2.0)
    with pytest.raises(ValueError, match="Argument `x` to sici must be real-valued"):
        special.sici(1j)
    with pytest.raises(NotImplementedError, match="complex-valued inputs is not"):
        special.fresnel(1j)
    with pytest.raises(TypeError, match=r"x.dtype=int32 is not supported"):
        special.spence(2)


@pytest.mark.parametrize(("f", "edge"), [(special.xlogy, 0.0), (special.xlog1py, -1.0)])
def test_slopes_of_products_at_a_constant_edge(f, edge):
    slope = mj.grad(lambda x: f(x, edge))
    assert slope(0.0) == -np.inf and mj.jit(slope)(0.0) == -np.inf
    assert mj.jvp(lambda x: f(x, edge), (0.0,), (1.0,))[1] == -np.inf
    assert mj.grad(f, 1)(0.0, edge) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_phases_of_large_numbers_are_exact(dtype):
    x = np.array([4e5 + 1, 491219, 1771422.5, 1e9, 1.4e15, 5.7e30, 2e31], dtype)
    rtol, atol = (1e-5, 1e-37) if dtype == "float32" else (1e-12, 0)
    with mj.enable_x64(dtype == "float64"):
        _, cosine = special.sici(x)
        np.testing.assert_allclose(cosine, scipy.sici(x.astype(float))[1], rtol, atol)
        for result, expected in zip(special.fresnel(x), scipy.fresnel(x.astype(float))):
            np.testing.assert_allclose(result, expected, 1e-7 if atol else 1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_incomplete_gamma_next_to_a_large_parameter(dtype):
    """At x = a it agrees with its expansion (DLMF 8.11.12); at the boundary of two methods
    Q(a + 1, x) - Q(a, x) is x^a e^-x / Gamma(a + 1)."""
    a = np.array([9e4, 1e5, 1e6, 1e8, 1e10, 1e14], dtype)
    expected = 0.5 + (1 / 3 + 1 / 540 / a) / np.sqrt(2 * np.pi * a.astype(float))
    rtol = 1e-5 if dtype == "float32" else 3e-14
    with mj.enable_x64(dtype == "float64"):
        np.testing.assert_allclose(special.gammainc(a, a), expected, rtol)
        np.testing.assert_allclose(special.gammaincc(a, a), 1 - expected, rtol)
        if dtype == "float64":
            a, x = np.float64(99999.5), 1e5 + 1000 * np.linspace(-3, 3, 6)
            step = special.gammaincc(a + 1, x) - special.gammaincc(a, x)
            weight = np.exp(a * np.log(x) - x - scipy.gammaln(a + 1))
            np.testing.assert_allclose(step, weight, 1e-8, 1e-15)


# ------------------------------------------------------------------------------- tails

# name: arguments, exact in float32, and values, from Arb's balls of 300 bits.
TAILS = {
    "gammainc": [
        (150, 0.75, 1.5091681524676283e-282),
        (1000, 300, 2.4149201482967856e-221),
        (100, 1, 3.9812808189568546e-159),
        (0.5, 0.0009765625, 0.035250373867322826),
        (8, 0.25, 3.0312747228845903e-10),
    ],
    "gammaincc": [
        (33, 700, 4.3362941285078625e-249),
        (2, 700, 6.911633257175599e-302),
        (0.5, 1.5, 0.0832645166635504),
        (300, 700, 8.140453840482531e-66),
        (0.0078125, 1.5, 0.000789548087517456),
    ],
    "betainc": [
        (0.3125, 1e5, 7.62939453125e-06, 0.8737263611768231),
        (1e4, 3.25, 0.9990234375, 0.004762202760166653),
        (3.25, 1e5, 9.313225746154785e-10, 9.57774777951584e-15),
        (50, 100, 0.3125, 0.2990761762688714),
        (0.5, 300, 7.62939453125e-06, 0.053919968688402646),
    ],
    "gamma": [
        (171, 7.257415615307999e306),
        (30, 8.841761993739702e30),
        (-2.5, -0.9453087204829419),
        (-100.5, -3.3536908198076787e-159),
        (4.5, 11.631728396567448),
        (0.125, 7.533941598797612),
    ],
    "beta": [
        (20, 2e5, 1.1589965457006468e-89),
        (300, 300, 4.9343262639989395e-182),
        (0.3125, 8, 1.5168696187505823),
        (8, 3000, 7.610452105423624e-25),
        (-1.5, 4.25, 12.173838644927699),
        (-6.375, 5.8125, 0.05623260236354552),
        (-20.25, -20.25, -1217381463571.9104),
        (112.75, -47.5, 2.9632308777609538e32),
        (-0.5, 2.0**99, -2822212540896131.0),
        (-95.75, -46.375, 1.2527248928585614e38),
    ],
    "factorial": [(170, 7.257415615307999e306), (29, 8.841761993739702e30)],
    "comb": [
        (170, 50, 3.5670834959414023e43),
        (5.5, 2, 12.375),
        (1000, 50, 9.460461017585218e84),
    ],
    "poch": [
        (300, 0.5, 17.31329270397117),
        (50, 10, 2.27991539359584e17),
        (0.25, 3.5, 1.219929480121428),
    ],
    "kl_div": [
        (40, 60, 3.7813956756734246),
        (1, 1.0000009536743164, 4.547470617660916e-13),
        (2.0**66, 2.0**-60, 6.3705125808873e21),
    ],
    "rel_entr": [(100, 60, 51.08256237659907), (3, 1.75, 1.616989502198061)],
    "logit": [
        (0.5000009536743164, 3.814697265629626e-06),
        (0.375, -0.5108256237659907),
        (0.59375, 0.37948962170490375),
        (0.640625, 0.5780778507751582),
    ],
    "owens_t": [(3, 0.875, 0.0006716663002254042), (7, 0.5, 6.396704462156891e-13)],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(TAILS))
def test_values_are_precise_in_tails_and_of_large_parameters(name, dtype):
    *args, exact = np.array(TAILS[name]).T
    info = np.finfo(dtype)
    exists = (np.abs(exact) > info.tiny) & (np.abs(exact) < info.max)
    with mj.enable_x64(True):
        got = getattr(special, name)(*[x.astype(dtype) for x in args])
    got = np.asarray(got).astype(float)
    np.testing.assert_allclose(got[exists], exact[exists], rtol=24 * info.eps)


def test_exponential_integral_of_order_1_next_to_0():
    x = np.array([2.0**-100, 2.0**-120], np.float32)
    expected = scipy.exp1(x.astype(float))
    np.testing.assert_allclose(special.expn(1, x), expected, rtol=1e-6)


def test_slopes_of_normal_functions_in_tails():
    """The slopes are density / distribution function, and 1 / density."""
    with mj.enable_x64(True):
        first = mj.vmap(mj.grad(special.log_ndtr))
        second = mj.vmap(mj.grad(mj.grad(special.log_ndtr)))
        x = np.array([24.5, 15.5, -30.0, -1e5, 171.0, np.inf])
        expected = [
            1.8125027935515248e-131,
            2.699513024588587e-53,
            30.033259667433676,
            100000.00001,
            0,
            0,
        ]
        np.testing.assert_allclose(first(x), expected, rtol=4e-15)
        expected = [-4.440631844201236e-130, -4.184245188112310e-52]
        np.testing.assert_allclose(second(x[:2]), expected, rtol=1e-14)
        np.testing.assert_array_equal(second(x[4:]), [0, 0])
        p = np.array([1e-100, 1e-300, 0.3])
        expected = [4.690375414837741e98, 2.697304465042612e298, 2.8761036592642926]
        slope = mj.vmap(mj.grad(special.ndtri))
        np.testing.assert_allclose(slope(p), expected, rtol=4e-15)
        np.testing.assert_array_equal(slope(np.array([0.0, 1.0])), np.inf)


def test_second_derivatives_of_divergences_where_terms_cancel():
    with mj.enable_x64(True):
        for f in (special.rel_entr, special.kl_div):
            by_p = mj.vmap(mj.grad(mj.grad(f)))
            p = np.array([1e300, 1e20, 0.5])
            np.testing.assert_allclose(by_p(p, np.full(3, 17.0)), 1 / p, rtol=1e-15)
            by_q = mj.vmap(mj.grad(mj.grad(f, argnums=1), argnums=1))
            q = np.array([3e38, 1e20, 0.5])
            expected = 3.5 / q / q
            np.testing.assert_allclose(by_q(np.full(3, 3.5), q), expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["rel_entr", "kl_div"])
def test_divergences_scale_with_their_arguments(name):
    """Scaling by powers of two is exact, up to the ends of the range."""
    f = getattr(special, name)
    p = np.array([3, 1, 1.0001, 1, 5, 0.25, 2.0**90, 2.0**-90], np.float32)
    q = np.array([2.9, 1, 1, 1.5, 2.0**-80, 2.0**80, 2.0**-30, 2.0**30], np.float32)
    with mj.enable_x64(True):
        exact = np.asarray(f(p.astype(np.float64), q.astype(np.float64)))
    for power in (-80, -30, 0, 30, 80):
        scale = 2.0**power
        a, b = (np.ldexp(x.astype(np.float64), power) for x in (p, q))
        fits = (np.minimum(a, b) > 2.0**-120) & (np.maximum(a, b) < 2.0**120)
        result = f(a[fits].astype(np.float32), b[fits].astype(np.float32))
        np.testing.assert_allclose(
            result, exact[fits] * scale, rtol=2e-6 if name == "kl_div" else 4e-7
        )


def test_relative_entropies_of_infinite_numbers():
    result = special.rel_entr(np.float32([np.inf, 2]), np.float32([0.5, np.inf]))
    np.testing.assert_array_equal(result, [np.inf, -np.inf])


# name: function, where, its first three derivatives there, by Taylor's series or mpmath.
STEEP = {
    "hyp1f1": (lambda x: special.hyp1f1(1.5, 2.5, x), 0.0, [3 / 5, 3 / 7, 1 / 3]),
    "hyp2f1": (lambda x: special.hyp2f1(0.5, 1.5, 2.5, x), 0.0, [0.3, 9 / 28, 0.625]),
    "sici": (lambda x: special.sici(x)[0], 2.0**-12, [1.0, -(2.0**-12) / 3, -1 / 3]),
    "poch": (
        lambda z: special.poch(z, 2.5),
        [2.0**-60, 1e4],
        [
            [1.329340388179137, 2500281.252539099],
            [3.404101235338736, 375.0140623730414],
            [1.933300657171415, 0.01874929689404434],
        ],
    ),
}


@pytest.mark.parametrize("dtype, tol", [(np.float32, 2e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("name", STEEP)
def test_three_derivatives_where_terms_cancel(name, dtype, tol):
    fun, x, expected = STEEP[name]
    if name == "sici":
        tol = max(tol, 1e-7)  # the next terms of the series
    got = []
    for _ in expected:
        fun = mj.grad(fun)
        got.append(fun)
    with mj.enable_x64():
        together = mj.vmap(lambda x: [g(x) for g in got])
        got = mj.jit(together)(np.atleast_1d(dtype(x)))
    np.testing.assert_allclose(got, np.reshape(expected, np.shape(got)), rtol=tol)


def test_derivatives_of_hypergeometric_functions_by_two_operands():
    """At x = 0 mixed derivatives are the derivatives of a / b and a b / c by a parameter."""
    got = mj.grad(mj.grad(special.hyp1f1, 2), 0)(1.5, 2.5, 0.0)
    other = mj.grad(mj.grad(special.hyp1f1, 0), 2)(1.5, 2.5, 0.0)
    np.testing.assert_allclose([got, other], 0.4, rtol=1e-6)
    got = mj.grad(mj.grad(special.hyp2f1, 2), 3)(0.5, 1.5, 2.5, 0.0)
    other = mj.grad(mj.grad(special.hyp2f1, 3), 2)(0.5, 1.5, 2.5, 0.0)
    np.testing.assert_allclose([got, other], -0.12, rtol=1e-6)


def test_bessel_functions_where_the_exponential_is_infinite():
    """The reference values are from mpmath."""
    got = special.i0(90.0), special.i1(90.0), mj.grad(special.i1)(90.0)
    expected = 5.1392383455e37, 5.1106068153e37, 5.0824538253e37
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert special.i0(np.float16(11.4375)) == np.float16(scipy.i0(11.4375))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_log_beta_of_narrow_numbers(dtype):
    """The result is rounded once, although terms of size 4 cancel."""
    a, b = mj.numpy.array([0.3, 0.2, 2.0], dtype), mj.numpy.array([32.5, 240, 3], dtype)
    expected = scipy.betaln(*(np.asarray(v, np.float64) for v in (a, b)))
    got = np.asarray(special.betaln(a, b), np.float64)
    np.testing.assert_allclose(got, expected, rtol=float(mj.numpy.finfo(dtype).eps))
