"""`checkpoint`: recomputation under each policy, arguments, and messages."""

import re
from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ad_checkpoint import checkpoint_name

policies = mj.checkpoint_policies
X = np.ones((3, 3), np.float32)


def count(f, *args, **expected):
    """The numbers of equations of some primitives in a jaxpr, inner ones included."""
    text = str(mj.make_jaxpr(f)(*args))
    got = {name: len(re.findall(rf" {name}[ \[]", text)) for name in expected}
    assert got == expected, text


def thrice(x):
    return jnp.sin(jnp.sin(jnp.sin(x)))


def net(x, w):
    h = checkpoint_name(jnp.tanh(x @ w), "h")
    g = checkpoint_name(jnp.sin(h @ w), "g")
    return (g * jnp.cos(g)).sum()


# The equations of a gradient: two products forward and four backward, and what is made
# again.  The numbers are JAX's, but where h or tanh is stored: the slope of tanh is made of
# the product and not of tanh, which JAX makes again beside h (2), and not the product
# beside tanh (7 products).
@pytest.mark.parametrize(
    "policy, products, tanhs",
    [
        (None, 8, 2),
        (policies.nothing_saveable, 8, 2),
        (policies.everything_saveable, 6, 1),
        (policies.dots_saveable, 6, 2),
        (policies.checkpoint_dots, 6, 2),
        (policies.dots_with_no_batch_dims_saveable, 6, 2),
        (policies.checkpoint_dots_with_no_batch_dims, 6, 2),
        (policies.save_only_these_names("h"), 8, 1),
        (policies.save_only_these_names("h", "g"), 8, 1),
        (policies.save_any_names_but_these("g"), 8, 1),
        (policies.save_any_names_but_these("h", "g"), 8, 2),
        (policies.save_anything_except_these_names(), 6, 1),
        (policies.save_anything_except_these_names("h"), 6, 1),
        (
            policies.save_from_both_policies(
                policies.dots_saveable, policies.save_only_these_names("g")
            ),
            6,
            2,
        ),
        (lambda prim, *avals, **params: prim.name == "tanh", 8, 1),
        (lambda prim, *avals, **params: prim.name in ("tanh", "tanh_slope"), 7, 1),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit])
def test_policies(policy, products, tanhs, wrap):
    f = wrap(mj.checkpoint(net, policy=policy))
    expected = dict(dot_general=products, tanh=tanhs, tanh_slope=1, remat2=1)
    count(mj.grad(f, (0, 1)), X, X, **expected)
    lanes = mj.vmap(mj.grad(f, (0, 1)), (0, None))
    count(lanes, X[None], X, **expected)
    for got, expected in zip(mj.grad(f, (0, 1))(X, X), mj.grad(net, (0, 1))(X, X), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_no_products_with_batch_dimensions():
    f = mj.checkpoint(
        lambda x, w: jnp.sin(jnp.einsum("bij,bjk->bik", x, w) @ w[0]).sum(),
        policy=policies.dots_with_no_batch_dims_saveable,
    )
    count(mj.grad(f, (0, 1)), X[None], X[None], dot_general=7)


@pytest.mark.parametrize(
    "f, sines, cosines",
    [
        (mj.checkpoint(thrice), 5, 3),
        (mj.checkpoint(mj.checkpoint(thrice)), 5, 3),
        (mj.checkpoint(lambda x: jnp.sin(mj.checkpoint(jnp.sin)(jnp.sin(x)))), 5, 3),
        (lambda x: lax.cond(x > 0, mj.checkpoint(thrice), jnp.cos, x), 6, 4),
    ],
)
def test_what_is_computed_again(f, sines, cosines):
    count(mj.grad(f), 1.0, sin=sines, cos=cosines)
    np.testing.assert_allclose(mj.grad(f)(1.0), mj.grad(thrice)(1.0), rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"prevent_cse": False}])
