"""ravel_pytree: there and back, under transformations, and messages."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.flatten_util import ravel_pytree


def test_there_and_back():
    tree = {"a": jnp.arange(6.0).reshape(2, 3), "b": (jnp.float32(7), None)}
    flat, unravel = ravel_pytree(tree)
    assert flat.shape == (7,) and flat.dtype == jnp.float32
    back = unravel(flat)
    assert mj.tree.structure(back) == mj.tree.structure(tree)
    np.testing.assert_array_equal(back["a"], tree["a"])


def test_mixed_dtypes_are_promoted_and_restored():
    flat, unravel = ravel_pytree([jnp.arange(2), jnp.ones(2)])
    assert flat.dtype == jnp.float32
    assert [x.dtype for x in unravel(flat)] == [jnp.int32, jnp.float32]
    with pytest.raises(TypeError, match="expected dtype float32"):
        unravel(flat.astype(jnp.int32))


def test_under_transformations():
    tree = {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}
    flat, unravel = ravel_pytree(tree)
    loss = lambda v: (unravel(v)["w"] ** 2).sum()
    np.testing.assert_array_equal(mj.jit(mj.grad(loss))(flat), [0, 0, 2, 2, 2, 2])
    assert mj.vmap(unravel)(jnp.stack([flat, flat]))["w"].shape == (2, 2, 2)


def test_empty_and_wrong():
    flat, unravel = ravel_pytree({})
    assert flat.shape == (0,) and unravel(flat) == {}
    with pytest.raises(ValueError, match="expected input of shape"):
        ravel_pytree(jnp.ones(3))[1](jnp.ones(4))
