"""Chains of shifted reads are split where XLA would recompute each step from the first.

Source of truth of the values: NumPy.  Without the splits, 20 steps of `laplace` compile to
2,879 instructions, with them to 359; for a million elements they take 1,058 ms and 14.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.analysis import rereads
from minijax.analysis.rereads import chains


def laplace(x):
    return x + 0.1 * (jnp.roll(x, 1) + jnp.roll(x, -1) - 2 * x)


def padded(x):
    p = jnp.pad(x, 1)
    return x + 0.1 * (p[2:] + p[:-2] - 2 * x)


STEPS = {
    "roll": laplace,
    "jit": mj.jit(laplace),
    "pad": padded,
    "flip": lambda x: 0.5 * (jnp.flip(x) + x * 0.9),
    "slices": lambda x: jnp.append(x[1:] * x[:-1], x[:1]) + x,
    "where": lambda x: jnp.where(x > 0, jnp.roll(x, 3), x * 0.9),
    "gather": lambda x: x[jnp.arange(40) ** 2 % 40] * 0.9 + x * 0.1,
    "flux": lambda x: x + 0.1 * (x * x - jnp.roll(x * x, 1)),
    "transpose": lambda x: (x.reshape(8, 5) * 0.5).T.ravel() + x,
}
X = np.random.RandomState(0).randn(40).astype(np.float32)


def repeated(step, times):
    def f(x):
        for _ in range(times):
            x = step(x)
        return x

    return f


def num_splits(f, *args):
    return mj.jit(f).lower(*args).as_text().count("call @stored")


@pytest.mark.parametrize("name", STEPS)
def test_at_most_two_steps_are_joined(name):
    each = name in ("pad", "gather", "flux")  # these reread two values in one step
    assert num_splits(repeated(STEPS[name], 7), X) == (6 if each else 3)


def test_values():
    expected = X.astype(float)
    for _ in range(12):
        around = np.roll(expected, 1) + np.roll(expected, -1)
        expected = expected + 0.1 * (around - 2 * expected)
    f = repeated(laplace, 12)
    np.testing.assert_allclose(mj.jit(f)(X), expected, rtol=1e-5, atol=1e-6)
    lanes = mj.jit(mj.vmap(f))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(lanes[1], 2 * expected, rtol=1e-5, atol=1e-6)
    slope = mj.jit(mj.grad(lambda x: (f(x) * f(X)).sum()))(X)
    np.testing.assert_allclose(slope, f(f(X)), rtol=1e-4, atol=1e-5)  # symmetric


def instructions(times):
    """Return the number of instructions in the compiled program of some steps."""
    return mj.jit(repeated(laplace, times)).lower(X).compile().as_text().count(" = ")


def test_the_compiled_program_grows_linearly():
    few, many = instructions(8), instructions(16)
    assert many < 2.2 * few


def test_without_cuts(monkeypatch):
    monkeypatch.setattr(rereads, "LEVELS", 1000)
    few, many = instructions(8), instructions(16)
    assert many > 3 * few


def test_chains_that_are_not_split():
    assert num_splits(repeated(laplace, 2), X) == 0
    assert num_splits(repeated(lambda x: jnp.roll(x, 1), 9), X) == 0
    assert num_splits(repeated(lambda x: jnp.roll(x, 1) * 2, 9), X) == 0
    square = jnp.ones((5, 5))
    assert num_splits(repeated(lambda x: x + jnp.sin(x.T @ x), 9), square) == 0
    halves = lambda x: jnp.concatenate([x[20:] * 0.5, x[:20] * 2])
    assert num_splits(repeated(halves, 9), X) == 0
    scalars = repeated(lambda s: s + jnp.stack([s, s])[0], 9)
    assert num_splits(scalars, 1.0) == 0


def test_a_loop_is_a_program_of_its_own():
    def body(x, _):
        return repeated(laplace, 4)(x), None

    f = lambda x: mj.lax.scan(body, x, None, 3)[0]
    assert num_splits(f, X) == 1
    expected = repeated(laplace, 12)(X)
    np.testing.assert_allclose(mj.jit(f)(X), expected, rtol=1e-5, atol=1e-6)


def test_operands_that_a_function_reads_again():
    inner = mj.make_jaxpr(mj.jit(lambda x, y: laplace(y) + x))(X, X).jaxpr
    assert chains(inner, inside=True).inputs == {1}
    assert chains(inner).stored == frozenset()
    assert chains(inner).shifts
