"""Reductions and prefix scans as a logarithmic number of elementwise steps.

Products and reductions by a general computation have no derivative rule.  They differentiate
these steps instead.  `combine` must be associative.

Source: G. Blelloch, "Prefix sums and their applications" (1990).
Next: over_axes.py, cumulative.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...ir import core
from ...types import dtypes
from ..math.algebraic import add
from ..math.logic import bitwise_or
from ..shape.concatenation import concatenate, pad
from ..shape.shapes import broadcast, reshape, squeeze
from ..shape.slicing import slice_in_dim

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def fold(
    operands: Sequence[Any],
    combine: Combine,
    neutral: Sequence[Any],
    axes: Sequence[int],
    ordered: bool = True,
) -> list[Any]:
    """Reduce arrays of one shape over `axes` by halving them until one slice remains.

    neutral: for each operand a scalar, the result of an empty reduction.
    ordered: whether to combine neighbours.  Otherwise the first half is combined with the
      second, which is cheaper, but needs a commutative `combine` and pads with `neutral`.
    """
    shape = core.aval_of(operands[0]).shape
    remaining_axes = [i for i in range(len(shape)) if i not in axes]
    rest = tuple(shape[i] for i in remaining_axes)
    n = 1
    for i in axes:
        n *= shape[i]
    if n == 0:
        return [broadcast(v, rest) for v in neutral]
    slices: Sequence[Any] = [reshape(x, (n, *rest), (*axes, *remaining_axes)) for x in operands]
    halve = _neighbours if ordered else functools.partial(_halves, neutral)
    while n > 1:
        slices, n = halve(slices, n, combine), (n + 1) // 2
    return [squeeze(x, (0,)) for x in slices]


def _neighbours(slices: Sequence[Any], n: int, combine: Combine) -> Sequence[Any]:
    """Combine pairs of neighbours; the first of an odd number of slices is kept."""
    odd = n % 2
    low = [slice_in_dim(x, odd, n - 1, 2) for x in slices]
    high = [slice_in_dim(x, odd + 1, n, 2) for x in slices]
    pairs = combine(low, high)
    if not odd:
        return pairs
    first = [slice_in_dim(x, 0, 1) for x in slices]
    return [concatenate([x, y], 0) for x, y in zip(first, pairs, strict=True)]


def _halves(
    neutral: Sequence[Any], slices: Sequence[Any], n: int, combine: Combine
) -> Sequence[Any]:
    """Combine the first half with the second."""
    half = (n + 1) // 2
    low = [slice_in_dim(x, 0, half) for x in slices]
    high = [slice_in_dim(x, half, n) for x in slices]
    if n % 2:
        config = [(0, 1, 0)] + [(0, 0, 0)] * (core.aval_of(slices[0]).ndim - 1)
        high = [pad(x, v, config) for x, v in zip(high, neutral, strict=True)]
    return combine(low, high)


def prefix_scan(combine: Combine, xs: Sequence[Any], axis: int) -> list[Any]:
    """Combine all prefixes of arrays along `axis`: first the prefixes of pairs.

    combine(a, b) takes and returns lists of arrays, and is elementwise along `axis`.
    """
    n = core.aval_of(xs[0]).shape[axis]
    if n < 2:
        return list(xs)

    def every_other(start: int, stop: int | None) -> list[Any]:
        return [slice_in_dim(x, start, stop, 2, axis) for x in xs]

    odd = prefix_scan(combine, combine(every_other(0, -1), every_other(1, None)), axis)
    before = [slice_in_dim(x, 0, -1, axis=axis) for x in odd] if n % 2 == 0 else odd
    even = [
        concatenate([slice_in_dim(x, 0, 1, axis=axis), y], axis)
        for x, y in zip(xs, combine(before, every_other(2, None)), strict=True)
    ]
    return [interleave(a, b, axis) for a, b in zip(even, odd, strict=True)]


def interleave(even: Any, odd: Any, axis: int) -> Any:
    """Return an array with `even` and `odd` at its even and odd positions along `axis`."""
    aval, other = core.aval_of(even), core.aval_of(odd)
    surplus = aval.shape[axis] - other.shape[axis]  # 0 or 1
    zero = aval.dtype.type(0)

    def config(low: int, high: int) -> list[tuple[int, int, int]]:
        return [(low, high, 1) if i == axis else (0, 0, 0) for i in range(aval.ndim)]

    even_spread = pad(even, zero, config(0, 1 - surplus))
    odd_spread = pad(odd, zero, config(1, surplus))
    join = bitwise_or if dtypes.is_bool(aval.dtype) else add
    return join(even_spread, odd_spread)
