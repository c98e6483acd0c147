"""Attention with a mask under the names of JAX's TPU kernel, compared with NumPy."""

import subprocess
import sys

import numpy as np
import pytest

import minijax as mj
from minijax.views import private, splash

N, D = 12, 4
Q, K, V = np.random.default_rng(0).normal(size=(3, 2, N, D)).astype(np.float32)
ROW, COLUMN = np.arange(N)[:, None], np.arange(N)

MASKS = {
    "causal": (splash.CausalMask((N, N), 2), ROW + 2 >= COLUMN),
    "local": (splash.LocalMask((N, N), (3, 1), 1), (ROW - 2 <= COLUMN) & (ROW + 2 >= COLUMN)),
    "chunks": (
        splash.ChunkedCausalMask((N, N), 5),
        (ROW // 5 == COLUMN // 5) & (ROW >= COLUMN),
    ),
    "or": (
        splash.NumpyMask(ROW == 0 * COLUMN) | splash.CausalMask((N, N)),
        (ROW == 0) | (ROW >= COLUMN),
    ),
    "and": (splash.FullMask((N, N)) & splash.CausalMask((N, N)), ROW >= COLUMN),
}


def attention(mask, q, k, v, cap=None, sinks=None):
    logits = q @ k.swapaxes(1, 2)
    if cap is not None:
        logits = np.tanh(logits / cap) * cap
    weights = np.where(mask, np.exp(logits), 0)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks)[:, None, None]
    return weights / total @ v, np.log(total[..., 0])


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    mask, expected = MASKS[name]
    assert mask.shape == (N, N)
    np.testing.assert_array_equal(mask[:, :], expected)
    np.testing.assert_array_equal(mask[2:5, 1:], expected[2:5, 1:])
    heads = splash.MultiHeadMask([mask, splash.FullMask((N, N))])
    kernel = splash.make_splash_mha(heads, head_shards=1, q_seq_shards=1)
    got = mj.jit(lambda f, *args: f(*args))(kernel, Q, K, V)
    both = np.stack([np.broadcast_to(expected, (N, N)), np.ones((N, N), bool)])
    np.testing.assert_allclose(got, attention(both, Q, K, V)[0], rtol=2e-5, atol=1e-6)
    twin = splash.MultiHeadMask([mask, splash.FullMask((N, N))])
    assert heads == twin and hash(heads) == hash(twin)


def test_options():
    full = splash.MultiHeadMask([splash.FullMask((N, N))] * 2)
    make = splash.make_splash_mha_single_device
    mask = np.ones((N, N), bool)
    out, (logs,) = make(full, save_residuals=True, attn_logits_soft_cap=0.5)(Q, K, V)
    expected, sums = attention(mask, Q, K, V, 0.5)
    np.testing.assert_allclose(out, expected, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(logs, sums, rtol=1e-5)
    sinks = np.array([0.5, -1], np.float32)
    np.testing.assert_allclose(
        make(full)(Q, K, V, None, sinks),
        attention(mask, Q, K, V, sinks=sinks)[0],
        rtol=2e-5,
        atol=1e-6,
    )
    parts = np.arange(N) // 5
    same_parts = parts[:, None] == parts
    np.testing.assert_allclose(
        make(full)(Q, K, V, splash.SegmentIds(parts, parts)),
        attention(same_parts, Q, K, V)[0],
        rtol=2e-5,
        atol=1e-6,
    )
    one = splash.make_splash_mqa_single_device(full)(Q, K[0], V[0])
    np.testing.assert_array_equal(one, make(full)(Q, K[:1], V[:1]))
    grouped = attention(mask, Q, K[:1], V[:1])[0]
    np.testing.assert_allclose(one, grouped, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: splash.NumpyMask(np.ones((2, 2))), "must be a boolean array"),
        (lambda: splash.MultiHeadMask([]), "empty tuple of masks"),
        (
            lambda: splash.MultiHeadMask([splash.FullMask((2, 2)), MASKS["or"][0]]),
            "Unexpected mask shape, got",
        ),
        (
            lambda: splash.make_splash_mha_single_device(splash.FullMask((2, 2))),
            "Unexpected mask shape",
        ),
        (lambda: splash.ChunkedCausalMask((2, 2), 0), "chunk_size must be positive"),
    ],
)
def test_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_found_by_the_alias():
    """Names that libraries import before they run a kernel exist; kernels do not."""
    code = """
import jax
from jax.experimental.pallas import dslice
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_kernel, splash_attention_mask)
assert splash_attention_kernel.SegmentIds(1, 2).kv == 2
assert dslice(1, 2) == jax.ds(1, 2)
import jax.experimental.pallas as pl
assert not hasattr(pl, "pallas_call") and not hasattr(pl, "jit")
from jax._src.api_util import infer_argnums_and_argnames as infer
import inspect
sig = inspect.signature(lambda a, b, *, c=1: 0)
assert infer(sig, None, ("c", "a")) == ((0,), ("c", "a")), infer(sig, None, ("c", "a"))
assert infer(sig, 0, None) == ((0,), ("a",)) and infer(sig, None, None) == ((), ())
from jax._src.tree_util import BuiltInKeyEntry
assert isinstance(jax.tree_util.DictKey(1), BuiltInKeyEntry)
from jax._src.numpy.util import promote_dtypes_complex
assert promote_dtypes_complex(jax.numpy.ones(2), 1)[1].dtype == "complex64"
"""
    subprocess.run([sys.executable, "-m", "minijax.tools.alias", "-c", code], check=True)


def test_modules_near_the_kernels():
    assert private.module("jax.experimental.pallas.nothing") is None
    assert private.module("minijax.experimental.pallas") is None
