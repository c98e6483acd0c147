"""Slices at starts that may be traced, and updates of slices.

Negative starts count from the end.  Then starts are clamped so that the slice is in bounds
(StableHLO's rule).  Under vmap the operations become gathers and scatters.  Slices with
static bounds are in ../shape/slicing.py.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...base.util import canonical_axis
from ...ir import core
from ...ir.facts import FORWARDS, KeyUse
from ...passes.ad_util import Zero, instantiate, is_linear
from ...symbolic.dims import SymbolicDim, exceeds
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import same_dtype
from ..math.algebraic import add
from ..math.cast import convert_element_type
from ..math.logic import lt, select_n
from ..shape.concatenation import concatenate
from ..shape.creation import zero_array
from ..shape.shapes import (
    broadcast_in_dim,
    expand_dims,
    is_array,
    primitive,
    shape_tuple,
    squeeze,
    type_problem,
    value_problem,
)
from ..shape.slicing import index_in_dim
from ..sharding_specs import slice_specs
from .dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from .gather import gather_p
from .scatter import scatter_p

__all__ = (
    "dynamic_slice_p",
    "dynamic_slice",
    "dynamic_update_slice_p",
    "dynamic_update_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_slice_in_dim",
)

# ------------------------------------------------------------------------------ starts


def starts_of(indices: Any, shape: Sequence[int], allow_negative: Any) -> list[Any]:
    """Return the scalar starts of a dynamic slice; negative ones count from the end."""
    starts = _scalars(indices)
    if len(starts) != len(shape):
        raise value_problem(
            "Length of slice indices must match number of operand dimensions"
            f" ({len(starts)} vs {tuple(shape)})",
            why=f"Each axis of shape {tuple(shape)} needs a start.",
        )
    if not hasattr(allow_negative, "__iter__"):
        allow_negative = (bool(allow_negative),) * len(shape)
    # The size of the axis is added to negative starts, so their dtype must contain it.
    if any(_too_narrow(i, n) for i, n in zip(starts, shape, strict=True)):
        starts = [convert_element_type(i, dtypes.int_default()) for i in starts]
    return [
        _from_start(i, n, bool(negative))
        for i, n, negative in zip(starts, shape, allow_negative, strict=True)
    ]


def _scalars(indices: Any) -> list[Any]:
    """Return a sequence of starts, or a vector's elements."""
    if not is_array(indices):
        return [_as_scalar(i) for i in indices]
    aval = core.aval_of(indices)
    if len(aval.shape) != 1:
        raise value_problem(
            f"Slice indices must be a 1D sequence, got an array of shape {aval.shape}",
            why="Each axis has one start.",
        )
    return [index_in_dim(indices, i, keepdims=False) for i in range(aval.shape[0])]


def _as_scalar(index: Any) -> Any:
    """Return a NumPy scalar for a NumPy array without axes, since its value is static."""
    fixed = isinstance(index, np.ndarray) and not index.shape
    return index[()] if fixed else index


def _too_narrow(index: Any, n: int) -> bool:
    """Whether `index + n` might exceed the range of the index's dtype."""
    if type(index) is int:
        return False
    dtype = core.aval_of(index).dtype
    return dtypes.is_signed(dtype) and exceeds(n, int(ml_dtypes.iinfo(dtype).max))


def _from_start(index: Any, n: int, allow_negative: bool) -> Any:
    """Return an index counted from the start of an axis of size `n`."""
    aval = core.aval_of(index)
    if isinstance(index, (int, np.integer)) and type(index) is not bool:
        value = int(index)
        if value < 0 and not allow_negative:
            raise value_problem(
                f"Index {value} is out of bounds for dimension {n} if"
                " allow_negative_indices=False",
                why="It would be clamped to 0.",
            )
        value = value + n if allow_negative and value < 0 else value
        if isinstance(value, SymbolicDim):
            return convert_element_type(value.dimension_as_value(), aval.dtype)
        return np.asarray(value, aval.dtype)[()]
    if not allow_negative or not dtypes.is_signed(aval.dtype):
        return index
    if isinstance(n, SymbolicDim):
        size = convert_element_type(n.dimension_as_value(), aval.dtype)
    else:
        size = np.asarray(n, aval.dtype)[()]
    if aval.weak_type:
        below = lt(index, 0)
        wrapped = add(convert_element_type(index, aval.dtype), size)
    else:
        below = lt(index, np.zeros((), aval.dtype)[()])
        wrapped = add(index, size)
    return select_n(below, index, wrapped)


