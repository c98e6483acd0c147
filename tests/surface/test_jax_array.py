"""Objects with `__jax_array__` as operands, such as parameters of modules.

Such an object may represent a tracer, which its type does not show.
"""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


class Wrapped:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


X = jnp.array([1.0, 2.0, 4.0])
ROWS = jnp.array([[1.0, 2.0, 3.0], [2.0, 0.5, 1.0]])

TAKES = {
    "*": lambda a, b: a * b,
    "@": lambda a, b: a @ b,
    "**": lambda a, b: a**b,
    "divmod": lambda a, b: divmod(a, b)[1],
    "a row": lambda a, b: (a[None] - b)[0],
    "maximum": jnp.maximum,
    "concatenate": lambda a, b: jnp.concatenate([a, b]),
    "where": lambda a, b: jnp.where(a > 1, a, b),
    "sum": lambda a, b: jnp.sum(b) + a,
    "softmax": lambda a, b: mj.nn.softmax(b) * a,
    "relu": lambda a, b: mj.nn.relu(b) * a,
    "lax.mul": lax.mul,
    "lax.sin": lambda a, b: lax.sin(b) * a,
    "jit": lambda a, b: mj.jit(lambda p, q: p * q)(a, b),
    "cond": lambda a, b: lax.cond(True, lambda q: q * 2, lambda q: q, b) * a,
    "scan": lambda a, b: lax.scan(lambda c, r: (c * r, r), b, a[:, None])[0],
}


@pytest.mark.parametrize("name", TAKES)
def test_it_is_converted_by_its_method(name):
    def wrapped(row):
        return TAKES[name](X, Wrapped(row))

    def bare(row):
        return TAKES[name](X, row)

    for transform in (
        lambda f: f(ROWS[0]),
        lambda f: mj.vmap(f)(ROWS),
        lambda f: mj.jvp(f, (ROWS[0],), (ROWS[1],)),
        lambda f: mj.vmap(mj.grad(lambda row: f(row).sum()))(ROWS),
    ):
        result, expected = transform(wrapped), transform(bare)
        assert mj.tree.all(mj.tree.map(jnp.array_equal, result, expected))
    staged = str(mj.make_jaxpr(wrapped)(ROWS[0]))
    assert staged.count("mul") == str(mj.make_jaxpr(bare)(ROWS[0])).count("mul")


def test_leaked_tracers_are_reported():
    leaves = []
    mj.vmap(lambda row: leaves.append(Wrapped(row)) or row)(ROWS)
    with pytest.raises(mj.errors.UnexpectedTracerError, match="leaked"):
        X * leaves[0]


W, AT = Wrapped, jnp.array([2, 0, 1])
EAGER = {
    "choose": lambda w: jnp.choose(w(AT), [X, X, w(X)]),
    "delete": lambda w: jnp.delete(X, w(AT[:1])),
    "delete of": lambda w: jnp.delete(w(X), w(AT > 1)),
    "insert": lambda w: jnp.insert(w(X), w(AT), w(X)),
    "insert in rows": lambda w: jnp.insert(ROWS, w(AT[1]), w(X[0]), axis=0),
    "full_like": lambda w: jnp.full_like(w(X), w(X[1])),
    "full": lambda w: jnp.full((2, 3), w(X)),
    "roll": lambda w: jnp.roll(w(X), w(AT[2])),
    "tril": lambda w: jnp.tril_indices_from(w(ROWS)),
    "triu": lambda w: jnp.triu_indices_from(w(ROWS)),
    "diag": lambda w: jnp.diag_indices_from(w(ROWS[:, :2])),
    "angle": lambda w: jnp.angle(w(X + 1j)),
    "clip": lambda w: jnp.clip(w(X), w(X[0]), w(X[1])),
    "piecewise": lambda w: jnp.piecewise(w(X), [w(X > 1)], [w(X[0]), w(X[1])]),
    "select": lambda w: jnp.select([w(X > 1)], [w(X)], w(X[0])),
    "quantile": lambda w: jnp.quantile(w(X), w(X[0] / 2)),
    "interp": lambda w: jnp.interp(w(X), w(X), w(X)),
    "searchsorted": lambda w: jnp.searchsorted(w(X), w(X)),
    "unravel_index": lambda w: jnp.unravel_index(w(AT[0]), (2, 3)),
    "dynamic_slice": lambda w: lax.dynamic_slice(w(X), (w(AT[2]),), (1,)),
    "one_hot": lambda w: mj.nn.one_hot(w(AT), 3),
    "segment_sum": lambda w: mj.ops.segment_sum(w(X), w(AT)),
    "map_coordinates": lambda w: mj.scipy.ndimage.map_coordinates(w(X), [w(X)], 1),
    "x[i]": lambda w: X[w(AT)],
    "x.at[i]": lambda w: X.at[w(AT)].set(w(X)),
}


@pytest.mark.parametrize("name", EAGER)
def test_numbers_and_positions_may_be_wrapped(name):
    result, expected = EAGER[name](W), EAGER[name](lambda x: x)
    assert mj.tree.all(mj.tree.map(jnp.array_equal, result, expected))
    assert jnp.shape(result) == jnp.shape(expected)
