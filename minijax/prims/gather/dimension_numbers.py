"""Dimension numbers and modes of gather and scatter, and their checks.

A gather reads windows of `operand` that start at index vectors.  The last axis of `indices`
contains the components of an index vector.  A result axis is an *offset* axis (within a
window) or a *batch* axis (of indices without the last).  Operand axes become offset axes,
are collapsed (window size 1), or are *operand batching* axes, each paired with an axis of
`indices`.  A scatter writes windows of `updates` in the same way.

The terms are StableHLO's (its specification, `gather` and `scatter`).  gather.py declares
the primitives.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...symbolic.dims import dimension_variables
from ...types import dtypes
from ...types.avals import shaped
from ..shape.shapes import type_problem, value_problem

__all__ = ("GatherScatterMode", "GatherDimensionNumbers", "ScatterDimensionNumbers")

Dims = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """The treatment of indices whose window is out of bounds.

    CLIP: they are moved to the nearest window in bounds.
    FILL_OR_DROP: a gather returns `fill_value` there, and a scatter skips the update.
    PROMISE_IN_BOUNDS: the caller promises that no index is out of bounds.
    ONE_HOT: NumPy-style indexing multiplies by one-hot vectors.

    >>> import minijax.numpy as jnp
    >>> x = jnp.arange(3)
    >>> [x.at[jnp.array([7])].get(mode=m).item() for m in ('clip', 'fill')]
    [2, -2147483648]
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """Return the mode for a mode, its name, or None (FILL_OR_DROP).

        >>> GatherScatterMode.from_any('clip')
        <GatherScatterMode.CLIP: 1>
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None or s in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if s in ("clip", "promise_in_bounds", "one_hot"):
            return GatherScatterMode[s.upper()]
        raise value_problem(
            f'Unknown gather mode "{s}"',
            why="The modes are 'clip', 'fill', 'drop', 'promise_in_bounds' and 'one_hot'.",
        )


class GatherDimensionNumbers(NamedTuple):
    """The axes of a gather.

    Attributes:
      offset_dims: axes of the result that run within a window.
      collapsed_slice_dims: operand axes of window size 1 that the result lacks.
      start_index_map: the operand axis of each component of an index vector.
      operand_batching_dims: operand axes paired with axes of the indices.
      start_indices_batching_dims: those axes of the indices, in the same order.

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(jnp.arange(6).reshape(3, 2), jnp.array([[2], [0]]), rows, (1, 2))
    Array([[4, 5],
           [0, 1]], dtype=int32)
    """

    offset_dims: Dims
    collapsed_slice_dims: Dims
    start_index_map: Dims
    operand_batching_dims: Dims = ()
    start_indices_batching_dims: Dims = ()


class ScatterDimensionNumbers(NamedTuple):
    """The axes of a scatter; compare `GatherDimensionNumbers`.

    Attributes:
      update_window_dims: axes of the updates that run within a window.
      inserted_window_dims: operand axes of window size 1 that the updates lack.
      scatter_dims_to_operand_dims: the operand axis of each component of an index.
      operand_batching_dims: operand axes paired with axes of the indices.
      scatter_indices_batching_dims: those axes of the indices, in the same order.

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    >>> lax.scatter(jnp.zeros((3, 2)), jnp.array([[2]]), jnp.ones((1, 2)), rows)
    Array([[0., 0.],
           [0., 0.],
           [1., 1.]], dtype=float32)
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


def canonical_dimension_numbers(dims: Any) -> Any:
    """Return dimension numbers whose fields are tuples of Python ints."""
    if not isinstance(dims, tuple) or not hasattr(dims, "_fields"):
        raise TypeError(
            "dimension_numbers must be GatherDimensionNumbers or"
            f" ScatterDimensionNumbers, got {dims!r}."
        )
    return type(dims)(*(tuple(map(int, field)) for field in dims))


