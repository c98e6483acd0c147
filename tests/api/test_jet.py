"""jet against nested forward mode, in float64."""

import math

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental.jet import jet


@pytest.fixture(autouse=True)
def x64():
    with mj.enable_x64():
        yield


def nested(f, primals, series):
    """Derivatives of t -> f(x(t)) at 0, each by one more jvp."""
    order = len(series[0])

    def along(t):
        args = []
        for x, terms in zip(primals, series, strict=True):
            args.append(x + sum(c * t**k / math.factorial(k) for k, c in enumerate(terms, 1)))
        return f(*args)

    def lift(g):
        return lambda t: mj.jvp(g, (t,), (1.0,))[1]

    g, out = along, []
    for _ in range(order):
        g = lift(g)
        out.append(g(0.0))
    return out


def agree(f, *primals, order=4, seed=0):
    rng = np.random.default_rng(seed)
    series = [[rng.normal(size=np.shape(x)) for _ in range(order)] for x in primals]
    out, terms = jet(f, primals, series)
    np.testing.assert_allclose(out, f(*primals), rtol=1e-12)
    for got, expected in zip(terms, nested(f, primals, series), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    scaled = [[t / math.factorial(k) for k, t in enumerate(s, 1)] for s in series]
    _, unscaled = jet(f, primals, scaled, factorial_scaled=False)
    for k, (a, b) in enumerate(zip(unscaled, terms, strict=True), 1):
        np.testing.assert_allclose(a, b / math.factorial(k), rtol=1e-12, atol=1e-12)


UNARY = [
    jnp.exp, jnp.exp2, jnp.expm1, jnp.log, jnp.log1p, jnp.sin, jnp.cos, jnp.tan,
    jnp.sinh, jnp.cosh, jnp.tanh, jnp.arcsin, jnp.arccos, jnp.arctan, jnp.arcsinh,
    jnp.arctanh, jnp.sqrt, lax.rsqrt, jnp.cbrt, jnp.square, lax.logistic, lax.erf,
    lax.erfc, lax.erf_inv, lax.lgamma, lax.digamma, jnp.abs, jnp.negative,
    lambda x: x**3, lambda x: x**-2, lambda x: x**1.7, lambda x: 2.0**x, lambda x: x**x,
    lambda x: 1 / x, lambda x: x / (1 + x * x), lambda x: jnp.maximum(x, 0.3),
    lambda x: jnp.minimum(x, x * x), lambda x: jnp.where(x > 0.3, x * x, jnp.sin(x)),
    lambda x: jnp.arctan2(x, 1 + x * x), lambda x: jnp.clip(x * x, 0.01, 0.9),
    mj.jit(lambda x: jnp.sin(x) * x), mj.checkpoint(lambda x: jnp.exp(jnp.sin(x))),
    lambda x: lax.stop_gradient(x) * x, lambda x: mj.grad(lambda y: y**3 * jnp.cos(y))(x),
]  # fmt: skip


@pytest.mark.parametrize("f", UNARY, ids=lambda f: getattr(f, "__name__", "f"))
def test_unary(f):
    agree(f, np.float64(0.4))


def test_arccosh():
    agree(jnp.arccosh, np.float64(1.7))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x @ x.T,
        lambda x: x.reshape(6).sum(),
        lambda x: x.T[::-1, 1:],
        lambda x: jnp.concatenate([x, x * x], 1),
        lambda x: jnp.cumsum(x, 0) * x,
        lambda x: x.max(0),
        lambda x: jnp.sort(x, 1) ** 2,
        lambda x: x[jnp.array([1, 0])] * x,
        lambda x: x.at[0].add(x[1] ** 2),
        lambda x: jnp.pad(x * x, 1),
        lambda x: jnp.prod(x),
        lambda x: jnp.linalg.inv(x @ x.T),
        lambda x: mj.vmap(jnp.dot)(x, x * x),
        lambda x: lax.scan(lambda c, r: (jnp.sin(c) * r, c), x[0], x)[0],
        lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x),
        lambda x: jnp.stack([x, x**2]),
        lambda x: lax.fori_loop(0, 3, lambda i, y: y * jnp.cos(y), x),
        lambda x: lax.dynamic_slice(x * x, (0, 1), (2, 2)),
        lambda x: jnp.exp(x - jnp.log(jnp.sum(jnp.exp(x)))),
    ],
)
def test_arrays(f):
    x = np.random.default_rng(1).uniform(0.3, 0.9, (2, 3))
    agree(f, jnp.asarray(x), order=3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: x - y,
        jnp.maximum,
        jnp.arctan2,
        lambda x, y: x + jnp.exp(y) * 2,
        jnp.hypot,
    ],
)
def test_binary(f):
    agree(f, np.float64(0.7), np.float64(1.3))