def check_starts(name: str, starts: Sequence[Any]) -> None:
    """Raise TypeError unless starts are integer scalars of one dtype."""
    if any(i.shape for i in starts):
        raise type_problem(
            f"start_indices arguments to {name} must be scalars,  got indices {tuple(starts)}",
            *starts,
            why="Each axis has one start.",
        )
    kinds = {i.dtype for i in starts}
    if len(kinds) > 1 or not builtins.all(map(dtypes.is_integer, kinds)):
        raise type_problem(
            f"index arguments to {name} must be integers of the same type, got:"
            f" {', '.join(str(i.dtype) for i in starts)}",
            *starts,
            why="The compiler requires one dtype for all starts.",
            tries=["index.astype(int)"],
        )


def _index_vector(axis: Any, starts: Sequence[Any], dims: Sequence[Any]) -> Any:
    """Return scalar starts as one index vector (per lane), and its lane axis."""
    if builtins.all(d is None for d in dims):
        return concatenate([broadcast_in_dim(i, (1,), ()) for i in starts], 0), None
    components = [
        broadcast_in_dim(i, (axis.size, 1), () if d is None else (0,))
        for i, d in zip(starts, dims, strict=True)
    ]
    return concatenate(components, 1), 0


# ---------------------------------------------------------------------- dynamic_slice


def _dynamic_slice_type(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    check_starts("dynamic_slice", starts)
    if len(slice_sizes) != len(x.shape) or len(starts) != len(x.shape):
        what = "must have length equal to the number of dimensions of the operand"
    elif any(m < 0 for m in slice_sizes):
        what = "must be greater than or equal to zero"
    elif any(m > n for m, n in zip(slice_sizes, x.shape, strict=True)):
        what = "must be less than or equal to operand shape"
    else:
        return shaped(slice_sizes, x.dtype, x.weak_type)
    raise type_problem(
        f"slice slice_sizes {what}, got slice_sizes {slice_sizes} for operand shape {x.shape}.",
        x,
        why="The slice must fit into the operand.",
    )


def _dynamic_slice_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, slice_sizes):
    (x, *starts), t = primals, tangents[0]
    if type(t) is not Zero:
        t = dynamic_slice_p.bind(t, *starts, slice_sizes=slice_sizes)
    out = dynamic_slice_p.bind(x, *starts, slice_sizes=slice_sizes)
    return out, Zero(core.aval_of(out).to_tangent()) if type(t) is Zero else t


def _dynamic_slice_transpose(ct, x, *starts, slice_sizes) -> list[Any]:
    zeros = zero_array(shaped(x.aval.shape, x.aval.dtype))
    out = dynamic_update_slice_p.bind(zeros, ct, *starts)
    return [out, *[None] * len(starts)]


