"""Collectives over replicas: per-replica control flow, conventions of gradients, groups,
lanes beside them.  Each against NumPy is in tests/prims/test_collectives.py, against JAX's
pmap in tests/parity/values/maps.py."""

import numpy as np
import pytest

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

x4 = jnp.arange(4.0)
table = jnp.arange(16.0).reshape(4, 4)
GROUPS = [[0, 3], [2, 1]]


def replicas(f, **options):
    return jax.pmap(f, axis_name="i", **options)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "bfloat16", "float16", "complex64"]
)
def test_every_dtype_travels(dtype):
    x = jnp.asarray(np.arange(16).reshape(4, 4) % 3).astype(dtype)
    full = np.asarray(x)
    for f, expected in (
        (lambda x: lax.all_gather(x, "i"), np.stack([full] * 4)),
        (lambda x: lax.all_to_all(x, "i", 0, 0), full.T),
        (lambda x: lax.pshuffle(x, "i", [3, 2, 1, 0]), full[::-1]),
        (lambda x: lax.ppermute(x, "i", []), np.zeros_like(full)),
        (lambda x: lax.pbroadcast(x, "i", 1), full[[1] * 4]),
    ):
        got = replicas(f)(x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, expected)
    if dtype != "complex64":  # which XLA does not compare between replicas
        got = replicas(lambda x: lax.pmax(x, "i"))(x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.stack([full.max(0)] * 4))
    total = replicas(lambda x: lax.psum(x, "i"))(x)
    assert total.dtype == ("int32" if dtype == "bool" else dtype)
    np.testing.assert_array_equal(total[0], full.sum(0).astype(total.dtype))


def test_random_keys_travel():
    keys = jax.random.split(jax.random.key(0), 4)
    moved = replicas(lambda k: lax.pshuffle(k, "i", [1, 2, 3, 0]))(keys)
    np.testing.assert_array_equal(
        jax.random.key_data(moved), jax.random.key_data(keys)[np.array([1, 2, 3, 0])]
    )


def test_groups_have_their_own_results():
    f = replicas(
        lambda x: [
            g(x, "i", axis_index_groups=GROUPS)
            for g in (lax.psum, lax.pmean, lax.pmax, lax.pmin)
        ]
    )
    total, mean, high, low = f(x4)
    assert total.tolist() == [3.0] * 4 and mean.tolist() == [1.5] * 4
    assert high.tolist() == [3.0, 2.0, 2.0, 3.0] and low.tolist() == [0.0, 1.0, 1.0, 0.0]
    slope = jax.grad(
        lambda x: replicas(lambda v: lax.psum(v, "i", axis_index_groups=GROUPS))(x)[0]
    )
    assert slope(x4).tolist() == [1.0, 0.0, 0.0, 1.0]


# ------------------------------------------------------------------ a program a replica


def test_replicas_may_take_different_branches():
    n = jnp.array([1, 4, 2, 7])
    steps = replicas(
        lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1))
    )(n)[1]
    assert steps.tolist() == [2, 16, 4, 128]
    kinds = [lambda x: x, lambda x: -x, jnp.square, jnp.zeros_like]
    chosen = replicas(lambda x: lax.switch(lax.axis_index("i"), kinds, x + 3))
    assert chosen(x4).tolist() == [3.0, -4.0, 25.0, 0.0]
    together = replicas(
        lambda x: lax.while_loop(lambda c: lax.pmax(c, "i") < 20, lambda c: 2 * c, x)
    )
    assert together(x4).tolist() == [0.0, 8.0, 16.0, 24.0]
    text = jax.make_jaxpr(replicas(lambda x: lax.cond(x > 1, jnp.sin, jnp.cos, x)))(x4)
    assert "cond[" in str(text) and "select_n" not in str(text)


# ----------------------------------------------------------------------------- gradients


