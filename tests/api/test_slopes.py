"""First and second derivatives at their edges: ties, saturation, tiny and huge numbers.

The sources of truth are mpmath, by `tests/slopes` (recorded), and closed forms.
"""

import contextlib

import numpy as np
import pytest
from slopes import compare, table

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, nn
from minijax.experimental.jet import jet
from minijax.scipy import special, stats

INF = np.inf

ROWS = {row.name: row for row in table.ROWS}
# Units in the last place of the value, the first, and the second derivatives.
BOUNDS = (4, 4, 8)
CASES = [
    (name, "f32")
    for name in (
        "1000_over",
        "cbrt",
        "expm1",
        "asin",
        "atan",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "logistic",
        "softplus",
        "soft_sign",
        "log1mexp",
        "softmax_first",
        "logit",
        "atan2",
        "hypot",
        "logaddexp",
    )
]
CASES += [(x, "f16") for x in ("1000_over", "integer_pow_-3", "atan", "asinh", "atan2")]


@pytest.mark.parametrize("name, kind", CASES)
def test_slopes(name, kind):
    with mj.enable_x64(True):
        errors = compare.worst(compare.Modules(mj), ROWS[name], kind)
    # The compiler takes tiny numbers for zero where it computes some values.
    if name == "asin":
        errors = errors[1:]
    for error, bound in zip(reversed(errors), reversed(BOUNDS), strict=False):
        assert error.ulps <= bound, str(error)


