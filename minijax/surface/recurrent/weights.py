"""The weights of LSTM networks as one vector, in the order of NVIDIA's cuDNN.

A network has layers with one or two directions each; the pseudo-layers 0, 1, ... count
layers and directions.  The vector contains W_ih and W_hh of all pseudo-layers, then their
b_ih and b_hh.  The rows of each belong to four gates: input, forget, cell, output.

Next: lstm.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .. import jnp
from ..random.sampling import uniform

__all__ = (
    "PRNGKeyArray",
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "swap_lstm_gates",
    "unpack_lstm_weights",
)

PRNGKeyArray = Any


def pseudo_layers(num_layers: int, bidirectional: bool) -> int:
    """Return the number of pseudo-layers: layers times directions."""
    return num_layers * (2 if bidirectional else 1)


def shapes(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[tuple[int, ...]]:
    """Return the shapes of all weights, in order."""
    directions = 2 if bidirectional else 1
    num_rows = 4 * hidden_size
    out: list[tuple[int, ...]] = []
    for layer in range(num_layers):
        num_columns = directions * hidden_size if layer else input_size
        out += [(num_rows, num_columns), (num_rows, hidden_size)] * directions
    return out + [(num_rows,)] * (2 * directions * num_layers)


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Return the number of weights of a network.

    Args:
      input_size, hidden_size: sizes of inputs and of states.
      num_layers: the number of layers.
      bidirectional: whether each runs in both directions.

    Returns:
      An int.

    Example:
      >>> get_num_params_in_lstm(3, 4, 1, False)  # 4 * 4 * (3 + 4 + 1 + 1)
      144
    """
    return sum(map(math.prod, shapes(input_size, hidden_size, num_layers, bidirectional)))


def init_lstm_weight(
    rng: PRNGKeyArray, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    r"""Draw weights uniformly in :math:`[-1/\sqrt h, 1/\sqrt h)`, where h is `hidden_size`.

    Args:
      rng: a random key.
      input_size, hidden_size, num_layers, bidirectional: see `get_num_params_in_lstm`.

    Returns:
      A float32 vector.

    Example:
      >>> import minijax as mj
      >>> init_lstm_weight(mj.random.key(0), 3, 4, 1, False).shape
      (144,)
    """
    n = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    k = np.sqrt(1.0 / hidden_size)
    return uniform(rng, (n,), jnp.float32, -k, k)


def split_weights(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[Any]:
    """Split the vector into the weights, in order."""
    part_shapes = shapes(input_size, hidden_size, num_layers, bidirectional)
    ends = [*itertools.accumulate(map(math.prod, part_shapes))]
    starts = [0, *ends]
    bounds = zip(starts, ends, part_shapes, strict=False)
    return [weights[a:b].reshape(shape) for a, b, shape in bounds]


def swap_lstm_gates(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """Swap the cell and the output gate, as in the order of AMD's MIOpen.

    Args:
      weights: vector of weights.
      input_size, hidden_size, num_layers, bidirectional: see `get_num_params_in_lstm`.

    Returns:
      The reordered vector; applying the function twice restores it.

    Example:
      >>> import minijax.numpy as jnp
      >>> swap_lstm_gates(jnp.arange(16.), 1, 1, 1, False)[:4].tolist()
      [0.0, 1.0, 3.0, 2.0]
    """
    weights_by_shape = split_weights(
        jnp.asarray(weights), input_size, hidden_size, num_layers, bidirectional
    )
    gate_order = np.array([0, 1, 3, 2])
    swapped = [p.reshape(4, -1)[gate_order].ravel() for p in weights_by_shape]
    return jnp.concatenate(swapped)


def unpack_lstm_weights(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any], dict[int, Any]]:
    """Unpack the weights of each pseudo-layer.

    Args:
      weights: vector of weights.
      input_size, hidden_size, num_layers, bidirectional: see `get_num_params_in_lstm`.

    Returns:
      (W_ih, W_hh, b_ih, b_hh): dicts from pseudo-layer to matrices [4 H, inputs],
      [4 H, H], and to vectors [4 H].

    Example:
      >>> import minijax.numpy as jnp
      >>> W_ih, W_hh, b_ih, b_hh = unpack_lstm_weights(jnp.zeros(144), 3, 4, 1, False)
      >>> W_ih[0].shape, W_hh[0].shape, b_ih[0].shape
      ((16, 3), (16, 4), (16,))
    """
    weights_by_shape = split_weights(
        weights, input_size, hidden_size, num_layers, bidirectional
    )
    n = 2 * pseudo_layers(num_layers, bidirectional)
    matrices, vectors = weights_by_shape[:n], weights_by_shape[n:]
    columns = (matrices[::2], matrices[1::2], vectors[::2], vectors[1::2])
    return tuple(dict(enumerate(c)) for c in columns)  # type: ignore[return-value]
