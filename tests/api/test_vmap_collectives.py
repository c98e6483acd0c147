"""Collectives over lanes: messages, types, derivatives, names.  Every one against NumPy is
in tests/prims/test_collectives.py, against JAX in tests/parity/values/maps.py."""

import numpy as np
import pytest

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

x4 = jnp.arange(4.0)
table = jnp.arange(16.0).reshape(4, 4)
GROUPS = [[0, 3], [2, 1]]


def lanes(f, **options):
    return jax.vmap(f, axis_name="i", **options)


@pytest.mark.parametrize(
    "f, error, words",
    [
        (lambda x: lax.psum(x, "q"), NameError, "Found an unbound axis name: q"),
        (
            lambda x: lax.all_to_all(x[:3], "i", 0, 0),
            ValueError,
            "requires the size of the mapped axis axis_name to equal x.shape",
        ),
        (
            lambda x: lax.all_to_all(x[:3], "i", 0, 0, tiled=True),
            ValueError,
            r"split_axis \(3\) has to be divisible by the size of the named axis i \(4\)",
        ),
        (lambda x: lax.psum_scatter(x[:3], "i"), ValueError, "must match shard count 4"),
        (
            lambda x: lax.psum_scatter(x[:3], "i", tiled=True),
            ValueError,
            "must be divisible by shard_count 4",
        ),
        (lambda x: lax.psum_scatter(x > 0, "i"), TypeError, "does not accept dtype bool"),
        (
            lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]),
            ValueError,
            "sources and destinations must be unique",
        ),
        (lambda x: lax.ppermute(x, "i", [(0, 7)]), ValueError, "indices below 4"),
        (lambda x: lax.ppermute(x, "i", [(0, 1, 2)]), TypeError, "pairs .source, dest"),
        (lambda x: lax.ppermute(x, "i", [(0.5, 1)]), TypeError, "pairs .source, dest"),
        (lambda x: lax.psend(x, "i", [0, 1]), TypeError, "psend requires perm to be"),
        (lambda x: lax.psum(x, x), TypeError, "axis names must be hashable"),
        (
            lambda x: lax.pshuffle(x, "i", [0, 1, 1, 2]),
            ValueError,
            "does not represent a permutation",
        ),
        (lambda x: lax.pbroadcast(x, "i", 4), ValueError, "is not an index below 4"),
        (lambda x: lax.psum(x, ("i", 9)), ValueError, "axis 9 is out of bounds"),
        (
            lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2]]),
            ValueError,
            "must cover all indices exactly once",
        ),
        (
            lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1, 3], [2]]),
            ValueError,
            "must all have the same size",
        ),
        (lambda x: lax.psum("a", "i"), TypeError, "'a' of type <class 'str'>"),
    ],
)
def test_messages(f, error, words):
    """The same for lanes, for lanes under jit, and for replicas."""
    for call in (lanes(f), jax.jit(lanes(f)), jax.pmap(f, axis_name="i")):
        with pytest.raises(error, match=words):
            call(table)


def test_types():
    """Sums are strongly typed; booleans have a maximum, and are counted."""
    weak = jnp.broadcast_to(jnp.asarray(1.0), (4,))
    assert weak.weak_type
    for f in (lax.psum, lax.pmax, lax.pmin, lax.pmean):
        assert not lanes(lambda x, f=f: f(x, "i"))(weak).weak_type
    bits = jnp.array([True, False, True, True])
    assert lanes(lambda b: lax.pmax(b, "i"))(bits).tolist() == [True] * 4
    assert lanes(lambda b: lax.pmin(b, "i"))(bits).tolist() == [False] * 4
    grouped = lanes(lambda b: lax.pmin(b, "i", axis_index_groups=GROUPS))(bits)
    assert grouped.tolist() == [True, False, False, True]
    count = lanes(lambda b: lax.psum(b, "i"))(bits)
    assert count.dtype == jnp.int32 and count.tolist() == [3] * 4
    text = str(jax.make_jaxpr(lambda x: lax.pmean(x, "i"), axis_env=[("i", 4)])(1))
    assert "weak_type=True" not in text
    assert not lanes(lambda x: lax.psum(True, "i"))(x4).weak_type
    assert lanes(lambda x: lax.psum(1, "i"))(x4).weak_type


def test_what_all_lanes_get_needs_no_lane_axis():
    for f in (
        lambda x: lax.psum(x, "i"),
        lambda x: lax.pmean(x, "i"),
        lambda x: lax.pmax(x, "i"),
        lambda x: lax.all_gather(x, "i"),
        lambda x: lax.pbroadcast(x, "i", 2),
        lambda x: lax.psum(1, "i"),
    ):
        every = lanes(f)(x4)
        np.testing.assert_array_equal(lanes(f, out_axes=None)(x4), every[0])
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        lanes(lambda x: lax.ppermute(x, "i", [(0, 1)]), out_axes=None)(x4)


def test_shapes_may_depend_on_the_size_of_the_axis():
    f = lanes(lambda x: jnp.zeros(lax.psum(1, "i")) + lax.axis_index("i"))
    np.testing.assert_array_equal(f(x4), np.arange(4.0)[:, None] + np.zeros(4))
    assert lanes(lambda: lax.axis_index("i"), axis_size=3)().tolist() == [0, 1, 2]