def test_squareplus_of_negative_numbers():
    """b / (4 |x|) to all digits, where x + sqrt(x^2 + b) cancels; its slope b / (4 x^2)."""
    x = jnp.array([-1e4, -3e6, 0.0, -INF])
    got = nn.squareplus(x), mj.vmap(mj.grad(nn.squareplus))(x)
    np.testing.assert_allclose(got[0], [1e-4, 1 / 3e6, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(got[1], [1e-8, 1 / 9e12, 0.5, 0], rtol=1e-6)
    np.testing.assert_allclose(mj.grad(nn.squareplus, 1)(-3.0, 7.0), 0.25 / 4, rtol=1e-6)


def hessian(f, *xs):
    with mj.enable_x64(True):
        return np.array(mj.hessian(f, tuple(range(len(xs))))(*xs))


def test_second_derivatives_where_arguments_are_equal():
    root = np.sqrt(0.125)
    np.testing.assert_allclose(
        hessian(jnp.hypot, 1.0, 1.0), [[root, -root], [-root, root]], rtol=1e-12
    )
    # mpmath: psi'(a) - psi'(a + b), and -psi'(a + b), at 2 and at 9
    for a, own, both in [
        (2.0, 0.36111111111111111, -0.28382295573711533),
        (9.0, 0.060384688903248819, -0.057127325790782614),
    ]:
        expected = np.array([[own, both], [both, own]])
        np.testing.assert_allclose(hessian(special.betaln, a, a), expected, rtol=1e-11)
        got = hessian(lambda p, q: stats.beta.logpdf(0.3, p, q), a, a)
        np.testing.assert_allclose(got, -expected, rtol=1e-11)
    # mpmath: binom(n, k) at (4, 2), by differences in 60 digits
    np.testing.assert_allclose(
        hessian(special.comb, 4.0, 2.0),
        [[1.0, 2.3696044010893586], [2.3696044010893586, -4.7392088021787171]],
        rtol=1e-11,
    )
    f = lambda a, b: stats.betabinom.logpmf(2.0, 4.0, a, b)
    near = hessian(f, 2.0, 2.0 + 1e-7)
    np.testing.assert_allclose(hessian(f, 2.0, 2.0), near, rtol=1e-5)
    got = hessian(jnp.logaddexp, 1.0, 1.0)
    np.testing.assert_allclose(got, [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-14)


def test_slopes_of_powers_at_zero():
    grad = mj.grad
    for p in (0.0, 1.0, 2.0, 3.0):
        f = lambda x, p=p: x**p
        first, second = float(p == 1), 2.0 * (p == 2)
        assert grad(f)(0.0) == first and grad(grad(f))(0.0) == second
        assert mj.jit(grad(grad(f)))(0.0) == second
        f = lambda z, p=p: z ** (p + 0j)
        slope = grad(f, holomorphic=True)
        assert slope(0j) == first and grad(slope, holomorphic=True)(0j) == second
    powers = np.array([0.0, 1.0, 2.0, 3.0, 0.5], np.float32)
    for fun in (jnp.power, jnp.float_power, lambda x, p: x**p):
        slope = grad(fun)
        zero = np.zeros(5, np.float32)
        assert mj.vmap(slope)(zero, powers).tolist() == [0, 1, 0, 0, np.inf]
        assert mj.vmap(grad(slope))(zero, powers).tolist() == [0, 0, 2, 0, -np.inf]
    integers = powers[:4].astype(np.int32)
    assert mj.vmap(grad(grad(jnp.power)))(zero[:4], integers).tolist() == [0, 0, 2, 0]


def test_slopes_far_out():
    assert float(mj.grad(jnp.tanh)(8.0)) == pytest.approx(4.501406e-07, rel=1e-6)
    assert float(mj.grad(nn.sigmoid)(20.0)) == pytest.approx(2.061154e-09, rel=1e-6)
    assert float(mj.grad(jnp.tanh)(100.0)) == 0 == mj.grad(nn.sigmoid)(-200.0)
    for size in (1e25, 1e-25):
        got = mj.grad(jnp.arctan2, (0, 1))(size, 2 * size)
        np.testing.assert_allclose(got, [0.4 / size, -0.2 / size], rtol=1e-6)
    assert [float(s) for s in mj.grad(jnp.arctan2, (0, 1))(np.inf, 1.0)] == [0, 0]
    three, four = jnp.float16(300), jnp.float16(400)
    got = np.array(mj.hessian(jnp.arctan2, (0, 1))(three, four), np.float64)
    d = 25e4**2
    expected = [[-2 * 12e4 / d, -7e4 / d], [-7e4 / d, 2 * 12e4 / d]]
    np.testing.assert_allclose(got, expected, atol=6e-8)
    for grad in (mj.grad, lambda f: mj.jit(mj.grad(f))):
        got = grad(lambda y: jnp.float16(1000) / y)(jnp.float16(300))
        assert float(got) == pytest.approx(-1 / 90, rel=1e-3)


def test_acosh_of_complex_numbers_has_the_slope_of_its_branch():
    z = -2 + 1j  # 1 / (sqrt(z - 1) sqrt(z + 1)); the root of z^2 - 1 has the other sign
    got = mj.grad(jnp.arccosh, holomorphic=True)(z)
    np.testing.assert_allclose(got, 1 / (np.sqrt(z - 1) * np.sqrt(z + 1)), rtol=1e-5)


def test_softmax_where_one_share_is_nearly_one():
    y = 2.0611536e-9  # e^-20
    got = mj.jacrev(nn.softmax)(jnp.array([20.0, 0.0]))
    np.testing.assert_allclose(got, [[y, -y], [-y, y]], rtol=1e-5)
    got = mj.jacfwd(lambda x: nn.softmax(x, axis=(0, 1)))(jnp.array([[20.0], [0.0]]))
    np.testing.assert_allclose(got[:, 0, :, 0], [[y, -y], [-y, y]], rtol=1e-5)


def test_slopes_of_python_numbers():
    assert mj.grad(special.logit)(1.0) == np.inf == mj.grad(special.logit)(0.0)
    assert [float(x) for x in mj.jvp(special.logit, (1.0,), (1.0,))] == [np.inf] * 2
    assert mj.grad(mj.grad(special.logit))(0.5) == 0


def test_infinite_operands_of_log_of_a_sum():
    inf = np.inf
    grad = mj.grad(jnp.logaddexp, (0, 1))
    assert [float(s) for s in grad(inf, inf)] == [0.5, 0.5]
    assert [float(s) for s in grad(-inf, -inf)] == [0.5, 0.5]
    assert [float(s) for s in grad(inf, 1.0)] == [1, 0]
    assert np.isnan(grad(np.nan, 1.0)).all()


def test_slopes_where_an_expression_has_a_kink():
    slope = mj.grad(special.ndtri)
    assert float(mj.grad(slope)(0.5)) == pytest.approx(0, abs=1e-5)
    # x / phi(x)^2 at x = Phi^-1(0.9), by mpmath
    assert float(mj.grad(slope)(0.9)) == pytest.approx(41.60927, rel=1e-5)
    assert mj.grad(special.factorial)(-2.0) == 0


JETS = {  # name: (function, point, terms of order 1, 2 and 3)
    "log": (lax.log, 0.0, [INF, -INF, INF]),
    "log1p": (lax.log1p, -1.0, [INF, -INF, INF]),
    "sqrt": (lax.sqrt, 0.0, [INF, -INF, INF]),
    "rsqrt": (lax.rsqrt, 0.0, [-INF, INF, -INF]),
    "cbrt": (lax.cbrt, 0.0, [INF, -INF, INF]),
    "1 / x": (lambda x: 1 / x, 0.0, [-INF, INF, -INF]),
    "x ** -2": (lambda x: x**-2, 0.0, [-INF, INF, -INF]),
    "asin": (lax.asin, 1.0, [INF, INF, INF]),
    "x ** 0.": (lambda x: x**0.0, 0.0, [0, 0, 0]),
    "x ** 1.": (lambda x: x**1.0, 0.0, [1, 0, 0]),
    "x ** 2.": (lambda x: x**2.0, 0.0, [0, 2, 0]),
    "x ** 1.5": (lambda x: x**1.5, 0.0, [0, INF, -INF]),
    "arrays of exponents": (
        lambda x: x ** np.array([0.0, 1.0, 3.0, 0.5], np.float32),
        0.0,
        [[0, 1, 0, INF], [0, 0, 0, -INF], [0, 0, 6, INF]],
    ),
    "tanh": (lax.tanh, 8.0, [4.501407e-07, -9.002814e-07, 1.800562e-06]),
    "logistic": (lax.logistic, 20.0, [2.061154e-09, -2.061154e-09, 2.061154e-09]),
    "expm1": (lax.expm1, -20.0, [2.061154e-09] * 3),
    "abs": (lax.abs, 0.0, [1, 0, 0]),
}


@pytest.mark.parametrize("name", JETS)
def test_jets_at_edges(name):
    f, x, expected = JETS[name]
    got = jet(f, (x,), ((1.0, 0.0, 0.0),))[1]
    np.testing.assert_allclose(got, np.array(expected, np.float32), rtol=2e-6)


def test_slopes_keep_no_more_than_one_array():
    x, y = jnp.ones((7, 4)), jnp.full((7, 4), 2.0)
    for f, arrays in [(jnp.tanh, 1), (nn.sigmoid, 1), (nn.softmax, 1), (nn.gelu, 4)]:
        held = [r for r in mj.tree.leaves(mj.vjp(f, x)[1]) if hasattr(r, "nbytes")]
        assert sum(r.nbytes for r in held) <= arrays * x.nbytes, f
    for f in (jnp.divide, lax.atan2, jnp.hypot, jnp.logaddexp):
        held = [r for r in mj.tree.leaves(mj.vjp(f, x, y)[1]) if hasattr(r, "nbytes")]
        assert sum(r.nbytes for r in held) <= 2 * x.nbytes, f


@contextlib.contextmanager
def imprecise():
    mj.config.update("minijax_precise_slopes", False)
    try:
        yield
    finally:
        mj.config.update("minijax_precise_slopes", True)


@pytest.mark.parametrize(
    "f, exact, of_result",
    [
        (jnp.tanh, 4.5014e-07, lambda y: (1 + y) * (1 - y)),
        (nn.sigmoid, 3.3524e-04, lambda y: y * (1 - y)),
    ],
)
def test_slopes_of_the_results_alone(f, exact, of_result):
    """With the option off, compiled gradients keep the results alone."""
    text = lambda: str(mj.make_jaxpr(mj.grad(f))(8.0))
    np.testing.assert_allclose(mj.grad(f)(8.0), exact, rtol=1e-4)
    with imprecise():
        assert "slope" not in text()
        np.testing.assert_allclose(mj.grad(f)(8.0), of_result(f(8.0)), rtol=1e-6)
    assert "slope" in text()


@pytest.mark.parametrize(
    "fun, slope",
    (
        (lax.asin, 1 / 0.75**0.5),
        (lax.acos, -1 / 0.75**0.5),
        (lax.atan, 0.8),
        (lax.asinh, 1 / 1.25**0.5),
        (lax.atanh, 1 / 0.75),
        (lax.tanh, 1 - 0.4621171573**2),
        (lax.logistic, 0.2350037122),
        (lambda x: lax.atan2(x, 1.0), 0.8),
        (lambda x: lax.atan2(1.0, x), -0.8),
        (lambda x: lax.pow(x, jnp.float32(3)), 0.75),
        (lambda x: lax.pow(x, x * 0), 0.0),
    ),
)
def test_jaxprs_have_jax_primitives_alone_without_precise_slopes(fun, slope):
    """Closed forms at 1/2."""
    with imprecise():
        jaxpr = mj.make_jaxpr(mj.grad(fun))(0.5).jaxpr
        assert mj.grad(fun)(0.5) == pytest.approx(slope, rel=1e-6)
    names = {eqn.primitive.name for eqn in jaxpr.eqns}
    assert not {x for x in names if x.endswith("slope")} and "over_squares" not in names
