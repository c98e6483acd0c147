"""`minijax_ieee_arithmetic` and `lax.div(accuracy=)`: NumPy's numbers, bit for bit."""

import functools
from fractions import Fraction

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import jet
from minijax.prims.special import double_double
from minijax.runtime.backends import jaxlib_compat as compat
from minijax.runtime.running import compiler_faults as faults
from minijax.scipy import special

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((2, 512))
DTYPES = ["float16", "bfloat16", "float32", "float64"]
ROUND = {"float16": 1536.0, "bfloat16": 192.0, "float32": 1.5 * 2**23, "float64": 1.5 * 2**52}
div = functools.partial(lax.div, accuracy=lax.AccuracyMode.HIGHEST)


@pytest.fixture
def ieee():
    mj.config.update("minijax_ieee_arithmetic", True)
    try:
        yield
    finally:
        mj.config.update("minijax_ieee_arithmetic", False)


def two_sum(x, y):
    s = x + y
    b = s - x
    return (x - (s - b)) + (y - b)


def expressions(np, x, y, number):
    """Return expressions that compilers rewrite; `number` makes a constant of the dtype."""
    c, d, big = number(1.3), number(1.1), number(ROUND[x.dtype.name])
    return [
        (x + big) - big,
        (x - big) + big,
        (x * c) * d,
        (x / c) / d,
        x / c,
        x / y[:1],
        x / np.sqrt(abs(y)),
        number(1) / np.sqrt(abs(y)),
        x * y - x,
        (x / y) / x[::-1],
        x / (y / c),
        ((x * c + d) * x + c) * x + y,
        two_sum(x, big),
        two_sum(x, y),
    ]


