"""Sliding windows: how many windows fit along an axis, and how much to pad.

With base dilation b, padding (lo, hi), window dilation d and stride s, an axis of n
elements under a window of k has

    floor((B + lo + hi - K) / s) + 1  windows if K <= B + lo + hi, otherwise none,
    B = (n - 1) b + 1 (0 if n = 0),  K = (k - 1) d + 1.

Sizes may be symbolic.  The compiler accepts no symbolic padding, so such padding is
emitted as an operation before.

Source: the StableHLO specification, reduce_window.
Next: conv/conv_functions.py, reduce/reduce_window.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import errors
from ..symbolic.dims import SymbolicDim, max_dim
from ..types.avals import shaped
from ..types.sizes import size_of

__all__ = ("padtype_to_pads",)

Pads = tuple[tuple[int, int], ...]


def dilated(n: int, dilation: int) -> int:
    """Return the extent of `n` elements with `dilation - 1` gaps between neighbours."""
    return max_dim((n - 1) * dilation + 1, 0)


def window_count(extent: int, window: int, stride: int) -> int:
    """Return how many windows fit along a padded, dilated axis."""
    return max_dim((extent - window) // stride + 1, 0)


def padtype_to_pads(
    in_shape: Any, window_shape: Any, window_strides: Any, padding: Any
) -> list[tuple[int, int]]:
    """Return the padding of each axis for 'SAME', 'SAME_LOWER' or 'VALID'.

    Args:
      in_shape, window_shape, window_strides: one number per axis.
      padding: 'VALID' (no padding), 'SAME' (as many windows as elements, divided by the
        stride; the odd element goes to the end), 'SAME_LOWER' (it goes to the front).

    Returns:
      A list of pairs (low, high) of ints, one per axis.

    Raises:
      RuntimeError: `padding` is another name.
      TypeError: `padding` is not a string, or strides are not positive.

    Example:
      >>> padtype_to_pads((8, 9), (3, 3), (2, 1), 'SAME')
      [(0, 1), (1, 1)]
    """
    kind = str(getattr(padding, "name", padding)).upper()
    if kind == "VALID":
        return [(0, 0)] * len(list(in_shape))
    if kind not in ("SAME", "SAME_LOWER"):
        if not isinstance(padding, str):
            raise TypeError(f"Unknown padding type: {padding}.")
        raise errors.error(
            RuntimeError,
            "Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER',"
            f" got {padding}.",
            tries=["a (low, high) pair per axis"],
        )
    check_positive("padding", "strides", window_strides)
    pads = []
    for n, k, s in zip(in_shape, window_shape, window_strides, strict=True):
        n, k, s = size_of(n), size_of(k), int(s)
        missing = max_dim((-(-n // s) - 1) * s + k - n, 0)
        less, more = missing // 2, missing - missing // 2
        pads.append((less, more) if kind == "SAME" else (more, less))
    return pads


def ints(values: Any, name: str, rank: int) -> tuple[int, ...]:
    """Return `values` as `rank` integers; None means ones."""
    if values is None:
        return (1,) * rank
    out = tuple(int(v) for v in values)
    if len(out) != rank:
        raise ValueError(f"{name} must have {rank} elements, got {out}.")
    return out


def check_positive(what: str, name: str, values: Sequence[int]) -> None:
    """Raise TypeError unless all numbers are positive."""
    if any(v <= 0 for v in values):
        raise TypeError(f"{what} {name} must be positive integers, got {tuple(values)}.")


def padded(
    ctx: Any, x: Any, aval: Any, fill: Any, pads: Sequence[Any], dilation: Sequence[int]
) -> tuple[Any, Any]:
    """Emit padding of an array and gaps between its elements; return it and its type."""
    sizes = zip(aval.shape, pads, dilation, strict=True)
    out = shaped(tuple([dilated(n, d) + lo + hi for n, (lo, hi), d in sizes]), aval.dtype)
    low, high = zip(*pads, strict=True)
    x = ctx.op(
        "pad",
        out,
        x,
        fill,
        edge_padding_low=ctx.i64s(low),
        edge_padding_high=ctx.i64s(high),
        interior_padding=ctx.i64s([d - 1 for d in dilation]),
    )
    return x, out


def is_open(pads: Sequence[Any]) -> bool:
    """Whether a padding depends on symbolic dimensions."""
    return any(isinstance(n, SymbolicDim) for pair in pads for n in pair)