def test_gradients_inside_and_outside():
    """psum is its own transpose: inside, the cotangents of all replicas meet."""
    assert replicas(jax.grad(lambda x: lax.psum(x, "i")))(x4).tolist() == [4.0] * 4
    assert replicas(jax.grad(lambda x: lax.pmean(x, "i")))(x4).tolist() == [1.0] * 4
    outside = jax.grad(lambda x: replicas(lambda v: lax.psum(v, "i"))(x).sum())
    assert outside(x4).tolist() == [4.0] * 4
    one = jax.grad(lambda x: replicas(lambda v: lax.psum(v, "i"), out_axes=None)(x))
    assert one(x4).tolist() == [1.0] * 4
    index = jax.grad(lambda x: (replicas(lambda v: v * lax.axis_index("i"))(x)).sum())
    assert index(x4).tolist() == [0.0, 1.0, 2.0, 3.0]
    shift = [(0, 1), (1, 2)]
    moved = jax.grad(lambda x: (replicas(lambda v: lax.ppermute(v, "i", shift))(x) * x4).sum())
    assert moved(x4).tolist() == [1.0, 2.0, 0.0, 0.0]
    picked = jax.grad(lambda x: (replicas(lambda v: lax.pbroadcast(v, "i", 2))(x) * x4).sum())
    assert picked(x4).tolist() == [0.0, 0.0, 6.0, 0.0]


def test_pairs_of_movers_are_each_others_transposes():
    def gather(v):
        return lax.all_gather(v, "i", tiled=True)

    def scatter(v):
        return lax.psum_scatter(v, "i", tiled=True)

    rows, wide = table, jnp.sin(jnp.arange(64.0)).reshape(4, 16)
    (back,) = jax.linear_transpose(replicas(gather), rows)(wide)
    np.testing.assert_allclose(back, replicas(scatter)(wide), rtol=1e-6)
    (back,) = jax.linear_transpose(replicas(scatter), wide)(rows)
    np.testing.assert_allclose(back, replicas(gather)(rows), rtol=1e-6)


def test_shared_weights_over_replicas_and_lanes():
    """Data parallel: the gradient does not depend on how the batch is cut."""
    x = jnp.sin(jnp.arange(48.0)).reshape(4, 2, 6)
    w = jnp.linspace(-1.0, 1.0, 6)

    def loss(w, x):
        return jnp.tanh(x @ w) ** 2

    expected = jax.grad(lambda w: loss(w, x).mean())(w)
    inside = replicas(
        lambda w, x: lax.pmean(jax.grad(lambda w: loss(w, x).mean())(w), "i"),
        in_axes=(None, 0),
        out_axes=None,
    )
    np.testing.assert_allclose(inside(w, x), expected, rtol=1e-5)
    outside = jax.grad(
        lambda w: jax.pmap(jax.vmap(loss, (None, 0)), in_axes=(None, 0))(w, x).mean()
    )
    np.testing.assert_allclose(outside(w), expected, rtol=1e-5)
    named = jax.pmap(
        jax.vmap(
            lambda w, x: lax.pmean(jax.grad(loss)(w, x), ("i", "j")), (None, 0), axis_name="j"
        ),
        in_axes=(None, 0),
        axis_name="i",
    )
    np.testing.assert_allclose(named(w, x)[3, 1], expected, rtol=1e-5)
    curved = jax.hessian(lambda w: replicas(loss, in_axes=(None, 0))(w, x).mean())(w)
    np.testing.assert_allclose(
        curved, jax.hessian(lambda w: loss(w, x).mean())(w), rtol=1e-4, atol=1e-6
    )


def test_many_launches_in_a_row():
    """Collectives of several programs in flight do not wait for each other in a ring."""
    f = replicas(lambda x: lax.pmean(x, "i") + 1, donate_argnums=0)
    x = f(jnp.zeros(4))
    for _ in range(100):
        x = f(x)
    assert x.tolist() == [101.0] * 4
