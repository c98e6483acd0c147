"""Systems of equations: triangular and tridiagonal ones, and Cholesky's factor.

The derivative of a solution X of A X = B is A^-1 (dB - dA X).  The derivative of Cholesky's
factor is L phi(L^-1 dA L^-H), where phi takes the lower triangle and half of the diagonal
(I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527).

matrix.py contains the helpers.  Next: lu.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis.cost_model import copies
from ...base import errors
from ...ir import core
from ...ir.core import ByPlatform, Primitive, unsupported
from ...ir.facts import Facts
from ...passes import ad_util
from ...passes.ad_util import Zero, is_linear
from ...passes.batch import move_lane
from ...types import dtypes
from ...types.avals import shaped
from ..axis_dependence import backwards, mixed, onwards
from ..elementwise import FLOAT, check_kind, same_dtype, weak_if_operands
from ..gather.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from ..math.algebraic import add, div, mul, neg, sqrt, square, sub
from ..math.cast import cast, scalar
from ..sequential import emit_loop
from ..shape.concatenation import concatenate
from ..shape.creation import zero_array
from ..shape.shapes import expand_dims, move_axis, reshape, squeeze
from ..shape.slicing import slice_in_dim
from ..sharding_specs import batched_specs, matrices
from .lapack import call, char, nan_where_failed, routine
from .matrix import *

__all__ = (
    "triangular_solve_p",
    "triangular_solve",
    "cholesky_p",
    "cholesky",
    "cholesky_update_p",
    "cholesky_update",
    "tridiagonal_solve_p",
    "tridiagonal_solve",
)

_HALF = frozenset((dtypes.float16, dtypes.bfloat16, *dtypes.SMALL_FLOATS))

# -------------------------------------------------------------------- triangular_solve

triangular_solve_p = Primitive("triangular_solve")
triangular_solve_p.def_sharding(specs=matrices)


def _tri_axes(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[Any]:
    """Return `axes_of`: a row of the solution depends on the rows solved before it."""
    b, n = ins[1], ins[1].ndim
    left, lower = params["left_side"], params["lower"] != params["transpose_a"]
    axis = n - 2 if left else n - 1
    reach = onwards(b.shape[axis]) if lower == left else backwards()
    axes: list[Any] = list(range(n))
    axes[axis] = (axis, reach)
    return [mixed(n, (n - 2, n - 1)), axes]


@weak_if_operands
def _tri_abstract(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    check_matrix("triangular_solve", a, square=True, first=True)
    check_matrix("triangular_solve", b, position=1)
    dtype = same_dtype("triangular_solve", (a, b))
    common = b.shape[-2] if left_side else b.shape[-1]
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != common:
        raise errors.value_error(
            f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {b.shape}.",
            which=f"{a.str_short(True)}, {b.str_short(True)}, left_side={left_side}",
            why="Leading axes must be equal, and `a` must have the size of `b`'s solved axis.",
        )
    return shaped(b.shape, dtype)


def _tri_jvp(
    primals: Any,
    tangents: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    params = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": conjugate_a,
        "unit_diagonal": unit_diagonal,
    }
    (a, b), (da, db) = primals, tangents
    x = triangular_solve_p.bind(a, b, **params)
    right = db
    if type(da) is not Zero:
        if unit_diagonal:
            da = strictly_lower(da) if lower else strictly_upper(da)
        else:
            da = lower_triangle(da) if lower else upper_triangle(da)
        da = neg(transpose_matrix(da) if transpose_a else da)
        da = conjugate(da) if conjugate_a else da
        right = ad_util.add(db, matmul(da, x) if left_side else matmul(x, da))
    return x, triangular_solve_p.bind(a, right, **params)


def _tri_transpose(ct, a, b, *, transpose_a: bool, **params) -> list[Any]:
    back = triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)
    return [None, back]


def _tri_batch(axis, args, dims, *, left_side: bool, **params):
    (a, b), (i, j) = args, dims
    if i is not None or axis.lane_sharding is not None:
        a, b = (move_lane(x, axis, d, 0) for x, d in ((a, i), (b, j)))
        return triangular_solve_p.bind(a, b, left_side=left_side, **params), 0
    # All lanes share the matrix, and the lane axis is not sharded: the right-hand sides of
    # all lanes become columns (rows) of one.
    shape = [n for k, n in enumerate(shape_of(b)) if k != j]
    many = len(shape) - 1 if left_side else len(shape) - 2
    b = move_axis(b, j, many)
    merged = [*shape[:many], axis.size * shape[many], *shape[many + 1 :]]
    x = triangular_solve_p.bind(a, reshape(b, merged), left_side=left_side, **params)
    return reshape(x, [*shape[:many], axis.size, *shape[many:]]), many


def _tri_lower(
    ctx: Any,
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    (left, right), (out,) = ctx.avals_in, ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(0, out)
    if conjugate_a and not transpose_a:
        (a,) = ctx.fun(conjugate, a, avals=[left])
    adjoint = conjugate_a and transpose_a
    if ctx.platform == "cpu" and out.dtype not in _HALF:  # which LAPACK does not support
        side, triangle = ("L" if left_side else "R"), ("L" if lower else "U")
        trans = "C" if adjoint else "T" if transpose_a else "N"
        config = (
            f"side = {char(side)}, uplo = {char(triangle)}, trans_x = {char(trans)},"
            f" diag = {char('U' if unit_diagonal else 'N')}"
        )
        return call(
            ctx,
            routine("trsm", out.dtype),
            [a, b],
            [left, right],
            [out],
            config,
            batch=out.ndim - 2,
            aliases=[(1, 0)],
        )[0]
    how = "ADJOINT" if adjoint else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
    return ctx.op(
        "triangular_solve",
        out,
        a,
        b,
        left_side=ctx.bool(left_side),
        lower=ctx.bool(lower),
        unit_diagonal=ctx.bool(unit_diagonal),
        transpose_a=ctx.parse(f"#stablehlo<transpose {how}>"),
    )


triangular_solve_p.abstract = _tri_abstract
triangular_solve_p.jvp = _tri_jvp
triangular_solve_p.transpose = _tri_transpose
triangular_solve_p.batch = _tri_batch
triangular_solve_p.lower = _tri_lower
triangular_solve_p.facts = Facts(
    axes_of=_tri_axes,
    flops=lambda ins, outs, params: ins[0].shape[-1] * outs[0].size,
    workspace=copies(1),
)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    r"""Solve :math:`\mathrm{op}(a)\, x = b`, or :math:`x\, \mathrm{op}(a) = b`, for a
    triangular matrix a.

    Args:
      a: triangular matrices [..., n, n] of a float or complex dtype; the other triangle
        is not read.
      b: right-hand sides [..., n, m] if left_side, otherwise [..., m, n]; or one vector
        [..., n]; of the same dtype.
      left_side: whether op(a) is the left factor.
      lower: whether a is lower triangular, instead of upper.
      transpose_a, conjugate_a: whether op transposes, and conjugates.
      unit_diagonal: whether the diagonal is assumed to be ones, and is not read.

    Returns:
      x, an array of `b`'s shape and dtype.

    Raises:
      ValueError: shapes are incompatible.

    Example:
      >>> import minijax.numpy as jnp
      >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
      >>> triangular_solve(a, jnp.array([2.0, 3.0]), left_side=True, lower=True)
      Array([1., 2.], dtype=float32)
    """
    vector = len(shape_of(b)) == len(shape_of(a)) - 1
    if vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    complex_ = dtypes.is_complex(core.aval_of(a).dtype)
    x = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a and complex_),
        unit_diagonal=bool(unit_diagonal),
    )
    if vector:
        n = len(shape_of(x))
        x = squeeze(x, (n - 1 if left_side else n - 2,))
    return x


# ---------------------------------------------------------------------------- cholesky

cholesky_p = Primitive("cholesky")
cholesky_p.def_sharding(specs=matrices)


@weak_if_operands
def _cholesky_abstract(x: Any) -> Any:
    check_matrix("cholesky", x, square=True)
    return x


def _cholesky_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    factor = lower_triangle(cholesky_p.bind(x))
    if type(dx) is Zero:
        return factor, Zero(core.aval_of(factor).to_tangent())
    inner_change = triangular_solve(
        factor, dx, left_side=False, transpose_a=True, conjugate_a=True, lower=True
    )
    inner_change = triangular_solve(factor, inner_change, left_side=True, lower=True)
    shape = shape_of(inner_change)
    ones = identity(shape[-2:], core.aval_of(inner_change).dtype)
    halved = add(scalar(1, core.aval_of(inner_change).dtype), ones)
    lower = lower_triangle(inner_change)
    return factor, matmul(factor, div(lower, _broadcast_matrix(halved, shape)))


def _broadcast_matrix(x: Any, shape: Any) -> Any:
    """Return one matrix with axes of size 1 for all leading axes."""
    return x if len(shape) == 2 else expand_dims(x, tuple(range(len(shape) - 2)))


def _cholesky_lower(ctx: Any, x: Any) -> Any:
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(0, out)
    if ctx.platform == "tpu":
        return ctx.op("cholesky", out, x, lower=ctx.bool(True))
    if ctx.platform == "cpu":
        target, config = routine("potrf", out.dtype), f"uplo = {char('L')}"
    else:
        target, config = "cusolver_potrf_ffi", "lower = true"
    info = shaped(out.shape[:-2], dtypes.int32)
    factor, status = call(
        ctx, target, [x], [out], [out, info], config, batch=out.ndim - 2, aliases=[(0, 0)]
    )
    return nan_where_failed(ctx, status, info.shape, [factor], [out])[0]


cholesky_p.abstract = _cholesky_abstract
cholesky_p.jvp = _cholesky_jvp
batch_matrices(cholesky_p)
cholesky_p.lower = _cholesky_lower
cholesky_p.facts = Facts(flops=matrix_flops(1 / 3), workspace=copies(1))


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """Compute Cholesky's factor: lower triangular L, :math:`L L^H = x`, diagonal positive.

    Args:
      x: positive definite Hermitian matrices [..., n, n].
      symmetrize_input: whether to use (x + x^H) / 2.  Otherwise only the lower triangle
        of x is read, and derivatives assume that x is Hermitian.

    Returns:
      An array of `x`'s shape and dtype.  The lower triangle of a matrix that is not positive
      definite is NaN.

    Example:
      >>> import minijax.numpy as jnp
      >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    if symmetrize_input:
        x = symmetric(x, "cholesky")
    return lower_triangle(cholesky_p.bind(x))


