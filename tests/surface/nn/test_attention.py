"""dot_product_attention against NumPy: groups, masks, lengths, windows, messages."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import nn

rng = np.random.default_rng(0)
B, T, S, N, K, H = 2, 3, 5, 4, 2, 8
Q = rng.normal(size=(B, T, N, H)).astype("float32")
KEY = rng.normal(size=(B, S, K, H)).astype("float32")
V = rng.normal(size=(B, S, K, H)).astype("float32")
BIAS = rng.normal(size=(1, N, T, S)).astype("float32")
MASK = rng.random((B, 1, T, S)) < 0.7
MASK[..., 0] = True
t, s = np.arange(T)[:, None], np.arange(S)


def reference(seen=True, bias=0.0, scale=H**-0.5):
    key, value = (np.repeat(x, N // K, 2).astype(np.float64) for x in (KEY, V))
    scores = np.einsum("btnh,bsnh->bnts", Q, key) * scale + bias
    e = np.exp(np.where(seen, scores, -np.inf))
    total = e.sum(-1, keepdims=True)
    out = np.einsum("bnts,bsnh->btnh", e / total, value)
    return out, np.log(total[..., 0]).transpose(0, 2, 1)


CASES = {
    "plain": ({}, {}),
    "bias": ({"bias": BIAS}, {"bias": BIAS}),
    "mask": ({"mask": MASK}, {"seen": MASK}),
    "scale": ({"scale": 0.3}, {"scale": 0.3}),
    "causal": ({"is_causal": True}, {"seen": t >= s}),
    "window": ({"local_window_size": (1, 2)}, {"seen": (t <= s + 1) & (t >= s - 2)}),
    "narrow": ({"local_window_size": 1}, {"seen": abs(t - s) <= 1}),
    "keys": (
        {"key_value_seq_lengths": np.array([2, 5], "int32")},
        {"seen": s < np.array([2, 5])[:, None, None, None]},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("jit", [False, True])
def test_values(name, jit):
    kwargs, expected = CASES[name]

    def call(q, k, v):
        return nn.dot_product_attention(q, k, v, return_residual=True, **kwargs)

    out, residual = (mj.jit(call) if jit else call)(Q, KEY, V)
    expected_values, expected_residual = reference(**expected)
    np.testing.assert_allclose(out, expected_values, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(residual, expected_residual, rtol=1e-4, atol=1e-5)


def test_short_queries_give_zeros():
    lengths = np.array([1, 3], "int32")
    out = nn.dot_product_attention(Q, KEY, V, query_seq_lengths=lengths)
    expected_values, _ = reference()
    expected_values[0, 1:] = 0
    np.testing.assert_allclose(out, expected_values, rtol=1e-4, atol=1e-5)


def test_without_a_batch_and_in_half_precision():
    one = nn.dot_product_attention(Q[0], KEY[0], V[0])
    np.testing.assert_allclose(one, reference()[0][0], rtol=1e-4, atol=1e-5)
    half = nn.dot_product_attention(*(jnp.asarray(x, "bfloat16") for x in (Q, KEY, V)))
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype("float32"), reference()[0], atol=0.1)


def test_gradient():
    def loss(q):
        return nn.dot_product_attention(q, KEY, V, is_causal=True).sum()

    got = mj.grad(loss)(jnp.asarray(Q))
    direction = rng.normal(size=Q.shape).astype("float32")
    eps = 1e-2
    slope = (loss(Q + eps * direction) - loss(Q - eps * direction)) / (2 * eps)
    np.testing.assert_allclose((got * direction).sum(), slope, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype, wide", [("bfloat16", "float32"), ("float32", "float16")])
def test_gradient_and_residual_with_mixed_dtypes(dtype, wide):
    """Each gradient has its operand's dtype, and is close to the float32 gradient."""

    def loss(q, k, v, bias):
        out, residual = nn.dot_product_attention(
            q, k, v, bias=bias, is_causal=True, return_residual=True
        )
        assert out.dtype == residual.dtype == q.dtype
        return out.astype("float32").sum()

    slopes = mj.jit(mj.grad(loss, (0, 1, 2, 3)))
    kinds = [dtype] * 3 + [wide]
    got = slopes(*(jnp.asarray(x, d) for x, d in zip((Q, KEY, V, BIAS), kinds)))
    for slope, expected_values, kind in zip(got, slopes(Q, KEY, V, BIAS), kinds, strict=True):
        assert slope.dtype == kind
        np.testing.assert_allclose(slope.astype("float32"), expected_values, atol=0.15)


REFUSED = [
    ({"value": V[:, :3]}, "value shape"),
    ({"query": Q[:, :, :3]}, "multiple of key/value heads, but got 3 vs 2"),
    ({"query": Q[..., :4]}, "shape should be"),
    ({"value": V.astype("float16")}, "value dtype should be float32"),
    ({"mask": np.ones((T, S))}, "mask dtype should be bool"),
    ({"query_seq_lengths": np.array([1.0, 2.0])}, "should be int32"),
    ({"query_seq_lengths": np.array([1], "int32")}, r"shape should be \[2\]"),
    ({"query_seq_lengths": 3}, "ndim should be 1"),
    ({"implementation": "magic"}, "Unsupported implementation option: magic"),
]


@pytest.mark.parametrize("kwargs,message", REFUSED)
def test_messages(kwargs, message):
    with pytest.raises(ValueError, match=message):
        nn.dot_product_attention(**{"query": Q, "key": KEY, "value": V, **kwargs})


def test_cudnn_is_not_supported():
    with pytest.raises(RuntimeError, match="cuDNN is not detected"):
        nn.dot_product_attention(Q, KEY, V, implementation="cudnn")
