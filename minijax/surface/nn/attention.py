"""Dot-product attention, also with grouped heads of keys and values.

Letters of axes: B batch, T query positions, S key positions, N query heads, K heads of
keys and values, H features of a head.  Scores and their softmax are computed in float32 or
wider.  Masks and biases have the axes of the scores, (B, N, T, S).

Next: block_scaling.py, for products with block scales.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir.core import Tracer
from ...prims.shape.creation import broadcasted_iota
from ...prims.stop_gradient import stop_gradient
from ...types import dtypes
from .. import jnp
from .normalization import logsumexp, softmax

__all__ = ("dot_product_attention",)

ArrayLike = Any
Window = int | tuple[int, int] | None


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: Window = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Compute softmax(scale * query @ key^T + bias) @ value for each head.

    Args:
      query: float array (B, T, N, H), or (T, N, H) without a batch.
      key: array (B, S, K, H); K divides N, and each head serves N / K query heads.
      value: array like `key`.
      bias: added to the scores; broadcasts to (B, N, T, S).
      mask: bools that broadcast to (B, N, T, S); scores where it is False are ignored.
      scale: factor of the scores (default: 1 / sqrt(H)).
      is_causal: whether each position attends only to itself and earlier positions.
      query_seq_lengths: int32[B], the number of valid query positions; beyond them the
        result is 0.
      key_value_seq_lengths: int32[B], the number of valid key positions.
      local_window_size: the number of positions to the left and to the right that each
        position attends to: a pair, or one number for both.
      implementation: None or "xla"; "cudnn" is not supported.
      return_residual: also return the logarithm of the softmax's divisor.

    Returns:
      An array like `query`; with `return_residual` also one of shape (B, T, N) and the same
      dtype, which is constant under differentiation.

    Raises:
      ValueError: shapes or dtypes do not fit, or the implementation is unknown.
      RuntimeError: the implementation is "cudnn".

    Example:
      >>> import minijax as mj
      >>> q = mj.numpy.ones((1, 2, 1, 4))
      >>> v = mj.numpy.array([1., 3.])[None, :, None, None] * q
      >>> mj.nn.dot_product_attention(q, q, v, is_causal=True)[0, :, 0, 0]
      Array([1., 2.], dtype=float32)

    Source: Vaswani and others, arXiv:1706.03762; Ainslie and others, arXiv:2305.13245.
    """
    check_implementation(implementation)
    return _attention(
        query,
        key,
        value,
        bias,
        mask,
        scale,
        query_seq_lengths,
        key_value_seq_lengths,
        bool(is_causal),
        as_window(local_window_size),
        bool(return_residual),
    )


# -------------------------------------------------------------------------- arguments


def check_implementation(name: str | None) -> None:
    """Raise unless the implementation is supported."""
    if name == "cudnn":
        raise errors.error(
            RuntimeError,
            "dot_product_attention: cuDNN is not detected.",
            which="implementation='cudnn'",
            tries=["implementation='xla', or None"],
        )
    if name not in (None, "xla"):
        raise errors.value_error(
            f"dot_product_attention: Unsupported implementation option: {name}",
            tries=["'xla', or None"],
        )


def as_window(window: Window) -> tuple[int, int] | None:
    """Return the window sizes to the left and to the right."""
    if window is None or isinstance(window, int):
        return None if window is None else (window, window)
    two = not isinstance(window, Tracer) and np.shape(window) == (2,)
    if not two or np.asarray(window).dtype.kind not in "iu":
        raise TypeError(
            f"dot_product_attention: local_window_size must be an int or two, got {window}."
        )
    return int(window[0]), int(window[1])


def check_shape(name: str, x: Any, shape: Sequence[int]) -> None:
    """Raise ValueError unless `x` has this shape; -1 matches any size."""
    if x.ndim != len(shape):
        raise errors.value_error(
            f"dot_product_attention: {name} ndim should be {len(shape)}, but got {x.ndim}",
            which=errors.type_text(x),
        )
    if any(n not in (-1, m) for n, m in zip(shape, x.shape, strict=True)):
        raise errors.value_error(
            f"dot_product_attention: {name} shape should be {list(shape)}: but got {x.shape}",
            why="batch, heads and features must match the key.",
        )


def check_dtype(name: str, x: Any, dtype: Any) -> None:
    """Raise ValueError unless `x` has this dtype."""
    if x.dtype != dtype:
        raise errors.value_error(
            f"dot_product_attention: {name} dtype should be {dtype}, but got {x.dtype}",
            tries=[f"{name}.astype({str(dtype)!r})"],
        )


def check_operands(query: Any, key: Any, value: Any) -> None:
    """Raise ValueError unless queries, keys and values fit together."""
    batch, _, heads, features = key.shape
    check_shape("value", value, key.shape)
    check_shape("query", query, [batch, -1, -1, features])
    check_dtype("value", value, key.dtype)
    check_dtype("query", query, key.dtype)
    if heads == 0 or query.shape[2] % heads:
        raise errors.value_error(
            "dot_product_attention: The number of query heads must be a multiple of"
            f" key/value heads, but got {query.shape[2]} vs {heads}",
            which=f"query {errors.type_text(query)}, key {errors.type_text(key)}",
            why="each head of keys serves equally many query heads.",
        )


