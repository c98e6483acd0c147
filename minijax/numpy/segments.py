"""Reductions over segments: the functions of `minijax.ops`, JAX's public module.

Also the old index functions (`index_update` ..), which JAX has dropped for `x.at[...]`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..core import core
from ..ops.gather import GatherScatterMode
from ..ops.reductions import highest, lowest
from . import creation, reductions, ufuncs
from ._common import as_array


def _segment(
    name: str, method: str, start: Callable[[Any], Any], data: Any, segment_ids: Any,
    num_segments: int | None, indices_are_sorted: bool, unique_indices: bool,
    bucket_size: int | None, mode: Any,
) -> Any:  # fmt: skip
    data, ids = as_array(data), as_array(segment_ids)
    if ids.ndim != 1:
        raise ValueError(
            f"{name}: segment_ids must be one-dimensional, got {ids.ndim} axes."
        )
    if num_segments is None:
        highest = core.concrete_or_error(
            int, reductions.max(ids), f"{name}: num_segments"
        )
        num_segments = highest + 1
    num_segments = core.concrete_or_error(int, num_segments, f"{name}: num_segments")
    if num_segments < 0:
        raise ValueError("num_segments must be non-negative.")
    mode = GatherScatterMode.FILL_OR_DROP if mode is None else mode

    def run(part: Any, where: Any) -> Any:
        shape = (num_segments, *part.shape[1:])
        out = creation.full(shape, start(part.dtype), part.dtype)
        return getattr(out.at[where], method)(
            part, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
            mode=mode,
        )  # fmt: skip

    if bucket_size is None or not data.shape[0]:
        return run(data, ids)
    n = data.shape[0]
    parts = [
        run(data[i : i + bucket_size], ids[i : i + bucket_size])
        for i in range(0, n, bucket_size)
    ]
    total = parts[0]
    for p in parts[1:]:
        total = _JOIN[method](total, p)
    return total


_JOIN: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "max": ufuncs.maximum,
    "min": ufuncs.minimum,
}


def _maker(
    name: str, method: str, start: Callable[[Any], Any], what: str
) -> Callable[..., Any]:
    def segment(
        data: Any, segment_ids: Any, num_segments: int | None = None,
        indices_are_sorted: bool = False, unique_indices: bool = False,
        bucket_size: int | None = None, mode: Any = None,
    ) -> Any:  # fmt: skip
        return _segment(
            name, method, start, data, segment_ids, num_segments, indices_are_sorted,
            unique_indices, bucket_size, mode,
        )  # fmt: skip

    segment.__name__ = segment.__qualname__ = name
    segment.__doc__ = f"""{what} of the rows of `data` that share a segment id.

    Args:
      data: an array; rows along its first axis.
      segment_ids: an int for each row; those out of range are dropped.
      num_segments: the number of segments (default: the largest id plus one; needed
        under jit).
      indices_are_sorted, unique_indices: promises about the ids that save time.
      bucket_size: reduce in buckets of so many rows, for numerical stability.
      mode: what happens to ids out of range, as for `x.at[...]`.

    Returns:
      An array with `num_segments` rows.

    Example:
      >>> import minijax.numpy as jnp
      >>> {name}(jnp.array([1, 2, 3]), jnp.array([0, 0, 1])).shape
      (2,)
    """
    return segment


segment_sum = _maker("segment_sum", "add", lambda dtype: 0, "Sum")
segment_prod = _maker("segment_prod", "multiply", lambda dtype: 1, "Product")
segment_max = _maker("segment_max", "max", lowest, "Maximum")
segment_min = _maker("segment_min", "min", highest, "Minimum")


def _old(name: str, method: str) -> Callable[..., Any]:
    def update(
        x: Any, idx: Any, y: Any, indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:  # fmt: skip
        warnings.warn(
            f"jax.ops.{name} was removed from JAX; use x.at[idx].{method}(y).",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(as_array(x).at[idx], method)(
            y, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices
        )

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"Dropped by JAX: `x.at[idx].{method}(y)`."
    return update


index_update = _old("index_update", "set")
index_add = _old("index_add", "add")
index_mul = _old("index_mul", "multiply")
index_max = _old("index_max", "max")
index_min = _old("index_min", "min")


class _Index:
    """Dropped by JAX: `index[...]` hands its subscript back."""

    def __getitem__(self, item: Any) -> Any:
        return item


index = _Index()