def test_in_scan(options):
    def step(c, x):
        return jnp.sin(c * x), jnp.cos(c)

    def run(step, c):
        c, ys = lax.scan(step, c, jnp.arange(3.0))
        return c + ys.sum()

    rematted = mj.checkpoint(step, **options)
    expected = mj.grad(partial(run, step))(np.float32(1))
    for f in (partial(run, rematted), mj.checkpoint(partial(run, rematted))):
        np.testing.assert_allclose(mj.grad(f)(np.float32(1)), expected, rtol=1e-6)
    # The loop keeps its carries alone.
    count(mj.grad(partial(run, rematted)), np.float32(1), sin=2, remat2=1)
    count(mj.grad(partial(run, step)), np.float32(1), sin=2, remat2=0)


def test_all_derivatives():
    f = mj.checkpoint(thrice)
    for d in (mj.grad, mj.jacfwd, mj.hessian, lambda f: mj.grad(mj.grad(mj.grad(f)))):
        np.testing.assert_allclose(d(f)(1.0), d(thrice)(1.0), rtol=1e-5)
    _, push = mj.linearize(f, 1.0)
    np.testing.assert_allclose(push(2.0), 2 * mj.grad(thrice)(1.0), rtol=1e-6)
    grown = mj.checkpoint(
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 2 * c[1]), (0, x))
    )
    assert mj.jvp(grown, (1.0,), (1.0,))[1][1] == 8


def test_custom_rules_inside():
    c = mj.custom_jvp(jnp.sin)
    c.defjvp(lambda p, t: (c(*p), 2 * jnp.cos(p[0]) * t[0]))
    v = mj.custom_vjp(jnp.sin)
    v.defvjp(lambda x: (v(x), jnp.cos(x)), lambda r, g: (3 * g * r,))
    expected = np.cos(np.sin(1)) * np.cos(1)
    for wrap in (lambda f: f, mj.jit):
        for policy in (None, policies.everything_saveable):
            f = wrap(mj.checkpoint(lambda x: c(c(x)), policy=policy))
            g = wrap(mj.checkpoint(lambda x: v(v(x)), policy=policy))
            np.testing.assert_allclose(mj.grad(f)(1.0), 4 * expected, rtol=1e-6)
            np.testing.assert_allclose(mj.grad(g)(1.0), 9 * expected, rtol=1e-6)


def test_names():
    x = {"a": jnp.ones(2), "none": None}
    assert str(checkpoint_name(x, "x")) == str(x)
    assert checkpoint_name(mj.random.key(0), "key").shape == ()
    text = str(
        mj.make_jaxpr(lambda x: mj.jvp(partial(checkpoint_name, name="q"), (x,), (x,)))(1.0)
    )
    assert text.count("name[name=q]") == 1  # the value has the name, not its tangent
    assert "name" not in str(mj.make_jaxpr(mj.linear_transpose(lambda x: x, 1.0))(1.0))
    with pytest.raises(TypeError, match="is not a valid JAX type"):
        checkpoint_name("text", "q")


# ---------------------------------------------------------------- arguments


