"""`ds`: windows at positions that may be values, in arrays and in references."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import ds

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("jitted", [False, True])
def test_reads_are_clamped(jitted):
    def read(i):
        return (X_[ds(i, 2)], X_[:, ds(i, 2)], X_[i % 3, ds(i, 2)], X_[None, ..., ds(i, 2)])

    X_ = jnp.asarray(X)
    read = mj.jit(read) if jitted else read
    for i in (0, 1, 2, -1, 5):
        row, col = (min(max(i + n if i < 0 else i, 0), n - 2) for n in (3, 4))
        expected = (
            X[row : row + 2],
            X[:, col : col + 2],
            X[i % 3, col : col + 2],
            X[None, :, col : col + 2],
        )
        for result, value in zip(read(i), expected, strict=True):
            np.testing.assert_array_equal(result, value)


@pytest.mark.parametrize("i", [0, 2, 3, -1, -2])
def test_writes_beyond_the_end_are_dropped(i):
    """By the default of `.at`, a window that is out of bounds is not written."""
    expected = X.copy()
    start = i + 4 if i < 0 else i
    if start <= 2:
        expected[1:, start : start + 2] += 1
    write = lambda i: jnp.asarray(X).at[1:, ds(i, 2)].add(1)
    np.testing.assert_array_equal(write(i), expected)
    np.testing.assert_array_equal(mj.jit(write)(i), expected)


def test_forms():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x[ds(None)], X)
    np.testing.assert_array_equal(x[ds(2)], X[:2])
    np.testing.assert_array_equal(x[ds(1, 0)], X[1:1])
    np.testing.assert_array_equal(x[:, ds(0, 2, 2)], X[:, ::2])
    every_other = mj.jit(lambda i: x[:, ds(i, 2, stride=2)])
    np.testing.assert_array_equal(every_other(1), X[:, 1::2])
    np.testing.assert_array_equal(x.at[:, ds(0, 2, 2)].set(0), np.where([0, 1, 0, 1], X, 0))
    np.testing.assert_array_equal(x[jnp.asarray([0, 2]), ds(1, 2)], X[[0, 2], 1:3])
    rows = mj.vmap(lambda i: x[0, ds(i, 2)])(jnp.arange(3))
    np.testing.assert_array_equal(rows, [[0, 1], [1, 2], [2, 3]])
    slope = mj.grad(lambda x: (x[:, ds(jnp.int32(1), 2)] ** 2).sum())(x)
    np.testing.assert_array_equal(slope, np.where([0, 1, 1, 0], 2 * X, 0))
    leaves, treedef = mj.tree.flatten(ds(jnp.int32(1), 2))
    assert mj.tree.unflatten(treedef, leaves) == ds(1, 2) and not mj.tree.leaves(ds(1, 2))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: ds(None, 2), ValueError),
        (lambda x: ds(1, None, 2), ValueError),
        (lambda x: ds(0, 2, -1), ValueError),
        (lambda x: x[ds(0, 5)], TypeError),
        (lambda x: x[ds(0, 2, 2), jnp.asarray([0, 1])], IndexError),
        (lambda x: mj.new_ref(x)[ds(2, 2)], ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call(jnp.asarray(X))


def test_references():
    def run(i, value):
        ref = mj.new_ref(jnp.asarray(X))
        ref[:, ds(i, 2)] = value
        return ref[:, ds(i, 2)], ref[:, ds(i, 2, 2)], ref[...]

    value = np.full((3, 2), 7, np.float32)
    for i in (0, 1):
        window, every_other, full = mj.jit(run)(i, value)
        expected = X.copy()
        expected[:, i : i + 2] = 7
        np.testing.assert_array_equal(window, value)
        np.testing.assert_array_equal(every_other, expected[:, i::2])
        np.testing.assert_array_equal(full, expected)
    slope = mj.grad(lambda v: (mj.jit(run)(1, v)[2] ** 2).sum())(value)
    np.testing.assert_array_equal(slope, 2 * value)
    text = str(mj.make_jaxpr(lambda i: mj.new_ref(jnp.asarray(X))[:, ds(i, 2)])(1))
    assert "c[:,b:b+2]" in text, text