def with_four_axes(x: Any) -> Any:
    """Add leading axes of size 1, up to four axes."""
    return jnp.expand_dims(x, tuple(range(4 - x.ndim))) if x.ndim < 4 else x


def lengths_of(name: str, lengths: Any, batch: int) -> Any:
    """Return sequence lengths as int32[B, 1, 1, 1]."""
    if lengths is None:
        return None
    lengths = jnp.asarray(lengths)
    check_shape(name, lengths, [batch])
    check_dtype(name, lengths, np.dtype("int32"))
    return lengths[:, None, None, None]


# ---------------------------------------------------------------------------- masks


def attention_mask(
    mask,
    sizes: tuple[int, int],
    causal: bool,
    window: tuple[int, int] | None,
    query_lengths,
    key_lengths,
):
    """Return the mask of keys that each query attends to, which broadcasts to
    (B, N, T, S), or None."""
    conditions = [] if mask is None else [mask]
    if causal or window is not None or query_lengths is not None:
        t = broadcasted_iota(dtypes.int32, (1, 1, sizes[0], 1), 2)
    if causal or window is not None or key_lengths is not None:
        s = broadcasted_iota(dtypes.int32, (1, 1, 1, sizes[1]), 3)
    if causal:
        conditions.append(t >= s)
    if window is not None:
        conditions += [t <= s + window[0], t >= s - window[1]]
    if query_lengths is not None:
        conditions.append(t < query_lengths)
    if key_lengths is not None:
        conditions.append(s < key_lengths)
    return functools.reduce(operator.and_, conditions) if conditions else None


# ---------------------------------------------------------------------------- scores


def scores_of(query: Any, key: Any, dtype: Any) -> Any:
    """Return the products of every query with every key, (B, N, T, S)."""
    b, t, n, h = query.shape
    s, k = key.shape[1:3]
    kwargs = {"preferred_element_type": dtype}
    if n == k:
        return jnp.einsum("btnh,bsnh->bnts", query, key, **kwargs)
    query = jnp.reshape(query, (b, t, k, n // k, h))
    out = jnp.einsum("btkgh,bskh->bkgts", query, key, **kwargs)
    return jnp.reshape(out, (b, n, t, s))


def weighted_values(weights: Any, value: Any) -> Any:
    """Return sums of values with weights (B, N, T, S), as (B, T, N, H)."""
    b, n, t, s = weights.shape
    k, h = value.shape[2:]
    kwargs = {"preferred_element_type": value.dtype}
    if n == k:
        return jnp.einsum("bnts,bsnh->btnh", weights, value, **kwargs)
    weights = jnp.reshape(weights, (b, k, n // k, t, s))
    out = jnp.einsum("bkgts,bskh->btkgh", weights, value, **kwargs)
    return jnp.reshape(out, (b, t, n, h))


@composite(static=("causal", "window", "return_residual"))
def _attention(
    query,
    key,
    value,
    bias,
    mask,
    scale,
    query_lengths,
    key_lengths,
    causal: bool,
    window,
    return_residual: bool,
):
    query = jnp.asarray(query)
    shape = query.shape
    query, key, value = (with_four_axes(jnp.asarray(x)) for x in (query, key, value))
    check_operands(query, key, value)
    b, t, _, h = query.shape
    if mask is not None:
        mask = with_four_axes(jnp.asarray(mask))
        check_dtype("mask", mask, dtypes.bool_)
    query_lengths = lengths_of("query_seq_lengths", query_lengths, b)
    key_lengths = lengths_of("key_value_seq_lengths", key_lengths, b)
    dtype = jnp.promote_types(query.dtype, dtypes.float32)
    scores = scores_of(query, key, dtype)
    scores = scores * (1 / max(h, 1) ** 0.5 if scale is None else scale)
    if bias is not None:
        scores = scores + with_four_axes(jnp.asarray(bias))
    visible_mask = attention_mask(
        mask, (t, key.shape[1]), causal, window, query_lengths, key_lengths
    )
    if visible_mask is not None:
        # Not -inf: a query without visible keys then gets the mean of all values, not nan.
        scores = jnp.where(visible_mask, scores, -0.7 * float(jnp.finfo(dtype).max))
    weights = softmax(scores.astype(dtype))
    out = weighted_values(weights.astype(value.dtype), value)
    if query_lengths is not None:
        positions = broadcasted_iota(dtypes.int32, (1, t, 1, 1), 1)
        out = out * (positions < query_lengths).astype(out.dtype)
    out = jnp.reshape(out, shape)
    if not return_residual:
        return out
    residual = logsumexp(stop_gradient(scores), -1).astype(key.dtype)
    return out, jnp.reshape(jnp.swapaxes(residual, 1, 2), shape[:-1])