def _dynamic_slice_batch(axis: Any, args: Any, dims: Any, *, slice_sizes: Any) -> Any:
    (x, *starts), (lane, *start_dims) = args, dims
    ndim = len(slice_sizes)
    if not ndim:  # a scalar: the slice is the operand
        return x, lane
    index, index_dim = _index_vector(axis, starts, start_dims)
    every = tuple(range(ndim))
    return gather_p.batch(
        axis,
        (x, index),
        (lane, index_dim),
        dimension_numbers=GatherDimensionNumbers(every, (), every),
        slice_sizes=slice_sizes,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def _dynamic_slice_lower(ctx: Any, x: Any, *starts: Any, slice_sizes: Any) -> Any:
    sizes = ctx.i64s(slice_sizes)
    return ctx.op("dynamic_slice", ctx.avals_out[0], x, *starts, slice_sizes=sizes)


def _full_axes(shape: Sequence[int], box: Sequence[int]) -> list[int | None]:
    """Return the axes along which a slice is the full axis, so that its start is 0."""
    return [i if n == m else None for i, (n, m) in enumerate(zip(shape, box, strict=True))]


def _slice_bounds(x, *starts, slice_sizes, **_):
    shape = core.aval_of(x).shape
    last = [n - m for n, m in zip(shape, slice_sizes, strict=True)]
    return shape, list(starts), range(len(shape)), last


dynamic_slice_p = primitive(
    "dynamic_slice",
    type=_dynamic_slice_type,
    jvp=_dynamic_slice_jvp,
    transpose=_dynamic_slice_transpose,
    batch=_dynamic_slice_batch,
    lower=_dynamic_slice_lower,
    specs=slice_specs,
    data_movement="moved",
    axes_of=lambda ins, outs, params: [
        _full_axes(ins[0].shape, outs[0].shape),
        *[[None] * outs[0].ndim] * (len(ins) - 1),
    ],
    makes_no_nans=True,
    keeps_finite=True,
    bounds=_slice_bounds,
    uses_keys=FORWARDS,
)


def dynamic_slice(
    operand: Any, start_indices: Any, slice_sizes: Any, *, allow_negative_indices: Any = True
) -> Any:
    """Slice an array with static sizes and starts that may be traced.

    Args:
      operand: an array.
      start_indices: for each axis an integer scalar; or a vector of them.  They are clamped
        so that the slice is in bounds.
      slice_sizes: for each axis the size of the slice.
      allow_negative_indices: whether negative starts count from the end (one bool, or one
        per axis).  False omits the arithmetic.

    Returns:
      An array of shape `slice_sizes` and `operand`'s dtype.

    Raises:
      TypeError: sizes are too large, or starts are not integers of one dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> dynamic_slice(jnp.arange(6), (jnp.int32(2),), (3,))
      Array([2, 3, 4], dtype=int32)
    """
    shape = core.aval_of(operand).shape
    starts = starts_of(start_indices, shape, allow_negative_indices)
    sizes = shape_tuple(slice_sizes, "slice_sizes")
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


# --------------------------------------------------------------- dynamic_update_slice


def _update_type(x: Any, update: Any, *starts: Any) -> Any:
    same_dtype("dynamic_update_slice", [x, update])
    check_starts("dynamic_update_slice", starts)
    text = f"got update shape {update.shape} for operand shape {x.shape}."
    if len(update.shape) != len(x.shape):
        what = f"update must have the same rank as operand, {text}"
    elif any(m > n for m, n in zip(update.shape, x.shape, strict=True)):
        what = f"update shape must be smaller than operand shape, {text}"
    elif len(starts) != len(x.shape):
        what = f"needs {len(x.shape)} starts, got {len(starts)}."
    else:
        weak = builtins.all(a.weak_type for a in (x, update, *starts))
        return shaped(x.shape, x.dtype, weak)
    raise type_problem(
        f"dynamic_update_slice {what}",
        x,
        update,
        why="The update must fit into the operand.",
    )


def _update_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x, update, *starts), (x_t, update_t) = primals, tangents[:2]
    out = dynamic_update_slice_p.bind(x, update, *starts)
    if type(x_t) is Zero and type(update_t) is Zero:
        return out, Zero(core.aval_of(out).to_tangent())
    x_t, update_t = instantiate(x_t), instantiate(update_t)
    return out, dynamic_update_slice_p.bind(x_t, update_t, *starts)


def _update_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    aval = update.aval if is_linear(update) else core.aval_of(update)
    operand_ct = update_ct = None
    if is_linear(x):
        zeros = zero_array(shaped(aval.shape, aval.dtype))
        operand_ct = dynamic_update_slice_p.bind(ct, zeros, *starts)
    if is_linear(update):
        update_ct = dynamic_slice_p.bind(ct, *starts, slice_sizes=aval.shape)
    return [operand_ct, update_ct, *[None] * len(starts)]


def _update_batch(axis: Any, args: Any, dims: Any) -> Any:
    (x, update, *starts), (lane, update_lane, *start_dims) = args, dims
    ndim = len(starts)
    if not ndim:  # a scalar: the update replaces it
        return update, update_lane
    index, index_dim = _index_vector(axis, starts, start_dims)
    every = tuple(range(ndim))
    return scatter_p.batch(
        axis,
        (x, index, update),
        (lane, index_dim, update_lane),
        dimension_numbers=ScatterDimensionNumbers(every, (), every),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        update_jaxpr=None,
        update_consts=(),
    )


