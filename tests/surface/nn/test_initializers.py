"""Initial values: moments by fan, orthogonality, dtypes, messages."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.surface.nn import initializers

KEY = mj.random.key(0)
SHAPE = (60, 240)
FANS = {"lecun": 1 / 60, "he": 2 / 60, "kaiming": 2 / 60, "glorot": 1 / 150, "xavier": 1 / 150}


@pytest.mark.parametrize("who", FANS)
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_variance_by_fan(who, kind):
    init = getattr(initializers, f"{who}_{kind}")()
    x = np.asarray(init(KEY, SHAPE))
    assert x.shape == SHAPE and x.dtype == np.float32
    assert abs(x.mean()) < 4 * np.sqrt(FANS[who] / x.size)
    np.testing.assert_allclose(x.var(), FANS[who], rtol=0.05)
    if kind == "uniform":
        assert abs(x).max() <= np.sqrt(3 * FANS[who])


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_complex_values(kind):
    init = getattr(initializers, f"lecun_{kind}")(dtype=jnp.complex64)
    x = np.asarray(init(KEY, SHAPE))
    assert x.dtype == np.complex64
    np.testing.assert_allclose((abs(x) ** 2).mean(), 1 / 60, rtol=0.05)
    np.testing.assert_allclose(x.real.var(), x.imag.var(), rtol=0.1)


def test_windows_and_batches_count():
    axes = {"in_axis": (0, 1), "out_axis": 2, "batch_axis": 3}
    x = initializers.lecun_normal(**axes)(KEY, (4, 5, 40, 30))
    np.testing.assert_allclose(x.var(), 1 / 20, rtol=0.05)
    window = initializers.lecun_normal()(KEY, (3, 3, 10, 80))
    np.testing.assert_allclose(window.var(), 1 / 90, rtol=0.08)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_orthogonal(shape, axis):
    x = np.asarray(initializers.orthogonal(2.0, axis)(KEY, shape))
    few = x.T @ x if shape[0] >= shape[1] else x @ x.T
    np.testing.assert_allclose(few, 4 * np.eye(min(shape)), atol=1e-5)


def test_delta_orthogonal():
    x = np.asarray(initializers.delta_orthogonal()(KEY, (3, 3, 2, 4)))
    middle = x[1, 1]
    np.testing.assert_allclose(middle @ middle.T, np.eye(2), atol=1e-5)
    np.testing.assert_allclose((x**2).sum(), (middle**2).sum())


def test_simple_initializers():
    np.testing.assert_array_equal(initializers.zeros(KEY, (2,)), [0, 0])
    assert initializers.ones(KEY, (2,), jnp.int8).dtype == jnp.int8
    np.testing.assert_array_equal(initializers.constant(3)(KEY, (2,)), [3, 3])
    x = np.asarray(initializers.uniform(5.0)(KEY, (5000,)))
    assert x.min() >= 0 and 4.9 < x.max() < 5
    x = np.asarray(initializers.normal(3.0)(KEY, (5000,)))
    np.testing.assert_allclose(x.std(), 3, rtol=0.05)
    x = np.asarray(initializers.truncated_normal(3.0)(KEY, (5000,)))
    assert 5 < abs(x).max() <= 6
    half = initializers.normal(dtype=jnp.bfloat16)
    assert half(KEY, (2,)).dtype == jnp.bfloat16


@pytest.mark.parametrize(
    "make,shape,message",
    [
        (lambda: initializers.lecun_normal(), (4,), "Must be at least 2D"),
        (lambda: initializers.orthogonal(), (4,), "at least a 2D shape"),
        (lambda: initializers.delta_orthogonal(), (4, 4), "3D, 4D or 5D"),
        (lambda: initializers.delta_orthogonal(), (3, 4, 2), "fan_in"),
        (lambda: initializers.variance_scaling(1, "fan", "normal"), (2, 2), "mode"),
        (lambda: initializers.variance_scaling(1, "fan_in", "x"), (2, 2), "distribution"),
    ],
)
def test_messages(make, shape, message):
    with pytest.raises(ValueError, match=message):
        make()(KEY, shape)