def test_static_arguments():
    def f(x, flag, n):
        return jnp.sin(x) * (n[0] if isinstance(n, list) else n) if flag else x

    rematted = mj.checkpoint(f, static_argnums=(1, 2))
    np.testing.assert_allclose(mj.grad(rematted)(1.0, True, 3), 3 * np.cos(1), rtol=1e-6)
    # They need no hash.
    np.testing.assert_allclose(mj.grad(rematted)(1.0, True, [3]), 3 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(
        mj.grad(rematted)(1.0, True, jnp.float32(3)), 3 * np.cos(1), rtol=1e-6
    )
    assert mj.grad(mj.checkpoint(f, static_argnums=(-1, 1)))(1.0, False, 3) == 1
    jitted = mj.jit(mj.grad(mj.checkpoint(f, static_argnums=1)), static_argnums=1)
    np.testing.assert_allclose(jitted(1.0, True, 3.0), 3 * np.cos(1), rtol=1e-6)


def test_keywords_trees_integers_and_keys():
    f = mj.checkpoint(lambda x, *, k=2.0: jnp.sin(x) * k)
    np.testing.assert_allclose(mj.grad(f)(1.0, k=3.0), 3 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(mj.grad(lambda k: f(1.0, k=k))(3.0), np.sin(1), rtol=1e-6)
    g = mj.checkpoint(
        lambda key, d: {"o": jnp.sin(d["a"]) * mj.random.uniform(key) * d["i"], "none": None}
    )
    key, d = mj.random.key(0), {"a": 1.0, "i": 3, "none": None}
    expected = np.cos(1) * 3 * mj.random.uniform(key)
    got = mj.grad(lambda a: g(key, {**d, "a": a})["o"])(1.0)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    lanes = mj.vmap(lambda k: mj.grad(lambda a: g(k, {**d, "a": a})["o"])(1.0))
    assert lanes(mj.random.split(key, 3)).shape == (3,)


def test_closures():
    def slope(y):
        return mj.grad(mj.checkpoint(lambda x: jnp.sin(x * y)))(1.0)

    def value(y):
        return mj.checkpoint(lambda x: jnp.sin(jnp.sin(x * y)))(1.0)

    for wrap in (lambda f: f, mj.jit):
        np.testing.assert_allclose(wrap(slope)(2.0), 2 * np.cos(2), rtol=1e-6)
        np.testing.assert_allclose(
            mj.grad(wrap(value))(2.0), np.cos(np.sin(2)) * np.cos(2), rtol=1e-6
        )
    np.testing.assert_allclose(mj.vmap(slope)(jnp.arange(2.0)), [0, np.cos(1)], rtol=1e-6)
    count(mj.grad(value), 2.0, sin=3, remat2=1)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: mj.checkpoint(3), TypeError, "Expected a callable value"),
        (
            lambda: mj.checkpoint(thrice, concrete=True),
            NotImplementedError,
            "The `concrete` option to `jax.checkpoint` was deprecated",
        ),
        (
            lambda: mj.checkpoint(thrice, static_argnums=5),
            ValueError,
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take"
            " integer values greater than or equal to `-len(args)` and less than `len(args)`,"
            " but got 5",
        ),
        (
            lambda: mj.checkpoint(lambda x: "text")(1.0),
            TypeError,
            "traced for checkpoint / remat returned a value of type <class 'str'>",
        ),
        (
            lambda: mj.checkpoint(lambda x: x if x > 0 else -x)(1.0),
            mj.errors.TracerBoolConversionError,
            "for checkpoint / remat",
        ),
        (
            lambda: mj.checkpoint(lambda x, y: x if x > 0 else y, static_argnums=1)(1.0, []),
            mj.errors.TracerBoolConversionError,
            "depends on x",
        ),
        (
            lambda: mj.checkpoint(lambda x, n: x * range(n)[1])(1.0, 2),
            mj.errors.TracerIntegerConversionError,
            "the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`",
        ),
    ],
)
def test_messages(call, error, words):
    with pytest.raises(error) as e:
        call()
    assert words in str(e.value)


def test_names_of_functions():
    def f(x):
        """Doc."""
        return x

    g = mj.checkpoint(f)
    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Doc.", f)


@pytest.mark.parametrize("call", [lambda f: f(3.0, [2.0]), lambda f: f(3.0, scales=[2.0])])
def test_static_arguments_need_no_hash(call):
    f = mj.checkpoint(
        lambda x, scales: jnp.sin(x) * scales[0], static_argnums=1, static_argnames="scales"
    )
    slope = mj.grad(lambda x: call(lambda y, *a, **k: f(x * y / 3.0, *a, **k)))(1.0)
    np.testing.assert_allclose(slope, 2 * np.cos(1.0), rtol=1e-6)


def test_others_stay_static_with_an_unhashable_one():
    @partial(mj.checkpoint, static_argnames=("scales", "n"))
    def f(x, *, scales, n):
        return x**n * scales[0] if n > 2 else x

    assert mj.grad(lambda x: f(x, scales=[2.0], n=3))(1.0) == 6.0
