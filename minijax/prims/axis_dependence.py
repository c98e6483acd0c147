"""Which places of a result an element of an operand reaches along one axis: for `axes_of`.

A reach takes places of an operand, [n], and gives pairs: the index of each among the given
ones, and a place of the result that it reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Reach = Callable[[Any], tuple[Any, Any]]


def between(first: Any, last: Any) -> tuple[Any, Any]:
    """The pairs of places that reach from one on to before another."""
    count = np.maximum(last - first, 0)
    which = np.repeat(np.arange(len(count)), count)
    start = np.repeat(np.cumsum(count) - count, count)
    return which, np.arange(count.sum()) - start + np.repeat(first, count)


def onwards(n: int) -> Reach:
    """Each place reaches itself and all after it, of `n`."""
    return lambda at: between(at, np.full_like(at, n))


def backwards() -> Reach:
    """Each place reaches itself and all before it."""
    return lambda at: between(np.zeros_like(at), at + 1)


def in_groups(n: int, n_out: int, groups: int) -> Reach:
    """Each of `n` places reaches its own of equal groups of results."""
    size, size_out = n // groups, n_out // groups

    def reach(at: Any) -> tuple[Any, Any]:
        first = at // size * size_out
        return between(first, first + size_out)

    return reach


def under_windows(
    n_out: int, window: int, stride: int, low: int, base: int = 1, dilation: int = 1
) -> Reach:
    """Each place reaches the windows that lie over it: see window_padding.py."""

    def reach(at: Any) -> tuple[Any, Any]:
        taps = np.arange(window)
        place = at[:, None] * base + low - taps * dilation
        out = place // stride
        which, tap = np.nonzero((place % stride == 0) & (out >= 0) & (out < n_out))
        return which, out[which, tap]

    return reach


def over_windows(n_out: int, window: int, stride: int, low: int) -> Reach:
    """Each window reaches the places that lie under it."""

    def reach(at: Any) -> tuple[Any, Any]:
        first = at * stride - low
        return between(np.maximum(first, 0), np.minimum(first + window, n_out))

    return reach


def mixed(ndim: int, axes: Sequence[int]) -> list[int | None]:
    """Axes that stay, but for some along which all mix."""
    return [None if i in axes else i for i in range(ndim)]


def windowed(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[Any]:
    """`axes_of` where windows slide over all operands alike."""
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
