"""softmax, logsumexp, standardize, one_hot, scaled_matmul: values, masks, gradients."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import nn
from minijax.surface.nn.scaled import scaled_matmul

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4)).astype("float32") * 3
MASK = rng.random((3, 4)) < 0.6
MASK[0] = False
AXES = [-1, 0, None, (0, 1)]


def shares(x, axis):
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("jit", [False, True])
def test_softmax_and_its_logarithm(axis, jit):
    wrap = mj.jit if jit else lambda f: f
    expected = shares(X, axis)
    np.testing.assert_allclose(wrap(lambda x: nn.softmax(x, axis))(X), expected, rtol=1e-5)
    got = wrap(lambda x: nn.log_softmax(x, axis))(X)
    np.testing.assert_allclose(got, np.log(expected), rtol=1e-5, atol=1e-6)


def test_softmax_does_not_overflow():
    big = jnp.array([1e30, 0.0, -1e30])
    np.testing.assert_array_equal(nn.softmax(big), [1, 0, 0])
    np.testing.assert_array_equal(nn.log_softmax(big), np.float32([0, -1e30, -2e30]))
    assert nn.logsumexp(big) == np.float32(1e30)


@pytest.mark.parametrize("own", [False, True])
def test_softmax_derivative(own):
    weights = rng.normal(size=X.shape).astype("float32")
    y = shares(X, -1)
    expected = y * (weights - (y * weights).sum(-1, keepdims=True))
    with mj.softmax_custom_jvp(own):
        got = mj.grad(lambda x: (nn.softmax(x) * weights).sum())(X)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_masked_elements_do_not_count():
    inside = np.where(MASK, np.exp(X.astype(np.float64)), 0)
    total = inside.sum(-1, keepdims=True)
    expected = np.divide(inside, total, out=np.zeros_like(inside), where=total > 0)
    spoiled = jnp.where(MASK, X, jnp.nan)
    np.testing.assert_allclose(nn.softmax(spoiled, where=MASK), expected, rtol=1e-5)
    with np.errstate(divide="ignore"):
        sums = np.log(total[:, 0])
    np.testing.assert_allclose(
        nn.logsumexp(spoiled, -1, where=MASK), sums, rtol=1e-5, atol=1e-6
    )
    means = sums[1:] - np.log(MASK.sum(-1)[1:])
    got = nn.logmeanexp(spoiled, -1, where=MASK)[1:]
    np.testing.assert_allclose(got, means, rtol=1e-5, atol=1e-6)
    grad = mj.grad(lambda x: nn.logsumexp(x, -1, where=MASK)[1:].sum())(spoiled)
    np.testing.assert_allclose(grad[1:], expected[1:], rtol=1e-5)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors_and_sign(axis, keepdims):
    b = rng.normal(size=X.shape).astype("float32")
    expected = (b * np.exp(X.astype(np.float64))).sum(axis, keepdims=keepdims)
    log, sign = nn.logsumexp(X, axis, b, keepdims, return_sign=True)
    np.testing.assert_array_equal(sign, np.sign(expected))
    np.testing.assert_allclose(log, np.log(abs(expected)), rtol=1e-4, atol=1e-5)
    dense_result = np.asarray(nn.logsumexp(X, axis, b, keepdims))
    np.testing.assert_array_equal(np.isnan(dense_result), expected < 0)


def test_empty_sums():
    assert nn.logsumexp(jnp.zeros(0)) == -jnp.inf
    assert np.isnan(nn.logmeanexp(jnp.zeros(0)))
    assert nn.softmax(jnp.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_standardize(axis, algorithm):
    expected = (X - X.mean(axis, keepdims=True)) / np.sqrt(X.var(axis, keepdims=True) + 1e-5)
    got = nn.standardize(X, axis, algorithm=algorithm)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    operands = nn.standardize(X, axis, mean=1.0, variance=4.0, epsilon=0.0)
    np.testing.assert_allclose(operands, (X - 1) / 2, rtol=1e-6)
    with pytest.raises(ValueError, match="Unknown algorithm"):
        nn.standardize(X, algorithm="quick")


def test_one_hot():
    x = np.array([[0, 2], [-1, 3]])
    expected = (x[..., None] == np.arange(3)).astype("float32")
    for axis in (-1, 0, 1):
        np.testing.assert_array_equal(
            nn.one_hot(x, 3, axis=axis), np.moveaxis(expected, -1, axis)
        )
    assert nn.one_hot([1], 2, dtype=jnp.int8).dtype == jnp.int8
    lanes = mj.vmap(lambda i: nn.one_hot(1, 3, axis="i") + 0 * i, axis_name="i")
    np.testing.assert_array_equal(lanes(jnp.zeros(3)), [0, 1, 0])
    with pytest.raises(ValueError, match="num_classes"):
        mj.vmap(lambda i: nn.one_hot(i, 4, axis="i"), axis_name="i")(jnp.arange(3))
    with pytest.raises(TypeError):
        mj.jit(lambda n: nn.one_hot(x, n))(3)


def test_scaled_matmul():
    a = jnp.asarray(rng.normal(size=(2, 3, 8)), jnp.float8_e4m3fn)
    s = jnp.asarray(2.0 ** rng.integers(-3, 4, size=(2, 3, 2)), jnp.float8_e8m0fnu)
    full = np.asarray(a, np.float64) * np.repeat(np.asarray(s, np.float64), 4, -1)
    expected = full @ full.transpose(0, 2, 1)
    np.testing.assert_allclose(scaled_matmul(a, a, s, s), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="3-dimensional"):
        scaled_matmul(a[0], a, s, s)
    with pytest.raises(ValueError, match="matching batch"):
        scaled_matmul(a, a[:1], s, s)


def test_masks_apply_before_promotion():
    with mj.enable_x64(True):
        on = jnp.array([True])
        assert mj.nn.logsumexp(on, where=on).dtype == "float64"  # as JAX 0.10.2
        assert mj.nn.logsumexp(on).dtype == "float32"


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float16", "float32"])
def test_a_mask_widens_no_type(dtype):
    """Also under x64, integers become float32, with or without a mask."""
    with mj.enable_x64():
        x, mask = jnp.arange(3).astype(dtype), jnp.array([True, False, True])
        for fun in (nn.logsumexp, nn.logmeanexp, nn.standardize):
            assert fun(x, where=mask).dtype == fun(x).dtype