dynamic_update_slice_p = primitive(
    "dynamic_update_slice",
    type=_update_type,
    jvp=_update_jvp,
    transpose=_update_transpose,
    batch=_update_batch,
    lower=lambda ctx, *xs: ctx.op("dynamic_update_slice", ctx.avals_out[0], *xs),
    specs=lambda specs, *_: [specs[0]],
    data_movement="moved",
    axes_of=lambda ins, outs, params: [
        list(range(outs[0].ndim)),
        _full_axes(ins[1].shape, outs[0].shape),
        *[[None] * outs[0].ndim] * (len(ins) - 2),
    ],
    makes_no_nans=True,
    keeps_finite=True,
    bounds=lambda x, update, *starts, **_: _slice_bounds(
        x, *starts, slice_sizes=core.aval_of(update).shape
    ),
    uses_keys=KeyUse({1: True}, forwards={0: 0}),
)


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Any = True
) -> Any:
    """Return an array with a slice replaced; the starts may be traced.

    Args:
      operand: an array.
      update: the new values, of the same rank and dtype, no larger along any axis.
      start_indices, allow_negative_indices: as for `dynamic_slice`.

    Returns:
      An array of `operand`'s shape and dtype.

    Raises:
      TypeError: shapes or dtypes are incompatible, or starts are not integers of one dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> dynamic_update_slice(jnp.zeros(4), jnp.ones(2), (jnp.int32(1),))
      Array([0., 1., 1., 0.], dtype=float32)
    """
    shape = core.aval_of(operand).shape
    starts = starts_of(start_indices, shape, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


# ---------------------------------------------------------------------- along one axis


def _one_start(index: Any, axis: int, ndim: int) -> list[Any]:
    """Return starts that are 0 except along one axis, of that start's dtype."""
    dtype = dtypes.int_default()
    if type(index) is not int:
        dtype = core.aval_of(index).dtype
    starts: list[Any] = [np.zeros((), dtype)[()]] * ndim
    starts[axis] = index
    return starts


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Slice an array along one axis, with a start that may be traced.

    Args:
      operand: an array of any shape and dtype.
      start_index: an integer scalar, clamped so that the slice is in bounds.
      slice_size: the size of the result along the axis, an int.
      axis: the axis; a negative one counts from the end.
      allow_negative_indices: whether a negative start counts from the end.

    Returns:
      An array of `operand`'s dtype and shape, except for size `slice_size` along `axis`.

    Example:
      >>> import minijax.numpy as jnp
      >>> dynamic_slice_in_dim(jnp.arange(6), jnp.int32(-2), 2)
      Array([4, 5], dtype=int32)
    """
    sizes = list(core.aval_of(operand).shape)
    axis = canonical_axis(axis, len(sizes))
    starts = _one_start(start_index, axis, len(sizes))
    sizes[axis] = operator.index(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Return the elements at one index along an axis.

    Args:
      operand: an array of any shape and dtype.
      index: an integer scalar; out of bounds, the nearest index is used.
      axis: the axis; a negative one counts from the end.
      keepdims: whether to keep the axis, with size 1.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of `operand`'s dtype, without `axis` or with size 1 there.

    Example:
      >>> import minijax.numpy as jnp
      >>> dynamic_index_in_dim(jnp.arange(6), jnp.int32(4), keepdims=False)
      Array(4, dtype=int32)
    """
    axis = canonical_axis(axis, len(core.aval_of(operand).shape))
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return out if keepdims else squeeze(out, (axis,))


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Return an array with a slice along one axis replaced.

    Along other axes, the slice starts at 0.

    Args:
      operand: an array of any shape and dtype.
      update: the new values, of the same rank and dtype, no larger along any axis.
      start_index: an integer scalar, clamped so that the slice is in bounds.
      axis: the axis; a negative one counts from the end.
      allow_negative_indices: whether a negative start counts from the end.

    Returns:
      An array of `operand`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 1, axis=0)
      Array([0., 1., 1., 0.], dtype=float32)
    """
    ndim = len(core.aval_of(operand).shape)
    starts = _one_start(start_index, canonical_axis(axis, ndim), ndim)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Return an array with its elements at one index along an axis replaced.

    Args:
      operand: an array of any shape and dtype.
      update: an array of `operand`'s dtype and its shape without `axis`, or with size 1.
      index: an integer scalar; out of bounds, the nearest index is used.
      axis: the axis; a negative one counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of `operand`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> dynamic_update_index_in_dim(jnp.zeros(3), 1.0, jnp.int32(1), axis=0)
      Array([0., 1., 0.], dtype=float32)
    """
    ndim = len(core.aval_of(operand).shape)
    axis = canonical_axis(axis, ndim)
    if len(core.aval_of(update).shape) != ndim:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )
