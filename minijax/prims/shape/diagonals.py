"""Diagonals of matrices, and matrices with given diagonals, each other's transposes.

In row-major order, consecutive elements of a diagonal are one row and one element apart.  So
on one device a diagonal is a strided slice of the flattened matrix, and a matrix with a given
diagonal is a padding, never a gather.  If the compiler shards values, it would all-gather
matrices to flatten them.  In that case, elements off the diagonal are masked on each device.

Next: ../reduce/over_axes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import core
from ...passes.batch import lane_to_front
from ...symbolic.dims import SymbolicDim, max_dim, min_dim
from ...types import dtypes
from ...types.avals import shaped
from ..sharding_specs import batched_specs
from .concatenation import pad
from .creation import zero_array
from .shapes import primitive, reshape
from .slicing import slice, slice_in_dim


def _span(m: Any, n: Any, offset: int) -> tuple[int, int, Any]:
    """Return the first row and column of a diagonal, and its length."""
    row, column = max(0, -offset), max(0, offset)
    return row, column, max_dim(0, min_dim(m - row, n - column))


def diagonal_of(x: Any, offset: int = 0) -> Any:
    """Return a diagonal of the matrices in the last two axes: [..., m, n] -> [..., k]."""
    aval = core.aval_of(x)
    if any(isinstance(d, SymbolicDim) for d in aval.shape) or dtypes.is_extended(aval.dtype):
        return sliced(x, aval.shape, offset)
    return diagonal_p.bind(x, offset=offset)


def matrix_of_diagonal(v: Any, sizes: Sequence[int], offset: int = 0) -> Any:
    """Return matrices with the diagonal `v`, otherwise 0: [..., k] -> [..., m, n]."""
    aval = core.aval_of(v)
    if any(isinstance(d, SymbolicDim) for d in aval.shape) or dtypes.is_extended(aval.dtype):
        return _padded(v, sizes, offset)
    return matrix_of_diagonal_p.bind(v, sizes=tuple(sizes), offset=offset)


def sliced(
    x: Any, shape: Sequence[int], offset: int, reshape: Any = reshape, slice: Any = slice
) -> Any:
    """Return a diagonal by `reshape` and `slice`, for any kind of array with these two."""
    *batch_shape, m, n = shape
    row, column, length = _span(m, n, offset)
    start, stop = 0, 0
    if length:
        start = row * n + column
        stop = start + (length - 1) * (n + 1) + 1
    flat = reshape(x, (*batch_shape, m * n))
    first, ones = [0] * len(batch_shape), [1] * len(batch_shape)
    return slice(
        flat,
        start_indices=(*first, start),
        limit_indices=(*batch_shape, stop),
        strides=(*ones, n + 1),
    )


def _padded(v: Any, sizes: Sequence[int], offset: int) -> Any:
    *batch_shape, k = core.aval_of(v).shape
    m, n = sizes
    row, column, _ = _span(m, n, offset)
    start, used = row * n + column, k + (k - 1) * n
    if not k:
        start, used = 0, 0
    zero = zero_array(shaped((), core.aval_of(v).dtype))
    around = [*[(0, 0, 0)] * len(batch_shape), (start, m * n - start - used, n if k else 0)]
    return reshape(pad(v, zero, around), (*batch_shape, m, n))


def _emit_mask(ctx: Any, sizes: Sequence[int], offset: int, aval: Any) -> Any:
    """Emit a mask of the diagonal, in the shape of stacks of matrices."""
    index = shaped(tuple(sizes), dtypes.int32)
    row_index, column_index = (ctx.op("iota", index, iota_dimension=ctx.i64(i)) for i in (0, 1))
    row_index = ctx.op("add", index, row_index, ctx.constant(offset, index))
    mask = ctx.op(
        "compare",
        shaped(index.shape, dtypes.bool_),
        row_index,
        column_index,
        comparison_direction=ctx.parse("#stablehlo<comparison_direction EQ>"),
        compare_type=ctx.parse("#stablehlo<comparison_type SIGNED>"),
    )
    rank = len(aval.shape)
    if rank == 2:
        return mask
    wide = shaped(aval.shape, dtypes.bool_)
    at = ctx.i64s((rank - 2, rank - 1))
    return ctx.op("broadcast_in_dim", wide, mask, broadcast_dimensions=at)


def _additive_identity(dtype: Any) -> Any:
    """Return the value whose addition changes no bits: -0.0 for floats."""
    if dtypes.is_complex(dtype):
        return complex(-0.0, -0.0)
    return -0.0 if dtypes.is_inexact(dtype) else 0


# --------------------------------------------------------------------------- diagonals


def _diagonal_type(x: Any, *, offset: int) -> Any:
    *batch_shape, m, n = x.shape
    return x.update(shape=(*batch_shape, _span(m, n, offset)[2]))


def _diagonal_lower(ctx: Any, x: Any, *, offset: int) -> Any:
    (aval,) = ctx.avals_in
    *batch_shape, m, n = aval.shape
    row, column, length = _span(m, n, offset)
    if not length or not ctx.is_sharded_by_compiler:
        return ctx.fun(lambda x: sliced(x, aval.shape, offset), x)[0]
    if aval.dtype.itemsize == 1 and not dtypes.is_bool(aval.dtype):
        return _emit_narrow(ctx, x, aval, offset)
    nothing = ctx.constant(_additive_identity(aval.dtype), aval)
    masked = ctx.op("select", aval, _emit_mask(ctx, (m, n), offset, aval), x, nothing)
    # Sum over the longer axis: if it is sharded, devices send less.
    start, size, axis = (column, n, -2) if m > n else (row, m, -1)
    summed, cell = shaped((*batch_shape, size), aval.dtype), shaped((), aval.dtype)
    op = ctx.region_op(
        "stablehlo.reduce",
        [ctx.type(summed)],
        [masked, ctx.constant(_additive_identity(aval.dtype), cell)],
        dimensions=ctx.i64s((len(aval.shape) + axis,)),
    )
    name = "or" if dtypes.is_bool(aval.dtype) else "add"
    with ctx.block(op.regions[0], ctx.type(cell), ctx.type(cell)) as (a, b):
        ctx.return_(ctx.op(name, cell, a, b))
    take_diagonal = lambda y: slice_in_dim(y, start, start + length, axis=len(batch_shape))
    return ctx.fun(take_diagonal, op.results[0], avals=[summed])[0]


def _emit_narrow(ctx: Any, x: Any, aval: Any, offset: int) -> Any:
    """Emit a diagonal of small numbers in a wider dtype; 8-bit floats as bits."""
    (out,) = ctx.avals_out
    if dtypes.is_float(aval.dtype) and dtypes.bits_of(aval.dtype) == 8:
        bits = shaped(aval.shape, dtypes.uint8)
        x = ctx.op("bitcast_convert", bits, x)
        result = _emit_narrow_as(ctx, dtypes.int32, x, bits, offset)
        result = ctx.op("convert", shaped(out.shape, dtypes.uint8), result)
        return ctx.op("bitcast_convert", out, result)
    kind = dtypes.int32 if dtypes.is_integer(aval.dtype) else dtypes.bfloat16
    return ctx.op("convert", out, _emit_narrow_as(ctx, kind, x, aval, offset))


def _emit_narrow_as(ctx: Any, kind: Any, x: Any, aval: Any, offset: int) -> Any:
    wide = shaped(aval.shape, kind)
    x = ctx.op("convert", wide, x)
    return ctx.fun(lambda x: diagonal_of(x, offset), x, avals=[wide])[0]


def _diagonal_transpose(ct: Any, x: Any, *, offset: int) -> list[Any]:
    return [matrix_of_diagonal(ct, x.aval.shape[-2:], offset)]


def _diagonal_batch(axis: Any, args: Any, dims: Any, *, offset: int) -> Any:
    return diagonal_of(lane_to_front(args[0], axis, dims[0]), offset), 0


# -------------------------------------------------------------- matrices of a diagonal


def _matrix_type(v: Any, *, sizes: tuple[int, int], offset: int) -> Any:
    return v.update(shape=(*v.shape[:-1], *sizes))


def _matrix_lower(ctx: Any, v: Any, *, sizes: tuple[int, int], offset: int) -> Any:
    (v_aval,), (aval,) = ctx.avals_in, ctx.avals_out
    *batch_shape, k = v_aval.shape
    if not k or not ctx.is_sharded_by_compiler:
        return ctx.fun(lambda v: _padded(v, sizes, offset), v)[0]
    m, n = sizes
    row, column, _ = _span(m, n, offset)
    start, size, axis = (column, n, -1) if m > n else (row, m, -2)
    along = shaped((*batch_shape, size), aval.dtype)
    zero = zero_array(shaped((), aval.dtype))
    around = [*[(0, 0, 0)] * len(batch_shape), (start, size - start - k, 0)]
    v = ctx.fun(lambda v: pad(v, zero, around), v)[0]
    rank = len(aval.shape)
    at = ctx.i64s((*range(rank - 2), rank + axis))
    wide = ctx.op(
        "broadcast_in_dim", shaped(aval.shape, along.dtype), v, broadcast_dimensions=at
    )
    mask = _emit_mask(ctx, sizes, offset, aval)
    return ctx.op("select", aval, mask, wide, ctx.constant(0, aval))


def _matrix_transpose(ct: Any, v: Any, *, sizes: tuple[int, int], offset: int) -> list[Any]:
    return [diagonal_of(ct, offset)]


def _matrix_batch(
    axis: Any, args: Any, dims: Any, *, sizes: tuple[int, int], offset: int
) -> Any:
    return matrix_of_diagonal(lane_to_front(args[0], axis, dims[0]), sizes, offset), 0


diagonal_p = primitive(
    "diagonal",
    type=_diagonal_type,
    transpose=_diagonal_transpose,
    batch=_diagonal_batch,
    lower=_diagonal_lower,
    specs=batched_specs(2),
    data_movement="moved",
    makes_no_nans=True,
    keeps_finite=True,
)
matrix_of_diagonal_p = primitive(
    "matrix_of_diagonal",
    type=_matrix_type,
    transpose=_matrix_transpose,
    batch=_matrix_batch,
    lower=_matrix_lower,
    specs=batched_specs(1),
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
)
