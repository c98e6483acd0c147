"""`map_coordinates`: an array's values between its elements.

Each coordinate lies at a node, or between two, which have weights; values at all corners
are summed.  A mode says which element a node beyond the edges stands for.

Next: grids.py, where nodes have places of their own.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors
from ...control.calls.jit import composite
from ...prims import lax
from ...types import dtypes
from .. import jnp
from ..numpy._common import as_array, aval_of

__all__ = ("map_coordinates",)

ArrayLike = Any


def mirrored(i: Any, n: int) -> Any:
    """Back from the middle of the last element: d c b | a b c d | c b a."""
    period = max(2 * (n - 1), 1)
    return jnp.minimum(i % period, -i % period)


def reflected(i: Any, n: int) -> Any:
    """Back from the edge of the last element: d c b a | a b c d | d c b a."""
    return jnp.minimum(i % (2 * n), (-1 - i) % (2 * n))


def folded(x: Any, n: int, mode: str) -> Any:
    """A real coordinate between -1/2 and n - 1/2 that has the same value."""
    if mode == "wrap":
        return x % n
    if mode == "mirror":
        # As in SciPy, a half before the last node is reached on the way back alone.
        period = max(2 * (n - 1), 1)
        y = lax.abs(x) % period
        return jnp.where(y < jnp.where(x < 0, n - 1, n), y, period - y)
    if mode == "reflect":
        y = (x + 0.5) % (2 * n)
        return jnp.minimum(y, 2 * n - y) - 0.5
    return jnp.clip(x, 0, n - 1)


# Which element stands at place i, of an axis of n.
_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda i, n: jnp.clip(i, 0, n - 1),
    "nearest": lambda i, n: jnp.clip(i, 0, n - 1),
    "wrap": operator.mod,
    "mirror": mirrored,
    "reflect": reflected,
}


def nodes(x: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """The nodes around coordinates along an axis of n elements, with their weights.

    Order 0 takes the nearest node, of two the upper one, after the coordinate is folded.
    """
    if dtypes.is_integer(x.dtype):
        low, rest = x, jnp.zeros((), dtypes.float_default())
    else:
        x = folded(x, n, mode) if order == 0 else x
        low = jnp.floor(x)
        rest = x - low
    if order == 0:
        low = low.astype("int32") + (rest >= 0.5).astype("int32")
        return [(low, x.dtype.type(1))]
    low = low.astype("int32")
    return [(low, 1 - rest), (low + 1, rest)]


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Any:
    """An array's values at fractional positions.

    Args:
      input: array of n axes.
      coordinates: n arrays of one shape, or that broadcast: positions along each axis.
      order: 0 takes the nearest element, of two the upper one; 1 interpolates linearly.
      mode: what is beyond the edges: 'constant' (`cval` everywhere), 'nearest' (the last
        element), 'wrap' (the array again), 'mirror' or 'reflect' (the array backwards,
        without or with its last element).
      cval: the value of 'constant'.

    Returns:
      An array of the coordinates' shape and the dtype of `input`; integers are rounded.

    Raises:
      ValueError: not as many coordinates as axes.
      NotImplementedError: another order or mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> map_coordinates(jnp.array([0., 10., 20.]), [jnp.array([0.5, 1.9])], order=1)
      Array([ 5., 19.], dtype=float32)

    Differs from JAX: results are SciPy's at halves, and beyond the edges of 'constant';
    'wrap' is SciPy's 'grid-wrap'.
    """
    input = jnp.asarray(input)
    if len(coordinates) != aval_of(input).ndim:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but"
            f" {len(coordinates)} != {aval_of(input).ndim}"
        )
    if mode not in _MODES:
        raise errors.error(
            NotImplementedError,
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}."
            f" Currently supported modes are {set(_MODES)}.",
        )
    if order not in (0, 1):
        raise errors.error(
            NotImplementedError,
            "jax.scipy.ndimage.map_coordinates currently requires order<=1",
            which=f"{order=}",
        )
    places = [c if hasattr(c, "shape") else jnp.asarray(c) for c in coordinates]
    return _map_coordinates(input, places, order, mode, cval)


@composite(static=("order", "mode"))
def _map_coordinates(input, coordinates, order: int, mode: str, cval):
    x = as_array(input)
    cval = jnp.asarray(cval, x.dtype)
    element, axes, inside = _MODES[mode], [], []
    for c, n in zip(map(as_array, coordinates), x.shape, strict=True):
        axes.append([(element(i, n), w) for i, w in nodes(c, n, order, mode)])
        inside.append((c >= 0) & (c <= n - 1))
    if not axes:
        return x
    parts = []
    for corner in itertools.product(*axes):
        at, weights = zip(*corner, strict=True)
        value = x.at[at].get(mode="promise_in_bounds")
        parts.append(functools.reduce(operator.mul, weights) * value)
    out = functools.reduce(operator.add, parts)
    if mode == "constant":
        out = jnp.where(functools.reduce(operator.and_, inside), out, cval)
    if dtypes.is_integer(x.dtype) and not dtypes.is_integer(out.dtype):
        out = lax.round(out)
    return out.astype(x.dtype)
