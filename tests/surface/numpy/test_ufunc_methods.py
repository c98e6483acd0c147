"""Methods of ufuncs: reduce, accumulate, at, outer, reduceat, against NumPy's."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp


def close(got, expected):
    assert np.asarray(got).shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6)


REDUCIBLE = [
    "add",
    "multiply",
    "maximum",
    "minimum",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "subtract",
    "logaddexp",
    "logaddexp2",
]


def operand(name):
    rng = np.random.default_rng(4)
    if name.startswith("bit"):
        return rng.integers(0, 16, (3, 4)).astype(np.int32)
    return rng.integers(0, 3, (3, 4)).astype(np.float32)


@pytest.mark.parametrize("name", REDUCIBLE)
def test_reduce_and_accumulate(name):
    x, fun, ref = operand(name), getattr(jnp, name), getattr(np, name)
    assert isinstance(fun, jnp.ufunc) and fun.nin == 2 and fun.nout == 1
    for axis in (0, 1, -1):
        for keepdims in (False, True):
            close(
                fun.reduce(x, axis=axis, keepdims=keepdims),
                ref.reduce(x, axis=axis, keepdims=keepdims),
            )
        close(fun.accumulate(x, axis=axis), ref.accumulate(x, axis=axis))
    if name != "subtract":
        close(fun.reduce(x, axis=None), ref.reduce(x, axis=None))


@pytest.mark.parametrize("name", REDUCIBLE)
def test_reduceat_and_outer(name):
    x, fun, ref = operand(name), getattr(jnp, name), getattr(np, name)
    at = np.array([0, 2, 1])
    close(fun.reduceat(x, at), ref.reduceat(x, at))
    close(fun.reduceat(x, at, axis=1), ref.reduceat(x, at, axis=1))
    close(fun.outer(x[0], x[:, 0]), ref.outer(x[0], x[:, 0]))


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "maximum", "bitwise_and", "logaddexp"]
)
def test_at(name):
    x, at = operand(name), np.array([1, 1, 0])
    expected = x.copy()
    getattr(np, name).at(expected, at, x[:1])
    close(getattr(jnp, name).at(x, at, x[:1], inplace=False), expected)
    with pytest.raises(NotImplementedError, match="immutable"):
        getattr(jnp, name).at(x, at, 1)


def test_masks_and_starts_of_reductions():
    x, mask = np.array([1, 2, 3], np.float32), np.array([True, False, True])
    assert jnp.add.reduce(x, where=mask) == 4
    assert jnp.multiply.reduce(x, where=mask, initial=2) == 6
    assert jnp.maximum.reduce(x, where=mask, initial=-1) == 3
    assert jnp.bitwise_or.reduce(jnp.array([1, 2, 4]), where=mask) == 5
    with pytest.raises(ValueError, match="does not have an identity"):
        jnp.maximum.reduce(x, where=mask)


def test_ufuncs_from_functions():
    times = jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1)
    x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    assert times(x, 2).tolist() == [[2, 4], [6, 8]]
    assert times.reduce(x).tolist() == [3, 8]
    assert times.reduce(x, axis=None) == 24
    assert times.reduce(x, axis=1, keepdims=True).shape == (2, 1)
    assert times.reduce(jnp.zeros(0)) == 1
    assert times.reduce(x, where=x > 1, axis=None) == 24
    assert times.accumulate(x, axis=1).tolist() == [[1, 2], [3, 12]]
    assert times.at(jnp.ones(2), jnp.array([0, 0]), 3, inplace=False).tolist() == [9, 1]
    assert times.outer(x[0], x[1]).tolist() == [[3, 4], [6, 8]]
    assert times.reduceat(jnp.arange(1.0, 5), jnp.array([0, 2])).tolist() == [2, 12]
    assert mj.grad(lambda x: times.reduce(x))(jnp.array([2.0, 3.0])).tolist() == [3, 2]
    pair = jnp.frompyfunc(lambda x: (x + 1, x - 1), 1, 2)
    assert [y.tolist() for y in pair(jnp.arange(2))] == [[1, 2], [-1, 0]]
    assert repr(times) == "<jnp.ufunc '<lambda>'>"
    with pytest.raises(ValueError, match="binary ufuncs"):
        pair.reduce(x)
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        jnp.frompyfunc(3, 1, 1)


@pytest.mark.parametrize("name", ("add", "multiply", "logical_or", "maximum"))
@pytest.mark.parametrize("axis", (0, 1))
def test_zero_segments_return_an_empty_axis(name, axis):
    x = np.arange(6).reshape(2, 3)
    fun, none = getattr(jnp, name), np.zeros(0, int)
    one = getattr(np, name).reduceat(x, [0], axis)
    for out in (fun.reduceat(x, none, axis), mj.jit(fun.reduceat)(x, none)):
        assert out.size == 0 and out.dtype == fun.reduceat(x, np.zeros(1, int)).dtype
    assert fun.reduceat(x, none, axis).shape == np.delete(one, 0, axis).shape
    assert fun.reduceat(np.zeros(0), none).shape == (0,)
    with pytest.raises(IndexError, match=r"non-empty jnp\.take.. from an empty axis"):
        fun.reduceat(np.zeros(0), np.zeros(1, int))


def test_stretches_of_python_functions_may_be_none():
    times = jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1)
    assert times.reduceat(jnp.ones((2, 3)), np.zeros(0, int)).shape == (0, 3)


@pytest.mark.parametrize("name", ("nin", "nout", "nargs", "identity"))
def test_attributes_of_ufuncs_are_fixed(name):
    before = getattr(jnp.add, name)
    with pytest.raises(AttributeError):
        setattr(jnp.add, name, 3)
    assert getattr(jnp.add, name) == before
    assert before == (2 if name == "nargs" else getattr(np.add, name))
