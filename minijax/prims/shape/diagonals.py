"""Diagonals of matrices, and matrices with given ones; each the transpose of the other.

Row-major, the next element of a diagonal comes after a row and one element more.  So on
one device a diagonal is a strided slice of the flattened matrix, and a matrix with a given
diagonal is a padding, never a gather.  A compiler that shards values would gather whole
matrices to flatten them.  There, elements off the diagonal are masked, each on its device.

Next: ../reduce/over_axes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import core
from ...passes.batch import lane_to_front
from ...types import dtypes
from ...types.avals import shaped
from ...types.symbolic_dims import SymbolicDim, max_dim, min_dim
from ..elementwise import def_makes_no_nans, keep_finite, keep_nans, move_elements
from ..explicit_sharding_rules import batched_sharding_rule
from .concatenation import pad
from .creation import zero_array
from .shapes import primitive, reshape
from .slicing import slice, slice_in_dim


def _span(m: Any, n: Any, offset: int) -> tuple[int, int, Any]:
    """Return the row and the column where a diagonal begins, and its length."""
    row, column = max(0, -offset), max(0, offset)
    return row, column, max_dim(0, min_dim(m - row, n - column))


def diagonal_of(x: Any, offset: int = 0) -> Any:
    """Return a diagonal of each of the matrices in the last two axes: [..., m, n] -> [..., k]."""
    aval = core.aval_of(x)
    if any(isinstance(d, SymbolicDim) for d in aval.shape) or dtypes.is_extended(aval.dtype):
        return sliced(x, aval.shape, offset)
    return diagonal_p.bind(x, offset=offset)


def matrix_of_diagonal(v: Any, sizes: Sequence[int], offset: int = 0) -> Any:
    """Matrices of these sizes that are 0 off a diagonal: [..., k] -> [..., m, n]."""
    aval = core.aval_of(v)
    if any(isinstance(d, SymbolicDim) for d in aval.shape) or dtypes.is_extended(aval.dtype):
        return _padded(v, sizes, offset)
    return matrix_of_diagonal_p.bind(v, sizes=tuple(sizes), offset=offset)


def sliced(
    x: Any, shape: Sequence[int], offset: int, reshape: Any = reshape, slice: Any = slice
) -> Any:
    """Return a diagonal by two operations, of any arrays of this shape that have these."""
    *lead, m, n = shape
    row, column, length = _span(m, n, offset)
    start, stop = 0, 0
    if length:
        start = row * n + column
        stop = start + (length - 1) * (n + 1) + 1
    flat = reshape(x, (*lead, m * n))
    first, ones = [0] * len(lead), [1] * len(lead)
    return slice(
        flat, start_indices=(*first, start), limit_indices=(*lead, stop), strides=(*ones, n + 1)
    )


def _padded(v: Any, sizes: Sequence[int], offset: int) -> Any:
    *lead, k = core.aval_of(v).shape
    m, n = sizes
    row, column, _ = _span(m, n, offset)
    start, used = row * n + column, k + (k - 1) * n
    if not k:
        start, used = 0, 0
    zero = zero_array(shaped((), core.aval_of(v).dtype))
    around = [*[(0, 0, 0)] * len(lead), (start, m * n - start - used, n if k else 0)]
    return reshape(pad(v, zero, around), (*lead, m, n))


def _emit_mask(ctx: Any, sizes: Sequence[int], offset: int, aval: Any) -> Any:
    """Return where the diagonal is, in the shape of stacks of matrices."""
    index = shaped(tuple(sizes), dtypes.int32)
    rows, columns = (ctx.op("iota", index, iota_dimension=ctx.i64(i)) for i in (0, 1))
    rows = ctx.op("add", index, rows, ctx.constant(offset, index))
    mask = ctx.op(
        "compare",
        shaped(index.shape, dtypes.bool_),
        rows,
        columns,
        comparison_direction=ctx.parse("#stablehlo<comparison_direction EQ>"),
        compare_type=ctx.parse("#stablehlo<comparison_type SIGNED>"),
    )
    rank = len(aval.shape)
    if rank == 2:
        return mask
    wide = shaped(aval.shape, dtypes.bool_)
    at = ctx.i64s((rank - 2, rank - 1))
    return ctx.op("broadcast_in_dim", wide, mask, broadcast_dimensions=at)


def _nothing(dtype: Any) -> Any:
    """What added to anything leaves its bits: -0.0 for floats."""
    if dtypes.is_complex(dtype):
        return complex(-0.0, -0.0)
    return -0.0 if dtypes.is_inexact(dtype) else 0


# --------------------------------------------------------------------------- diagonals


def _diagonal_type(x: Any, *, offset: int) -> Any:
    *lead, m, n = x.shape
    return x.update(shape=(*lead, _span(m, n, offset)[2]))


def _diagonal_lower(ctx: Any, x: Any, *, offset: int) -> Any:
    (aval,) = ctx.avals_in
    *lead, m, n = aval.shape
    row, column, length = _span(m, n, offset)
    if not length or not ctx.is_sharded_by_compiler:
        return ctx.fun(lambda x: sliced(x, aval.shape, offset), x)[0]
    if aval.dtype.itemsize == 1 and not dtypes.is_bool(aval.dtype):
        return _emit_narrow(ctx, x, aval, offset)
    nothing = ctx.constant(_nothing(aval.dtype), aval)
    kept = ctx.op("select", aval, _emit_mask(ctx, (m, n), offset, aval), x, nothing)
    # The longer axis is summed over: less is sent, if it is sharded.
    start, size, axis = (column, n, -2) if m > n else (row, m, -1)
    summed, cell = shaped((*lead, size), aval.dtype), shaped((), aval.dtype)
    op = ctx.region_op(
        "stablehlo.reduce",
        [ctx.type(summed)],
        [kept, ctx.constant(_nothing(aval.dtype), cell)],
        dimensions=ctx.i64s((len(aval.shape) + axis,)),
    )
    name = "or" if dtypes.is_bool(aval.dtype) else "add"
    with ctx.block(op.regions[0], ctx.type(cell), ctx.type(cell)) as (a, b):
        ctx.return_(ctx.op(name, cell, a, b))
    cut = lambda y: slice_in_dim(y, start, start + length, axis=len(lead))
    return ctx.fun(cut, op.results[0], avals=[summed])[0]


def _emit_narrow(ctx: Any, x: Any, aval: Any, offset: int) -> Any:
    """Return a diagonal of numbers of a byte or less: as integers, those of floats of a byte."""
    (out,) = ctx.avals_out
    if dtypes.is_float(aval.dtype) and dtypes.bits_of(aval.dtype) == 8:
        bits = shaped(aval.shape, dtypes.uint8)
        x = ctx.op("bitcast_convert", bits, x)
        found = _emit_narrow_as(ctx, dtypes.int32, x, bits, offset)
        found = ctx.op("convert", shaped(out.shape, dtypes.uint8), found)
        return ctx.op("bitcast_convert", out, found)
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
    (given,), (aval,) = ctx.avals_in, ctx.avals_out
    *lead, k = given.shape
    if not k or not ctx.is_sharded_by_compiler:
        return ctx.fun(lambda v: _padded(v, sizes, offset), v)[0]
    m, n = sizes
    row, column, _ = _span(m, n, offset)
    start, size, axis = (column, n, -1) if m > n else (row, m, -2)
    along = shaped((*lead, size), aval.dtype)
    zero = zero_array(shaped((), aval.dtype))
    around = [*[(0, 0, 0)] * len(lead), (start, size - start - k, 0)]
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
    sharding_rule=batched_sharding_rule(2),
)
matrix_of_diagonal_p = primitive(
    "matrix_of_diagonal",
    type=_matrix_type,
    transpose=_matrix_transpose,
    batch=_matrix_batch,
    lower=_matrix_lower,
    sharding_rule=batched_sharding_rule(1),
)

def_makes_no_nans(diagonal_p, matrix_of_diagonal_p)
keep_nans(matrix_of_diagonal_p)
keep_finite(diagonal_p, matrix_of_diagonal_p)
move_elements(diagonal_p, matrix_of_diagonal_p)
