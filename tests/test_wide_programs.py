"""Programs of very many branches or operands, in forms that XLA compiles in linear time."""

import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


@pytest.fixture(scope="module")
def switch():
    branches = [lambda x, k=k: x * x * k for k in range(70)]
    return lambda i, x: lax.switch(i, branches, x)


def test_many_branches_are_cases_of_cases(switch):
    f = mj.jit(switch)
    for i in (-5, 0, 1, 8, 9, 10, 63, 64, 68, 69, 70, 1000):
        assert f(i, np.float32(2)) == 4 * min(max(i, 0), 69)
    cases = re.findall(r"stablehlo.case", f.lower(3, 2.0).as_text())
    assert len(cases) == 1 + 8  # of 9, 9 ... and 7 branches
    few = mj.jit(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos] * 32, x))
    assert few.lower(3, 2.0).as_text().count("stablehlo.case") == 1


def test_their_derivatives_and_lanes(switch):
    slope = mj.jit(mj.vmap(mj.grad(switch, argnums=1), (None, 0)))
    np.testing.assert_array_equal(slope(40, np.arange(3.0)), 80 * np.arange(3.0))
    lanes = mj.jit(mj.vmap(switch))
    np.testing.assert_array_equal(lanes(np.array([0, 69, 5]), np.ones(3)), [0, 69, 5])


def test_long_concatenations_are_joined_in_groups():
    xs = [np.full((2, k % 3), k, np.float32) for k in range(300)]
    f = mj.jit(lambda *xs: jnp.concatenate(xs, 1))
    np.testing.assert_array_equal(f(*xs), np.concatenate(xs, 1))
    text = f.lower(*xs).as_text()
    assert text.count("stablehlo.concatenate") == 1 + 17


def test_long_stacks_and_keys():
    xs = [np.full((2, 3), k, np.float32) for k in range(300)]
    stack = mj.jit(lambda xs: jnp.stack(xs, 1))
    np.testing.assert_array_equal(stack(xs), np.stack(xs, 1))
    lanes = mj.vmap(lambda *xs: jnp.stack(xs))(*xs)
    np.testing.assert_array_equal(lanes, np.stack(xs, 1))
    keys = [mj.random.key(k) for k in range(300)]
    joined = mj.jit(lambda *keys: jnp.stack(keys))(*keys)
    assert joined.shape == (300,)
    np.testing.assert_array_equal(
        mj.random.key_data(joined[299]), mj.random.key_data(keys[299])
    )
