"""`associative_scan`: all prefixes of an associative operation, in logarithmic depth.

Pairs of neighbours are combined, the half-length problem is solved by recursion, and the
missing prefixes are filled in.  Source: Blelloch, Prefix Sums and Their Applications
(1990).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors, tree
from ...base.source import function_text
from ...base.tracebacks import boundary
from ...base.util import canonical_axis
from ...ir import core
from ...prims import lax
from ...prims.math import logic
from ...prims.shape import concatenation
from ...prims.shape.shapes import rev
from ...prims.shape.slicing import slice_in_dim
from ...types import dtypes


@boundary
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Compute all prefixes :math:`x_0, x_0 x_1, x_0 x_1 x_2 ..` of an associative `fn`.

    Args:
      fn: combines two pytrees of slices, elementwise over `axis`; it must be associative.
      elems: a pytree of arrays of equal size along `axis`.
      reverse: compute suffixes instead.
      axis: the axis along which to combine; a negative one counts from the end.

    Returns:
      A pytree like `elems`, of arrays of the same shapes.

    Raises:
      TypeError: `fn` is not a function.
      ValueError: sizes differ, or `fn` returns another tree.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.lax.associative_scan(jnp.add, jnp.arange(4))
      Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, treedef = tree.flatten(elems)
    avals = [core.aval_of(x) for x in leaves]
    axis = canonical_axis(axis, avals[0].ndim)
    n = avals[0].shape[axis]
    if any(a.shape[axis] != n for a in avals):
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension along"
            f" axis {axis}, got {[a.str_short(True) for a in avals]}."
        )
    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        out, out_tree = tree.flatten(fn(tree.unflatten(treedef, a), tree.unflatten(treedef, b)))
        if len(out) != len(a):
            raise ValueError(
                errors.message(
                    "lax.associative_scan: fn must return as many arrays as it combines,"
                    f" got {out_tree} for {treedef}.",
                    where=function_text(fn),
                    why="Results are combined again.",
                )
            )
        return out

    out = _prefixes(combine, leaves, axis)
    if reverse:
        out = [rev(x, (axis,)) for x in out]
    return tree.unflatten(treedef, out)


def _prefixes(combine: Any, xs: list[Any], axis: int) -> list[Any]:
    n = core.aval_of(xs[0]).shape[axis]
    if n < 2:
        return xs
    even = [slice_in_dim(x, 0, n - n % 2, 2, axis) for x in xs]
    odd = [slice_in_dim(x, 1, n, 2, axis) for x in xs]
    at_odd = _prefixes(combine, combine(even, odd), axis)  # prefixes ending at 1, 3, 5 ..
    at_even = [slice_in_dim(x, 0, 1, 1, axis) for x in xs]
    if n > 2:
        rest = [slice_in_dim(x, 2, n, 2, axis) for x in xs]
        before = at_odd
        if n % 2 == 0:
            before = [slice_in_dim(x, 0, n // 2 - 1, 1, axis) for x in at_odd]
        later = combine(before, rest)
        at_even = [
            concatenation.concatenate([a, b], axis) for a, b in zip(at_even, later, strict=True)
        ]
    return [_interleave(a, b, axis, n) for a, b in zip(at_even, at_odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int, n: int) -> Any:
    """Interleave a0 b0 a1 b1 .., `n` elements: dilate both and combine them."""
    aval = core.aval_of(even)
    neutral: float
    if dtypes.is_bool(aval.dtype):
        join, neutral = logic.bitwise_or, False
    elif dtypes.is_inexact(aval.dtype):
        join, neutral = lax.add, -0.0  # x + -0.0 is x, also for x = -0.0
    else:
        join, neutral = lax.add, 0
    empty = np.asarray(neutral, aval.dtype)[()]

    def dilate(x: Any, low: int, high: int) -> Any:
        config = [(0, 0, 0)] * aval.ndim
        config[axis] = (low, high, 1)
        return concatenation.pad(x, empty, config)

    return join(dilate(even, 0, 1 - n % 2), dilate(odd, 1, n % 2))
