"""`typeof(x).sharding` of arrays without a mesh requests nothing, wherever it is passed."""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = jnp.ones((2, 3))
NOTHING = mj.typeof(X).sharding
KEY = mj.random.key(0)
PLACES = jnp.array([0, 1])

TAKES = {
    "normal": lambda s: mj.random.normal(KEY, (2, 3), out_sharding=s),
    "bits": lambda s: mj.random.bits(KEY, (2, 3), out_sharding=s),
    "zeros": lambda s: jnp.zeros((2, 3), out_sharding=s),
    "zeros on": lambda s: jnp.zeros((2, 3), device=s),
    "full on": lambda s: jnp.full((2, 3), 1.0, device=s),
    "ones_like": lambda s: jnp.ones_like(X, out_sharding=s),
    "array on": lambda s: jnp.array([1.0, 2.0], device=s),
    "lax.full": lambda s: lax.full((2, 3), 1.0, sharding=s),
    "arange": lambda s: jnp.arange(3, out_sharding=s),
    "at.get": lambda s: X.at[PLACES].get(out_sharding=s),
    "reshape": lambda s: jnp.reshape(X, (3, 2), out_sharding=s),
    "dot": lambda s: jnp.dot(X, X.T, out_sharding=s),
}
REFUSE = {  # the sentences are JAX's
    "reshard": lambda: mj.sharding.reshard(X, NOTHING),
    "reshard None": lambda: mj.sharding.reshard(X, None),
    "constraint": lambda: lax.with_sharding_constraint(X, NOTHING),
    "in_shardings": lambda: mj.jit(jnp.sin, in_shardings=NOTHING)(X),
    "out_shardings": lambda: mj.jit(jnp.sin, out_shardings=NOTHING)(X),
}


@pytest.mark.parametrize("name", TAKES)
def test_no_sharding_is_requested(name):
    expected, result = TAKES[name](None), TAKES[name](NOTHING)
    assert result.sharding == expected.sharding
    assert result.committed == expected.committed
    assert result.tolist() == expected.tolist()


def test_programs_do_not_mention_it():
    result = mj.make_jaxpr(lambda x: jnp.reshape(x, (3, 2), out_sharding=NOTHING))(X)
    assert "sharding=None" in str(result)


@pytest.mark.parametrize("name", REFUSE)
def test_functions_that_require_a_sharding(name):
    message = "non-None and have a non-empty mesh" if "reshard" in name else "got an empty"
    with pytest.raises(ValueError, match=message):
        REFUSE[name]()
