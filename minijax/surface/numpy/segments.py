"""Reductions over segments: the functions of `minijax.ops`, JAX's public module.

Also the old index functions (`index_update` ...), which JAX replaced by `x.at[...]`, but
which tutorials still use.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...control.arguments import concrete_or_error
from ...prims import lax
from ...prims.reduce.over_axes import highest, lowest
from ...prims.reshard import apply_out_sharding
from ...symbolic.dims import falls_below
from ...types import dtypes
from ...types.sizes import index_of
from . import creation, reductions
from ._common import as_array
from .updates import update


def _segment(
    name: str,
    method: str,
    start: Callable[[Any], Any],
    reduce_buckets: Callable[..., Any],
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Any,
    out_sharding: Any,
) -> Any:
    data, ids = as_array(data), as_array(segment_ids)
    if num_segments is None:
        num_segments = reductions.max(ids) + 1
    n = concrete_or_error(index_of, num_segments, f"{name}: num_segments")
    if falls_below(n, 0):
        raise ValueError("num_segments must be non-negative.")
    shape: tuple[int, ...] = (n, *data.shape[1:])
    indices: Any = ids
    bucket_size = None if bucket_size is None else operator.index(bucket_size)
    if bucket_size is not None and data.ndim:
        if bucket_size < 1:
            raise ValueError(f"{name}: bucket_size must be positive, got {bucket_size}.")
        shape = (-(-data.shape[0] // bucket_size), *shape)
        row = lax.iota(dtypes.int32, data.shape[0])
        indices = lax.div(row, np.int32(bucket_size)), ids
    neutral = data.dtype.type(start(data.dtype))
    out = update(
        creation.full(shape, neutral),
        indices,
        data,
        method,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode,
        wrap_negative_indices=False,  # negative ids are out of range
        out_sharding=out_sharding if indices is ids else None,
    )
    return (
        out
        if indices is ids
        else apply_out_sharding(name, reduce_buckets(out, (0,)), out_sharding)
    )


def _segment_function(
    name: str,
    method: str,
    start: Callable[[Any], Any],
    reduce_buckets: Callable[..., Any],
    what: str,
    empty: str,
    shown: str,
) -> Callable[..., Any]:
    def segment(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Any:
        return _segment(
            name,
            method,
            start,
            reduce_buckets,
            data,
            segment_ids,
            num_segments,
            indices_are_sorted,
            unique_indices,
            bucket_size,
            mode,
            out_sharding,
        )

    segment.__name__ = segment.__qualname__ = name
    segment.__doc__ = f"""Return the {what} of the rows of `data` that share a segment id.

    Args:
      data: an array; its rows are along the first axis.
      segment_ids: an int for each row; rows with ids out of range, including negative
        ones, are dropped.
      num_segments: the number of segments (default: the largest id plus one; needed
        under jit).
      indices_are_sorted, unique_indices: promises about the ids that save time.
      bucket_size: reduce in buckets of this many rows, for numerical stability.
      mode: treatment of ids out of range: 'drop' or 'clip', as for `x.at[...]`.
      out_sharding: sharding of the result, over a mesh with axes of type `Explicit`;
        None lets the compiler choose.

    Returns:
      An array of `data`'s dtype, shape (num_segments, *data.shape[1:]); for an empty
      segment, {empty}.

    Raises:
      ValueError: `num_segments` is negative, or `bucket_size` is not positive.
      ConcretizationTypeError: traced ids without `num_segments`.

    Example:
      >>> import minijax.numpy as jnp
      >>> {name}(jnp.array([5, 2, 3]), jnp.array([0, 0, 1]))
      Array({shown}, dtype=int32)
    """
    return segment


segment_sum = _segment_function(
    "segment_sum", "add", lambda dtype: 0, lax.reduce_sum, "sum", "0", "[7, 3]"
)
segment_prod = _segment_function(
    "segment_prod", "mul", lambda dtype: 1, lax.reduce_prod, "product", "1", "[10,  3]"
)
segment_max = _segment_function(
    "segment_max",
    "max",
    lowest,
    lax.reduce_max,
    "maximum",
    "the lowest number of the dtype",
    "[5, 3]",
)
segment_min = _segment_function(
    "segment_min",
    "min",
    highest,
    lax.reduce_min,
    "minimum",
    "the highest number of the dtype",
    "[2, 3]",
)


def _removed_function(name: str, method: str) -> Callable[..., Any]:
    def update(x, idx, y, indices_are_sorted: bool = False, unique_indices: bool = False):
        warnings.warn(
            f"jax.ops.{name} was removed from JAX; use x.at[idx].{method}(y).",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(as_array(x).at[idx], method)(
            y, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices
        )

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"""Return `x.at[idx].{method}(y)`: an old name, which JAX removed.

    Args:
      x: an array.
      idx: the index of `x[idx]`.
      y: a number, or an array that broadcasts to the shape of `x[idx]`.
      indices_are_sorted, unique_indices: promises about the indices that save time.

    Returns:
      An array of the shape and dtype of `x`; it issues a DeprecationWarning.

    Example:
      >>> import warnings
      >>> import minijax as mj
      >>> with warnings.catch_warnings(action="ignore"):
      ...     mj.ops.{name}(mj.numpy.ones(3), 0, 5.0).shape
      (3,)
    """
    return update


index_update = _removed_function("index_update", "set")
index_add = _removed_function("index_add", "add")
index_mul = _removed_function("index_mul", "multiply")
index_max = _removed_function("index_max", "max")
index_min = _removed_function("index_min", "min")


class _Index:
    """Removed by JAX: `index[...]` returns its subscript."""

    def __getitem__(self, item: Any) -> Any:
        return item


index = _Index()
