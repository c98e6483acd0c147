"""scaled_dot_general: products of numbers quantized in blocks."""

import ml_dtypes
import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import nn

MATRICES = (((1,), (1,)), ((), ()))
rng = np.random.default_rng(0)


def rounded(x, mode, scale=0.5):
    """Quantize the last axis of `x` with NumPy."""
    block = 32 if mode == "mxfp8" else 16
    blocks = x.astype("float64").reshape(*x.shape[:-1], -1, block)
    if mode == "mxfp8":
        unit = 2.0 ** np.ceil(np.log2(abs(blocks).max(-1, keepdims=True) / 448))
        stored = (blocks / unit).astype(ml_dtypes.float8_e4m3fn)
    else:
        unit = (abs(blocks / scale).max(-1, keepdims=True) / 6).astype("float32")
        unit = unit.astype(ml_dtypes.float8_e4m3fn).astype("float64") * scale
        stored = np.clip(blocks / unit, -6, 6).astype(ml_dtypes.float4_e2m1fn)
    return (stored.astype("float64") * unit).reshape(x.shape)


def configs(mode):
    scale = jnp.array([0.5], jnp.float32) if mode == "nvfp4" else None
    return [nn.get_scaled_dot_general_config(mode, scale)] * 3


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_products_are_of_rounded_numbers(mode):
    a, b = rng.normal(size=(3, 64)), 3 * rng.normal(size=(5, 64))
    a, b = a.astype("float32"), b.astype("float32")
    got = nn.scaled_dot_general(a, b, MATRICES, configs=configs(mode))
    np.testing.assert_allclose(got, rounded(a, mode) @ rounded(b, mode).T, rtol=1e-4, atol=1e-4)
    assert abs(got - a @ b.T).max() > 1e-3  # they are rounded indeed
    half = nn.scaled_dot_general(a, b, MATRICES, jnp.bfloat16, configs=configs(mode))
    assert half.dtype == jnp.bfloat16


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_derivatives(mode):
    a = rng.normal(size=(32, 64)).astype("float32")
    b = rng.normal(size=(96, 64)).astype("float32")
    g = rng.normal(size=(32, 96)).astype("float32")
    how = configs(mode)
    f = lambda a, b: nn.scaled_dot_general(a, b, MATRICES, configs=how)
    da, db = mj.jit(lambda a, b, g: mj.vjp(f, a, b)[1](g))(a, b, g)
    if mode == "mxfp8":
        expected = (
            rounded(g, mode) @ rounded(b.T, mode).T,
            rounded(g.T, mode) @ rounded(a.T, mode).T,
        )
    else:
        expected = g @ b, g.T @ a
    np.testing.assert_allclose(da, expected[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(db, expected[1], rtol=1e-3, atol=1e-3)


def test_clipped_numbers_have_no_derivative():
    a, b = np.ones((2, 16), "float32"), np.ones((3, 16), "float32")
    a[0, 0] = 1e5  # beyond 0.5 * 6 * 448
    slope = mj.grad(
        lambda a: nn.scaled_dot_general(a, b, MATRICES, configs=configs("nvfp4")).sum()
    )(a)
    assert slope[0, 0] == 0 and (slope[1] == 3).all()


def test_axes_and_sizes():
    how = configs("mxfp8")
    a, b = rng.normal(size=(2, 3, 4, 8)), rng.normal(size=(8, 2, 5, 4))
    a, b = a.astype("float32"), b.astype("float32")
    axes = (((2, 3), (3, 0)), ((0,), (1,)))
    got = nn.scaled_dot_general(a, b, axes, configs=how)
    dense_result = nn.scaled_dot_general(a, b, axes)
    assert got.shape == dense_result.shape == (2, 3, 5)
    np.testing.assert_allclose(got, dense_result, atol=0.8)
    short = nn.scaled_dot_general(a[0, 0], b[0, 0, :, :].repeat(2, 1), MATRICES, configs=how)
    assert short.shape == (4, 5)
    nothing = nn.scaled_dot_general(0 * a[0, 0], a[0, 0], MATRICES, configs=configs("nvfp4"))
    assert (nothing == 0).all()
    lanes = mj.vmap(lambda a, b: nn.scaled_dot_general(a, b, MATRICES, configs=how))
    x = a[:, 0]
    np.testing.assert_allclose(
        lanes(x, x)[1], nn.scaled_dot_general(x[1], x[1], MATRICES, configs=how)
    )


def test_errors():
    with pytest.raises(ValueError, match="Unsupported mode: x"):
        nn.get_scaled_dot_general_config("x")
    with pytest.raises(TypeError, match="Only support preferred_element_type in"):
        nn.scaled_dot_general(
            np.ones((2, 32)), np.ones((2, 32)), MATRICES, np.int32, configs("mxfp8")
        )
    with pytest.raises(TypeError, match="contracting dimensions"):
        nn.scaled_dot_general(
            np.ones((2, 32)), np.ones((2, 64)), MATRICES, configs=configs("mxfp8")
        )
