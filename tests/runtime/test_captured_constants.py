"""Arrays that a program closes over: constants, or hidden arguments."""

import re

import ml_dtypes
import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

RNG = np.random.default_rng(0)
SHORT = {
    "f32": np.float32([15, 10, 9]),
    "f64": np.array([1.5, 2.5]),
    "bool": np.eye(2) > 0,
    "i8": np.int8([[1], [2]]),
    "c64": np.complex64([1j, 2]),
    "empty": np.zeros((2, 0)),
    "bf16": np.array([1.5, 2.5], ml_dtypes.bfloat16),
    "limit": RNG.random(512),
    "strided": np.arange(6.0)[::-2],
    "u4": np.array([1, 15], ml_dtypes.uint4),
}
LONG = {"jax": lambda: jnp.arange(3.0), "long": lambda: RNG.random(513)}
RECORDED = ["-0x1.a61fac0000000p-1", "-0x1.b351c00000000p-1", "-0x1.bb17160000000p-1"]


def taken(f, *args):
    """Return the number of arguments of `main`."""
    (main,) = re.findall(r"@main\((.*?)\) ->", mj.jit(f).lower(*args).as_text())
    return main.count("%arg")


@pytest.mark.parametrize("name", SHORT)
def test_short_arrays_of_numpy_are_constants(name):
    c = SHORT[name]
    f = mj.jit(lambda x: jnp.where(x > 0, c, c))
    assert taken(f, 1.0) == 1
    np.testing.assert_array_equal(f(1.0), jnp.asarray(c))


@pytest.mark.parametrize("name", LONG)
def test_other_arrays_are_arguments(name):
    c = LONG[name]()
    assert taken(lambda x: x + c, 1.0) == 2
    inner = mj.jit(lambda x: x + c)
    assert taken(lambda x: inner(x) * inner(2 * x), 1.0) == 2


def test_constants_of_called_programs():
    c, d = SHORT["f32"], jnp.arange(3.0)
    inner = mj.jit(lambda x: x * c + d)

    def f(x):
        step = lambda y, _: (inner(y) * c, None)
        return inner(x) + mj.lax.scan(step, x, None, 2)[0]

    x = np.ones(3, np.float32)
    assert taken(f, x) == 2
    once = lambda x: x * c + d
    np.testing.assert_allclose(mj.jit(f)(x), once(x) + once(once(x) * c) * c, rtol=1e-6)


def test_later_writes_do_not_reach_the_program():
    c = np.ones(3, np.float32)
    f = mj.jit(lambda x: x * c)
    assert f(2.0).tolist() == [2, 2, 2]
    c[:] = 5
    assert f(3.0).tolist() == [3, 3, 3]


def test_the_last_digit_is_that_of_constants():
    # XLA multiplies by 1 / errors. Recorded from JAX 0.10.2.
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    loss = lambda x: (((effects - x) / errors) ** 2).sum()
    xs = np.random.default_rng(0).random(3, dtype=np.float32)
    slope = mj.jit(mj.grad(loss))
    assert [float(slope(x)).hex() for x in xs] == RECORDED