def same(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(got, np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ieee_arithmetic(ieee, dtype):
    with mj.enable_x64(True):
        x, y = X.astype(jnp.dtype(dtype)), Y.astype(jnp.dtype(dtype))
        got = mj.jit(lambda x, y: expressions(jnp, x, y, x.dtype.type))(x, y)
        for a, b in zip(got, expressions(np, x, y, x.dtype.type), strict=True):
            same(a, b)


def test_ieee_arithmetic_in_calls_and_loops(ieee):
    big = np.float32(ROUND["float32"])
    add = mj.jit(lambda x, c: x + c)
    step = lambda i, x: (add(x, big) - big) * np.float32(1.7)
    x = expected = X.astype(np.float32)
    for _ in range(3):
        expected = (expected + big - big) * np.float32(1.7)
    same(mj.jit(lambda x: lax.fori_loop(0, 3, step, x))(x), expected)
    same(
        mj.jit(lambda x: lax.cond(x[0] < 9, lambda x: x + big - big, jnp.sin, x))(x),
        x + big - big,
    )
    same(
        mj.jit(mj.grad(lambda x: (x * x / np.float32(3)).sum()))(x),
        (np.float32(1) / np.float32(3)) * (x + x),
    )


def test_option_renews_programs():
    big = np.float32(ROUND["float32"])
    f = mj.jit(lambda x: (x + big) - big)
    x = X.astype(np.float32)
    before = np.asarray(f(x))
    mj.config.update("minijax_ieee_arithmetic", True)
    try:
        same(f(x), x + big - big)
        assert "reduce_precision" in f.lower(x).as_text()
    finally:
        mj.config.update("minijax_ieee_arithmetic", False)
    same(f(x), before)


@pytest.mark.skipif(
    not faults.applies(faults.named("sum with a constant"), "cpu", compat.RELEASE),
    reason="this jaxlib does not have the fault",
)
def test_sum_with_a_constant_without_cure():
    big = np.float32(ROUND["float32"])
    x = X.astype(np.float32)
    same(mj.jit(lambda x: (x + big) - big)(x), x)


def test_division_without_cure():
    x, y = X.astype(np.float32), abs(Y).astype(np.float32)
    third = np.asarray(mj.jit(lambda x: x / np.float32(3))(x))
    assert 0 < (third != x / np.float32(3)).sum() < 256
    once = np.asarray(mj.jit(lambda x, y: x * y - x)(x, y))
    assert 0 < (once != x * y - x).sum() < 256
    root = np.asarray(mj.jit(lambda y: 1 / jnp.sqrt(y))(y))
    assert 0 < (root != np.float32(1) / np.sqrt(y)).sum() < 256


# Next to their zeros, by mpmath with 50 digits.
EI = {0.3725074107813666: -5.1196989365556847e-17, 0.372507410781367: 1.4627869564761315e-15}
CI = {0.6165054856207162: -9.1215127989372719e-17, 0.616505485620717: 1.084229811574637e-15}


def test_own_functions():
    with mj.enable_x64(True):
        for f, values in ((special.expi, EI), (lambda x: special.sici(x)[1], CI)):
            x = np.array([*values])
            for g in (f, mj.jit(f)):
                np.testing.assert_allclose(g(x), [*values.values()], 1e-14)
        large, small = 1e10, 1e-3
        total, lost = mj.jit(lambda b: double_double.exact_sum(np.float64(large), b))(small)
        exact = Fraction(large) + Fraction(small)
        assert float(total) == large + small
        assert Fraction(float(total)) + Fraction(float(lost)) == exact


QUOTIENTS = {
    "constant": (lambda d, x, y, c: d(x, c), lambda x, y, c: x / c),
    "arrays": (lambda d, x, y, c: d(x, y), lambda x, y, c: x / y),
    "one element": (lambda d, x, y, c: d(x, y[:1]), lambda x, y, c: x / y[:1]),
    "scalars": (lambda d, x, y, c: d(x[5], c), lambda x, y, c: x[5] / c),
    "twice": (lambda d, x, y, c: d(d(x, y), c), lambda x, y, c: (x / y) / c),
    "by a quotient": (lambda d, x, y, c: d(x, d(y, c)), lambda x, y, c: x / (y / c)),
    "root": (lambda d, x, y, c: d(x, jnp.sqrt(abs(y))), lambda x, y, c: x / np.sqrt(abs(y))),
    "lanes": (lambda d, x, y, c: mj.vmap(lambda a: d(a, c))(x), lambda x, y, c: x / c),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_division(dtype):
    with mj.enable_x64(True):
        x, y = X.astype(jnp.dtype(dtype)), Y.astype(jnp.dtype(dtype))
        c = x.dtype.type(3)
        all_of = lambda x, y: [f(div, x, y, c) for f, _ in QUOTIENTS.values()]
        expected = [np.asarray(g(x, y, c)) for _, g in QUOTIENTS.values()]
        eager = all_of(jnp.asarray(x), jnp.asarray(y))
        for got in (mj.jit(all_of)(x, y), eager):
            for a, b in zip(got, expected, strict=True):
                same(a, b)


def test_accuracy_of_division():
    assert "accuracy" not in str(mj.make_jaxpr(lambda x: lax.div(x, x))(1.0))
    assert "HIGHEST" in str(mj.make_jaxpr(lambda x: div(x, x))(1.0))
    assert lax.div(7.0, 2.0, accuracy=lax.AccuracyMode.DEFAULT) == 3.5
    assert lax.div(7.0, 2.0, accuracy=lax.Tolerance(ulps=1)) == 3.5
    assert div(7, 2) == 3 and div(7, 0) == -1
    assert mj.grad(div)(3.0, 2.0) == 0.5 and mj.grad(div, 1)(3.0, 2.0) == -0.75
    assert jet.jet(div, (3.0, 2.0), ((1.0,), (0.0,)))[1][0] == 0.5
    assert mj.linear_transpose(lambda x: div(x, 4.0), 1.0)(1.0)[0] == 0.25
    assert div(3.0 + 4.0j, 2.0 + 0.0j) == 1.5 + 2.0j
    with pytest.raises(TypeError, match="accuracy must be"):
        lax.div(1.0, 2.0, accuracy="high")


def test_float64_is_rounded_twice_to_half_precision():
    with mj.enable_x64(True):
        above_the_tie = np.array([1 + 2**-11 + 2**-40])  # between 1 and its successor
        assert above_the_tie.astype(np.float16) == 1 + 2**-10
        x = jnp.asarray(above_the_tie)
        assert mj.jit(lambda x: x.astype(jnp.float16))(x) == 1  # XLA: through float32
        assert x.astype(jnp.float16) == 1
        assert jnp.asarray(above_the_tie, jnp.float16) == 1 + 2**-10
        above_the_tie = np.array([1 + 2**-8 + 2**-40])
        assert mj.jit(lambda x: x.astype(jnp.bfloat16))(above_the_tie) == 1
