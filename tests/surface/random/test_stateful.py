"""Stateful generators.  Numbers were recorded from JAX 0.10.2."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import random


def test_successive_numbers():
    rng = random.stateful_rng(0)
    first, second = rng.key(), rng.key()
    assert mj.random.key_data(first).tolist() == [1797259609, 2579123966]
    assert mj.random.key_data(second).tolist() == [928981903, 3453687069]
    assert mj.random.key_data(rng.key(2))[0].tolist() == [2799984767, 1105366846]
    assert rng.key((2, 1)).shape == (2, 1)
    np.testing.assert_allclose(rng.random(), 0.15365434, rtol=1e-6)
    assert rng.random((2, 2), "float16").dtype == np.float16
    np.testing.assert_allclose(random.stateful_rng(42).uniform(size=1), [0.5302608], rtol=1e-6)
    wide = rng.normal(1.0, jnp.array([1.0, 2.0]))
    assert wide.shape == (2,) and wide.dtype == np.float32
    assert rng.normal(size=(2,), dtype="bfloat16").dtype == jnp.bfloat16
    low = rng.uniform(1, jnp.arange(2.0, 5.0))
    assert low.shape == (3,) and ((low >= 1) & (low < jnp.arange(2, 5))).all()
    few = rng.integers(3, jnp.array([5, 9]), size=(50, 2), dtype="int8")
    assert few.dtype == np.int8 and few.min() == 3 and few.max(0).tolist() == [4, 8]
    assert set(rng.integers(3, size=50).tolist()) == {0, 1, 2}


def test_transformations():
    rng = random.stateful_rng(0)
    draw = mj.jit(lambda g: g.uniform())
    result = [float(draw(rng)) for _ in range(3)]
    other = random.stateful_rng(0)
    assert result == [float(other.uniform()) for _ in range(3)]
    closed = mj.jit(other.uniform)
    assert float(closed()) == float(draw(rng)) != float(closed())
    lanes = random.stateful_rng(0).split(3)
    x = mj.vmap(lambda g, x: (x + g.uniform(), g.uniform()))(lanes, jnp.arange(3.0))
    assert len({*np.array(x[0] % 1).round(5), *np.array(x[1]).round(5)}) == 6
    assert lanes._counter[...].tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="cannot operate on split"):
        lanes.key()
    a, b = random.stateful_rng(0).spawn(2)
    assert a.integers(100, size=4).tolist() != b.integers(100, size=4).tolist()
    body = lambda c, _: (c + rng.uniform(), None)
    total = mj.lax.scan(body, 0.0, None, length=3)[0]
    assert 0 < float(total) < 3 and int(rng._counter[...]) == 7


def test_seeds():
    assert float(random.stateful_rng().random()) != float(random.stateful_rng().random())
    np.testing.assert_allclose(
        random.stateful_rng(1, impl="rbg").uniform(), 0.4336295, rtol=1e-6
    )
    assert mj.jit(lambda: random.stateful_rng(3).uniform())() < 1
    with pytest.raises(TypeError, match="requires an explicit seed"):
        mj.jit(lambda: random.stateful_rng().uniform())()
    with pytest.raises(ValueError, match="to be a typed PRNG key"):
        random.StatefulPRNG(jnp.arange(3), mj.new_ref(0))
    with pytest.raises(ValueError, match="to be a scalar integer ref"):
        random.StatefulPRNG(mj.random.key(0), 3)
