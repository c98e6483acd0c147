"""`vmap(chunk=k)`: the same as all lanes at once, in less memory."""

import numpy as np
import pytest

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

A = jnp.arange(28.0).reshape(7, 4) / 10
x7 = jnp.arange(7.0)
keys = jax.random.split(jax.random.key(0), 7)


def same(got, expected):
    got, got_tree = jax.tree.flatten(got)
    expected, want_tree = jax.tree.flatten(expected)
    assert got_tree == want_tree
    for x, y in zip(map(jnp.asarray, got), map(jnp.asarray, expected), strict=True):
        assert (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type)
        if str(x.dtype).startswith("key<"):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        if x.dtype != jax.float0:
            np.testing.assert_allclose(x, y, rtol=1e-6)


CASES = {
    "elementwise": (jnp.sin, (A,), {}),
    "other axes": (jnp.sin, (A.T,), {"in_axes": 1, "out_axes": -1}),
    "several results": (lambda x: (x, x.sum()), (A,), {"out_axes": (-1, 0)}),
    "shared": (lambda x, y: (x * y, y, 3, 2.5), (A, 2.0), {"in_axes": (0, None)}),
    "shared results": (
        lambda x, y: (x * y, y, 3),
        (A, jnp.ones(4)),
        {"in_axes": (0, None), "out_axes": (0, None, None)},
    ),
    "trees": (lambda d: {"a": d["x"] + d["y"], "n": None}, ({"x": A, "y": A},), {}),
    "keys": (lambda k: (jax.random.normal(k, (2,)), jax.random.split(k)), (keys,), {}),
    "types": (lambda x: (x > 3, x.astype("bfloat16"), x * 1j, x.astype(int)), (x7,), {}),
    "weak": (lambda x: x * 2, (jnp.broadcast_to(jnp.asarray(1.0), (7,)),), {}),
    "float0": (lambda i: jax.vjp(lambda i: i * 1.0, i)[1](1.0), (jnp.arange(7),), {}),
    "gradient": (jax.grad(lambda x: jnp.sin(x).sum()), (A,), {}),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c), 0.0, x), (A,), {}),
    "while": (lambda x: lax.while_loop(lambda c: c < 9, lambda c: 2 * c + 1, x), (x7,), {}),
    "cond": (lambda x: lax.cond(x > 3, jnp.sin, jnp.cos, x), (x7,), {}),
    "closure": (lambda x: A[0] * x, (x7,), {}),
    "nested": (lambda x: jax.vmap(lambda y: y * x.sum(), chunk=3)(x), (A,), {}),
    "axis_size": (lambda: jnp.ones(2), (), {"axis_size": 7}),
    "no elements": (lambda x: x + 1, (jnp.ones((7, 0)),), {}),
    "no lanes": (lambda x: x + 1, (jnp.ones((0, 3)),), {}),
    "numpy": (lambda x: x + 1, (np.arange(7.0),), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_vmap_of_all_lanes(name):
    fun, args, options = CASES[name]
    expected = jax.vmap(fun, **options)(*args)
    for chunk in (1, 3, 7, np.int32(100)):
        same(jax.vmap(fun, chunk=chunk, **options)(*args), expected)


def test_under_other_transformations():
    def f(x):
        return jnp.sin(x).sum() ** 2

    def total(chunk):
        return lambda w: jax.vmap(lambda x: f(w * x), chunk=chunk)(A).sum()

    full, chunked = jax.vmap(f), jax.vmap(f, chunk=3)
    same(jax.jit(chunked)(A), full(A))
    same(jax.grad(total(3))(2.0), jax.grad(total(None))(2.0))
    same(jax.grad(lambda a: chunked(a).sum())(A), jax.grad(lambda a: full(a).sum())(A))
    same(jax.jvp(chunked, (A,), (A,)), jax.jvp(full, (A,), (A,)))
    same(jax.hessian(total(3))(2.0), jax.hessian(total(None))(2.0))
    same(jax.vmap(chunked)(A[None] * 2), jax.vmap(full)(A[None] * 2))
    same(jax.pmap(chunked)(A[None] * 2), jax.pmap(full)(A[None] * 2))


def test_names_of_axes_around_it():
    def f(x, y):
        return lax.psum(x * y, "i")

    def all_pairs(chunk):
        inner = jax.vmap(f, (0, None), chunk=chunk)
        return jax.vmap(inner, (None, 0), axis_name="i")(x7, jnp.arange(2.0))

    same(all_pairs(3), all_pairs(None))


@pytest.mark.parametrize("name", ["i", 3, ("a", "b")])
def test_a_named_axis_is_refused(name):
    f = jax.vmap(lambda x: x, axis_name=name, chunk=3)
    with pytest.raises(ValueError, match="collectives would see only one chunk"):
        f(x7)
    total = jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i", chunk=7)
    same(total(x7), jnp.full(7, 21.0, "float32"))  # one chunk has all lanes


@pytest.mark.parametrize("chunk", [0, -1])
def test_chunks_are_positive(chunk):
    with pytest.raises(ValueError, match="positive int"):
        jax.vmap(jnp.sin, chunk=chunk)


@pytest.mark.parametrize("chunk", [2.0, True, "a"])
def test_chunks_are_ints(chunk):
    with pytest.raises(TypeError, match="positive int"):
        jax.vmap(jnp.sin, chunk=chunk)


def test_errors_are_those_of_vmap():
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        jax.vmap(lambda x: x, out_axes=None, chunk=3)(x7)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        jax.vmap(lambda x, y: x, chunk=3)(x7, A.T)


def test_memory_falls():
    def f(x):
        table = jnp.sin(x[:, None] * x[None, :])
        return jnp.sort(jnp.sin(jnp.sort(table @ table)).T).sum()

    def bytes_needed(chunk, wrap=lambda f: f):
        program = jax.jit(wrap(jax.vmap(jax.checkpoint(f), chunk=chunk)))
        compiled = program.lower(jnp.ones((256, 32))).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert bytes_needed(8) * 8 < bytes_needed(None)

    def slope(g):
        return jax.grad(lambda a: g(a).sum())

    assert bytes_needed(8, slope) * 8 < bytes_needed(None, slope)


def test_one_loop_and_a_remainder():
    text = str(jax.make_jaxpr(jax.vmap(jnp.sin, chunk=3))(x7))
    assert text.count("scan[") == 1 and "length=2" in text
    assert text.count("concatenate") == 1
    text = str(jax.make_jaxpr(jax.vmap(jnp.sin, chunk=3))(x7[:6]))
    assert "concatenate" not in text and "slice" not in text
