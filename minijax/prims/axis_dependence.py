"""Reaches: which positions of a result depend on an operand's element, for `axes_of`.

A reach describes one axis.  It maps positions of an operand, [n], to pairs of arrays: an
index into these positions, and a position of the result that depends on that element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Reach = Callable[[Any], tuple[Any, Any]]


def between(first: Any, last: Any) -> tuple[Any, Any]:
    """Return the pairs of each index `i` with the positions `first[i]` to `last[i] - 1`."""
    count = np.maximum(last - first, 0)
    which = np.repeat(np.arange(len(count)), count)
    start = np.repeat(np.cumsum(count) - count, count)
    return which, np.arange(count.sum()) - start + np.repeat(first, count)


def onwards(n: int) -> Reach:
    """Return the reach of an axis of size `n`: a position affects itself and later ones."""
    return lambda positions: between(positions, np.full_like(positions, n))


def backwards() -> Reach:
    """Return the reach of an axis: a position affects itself and all earlier ones."""
    return lambda positions: between(np.zeros_like(positions), positions + 1)


def in_groups(n: int, n_out: int, groups: int) -> Reach:
    """Return the reach of groups: an element affects the results of its group."""
    size, size_out = n // groups, n_out // groups

    def reach(positions: Any) -> tuple[Any, Any]:
        first = positions // size * size_out
        return between(first, first + size_out)

    return reach


def under_windows(
    n_out: int, window: int, stride: int, low: int, base: int = 1, dilation: int = 1
) -> Reach:
    """Return the reach from elements to the windows over them: see window_padding.py."""

    def reach(positions: Any) -> tuple[Any, Any]:
        taps = np.arange(window)
        position = positions[:, None] * base + low - taps * dilation
        out = position // stride
        which, tap = np.nonzero((position % stride == 0) & (out >= 0) & (out < n_out))
        return which, out[which, tap]

    return reach


def over_windows(n_out: int, window: int, stride: int, low: int) -> Reach:
    """Return the reach from windows to the elements that they cover."""

    def reach(positions: Any) -> tuple[Any, Any]:
        first = positions * stride - low
        return between(np.maximum(first, 0), np.minimum(first + window, n_out))

    return reach


def mixed(ndim: int, axes: Sequence[int]) -> list[int | None]:
    """Return `axes_of` an operand whose axes stay, except `axes`, along which all mix."""
    return [None if i in axes else i for i in range(ndim)]


def windowed(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[Any]:
    """Return `axes_of` operands over which the same windows slide."""
    ones = (1,) * outs[0].ndim
    each = zip(
        outs[0].shape,
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        params.get("base_dilation", ones),
        params.get("window_dilation", ones),
        strict=True,
    )
    axes = [
        (i, under_windows(n, window, stride, low, base, dilation))
        for i, (n, window, stride, (low, _), base, dilation) in enumerate(each)
    ]
    return [axes] * len(ins)