def scatter_dims_of(dims: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """Return the scatter that writes where this gather reads."""
    return ScatterDimensionNumbers(*dims)


def gather_dims_of(dims: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """Return the gather that reads where this scatter writes."""
    return GatherDimensionNumbers(*map(tuple, dims))


# ------------------------------------------------------------------- lanes under vmap


def shift_axes(dims: Sequence[int]) -> Dims:
    """Return axis numbers shifted by a new leading axis."""
    return tuple(d + 1 for d in dims)


def operand_lanes(dims: Any) -> Any:
    """Return the numbers if the operand has a leading lane axis: a new window axis."""
    window, collapsed, index_map, batching, index_batching = dims
    return type(dims)(
        (0, *shift_axes(window)),
        shift_axes(collapsed),
        shift_axes(index_map),
        shift_axes(batching),
        tuple(index_batching),
    )


def index_lanes(dims: Any) -> Any:
    """Return the numbers if the indices, but not the operand, have a leading lane axis."""
    window, collapsed, index_map, batching, index_batching = dims
    return type(dims)(
        shift_axes(window), collapsed, index_map, batching, shift_axes(index_batching)
    )


def common_lanes(dims: Any) -> Any:
    """Return the numbers if operand and indices have leading lane axes: a batching axis."""
    window, collapsed, index_map, batching, index_batching = dims
    return type(dims)(
        shift_axes(window),
        shift_axes(collapsed),
        shift_axes(index_map),
        (0, *shift_axes(batching)),
        (0, *shift_axes(index_batching)),
    )


# ------------------------------------------------------------------------------ checks


class _Checker:
    """The checks of one gather or scatter, which raise its errors."""

    def __init__(self, op: str, *avals: Any) -> None:
        self.op = op
        self.avals = avals

    def fail(self, what: str, why: str) -> None:
        raise type_problem(what, *self.avals, why=why)

    def axes(self, name: str, dims: Dims, rank: int, ordered: bool = True) -> None:
        """Raise TypeError unless axes exist, are distinct and, if `ordered`, ascend."""
        if ordered and list(dims) != sorted(dims):
            self.fail(
                f"{name} in {self.op} op must be sorted; got {dims}",
                "The axes have the operand's order.",
            )
        for d in dims:
            if not 0 <= d < rank:
                self.fail(
                    f"Invalid {name} set in {self.op} op; valid range is [0, {rank});"
                    f" got: {d}.",
                    "Each number is an axis, counted from 0.",
                )
        if len(set(dims)) < len(dims):
            self.fail(
                f"{name} in {self.op} op must not repeat; got: {dims}.", "An axis has one role."
            )

    def disjoint(self, name: str, dims: Dims, other: str, others: Dims) -> None:
        if set(dims) & set(others):
            self.fail(
                f"{name} and {other} in {self.op} op must be disjoint; got: {dims} and"
                f" {others}.",
                "An axis has one role.",
            )

    def indices(self, indices: Any, index_map: Dims, name: str) -> None:
        """Raise unless indices are integers whose last axis contains index vectors."""
        if not dtypes.is_integer(indices.dtype):
            raise value_problem(
                "indices must have an integer type",
                *self.avals,
                why=f"Their dtype is {indices.dtype}, and positions are integers.",
                tries=["indices.astype(int)"],
            )
        if not indices.shape:
            self.fail(
                f"{self.op.capitalize()} index leaf dimension must be within [0,"
                " rank(indices) + 1). rank(indices) is 0 and"
                f" {self.op} index leaf dimension is -1.",
                "The last axis of the indices contains the index vectors.",
            )
        if len(index_map) != indices.shape[-1]:
            self.fail(
                f"{self.op.capitalize()} op has {len(index_map)} elements in {name} and"
                f" the bound of dimension index_vector_dim={len(indices.shape) - 1} of"
                f" indices is {indices.shape[-1]}. These two numbers must be equal.",
                "Each component of an index vector needs an operand axis.",
            )

    def batching(
        self, operand: Any, indices: Any, dims: Dims, index_dims: Dims, name: str
    ) -> None:
        """Raise TypeError unless operand batching axes pair with axes of equal size."""
        self.axes("operand_batching_dims", dims, len(operand.shape))
        self.axes(name, index_dims, len(indices.shape) - 1, ordered=False)
        op = self.op.capitalize()
        if len(dims) != len(index_dims):
            self.fail(
                f"{op} op requires equal numbers of operand_batching_dims and {name},"
                f" got {dims} and {index_dims}.",
                "These numbers pair axes.",
            )
        operand_sizes = tuple(operand.shape[d] for d in dims)
        index_sizes = tuple(indices.shape[d] for d in index_dims)
        if operand_sizes != index_sizes:
            self.fail(
                f"{op} op requires operand batching dimensions and indices batching"
                f" dimensions to have the same shape, got {operand_sizes} and {index_sizes}.",
                "Paired axes have the same indices.",
            )


def gather_type(operand: Any, indices: Any, dims: Any, sizes: Dims) -> Any:
    """Return the type of a gather's result; raise TypeError for incompatible arguments."""
    offset, collapsed, index_map, batching, index_batching = dims
    rank, check = len(operand.shape), _Checker("gather", operand, indices)
    check.indices(indices, index_map, "start_index_map")
    check.axes("offset_dims", offset, len(offset) + len(indices.shape) - 1)
    check.axes("collapsed_slice_dims", collapsed, rank)
    check.batching(operand, indices, batching, index_batching, "start_indices_batching_dims")
    check.disjoint("collapsed_slice_dims", collapsed, "operand_batching_dims", batching)
    check.axes("start_index_map", index_map, rank, ordered=False)
    check.disjoint("start_index_map", index_map, "operand_batching_dims", batching)
    if len(sizes) != rank:
        check.fail(
            "Gather op must have one slice size for every input dimension; got:"
            f" len(slice_sizes)={len(sizes)}, input_shape.rank={rank}",
            "A window has a size along each operand axis.",
        )
    for i, (size, n) in enumerate(zip(sizes, operand.shape, strict=True)):
        if not 0 <= size <= n:
            check.fail(
                f"Slice size at index {i} in gather op is out of range, must be within"
                f" [0, {n} + 1), got {size}.",
                "A window must be within the operand.",
            )
    for i in (*collapsed, *batching):
        if sizes[i] != 1 and not (i in batching and sizes[i] == 0):
            what = "collapse slice dims with bound 1"
            if i in batching:
                what = "have operand batching dims with bound 0/1"
            check.fail(
                f"Gather op can only {what}, but bound is {sizes[i]} for index {i} at"
                f" position {(*collapsed, *batching).index(i)}.",
                "The result has no such axis.",
            )
    window = window_axes(rank, collapsed, batching)
    if len(window) != len(offset):
        check.fail(
            "All components of the offset index in a gather op must either be a offset"
            " dimension or explicitly collapsed/batching; got"
            f" len(slice_sizes)={rank}, output_slice_sizes={offset},"
            f" collapsed_slice_dims={collapsed}, operand_batching_dims={batching}.",
            "Each operand axis has a role.",
        )
    batch = iter(indices.shape[:-1])
    inner = iter(sizes[i] for i in window)
    shape = tuple(
        next(inner if i in offset else batch)
        for i in range(len(offset) + len(indices.shape) - 1)
    )
    return shaped(shape, operand.dtype, operand.weak_type)


def scatter_type(operand: Any, indices: Any, updates: Any, dims: Any) -> Any:
    """Return the type of a scatter's result; raise TypeError for incompatible arguments."""
    window_dims, inserted, index_map, batching, index_batching = dims
    rank, check = len(operand.shape), _Checker("scatter", operand, indices, updates)
    check.indices(indices, index_map, "scatter_dims_to_operand_dims")
    expected = len(indices.shape) - 1 + len(window_dims)
    if len(updates.shape) != expected:
        check.fail(
            f"Updates tensor must be of rank {expected}; got {len(updates.shape)}.",
            "Updates have the axes of the indices (without the last) and of a window.",
        )
    check.axes("update_window_dims", window_dims, len(updates.shape))
    check.axes("inserted_window_dims", inserted, rank)
    check.batching(operand, indices, batching, index_batching, "scatter_indices_batching_dims")
    check.disjoint("inserted_window_dims", inserted, "operand_batching_dims", batching)
    check.axes("scatter_dims_to_operand_dims", index_map, rank, ordered=False)
    check.disjoint("scatter_dims_to_operand_dims", index_map, "operand_batching_dims", batching)
    window = window_axes(rank, inserted, batching)
    if len(window) != len(window_dims):
        size = len(window_dims) + len(inserted) + len(batching)
        check.fail(
            f"Scatter op has window of size {size}; doesn't match operand of rank {rank}.",
            "Each operand axis has a role.",
        )
    for i, d in zip(window, window_dims, strict=True):
        if updates.shape[d] > operand.shape[i]:
            check.fail(
                "Bounds of the window dimensions of updates must not exceed the bounds"
                f" of the corresponding dimensions of operand. For dimension {d},"
                f" updates bound is {updates.shape[d]}, operand bound is"
                f" {operand.shape[i]}.",
                "A window must be within the operand.",
            )
    scatter_dims = [d for d in range(len(updates.shape)) if d not in window_dims]
    for i, d in enumerate(scatter_dims):
        if updates.shape[d] != indices.shape[i]:
            check.fail(
                "Bounds of the scatter dimensions of updates must be the same as the"
                " bounds of the corresponding dimensions of scatter indices. For"
                f" scatter dimension {i}, updates bound is {updates.shape[d]}, indices"
                f" bound is {indices.shape[i]}.",
                "Each index vector has one window of updates.",
            )
    return shaped(operand.shape, operand.dtype, operand.weak_type)


# ---------------------------------------------------------------------------- windows


def window_axes(rank: int, collapsed: Sequence[int], batching: Sequence[int]) -> Dims:
    """Return the operand axes that a window spans."""
    return tuple(i for i in range(rank) if i not in collapsed and i not in batching)


def window_sizes(operand: Any, updates: Any, dims: ScatterDimensionNumbers) -> Dims:
    """Return a scatter window's size along each operand axis."""
    rank = len(operand.shape)
    sizes = [1] * rank
    batching = dims.operand_batching_dims
    window = window_axes(rank, dims.inserted_window_dims, batching)
    for i, d in zip(window, dims.update_window_dims, strict=True):
        sizes[i] = updates.shape[d]
    for i in batching:
        sizes[i] = min(1, operand.shape[i])
    return tuple(sizes)


def last_starts(operand, indices, index_map: Sequence[int], sizes: Dims):
    """Return each component's largest index in bounds, clipped to the indices' dtype."""
    top = int(ml_dtypes.iinfo(indices.dtype).max)
    bounds = [operand.shape[i] - sizes[i] for i in index_map]
    if dimension_variables(bounds):
        return bounds
    bounds = [min(b, top) for b in bounds]
    return np.array(bounds, indices.dtype)


def default_fill(dtype: Any) -> Any:
    """Return the fill value out of bounds: NaN, the least or (unsigned) greatest int."""
    if dtypes.is_inexact(dtype):
        return math.nan
    if dtypes.is_bool(dtype):
        return True
    if dtypes.is_extended(dtype):
        dtype = dtype.base_dtype
    limits = ml_dtypes.iinfo(dtype)
    return int(limits.max if dtypes.is_unsigned(dtype) else limits.min)


# --------------------------------------------------------------------------- lowering


def gather_attribute(dims: GatherDimensionNumbers, index_rank: int) -> str:
    """Return the text of StableHLO's attribute."""
    return (
        f"#stablehlo.gather<offset_dims = {list(dims.offset_dims)},"
        f" collapsed_slice_dims = {list(dims.collapsed_slice_dims)},"
        f" operand_batching_dims = {list(dims.operand_batching_dims)},"
        f" start_indices_batching_dims = {list(dims.start_indices_batching_dims)},"
        f" start_index_map = {list(dims.start_index_map)},"
        f" index_vector_dim = {index_rank - 1}>"
    )


def scatter_attribute(dims: ScatterDimensionNumbers, index_rank: int) -> str:
    """Return the text of StableHLO's attribute."""
    return (
        f"#stablehlo.scatter<update_window_dims = {list(dims.update_window_dims)},"
        f" inserted_window_dims = {list(dims.inserted_window_dims)},"
        f" input_batching_dims = {list(dims.operand_batching_dims)},"
        f" scatter_indices_batching_dims = {list(dims.scatter_indices_batching_dims)},"
        " scatter_dims_to_operand_dims ="
        f" {list(dims.scatter_dims_to_operand_dims)},"
        f" index_vector_dim = {index_rank - 1}>"
    )