def symmetric(x: Any, name: str) -> Any:
    """Return the Hermitian part of square matrices; integers become floats."""
    aval = core.aval_of(x)
    if not dtypes.is_inexact(aval.dtype):
        wide = dtypes.is_bool(aval.dtype)
        x = cast(x, dtypes.float_default() if wide else dtypes.to_inexact(aval.dtype))
        aval = core.aval_of(x)
    check_matrix(name, aval, square=True)
    return symmetrized(x)


# --------------------------------------------------------------------- cholesky_update

cholesky_update_p = Primitive("cholesky_update")


@weak_if_operands
def _update_abstract(r: Any, w: Any) -> Any:
    for i, (aval, rank) in enumerate(((r, 2), (w, 1))):
        check_kind("cholesky_update", aval, FLOAT, i, 2)
        if aval.ndim != rank:
            raise TypeError(
                f"Input {i} to cholesky_update must have a rank of exactly {rank}, but"
                f" got shape={aval.shape}"
            )
    if r.shape != (w.shape[0], w.shape[0]):
        raise ValueError(
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector"
            f" of the same size as input. Got shapes {r.shape} and {w.shape} instead"
        )
    return shaped(r.shape, same_dtype("cholesky_update", (r, w)))


def _update_row(k: Any, r: Any, w: Any) -> tuple[Any, Any]:
    """Rotate row k of the factor and the rest of the vector, so that w[k] becomes 0
    (G. Golub and C. Van Loan, "Matrix Computations", 6.5.4)."""
    row = dynamic_index_in_dim(r, k, 0, keepdims=False)
    a = dynamic_index_in_dim(row, k, 0, keepdims=False)
    b = dynamic_index_in_dim(w, k, 0, keepdims=False)
    length = sqrt(add(square(a), square(b)))
    c, s = div(a, length), div(b, length)
    rotated_row = add(mul(c, row), mul(s, w))
    w = sub(mul(c, w), mul(s, row))
    return dynamic_update_index_in_dim(r, rotated_row, k, 0), w


