"""Kinds of values that say themselves what a lane of them is: `register_vmappable`."""

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax.interpreters import batching


class Named:
    """An array with names of its axes."""

    def __init__(self, names, x):
        self.names, self.x = names, x


class At:
    def __init__(self, name):
        self.name = name


def to_lane(part, index, v, spec):
    if spec is None:
        return v
    i = v.names.index(spec.name) if isinstance(spec, At) else spec
    return Named(v.names[:i] + v.names[i + 1 :], part(v.x, i))


def of_lanes(combine, n, v, spec):
    if isinstance(spec, At):
        return Named((spec.name, *v.names), combine(n, v.x, 0))
    return Named((*v.names[:spec], f"lanes{n}", *v.names[spec:]), combine(n, v.x, spec))


class Pair:
    """Of a named array, and of numbers that become those of the lanes."""

    def __init__(self, v, at):
        self.v, self.at = v, at


def pair_to_lane(part, index, p, spec):
    return Pair(part(p.v, spec), part(p.at, spec) + index())


def pair_of_lanes(combine, n, p, spec):
    return Pair(combine(n, p.v, spec), combine(n, p.at, spec))


@pytest.fixture(autouse=True)
def registered():
    batching.register_vmappable(Named, At, int, to_lane, of_lanes, None)
    batching.register_vmappable(Pair, int, int, pair_to_lane, pair_of_lanes, None)
    yield
    batching.unregister_vmappable(Named)
    batching.unregister_vmappable(Pair)


X = np.arange(6.0).reshape(2, 3)
V = Named(("a", "b"), X)


@pytest.mark.parametrize(
    ("mapped", "names", "x"),
    [
        (jax.vmap(lambda v: v), ("lanes2", "b"), X),
        (
            lambda v: jax.vmap(lambda w: w, in_axes=At("b"), out_axes=At("c"))(v),
            ("c", "a"),
            X.T,
        ),
        (jax.vmap(lambda v: v, in_axes=1, out_axes=1), ("a", "lanes3"), X),
        (jax.vmap(jax.vmap(lambda v: v)), ("lanes2", "lanes3"), X),
        (jax.vmap(lambda v: Named((), v.x.sum())), ("lanes2",), X.sum(1)),
        (
            lambda v: jax.vmap(lambda w, y: Named(w.names, w.x * y), in_axes=(None, 0))(
                v, jnp.arange(2.0)
            ),
            ("lanes2", "a", "b"),
            X * np.arange(2.0)[:, None, None],
        ),
        (
            lambda v: jax.vmap(lambda y: Named(("q",), jnp.ones(2) * y))(jnp.arange(3.0)),
            ("lanes3", "q"),
            np.arange(3.0)[:, None] * np.ones(2),
        ),
    ],
)
def test_values_that_know_their_lanes(mapped, names, x):
    out = mapped(V)
    assert out.names == names and np.array_equal(out.x, x)


def test_in_trees_and_with_arrays():
    out = jax.vmap(lambda d, *, k: {"v": Named(("b",), d["v"].x * k), "s": d["n"]})(
        {"v": V, "n": jnp.arange(2)}, k=jnp.array([1.0, 10.0])
    )
    assert out["v"].names == ("lanes2", "b") and out["s"].tolist() == [0, 1]
    assert np.array_equal(out["v"].x, X * [[1.0], [10.0]])
    slope = jax.grad(lambda x: jax.vmap(lambda v: (v.x**2).sum())(Named("ab", x)).sum())
    assert np.array_equal(slope(X), 2 * X)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        jax.vmap(lambda v, y: y)(V, jnp.arange(3.0))
    with pytest.raises(TypeError, match="in_axes must be an int, None, or"):
        jax.vmap(lambda v: v, in_axes=("a",))(V)


def test_nested_registered_values_and_numbers_of_lanes():
    out = jax.vmap(lambda p: Pair(p.v, p.at * 10))(Pair(V, jnp.zeros(2)))
    assert out.v.names == ("lanes2", "b") and out.at.tolist() == [0, 10]


def test_with_sparse_arrays():
    """Which say for themselves, too, what a lane of them is."""
    sparse = jax.experimental.sparse
    eye = sparse.BCOO.fromdense(jnp.stack([jnp.eye(2), 2 * jnp.eye(2)]), n_batch=1, nse=2)
    named = jax.vmap(lambda x: Named(("q",), x * jnp.ones(2)))(jnp.arange(2.0))
    assert named.names == ("lanes2", "q")
    made = jax.vmap(lambda x: sparse.BCOO.fromdense(x, nse=2))(eye.todense())
    np.testing.assert_array_equal(made.todense(), eye.todense())
