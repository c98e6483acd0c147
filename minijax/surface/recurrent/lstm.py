r"""Long short-term memory (LSTM) networks on batches of sequences of different lengths.

A layer scans a sequence with a state h and a memory c:

.. math:: i, f, o = \sigma(W x_t + U h + b), \quad g = \tanh(W x_t + U h + b)
.. math:: c \leftarrow f c + i g, \quad h \leftarrow o \tanh c

`rnn_fwd` and `rnn_bwd` are primitives, as in JAX, where cuDNN evaluates them on NVIDIA
GPUs.  Here each is lowered to the loop that defines it, and runs on every platform.  The
backward pass recomputes the forward pass, so the reserve space is empty.

Source: S. Hochreiter, J. Schmidhuber, Long short-term memory, Neural Computation 9(8),
1997; F. Gers, J. Schmidhuber, F. Cummins, Learning to forget, 2000.

Next: weights.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.autodiff import jvp
from ...api.vjp import vjp
from ...api.vmap import vmap
from ...base import errors, util
from ...control.calls.jit import jit
from ...control.loop_functions.scan import scan
from ...control.rules.custom_vjp import custom_vjp
from ...ir import core
from ...ir.core import Primitive
from ...ir.jaxpr import ClosedJaxpr
from ...passes.ad_util import Zero
from ...passes.stage import stage_closed
from ...prims.dot.precision import Precision, canonical
from ...types.avals import shaped
from .. import jnp
from ..nn.activations import sigmoid
from .weights import unpack_lstm_weights

__all__ = (
    "lstm",
    "lstm_bwd",
    "lstm_fwd",
    "lstm_ref",
    "rnn_abstract_eval",
    "rnn_bwd_abstract_eval",
    "rnn_bwd_p",
    "rnn_fwd_p",
)


# ------------------------------------------------------------------------- the network


def layer(x: Any, h: Any, c: Any, weights: Sequence[Any], lengths: Any, precision: Any):
    """Apply one pseudo-layer to [T, B, I]; return outputs [T, B, H] and the last states."""
    W_ih, W_hh, b_ih, b_hh = weights
    dot = functools.partial(jnp.matmul, precision=precision)
    input_gates = dot(x, W_ih.T) + (b_ih + b_hh)  # for all times in one product

    def step(carry: Any, row: Any) -> Any:
        h, c = carry
        t, input_gates = row
        i, f, g, o = jnp.split(input_gates + dot(h, W_hh.T), 4, -1)
        new_c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        new_h = sigmoid(o) * jnp.tanh(new_c)
        is_inside = (t < lengths)[:, None]
        carry = jnp.where(is_inside, new_h, h), jnp.where(is_inside, new_c, c)
        return carry, jnp.where(is_inside, new_h, 0)

    times = jnp.arange(x.shape[0], dtype="int32")
    (h, c), y = scan(step, (h, c), (times, input_gates))
    return y, h, c


def flipped(x: Any, lengths: Any) -> Any:
    """Reverse sequences [T, B, I], each within its length."""
    t = jnp.arange(x.shape[0], dtype="int32")[:, None]
    at = jnp.where(t < lengths, lengths - 1 - t, t)
    return jnp.take_along_axis(x, at[:, :, None], 0)


def network(x, h_0, c_0, weights_by_kind, lengths, num_layers, bidirectional, precision):
    """Apply all layers, and return the outputs and the last states of each."""
    y, hs, cs = x.transpose(1, 0, 2), [], []
    directions = 2 if bidirectional else 1
    for first in range(0, num_layers * directions, directions):
        outputs = []
        for k in range(first, first + directions):
            maybe_flip = (lambda y: flipped(y, lengths)) if k > first else (lambda y: y)
            weights = [p[k] for p in weights_by_kind]
            out, h, c = layer(maybe_flip(y), h_0[k], c_0[k], weights, lengths, precision)
            outputs.append(maybe_flip(out))
            hs.append(h)
            cs.append(c)
        y = jnp.concatenate(outputs, -1)
    return y.transpose(1, 0, 2), jnp.stack(hs), jnp.stack(cs)


def check_lengths(seq_lengths: Any) -> None:
    """Raise NotImplementedError unless lengths are int32."""
    if seq_lengths.dtype != np.dtype("int32"):
        raise errors.error(
            NotImplementedError,
            "`seq_lengths` can only be int32.",
            which=f"dtype {seq_lengths.dtype}",
            tries=["seq_lengths.astype('int32')"],
        )


def check_dropout(name: str, dropout: float) -> None:
    """Raise NotImplementedError if `dropout` is not 0."""
    if dropout != 0.0:
        raise errors.error(
            NotImplementedError,
            f"Dropout not supported in {name} because we cannot determine CUDNN dropout mask.",
            which=f"{dropout=}",
            tries=["single-layer networks with random.bernoulli between them"],
        )


@functools.partial(jit, static_argnums=(8, 9, 10, 11, 12))
def lstm_ref(
    x,
    h_0,
    c_0,
    W_ih,
    W_hh,
    b_ih,
    b_hh,
    seq_lengths,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
):
    """Apply an LSTM network with the weights of each layer.

    Args:
      x: array [B, T, I] of sequences.
      h_0, c_0: initial states and memories [L, B, H], for L pseudo-layers.
      W_ih, W_hh, b_ih, b_hh: weights; see `unpack_lstm_weights`.
      seq_lengths: int32 array [B]: later elements are ignored, and their outputs are 0.
      input_size, hidden_size, num_layers, bidirectional: see `get_num_params_in_lstm`.
      dropout: 0.

    Returns:
      (y, h_n, c_n): outputs [B, T, H], or [B, T, 2 H] for both directions; the last states
      and memories [L, B, H].

    Raises:
      NotImplementedError: lengths are not int32, or `dropout` is not 0.

    Example:
      >>> import minijax.numpy as jnp
      >>> W, U, b = {0: jnp.ones((4, 1))}, {0: jnp.ones((4, 1))}, {0: jnp.zeros(4)}
      >>> x, h, n = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1)), jnp.array([2])
      >>> y, _, _ = lstm_ref(x, h, h, W, U, b, b, n, 1, 1, 1, 0., False)
      >>> [round(float(v), 2) for v in y[0, :, 0]]
      [0.37, 0.65]

    Source: see the module.
    """
    check_lengths(seq_lengths)
    check_dropout("LSTM reference", dropout)
    weights_by_kind = (W_ih, W_hh, b_ih, b_hh)
    return network(x, h_0, c_0, weights_by_kind, seq_lengths, num_layers, bidirectional, None)


# -------------------------------------------------------------------------- primitives

rnn_fwd_p = Primitive("rnn_fwd", multiple_results=True)
rnn_bwd_p = Primitive("rnn_bwd", multiple_results=True)


def rnn_abstract_eval(
    x_aval,
    h_0_aval,
    c_0_aval,
    w_aval,
    seq_lengths_aval,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    cudnn_allow_tf32: bool,
):
    """Return the types of the results of `rnn_fwd`.

    Args:
      x_aval, h_0_aval, c_0_aval, w_aval, seq_lengths_aval: types of its operands.
      input_size, hidden_size, num_layers, dropout, bidirectional, cudnn_allow_tf32: its
        params.

    Returns:
      Types of outputs, states, memories, and of the empty reserve space.

    Example:
      >>> import minijax as mj
      >>> x, h = (mj.typeof(mj.numpy.zeros(s)) for s in ((2, 5, 3), (1, 2, 4)))
      >>> rnn_abstract_eval(x, h, h, None, None, 3, 4, 1, 0., False, True)[0].shape
      (2, 5, 4)
    """
    width = hidden_size * (2 if bidirectional else 1)
    y = shaped((*x_aval.shape[:2], width), x_aval.dtype)
    return [y, h_0_aval, c_0_aval, shaped((0,), np.dtype("float32"))]


def rnn_bwd_abstract_eval(
    dy_aval,
    dhn_aval,
    dcn_aval,
    x_aval,
    h0_aval,
    c0_aval,
    w_aval,
    y_aval,
    reserve_space_aval,
    seq_lengths_aval,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    cudnn_allow_tf32: bool,
):
    """Return the types of the results of `rnn_bwd`: the types of operands of `rnn_fwd`.

    Args:
      dy_aval, dhn_aval, dcn_aval: types of the cotangents of its results.
      x_aval, h0_aval, c0_aval, w_aval, seq_lengths_aval: types of its operands.
      y_aval, reserve_space_aval: types of its results.
      input_size, hidden_size, num_layers, dropout, bidirectional, cudnn_allow_tf32: its
        params.

    Returns:
      Types of the cotangents of inputs, states, memories, weights.

    Example:
      >>> rnn_bwd_abstract_eval(*"abcdefghij", 3, 4, 1, 0., False, True)
      ['d', 'e', 'f', 'g']
    """
    return [x_aval, h0_aval, c0_aval, w_aval]


def run_forward(
    x,
    h_0,
    c_0,
    w,
    lengths,
    *,
    input_size,
    hidden_size,
    num_layers,
    dropout,
    bidirectional,
    cudnn_allow_tf32,
):
    """Compute `rnn_fwd`."""
    check_dropout("LSTM", dropout)
    weights_by_kind = unpack_lstm_weights(w, input_size, hidden_size, num_layers, bidirectional)
    precision = None if cudnn_allow_tf32 else Precision.HIGHEST
    out = network(x, h_0, c_0, weights_by_kind, lengths, num_layers, bidirectional, precision)
    return [*out, jnp.zeros(0, "float32")]


def run_backward(dy, dh, dc, x, h_0, c_0, w, y, reserve_space, lengths, **params):
    """Compute `rnn_bwd`."""

    def f(x: Any, h_0: Any, c_0: Any, w: Any) -> Any:
        return run_forward(x, h_0, c_0, w, lengths, **params)[:3]

    _, vjp_fun = vjp(f, x, h_0, c_0, w)
    return [*vjp_fun([dy, dh, dc])]


@util.cached(256, core.tracing_context)
def program(
    fun: Callable[..., Any], avals: tuple[Any, ...], params: tuple[Any, ...]
) -> ClosedJaxpr:
    """Return the jaxpr of a function for these types and params."""
    return stage_closed(lambda *xs: fun(*xs, **dict(params)), avals, text="lowering")


def defined_by(prim: Primitive, fun: Callable[..., Any]) -> None:
    """Define the rules of a primitive by a function that computes the same."""

    def rule_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        differentiated = [i for i, t in enumerate(tangents) if type(t) is not Zero]

        def of_differentiated(*xs: Any) -> Any:
            args = list(primals)
            for i, x in zip(differentiated, xs, strict=True):
                args[i] = x
            return fun(*args, **params)

        return jvp(
            of_differentiated,
            [primals[i] for i in differentiated],
            [tangents[i] for i in differentiated],
        )

    def rule_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        out = vmap(functools.partial(fun, **params), dims)(*args)
        return out, [0] * len(out)

    def rule_lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        closed = program(fun, tuple(ctx.avals_in), tuple(params.items()))
        return ctx.call(closed, prim.name, operands)

    prim.jvp, prim.batch, prim.lower = rule_jvp, rule_batch, rule_lower


rnn_fwd_p.abstract = rnn_abstract_eval
defined_by(rnn_fwd_p, run_forward)
rnn_bwd_p.abstract = rnn_bwd_abstract_eval
defined_by(rnn_bwd_p, run_backward)


# ----------------------------------------------------------------------------- `lstm`


def allows_tf32(precision: Any) -> bool:
    """Whether products may round their operands to 19 bits."""
    canonical_precision = canonical(precision)
    if not isinstance(canonical_precision, tuple):
        return True
    if canonical_precision[0] == Precision.DEFAULT:
        raise NotImplementedError("bfloat16 support not implemented for LSTM")
    return canonical_precision[0] != Precision.HIGHEST


@functools.partial(custom_vjp, nondiff_argnums=(5, 6, 7, 8, 9, 10))
def lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: Any,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Any, Any, Any]:
    """Apply an LSTM network.

    Args:
      x: array [B, T, I] of sequences.
      h_0, c_0: initial states and memories [L, B, H], for L pseudo-layers: one per layer
        and direction.
      weights: vector of weights; see `get_num_params_in_lstm`.
      seq_lengths: int32 array [B]: later elements are ignored, and their outputs are 0.
      input_size, hidden_size, num_layers, bidirectional: I, H, the number of layers, and
        whether each runs in both directions.
      dropout: must be 0.
      precision: "highest" for full float32 products.

    Returns:
      (y, h_n, c_n): outputs [B, T, H], or [B, T, 2 H] for both directions; the last states
      and memories [L, B, H].

    Raises:
      NotImplementedError: lengths are not int32, `dropout` is not 0, or the precision is
        "default", which rounds to bfloat16.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, h, n = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1)), jnp.array([2])
      >>> y, h_n, c_n = lstm(x, h, h, jnp.ones(16), n, 1, 1, 1, 0., False)
      >>> y.shape, bool((y[:, -1] == h_n[0]).all())
      ((1, 2, 1), True)

    Source: see the module.
    """
    return lstm_fwd(
        x,
        h_0,
        c_0,
        weights,
        seq_lengths,
        input_size,
        hidden_size,
        num_layers,
        dropout,
        bidirectional,
        precision,
    )[0]


def lstm_fwd(
    x: Any,
    h_0: Any,
    c_0: Any,
    w: Any,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
) -> Any:
    """Compute `lstm` and the residuals of its backward pass.

    Args:
      x, h_0, c_0, w, seq_lengths, input_size, hidden_size, num_layers, dropout,
        bidirectional, precision: as for `lstm`.

    Returns:
      (results, residuals).

    Raises:
      NotImplementedError: as for `lstm`.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, h, n = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1)), jnp.array([2])
      >>> len(lstm_fwd(x, h, h, jnp.ones(16), n, 1, 1, 1, 0., False, None)[1])
      7
    """
    check_lengths(seq_lengths)
    check_dropout("LSTM", dropout)
    y, h_n, c_n, reserve_space = rnn_fwd_p.bind(
        x,
        h_0,
        c_0,
        w,
        seq_lengths,
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        cudnn_allow_tf32=allows_tf32(precision),
    )
    return (y, h_n, c_n), (x, h_0, c_0, w, seq_lengths, y, reserve_space)


def lstm_bwd(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
    residuals: Any,
    gradients: Any,
) -> Any:
    """Return the cotangents of the operands of `lstm`.

    Args:
      input_size, hidden_size, num_layers, dropout, bidirectional, precision: as for
        `lstm`.
      residuals: the residuals of `lstm_fwd`.
      gradients: the cotangents of the three results.

    Returns:
      Five arrays, like `x`, `h_0`, `c_0`, `weights`, `seq_lengths`; the last is 0.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, h, n = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1)), jnp.array([2])
      >>> out, kept = lstm_fwd(x, h, h, jnp.ones(16), n, 1, 1, 1, 0., False, None)
      >>> [ct.shape for ct in lstm_bwd(1, 1, 1, 0., False, None, kept, out)]
      [(1, 2, 1), (1, 1, 1), (1, 1, 1), (16,), (1,)]
    """
    x, h_0, c_0, w, seq_lengths, y, reserve_space = residuals
    cotangents = rnn_bwd_p.bind(
        *gradients,
        x,
        h_0,
        c_0,
        w,
        y,
        reserve_space,
        seq_lengths,
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        cudnn_allow_tf32=allows_tf32(precision),
    )
    return (*cotangents, jnp.zeros_like(seq_lengths))


lstm.defvjp(lstm_fwd, lstm_bwd)