def _update_lower(ctx: Any, r: Any, w: Any) -> Any:
    matrix, vector = ctx.avals_in
    out = emit_loop(ctx, matrix.shape[0], _update_row, [r, w], [matrix, vector])
    return ctx.fun(upper_triangle, out[0], avals=[matrix])[0]


def _update_lower_cuda(ctx: Any, r: Any, w: Any) -> Any:
    avals = list(ctx.avals_in)
    return call(
        ctx,
        "cu_cholesky_update_ffi",
        [r, w],
        avals,
        avals,
        batch=0,
        aliases=[(0, 0), (1, 1)],
        row_major=True,
    )[0]


cholesky_update_p.abstract = _update_abstract
cholesky_update_p.def_sharding(specs=batched_specs(2, 1))
cholesky_update_p.jvp = unsupported(
    "Differentiation rule for 'cholesky_update' not implemented"
)
cholesky_update_p.batch = unsupported("Batching rule for 'cholesky_update' not implemented")
cholesky_update_p.lower = ByPlatform(_update_lower, cuda=_update_lower_cuda)
cholesky_update_p.facts = Facts(workspace=copies(1))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """Update Cholesky's factor: upper triangular S, :math:`S^T S = R^T R + w w^T`.

    Args:
      r_matrix: R, an upper triangular matrix [n, n] of a float dtype.
      w_vector: w, a vector [n] of the same dtype.

    Returns:
      An array of `r_matrix`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> cholesky_update(jnp.array([[3.0]]), jnp.array([4.0]))
      Array([[5.]], dtype=float32)

    Source: G. Golub, C. Van Loan, Matrix Computations, 6.5.4: by Givens rotations.
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


# ------------------------------------------------------------------- tridiagonal_solve

tridiagonal_solve_p = Primitive("tridiagonal_solve")


@weak_if_operands
def _tridiagonal_abstract(dl, d, du, b, *, perturb_singular: bool):
    name = "tridiagonal_solve"
    dtype = same_dtype(name, (dl, d, du, b))
    check_matrix(name, b, position=3)
    if not dl.shape == d.shape == du.shape:
        raise errors.type_error(
            f"{name} requires that all diagonal arguments have the same shape.",
            which=", ".join(x.str_short(True) for x in (dl, d, du)),
            why="dl[0] and the last element of du exist, but are not read.",
        )
    if d.shape != b.shape[:-1]:
        raise TypeError(
            f"{name} requires that the leading axes of b equal those of the diagonals,"
            f" got {b.shape} and {d.shape}."
        )
    return shaped(b.shape, dtype)


def _times(band: Any, x: Any) -> Any:
    """Multiply each row of x by an element of a diagonal."""
    return mul(expand_dims(band, (-1,)), x)


def _shifted(x: Any, axis: int, by: int) -> Any:
    """Shift x by one position along an axis, and fill with zero."""
    shape = shape_of(x)
    n = shape[axis]
    hole_shape = (*shape[:axis], 1, *shape[axis + 1 :])
    hole = zero_array(shaped(hole_shape, core.aval_of(x).dtype))
    if by > 0:
        return concatenate([hole, slice_in_dim(x, 0, n - 1, axis=axis)], axis)
    return concatenate([slice_in_dim(x, 1, n, axis=axis), hole], axis)


def _tridiagonal_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    dl, d, du, _ = primals
    x = tridiagonal_solve_p.bind(*primals, **params)
    lower_t, main_t, upper_t, right = tangents
    axis = len(shape_of(x)) - 2
    for t, neighbour in ((lower_t, 1), (main_t, 0), (upper_t, -1)):
        if type(t) is not Zero:
            moved = _shifted(x, axis, neighbour) if neighbour else x
            right = ad_util.add(right, neg(_times(t, moved)))
    if type(right) is Zero:
        return x, Zero(core.aval_of(x).to_tangent())
    return x, tridiagonal_solve_p.bind(dl, d, du, right, **params)


def _tridiagonal_transpose(ct, dl, d, du, b, **params) -> list[Any]:
    assert is_linear(b)
    axis = len(shape_of(d)) - 1
    back = tridiagonal_solve_p.bind(
        _shifted(du, axis, 1), d, _shifted(dl, axis, -1), ct, **params
    )
    return [None, None, None, back]


def _tridiagonal_lower(ctx: Any, *operands: Any, perturb_singular: bool) -> Any:
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(0, out)
    avals, batch = list(ctx.avals_in), out.ndim - 2
    if perturb_singular:
        prefix = "" if ctx.platform == "cpu" else "cu_"
        suffix = "_ffi" if ctx.platform == "cpu" else ""
        target = f"{prefix}tridiagonal_solve_perturbed{suffix}"
        return call(ctx, target, operands, avals, [out], batch=batch, aliases=[])[0]
    info = shaped(out.shape[:-2], dtypes.int32)
    results = call(
        ctx,
        routine("gtsv", out.dtype),
        operands,
        avals,
        [*avals, info],
        batch=batch,
        aliases=[(i, i) for i in range(4)],
    )
    return nan_where_failed(ctx, results[4], info.shape, [results[3]], [out])[0]


def _tridiagonal_lower_cuda(ctx: Any, *operands: Any, perturb_singular: bool) -> Any:
    (out,) = ctx.avals_out
    if perturb_singular or 0 in out.shape:
        return _tridiagonal_lower(ctx, *operands, perturb_singular=perturb_singular)
    if out.shape[-2] < 3:  # cuSPARSE does not support smaller systems
        return _tridiagonal_lower_plain(ctx, *operands, perturb_singular=False)
    return call(
        ctx,
        "cusparse_gtsv2_ffi",
        operands,
        list(ctx.avals_in),
        [out],
        batch=out.ndim - 2,
        aliases=[(3, 0)],
    )[0]


def _tridiagonal_lower_plain(ctx: Any, *operands: Any, perturb_singular: bool) -> Any:
    """Lower to elimination without pivots, row by row (L. Thomas, 1949)."""
    if perturb_singular:
        raise NotImplementedError(
            f"tridiagonal_solve(perturb_singular=True) is not implemented on {ctx.platform}."
        )
    (out,) = ctx.avals_out
    n = out.shape[-2]
    down = [shaped(a.shape, a.dtype) for a in ctx.avals_in]

    def at(x: Any, k: Any, axis: int) -> Any:
        return dynamic_index_in_dim(x, k, axis, keepdims=False)

    def put(x: Any, row: Any, k: Any, axis: int) -> Any:
        return dynamic_update_index_in_dim(x, row, k, axis)

    band_axis, row_axis = out.ndim - 2, out.ndim - 2

    def eliminate(i: Any, dl: Any, d: Any, du: Any, b: Any) -> tuple[Any, ...]:
        k = add(i, np.int32(1))
        factor = div(at(dl, k, band_axis), at(d, i, band_axis))
        d = put(d, sub(at(d, k, band_axis), mul(factor, at(du, i, band_axis))), k, band_axis)
        change = mul(expand_dims(factor, (-1,)), at(b, i, row_axis))
        return dl, d, du, put(b, sub(at(b, k, row_axis), change), k, row_axis)

    def substitute(i: Any, dl: Any, d: Any, du: Any, b: Any) -> tuple[Any, ...]:
        k = sub(np.int32(n - 2), i)
        after = at(b, add(k, np.int32(1)), row_axis)
        right = sub(at(b, k, row_axis), mul(expand_dims(at(du, k, band_axis), (-1,)), after))
        x = div(right, expand_dims(at(d, k, band_axis), (-1,)))
        return dl, d, du, put(b, x, k, row_axis)

    def last(dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
        k = np.int32(n - 1)
        x = div(at(b, k, row_axis), expand_dims(at(d, k, band_axis), (-1,)))
        return [dl, d, du, put(b, x, k, row_axis)]

    state = emit_loop(ctx, n - 1, eliminate, list(operands), down)
    state = ctx.fun(last, *state, avals=down)
    return emit_loop(ctx, n - 1, substitute, state, down)[3]


tridiagonal_solve_p.abstract = _tridiagonal_abstract
tridiagonal_solve_p.jvp = _tridiagonal_jvp
tridiagonal_solve_p.transpose = _tridiagonal_transpose
tridiagonal_solve_p.def_sharding(specs=batched_specs(1, 1, 1, 2))
batch_matrices(tridiagonal_solve_p, vectors=True)
tridiagonal_solve_p.lower = ByPlatform(
    _tridiagonal_lower_plain, cpu=_tridiagonal_lower, cuda=_tridiagonal_lower_cuda
)
tridiagonal_solve_p.facts = Facts(
    axes_of=lambda ins, outs, params: [
        *[mixed(ins[3].ndim, (ins[3].ndim - 2, ins[3].ndim - 1))] * 3,
        mixed(ins[3].ndim, (ins[3].ndim - 2,)),
    ],
    workspace=copies(1),
)


def tridiagonal_solve(
    dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False
) -> Any:
    """Solve :math:`A x = b` for tridiagonal matrices A.

    Args:
      dl: the diagonals below the main one, [..., n]: dl[i] = A[i, i - 1]; dl[0] is not
        read.
      d: the main diagonals, [..., n].
      du: the diagonals above, [..., n]: du[i] = A[i, i + 1]; du[n - 1] is not read.
      b: right-hand sides [..., n, m].
      perturb_singular: whether zero pivots are replaced by tiny ones.

    Returns:
      The solutions x, an array of `b`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> one, b = jnp.ones(3), jnp.array([[3.0], [4.0], [3.0]])
      >>> tridiagonal_solve(one, 2 * one, one, b)[:, 0]
      Array([1., 1., 1.], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))
