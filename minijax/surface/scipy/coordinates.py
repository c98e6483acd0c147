"""`map_coordinates`: interpolation between the elements of an array.

Each coordinate is at a node or between two weighted nodes, and the values at all corners
are summed.  The mode maps nodes beyond the edges to elements.

Next: grids.py, for nodes at arbitrary positions.
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
    """Reflect indices about the centre of the last element: d c b | a b c d | c b a."""
    period = max(2 * (n - 1), 1)
    return jnp.minimum(i % period, -i % period)


def reflected(i: Any, n: int) -> Any:
    """Reflect indices about the edge of the last element: d c b a | a b c d | d c b a."""
    return jnp.minimum(i % (2 * n), (-1 - i) % (2 * n))


def folded(x: Any, n: int, mode: str) -> Any:
    """Map a coordinate to one between -1/2 and n - 1/2 with the same value."""
    if mode == "wrap":
        return x % n
    if mode == "mirror":
        # As in SciPy, y up to n is folded only for negative x, which decides ties at
        # halves.
        period = max(2 * (n - 1), 1)
        y = lax.abs(x) % period
        return jnp.where(y < jnp.where(x < 0, n - 1, n), y, period - y)
    if mode == "reflect":
        y = (x + 0.5) % (2 * n)
        return jnp.minimum(y, 2 * n - y) - 0.5
    return jnp.clip(x, 0, n - 1)


# The element at position i of an axis of n elements.
_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda i, n: jnp.clip(i, 0, n - 1),
    "nearest": lambda i, n: jnp.clip(i, 0, n - 1),
    "wrap": operator.mod,
    "mirror": mirrored,
    "reflect": reflected,
}


def nodes(x: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """Return the nodes around coordinates along an axis of n elements, with weights.

    Order 0 takes the nearest node, and the upper one of two, after folding the coordinate.
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
    """Return the values of an array at fractional positions.

    Args:
      input: array of n axes.
      coordinates: n arrays that broadcast: positions along each axis.
      order: 0 takes the nearest element, and the upper one of two; 1 interpolates linearly.
      mode: the values beyond the edges: 'constant' (`cval` everywhere), 'nearest' (the last
        element), 'wrap' (periodic), 'mirror' or 'reflect' (the array reversed, without or
        with its last element).
      cval: the value of 'constant'.

    Returns:
      An array of the coordinates' shape and the dtype of `input`; integers are rounded.

    Raises:
      ValueError: the number of coordinates is not the number of axes.
      NotImplementedError: another order or mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> map_coordinates(jnp.array([0., 10., 20.]), [jnp.array([0.5, 1.9])], order=1)
      Array([ 5., 19.], dtype=float32)

    Differs from JAX: results agree with SciPy at halves, and beyond the edges of
    'constant'; 'wrap' is SciPy's 'grid-wrap'.
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
    positions = [c if hasattr(c, "shape") else jnp.asarray(c) for c in coordinates]
    return _map_coordinates(input, positions, order, mode, cval)


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
    terms = []
    for corner in itertools.product(*axes):
        at, weights = zip(*corner, strict=True)
        value = x.at[at].get(mode="promise_in_bounds")
        terms.append(functools.reduce(operator.mul, weights) * value)
    out = functools.reduce(operator.add, terms)
    if mode == "constant":
        out = jnp.where(functools.reduce(operator.and_, inside), out, cval)
    if dtypes.is_integer(x.dtype) and not dtypes.is_integer(out.dtype):
        out = lax.round(out)
    return out.astype(x.dtype)