def test_high_order_is_cheap():
    order = 20
    _, terms = jet(
        lambda x: jnp.exp(jnp.sin(x)) / (1 + x), (0.1,), ([1.0] + [0.0] * (order - 1),)
    )
    assert len(terms) == order
    _, sines = jet(jnp.sin, (0.0,), ([1.0] + [0.0] * (order - 1),))
    np.testing.assert_allclose(sines, [1, 0, -1, 0] * 5, atol=1e-9)


def test_ties_share():
    _, (d,) = jet(jnp.maximum, (1.0, 1.0), ((3.0,), (5.0,)))
    assert d == 4


def test_under_transformations():
    def third(x):
        return jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]

    x = np.float64(0.3)
    np.testing.assert_allclose(mj.jit(third)(x), -np.cos(x), rtol=1e-12)
    np.testing.assert_allclose(mj.grad(third)(x), np.sin(x), rtol=1e-12)
    rows = np.linspace(0, 1, 5)
    np.testing.assert_allclose(mj.vmap(third)(rows), -np.cos(rows), rtol=1e-12)


def test_custom_jvp_rules_are_heard():
    f = mj.custom_jvp(lambda x: x**2)
    f.defjvp(lambda p, t: (f(p[0]), 10.0 * t[0]))
    _, terms = jet(f, (3.0,), ((1.0, 0.0),))
    np.testing.assert_allclose(terms, [10.0, 0.0])


def test_trees_and_constants():
    out, terms = jet(lambda x: {"a": x**2, "b": 3.0, "c": x > 0}, (2.0,), ((1.0, 0.0),))
    assert float(out["a"]) == 4 and bool(out["c"])
    np.testing.assert_allclose(terms["a"], [4.0, 2.0])
    np.testing.assert_allclose(terms["b"], [0.0, 0.0])
    assert jet(jnp.sin, (1.0,), ((),))[1] == []


def test_errors():
    with pytest.raises(ValueError, match="inconsistent lengths"):
        jet(lambda x, y: x, (1.0, 2.0), ((1.0, 0.0), (3.0,)))
    with pytest.raises(ValueError, match="position 0 is not an array"):
        jet(lambda x: x, ({"x": 1.0},), ((1.0,),))
    with pytest.raises(TypeError, match="not differentiable"):
        jet(lambda x: x, (1,), ((1,),))
    with pytest.raises(ValueError, match="has shape"):
        jet(lambda x: x, (jnp.ones(2),), ((jnp.ones(3),),))


def test_results_are_arrays():
    """Also those that do not depend on the arguments, or have no derivatives."""
    out, terms = jet(lambda x: (3.0, x > 0, x), (0.5,), ([1.0, 2.0],))
    leaves = mj.tree.leaves((out, terms))
    assert all(isinstance(x, mj.Array) for x in leaves) and len(leaves) == 9
    assert [[float(t) for t in ts] for ts in terms] == [[0, 0], [0, 0], [1, 2]]


def test_rooms_of_experimental_are_found_when_named():
    assert mj.experimental.jet.jet is jet
    assert callable(mj.experimental.checkify.checkify)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mj.experimental.nothing


def test_terms_of_python_numbers_are_weakly_typed():
    y, terms = jet(lambda x: jnp.sin(x) * x / 2, (1.0,), ((1.0, 0.0, 0.0),))
    assert y.weak_type and all(t.weak_type for t in terms)
    for x, terms in ((np.float32(1), (1.0, 0.0)), (1.0, (np.float32(1), np.float32(0)))):
        assert not any(t.weak_type for t in jet(jnp.exp, (x,), (terms,))[1])


def test_unknown_keywords_warn():
    with pytest.warns(UserWarning, match=r"unknown keywords \['order'\] are ignored") as w:
        assert jet(jnp.square, (3.0,), ((1.0,),), order=2)[0] == 9
    assert w[0].filename == __file__


def test_what_begins_at_rest_moves_in_a_loop():
    """A carry that is constant at first has all terms of its series from then on."""
    loop = lambda x: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + x**2, 0.0)
    value, terms = jet(loop, (2.0,), ([1.0, 0.0, 0.0],))
    assert (value, *terms) == (7.0, 7.0, 3.5, 0.0)  # 1.75 x²