# ----------------------------------------------------------------------------- gradients


def softmax_loss(x):
    return jnp.log(lax.psum(jnp.exp(x), "i"))


def test_inside_every_lane_adds_its_term():
    """The gradient inside of a map: the cotangents of all lanes, each of 1, meet."""
    soft = np.exp(x4) / np.exp(x4).sum()
    np.testing.assert_allclose(lanes(jax.grad(softmax_loss))(x4), 4 * soft, rtol=1e-6)
    outside = jax.grad(lambda x: lanes(softmax_loss)(x)[0])(x4)
    np.testing.assert_allclose(outside, soft, rtol=1e-6)
    mean = lanes(jax.grad(lambda x: lax.pmean(x, "i") ** 2))(x4)
    np.testing.assert_allclose(mean, 2 * 1.5 * np.ones(4), rtol=1e-6)
    second = lanes(jax.jacfwd(jax.grad(lambda y: lax.psum(y, "i") ** 3)))(x4)
    np.testing.assert_allclose(second, 4 * 4 * 6 * 6.0, rtol=1e-6)


def test_batch_norm():
    def normalised(w, x):
        y = x * w
        y = y - lax.pmean(y, "b")
        return y / jnp.sqrt(lax.pmean(y**2, "b") + 1e-5)

    def by_hand(w, x):
        y = x * w
        y = y - y.mean(0)
        return y / jnp.sqrt((y**2).mean(0) + 1e-5)

    w = jnp.arange(1.0, 5.0)
    rows = jnp.sin(table)
    lane = jax.vmap(normalised, (None, 0), axis_name="b")
    np.testing.assert_allclose(lane(w, rows), by_hand(w, rows), rtol=2e-5, atol=1e-6)
    got = jax.grad(lambda w: jnp.tanh(lane(w, rows)).sum())(w)
    expected = jax.grad(lambda w: jnp.tanh(by_hand(w, rows)).sum())(w)
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-6)


def test_custom_rules_use_the_names():
    @jax.custom_vjp
    def f(x):
        return lax.psum(x, "i") * x

    f.defvjp(lambda x: (f(x), x), lambda x, g: (lax.pmean(g * x, "i"),))
    np.testing.assert_allclose(lanes(jax.grad(f))(x4), np.full(4, 1.5))
    np.testing.assert_allclose(jax.grad(lambda x: lanes(f)(x).sum())(x4), [1.5] * 4)

    @jax.custom_jvp
    def g(x):
        return lax.psum(x, "i") * x

    g.defjvp(lambda p, t: (g(*p), lax.psum(t[0], "i") * 2))
    np.testing.assert_allclose(lanes(jax.grad(g))(x4), np.full(4, 8.0))
    np.testing.assert_allclose(jax.grad(lambda x: lanes(g)(x).sum())(x4), [8.0] * 4)


# --------------------------------------------------------------------------- several maps


def test_an_inner_name_hides_an_outer_one():
    f = jax.vmap(
        lambda x: jax.vmap(lambda y: lax.psum(x + y, "i"), axis_name="i")(x), axis_name="i"
    )
    np.testing.assert_array_equal(f(jnp.ones((3, 2)))[0], np.full((2, 2), 4.0))


@pytest.mark.parametrize("name", ["i", object(), frozenset("ab")])
def test_any_name_will_do(name):
    f = jax.vmap(lambda x: (lax.psum(x, name), lax.axis_size(name)), axis_name=name)
    total, size = f(x4)
    assert total.tolist() == [6.0] * 4 and size.tolist() == [4] * 4


def test_names_of_lanes_and_replicas_together():
    x = jnp.arange(24.0).reshape(3, 2, 4)

    def f(v):
        return (
            lax.psum(v, ("i", "j")),
            lax.psum(v, "i"),
            lax.axis_index(("i", "j")),
            lax.all_gather(v, ("j", "i")),
        )

    both = jax.pmap(jax.vmap(f, axis_name="j"), axis_name="i")
    other = jax.vmap(jax.pmap(f, axis_name="i"), 1, 1, axis_name="j")
    lanes_only = jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")
    for got in (both(x), other(x)):
        for a, b in zip(got, lanes_only(x), strict=True):
            np.testing.assert_array_equal(a, b)


def test_in_control_flow():
    def f(x):
        return lax.psum(x, "i")

    total = np.full(4, 6.0)
    for g, expected in (
        (
            lambda x: lax.scan(lambda c, _: (c + f(x), f(c)), x, None, length=2)[0],
            x4 + 2 * total,
        ),
        (lambda x: lax.fori_loop(0, 3, lambda i, c: c + f(x), 0.0), 3 * total),
        (lambda x: lax.cond(x > 1, f, lambda x: -f(x), x), [-6.0, -6.0, 6.0, 6.0]),
        (lambda x: lax.while_loop(lambda c: f(c) < 20, lambda c: 2 * c, x), 4 * x4),
        (jax.checkpoint(f), total),
        (jax.jit(f), total),
        (lambda x: lax.map(f, jnp.stack([x, x]))[1], total),
    ):
        np.testing.assert_array_equal(lanes(g)(x4), expected)
        np.testing.assert_array_equal(jax.jit(lanes(g))(x4), expected)
