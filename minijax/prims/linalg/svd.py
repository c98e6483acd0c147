"""Singular values: svd, and the polar decomposition qdwh, which svd uses on TPUs.

Derivatives: with P = U^H dA V, the tangent of the singular values is the real diagonal of
P.  U and V are multiplied by skew-Hermitian matrices, and outside of their range dA is added
(J. Townsend, "Differentiating the singular value decomposition", 2016; Z.-Q. Wan and
S.-X. Zhang, "Automatic differentiation for complex valued SVD", arXiv:1909.02659).

The polar factor is computed by dynamically weighted Halley iterations (Y. Nakatsukasa, Z.
Bai and F. Gygi, "Optimizing Halley's iteration for computing the matrix polar
decomposition", SIAM J. Matrix Anal. Appl. 31, 2010).  Their weights depend only on a bound of
the smallest singular value, so the number of iterations is known while tracing.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import ml_dtypes
import numpy as np

from ...analysis.cost_model import copies
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...passes.ad_util import Zero
from ...symbolic.dims import min_dim
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import filled, weak_if_operands
from ..math.algebraic import add, div, mul, neg, rsqrt, sqrt, square, sub
from ..math.cast import cast, scalar
from ..math.logic import bitwise_and, eq, gt, lt, select
from ..math.order import abs, max
from ..reduce.over_axes import reduce_max, reduce_sum
from ..shape.concatenation import concatenate
from ..shape.creation import broadcasted_iota
from ..shape.shapes import broadcast_in_dim, rev
from ..shape.slicing import slice_in_dim
from ..sharding_specs import matrices
from .lapack import call, char, flag, nan_where_failed, routine
from .matrix import *
from .qr import qr
from .solve import cholesky_p, triangular_solve
from .spectral import aligned_basis_p, check_subset, eigh_p, over_gaps_p, undefined

__all__ = ("SvdAlgorithm", "svd_p", "svd", "qdwh")


class SvdAlgorithm(enum.Enum):
    """Algorithms of `svd`: DEFAULT, QR (CPU, GPU), JACOBI (GPU), POLAR (GPU, TPU).

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> lax.linalg.svd(jnp.eye(2), algorithm=lax.linalg.SvdAlgorithm.QR, compute_uv=False)
    Array([1., 1.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


# ---------------------------------------------------------------------------------- svd

svd_p = Primitive("svd", multiple_results=True)
svd_p.def_sharding(specs=matrices)


@weak_if_operands
def _svd_abstract(
    x, *, full_matrices: bool, compute_uv: bool, subset_by_index=None, algorithm=None
) -> list[Any]:
    check_matrix("svd", x)
    m, n = x.shape[-2:]
    batch_shape, k = x.shape[:-2], min_dim(m, n)
    if subset_by_index is not None:
        if full_matrices and compute_uv:
            raise ValueError("full_matrices and subset_by_index cannot both be set")
        k = subset_by_index[1] - subset_by_index[0]
    values = shaped((*batch_shape, k), dtypes.real_of(x.dtype))
    if not compute_uv:
        return [values]
    u_columns, vt_rows = (m, n) if full_matrices else (k, k)
    return [
        values,
        shaped((*batch_shape, m, u_columns), x.dtype),
        shaped((*batch_shape, vt_rows, n), x.dtype),
    ]


def _svd_jvp(
    primals: Any,
    tangents: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> Any:
    (a,), (da,) = primals, tangents
    check_matrix("svd", core.aval_of(a))
    m, n = shape_of(a)[-2:]
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            "Singular value decomposition JVP not implemented for full matrices.\nWhy:"
            " the further singular vectors are not unique.\nTry: full_matrices=False"
        )
    s, u, vt = svd_frame_p.bind(a, algorithm=algorithm, last=False)
    outs = [s, u, vt] if compute_uv else [s]
    out_ts = _svd_tangents(s, u, vt, da, compute_uv)
    if subset_by_index is None:
        return outs, out_ts
    start, end = subset_by_index
    return [_subset(x, start, end) for x in (outs, out_ts)]


def _subset(values: list[Any], start: int, end: int) -> list[Any]:
    """Return a range of the singular values, and their vectors."""
    axes = (-1, -1, -2)
    return [
        slice_in_dim(x, start, end, axis=axis) for x, axis in zip(values, axes, strict=False)
    ]


def _svd_tangents(
    s: Any, u: Any, vt: Any, da: Any, compute_uv: bool, rotated: Any = None
) -> list[Any]:
    m, n, k = shape_of(u)[-2], shape_of(vt)[-1], shape_of(s)[-1]
    v = adjoint(vt)
    if rotated is None:
        rotated = inner(u, matmul(da, v))
    ds = real_part(diagonal_of(rotated))
    if not compute_uv:
        return [ds]
    dtype = core.aval_of(rotated).dtype
    # The Hermitian part rotates both bases together, the rest one relative to the other.
    common = over_gaps_p.bind(symmetrized(rotated), s)
    half = mul(scalar(0.5, dtype), sub(rotated, adjoint(rotated)))
    relative = mul(half, _inverse_sums(s, dtype))
    du, dv = matmul(u, add(common, relative)), matmul(v, sub(common, relative))
    safe = _safe_inverse(cast(s, dtype))
    if m > k:
        outside = columns(matmul(da, v), safe, mul)
        du = add(du, sub(outside, matmul(u, inner(u, outside))))
    if n > k:
        outside = columns(matmul(adjoint(da), u), safe, mul)
        dv = add(dv, sub(outside, matmul(v, inner(v, outside))))
    return [ds, du, adjoint(dv)]


def _inverse_sums(s: Any, dtype: Any) -> Any:
    """Return 1 / (s_i + s_j), or 0 where both are 0."""
    shape = (*shape_of(s), shape_of(s)[-1])
    batch_axes = tuple(range(len(shape) - 2))
    across = broadcast_in_dim(s, shape, (*batch_axes, len(shape) - 1))
    down = broadcast_in_dim(s, shape, (*batch_axes, len(shape) - 2))
    return _safe_inverse(cast(add(across, down), dtype))


def _safe_inverse(x: Any) -> Any:
    """Return 1 / x, or 0 where x is 0."""
    is_zero = eq(x, filled(x, 0))
    return select(is_zero, filled(x, 0), div(filled(x, 1), select(is_zero, filled(x, 1), x)))


# ----------------------------------------------------------------------------- lowering


def _svd_lower(
    ctx, x, *, full_matrices: bool, compute_uv: bool, subset_by_index=None, algorithm=None
) -> list[Any]:
    (aval,) = ctx.avals_in
    avals = _svd_abstract(
        aval,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=None,
        algorithm=algorithm,
    )
    if 0 in aval.shape:
        values = _empty_svd(ctx, avals)
    else:
        emit = {"cpu": _emit_lapack, "cuda": _emit_cusolver, "tpu": _emit_polar}
        values = emit[ctx.platform](ctx, x, aval, avals, full_matrices, compute_uv, algorithm)
    if subset_by_index is None:
        return values
    start, end = subset_by_index
    return ctx.fun(lambda *xs: _subset(list(xs), start, end), *values, avals=avals)


def _empty_svd(ctx: Any, avals: list[Any]) -> list[Any]:
    """Emit the SVD of an empty matrix: no singular values, and identities for U and V^H."""

    def empty() -> list[Any]:
        out = []
        for a in avals[1:]:
            eye = identity(a.shape[-2:], a.dtype)
            batch_ndim = len(a.shape) - 2
            out.append(broadcast_in_dim(eye, a.shape, (batch_ndim, batch_ndim + 1)))
        return out

    return [ctx.constant(0, avals[0]), *ctx.fun(empty, avals=[])]


def _checked(ctx: Any, status: Any, info: Any, values: Any, avals: Any) -> list[Any]:
    return nan_where_failed(ctx, status, info.shape, values, avals)


def _emit_lapack(
    ctx, x, aval, avals: list[Any], full: bool, compute_uv: bool, algorithm
) -> list[Any]:
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError(
            "The SVD Jacobi and Polar algorithms are not implemented on CPU."
        )
    name = "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"
    mode = "N" if not compute_uv else "A" if full else "S"
    info = shaped(aval.shape[:-2], dtypes.int32)
    vectors = avals[1:] or _thin(aval)
    _, s, u, vt, status = call(
        ctx,
        routine(name, aval.dtype),
        [x],
        [aval],
        [aval, avals[0], *vectors, info],
        f"mode = {char(mode)}",
        batch=aval.ndim - 2,
        aliases=[(0, 0)],
    )
    return _checked(ctx, status, info, [s, u, vt][: len(avals)], avals)


def _thin(aval: Any) -> list[Any]:
    """Return the types of thin U and V^H."""
    *batch_shape, m, n = aval.shape
    k = min_dim(m, n)
    return [shaped((*batch_shape, m, k), aval.dtype), shaped((*batch_shape, k, n), aval.dtype)]


_JACOBI_LIMIT = 1024  # for larger matrices, cuSOLVER's QR algorithm is faster
_BATCHED_LIMIT = 32  # up to it, gesvdj is batched and has no thin form


def _emit_cusolver(
    ctx, x, aval, avals: list[Any], full: bool, compute_uv: bool, algorithm
) -> list[Any]:
    kinds = SvdAlgorithm
    *batch_shape, m, n = aval.shape
    if algorithm is kinds.DIVIDE_AND_CONQUER:
        raise NotImplementedError(
            "SvdAlgorithm.DIVIDE_AND_CONQUER is not supported on NVIDIA GPUs."
        )
    if algorithm in (None, kinds.DEFAULT):
        small = m <= _JACOBI_LIMIT and n <= _JACOBI_LIMIT
        algorithm = kinds.JACOBI if small else kinds.QR
    if algorithm is kinds.QR:
        return _emit_gesvd(ctx, x, aval, avals, full, compute_uv)
    batched = m <= _BATCHED_LIMIT and n <= _BATCHED_LIMIT
    wide = full or (algorithm is kinds.JACOBI and batched)
    k = min_dim(m, n)
    info = shaped(tuple(batch_shape), dtypes.int32)
    u = shaped((*batch_shape, m, m if wide else k), aval.dtype)
    v = shaped((*batch_shape, n, n if wide else k), aval.dtype)
    name = "gesvdj" if algorithm is kinds.JACOBI else "gesvdp"
    _, s, left, right, status = call(
        ctx,
        f"cusolver_{name}_ffi",
        [x],
        [aval],
        [aval, avals[0], u, v, info],
        f"compute_uv = {flag(compute_uv)}, full_matrices = {flag(wide)}",
        batch=aval.ndim - 2,
        aliases=[(0, 0)],
    )
    if not compute_uv:
        return _checked(ctx, status, info, [s], avals)

    def finish(left: Any, right: Any) -> list[Any]:
        right = adjoint(right)
        if wide and not full:
            left = slice_in_dim(left, 0, k, axis=-1)
            right = slice_in_dim(right, 0, k, axis=-2)
        return [left, right]

    vectors = ctx.fun(finish, left, right, avals=[u, v])
    return _checked(ctx, status, info, [s, *vectors], avals)


def _emit_gesvd(
    ctx: Any, x: Any, aval: Any, avals: list[Any], full: bool, compute_uv: bool
) -> list[Any]:
    """Emit cuSOLVER's gesvd, which needs at least as many rows as columns.

    A wide matrix is passed row-major, which is its transpose.  Then U and V^H are transposed
    too, and exchange places."""
    m, n = aval.shape[-2:]
    info = shaped(aval.shape[:-2], dtypes.int32)
    transposed = m < n
    none = shaped((), aval.dtype)
    vectors = avals[1:][:: -1 if transposed else 1] or [none, none]
    _, s, first, second, status = call(
        ctx,
        "cusolver_gesvd_ffi",
        [x],
        [aval],
        [aval, avals[0], *vectors, info],
        f"compute_uv = {flag(compute_uv)}, full_matrices = {flag(full)},"
        f" transposed = {flag(transposed)}",
        batch=aval.ndim - 2,
        aliases=[(0, 0)],
        row_major=transposed,
    )
    vectors_out = [second, first] if transposed else [first, second]
    return _checked(ctx, status, info, [s, *vectors_out][: len(avals)], avals)


def _emit_polar(
    ctx, x, aval, avals: list[Any], full: bool, compute_uv: bool, algorithm
) -> list[Any]:
    kinds = SvdAlgorithm
    if algorithm not in (None, kinds.DEFAULT, kinds.POLAR):
        raise NotImplementedError(
            "Only the POLAR (which is also DEFAULT on TPU) SVD algorithm is supported on TPU."
        )
    return ctx.fun(lambda a: polar_svd(a, full, compute_uv), x, avals=[aval])


def polar_svd(a: Any, full: bool, compute_uv: bool) -> list[Any]:
    """Return the SVD from the polar decomposition A = Q H and the eigenvectors of H (N.
    Higham and P. Papadimitriou, "A parallel algorithm for computing the polar
    decomposition", 1994)."""
    m, n = shape_of(a)[-2:]
    if m < n:
        s, *vectors = polar_svd(adjoint(a), full, compute_uv)
        return [s, *(adjoint(v) for v in reversed(vectors))]
    square = a
    basis = None
    if m > n:  # work on the square factor R
        basis, square = qr(a, full_matrices=full)
        square = slice_in_dim(square, 0, n, axis=-2)
    u, h = polar(square)
    v, w = eigh_p.bind(
        h, lower=True, sort_eigenvalues=True, subset_by_index=None, algorithm=None
    )
    axis = len(shape_of(w)) - 1
    s = max(rev(w, (axis,)), filled(w, 0))
    if not compute_uv:
        return [s]
    v = rev(v, (len(shape_of(v)) - 1,))
    u = matmul(u, v)
    if basis is not None:
        inside = matmul(slice_in_dim(basis, 0, n, axis=-1), u)
        rest = slice_in_dim(basis, n, shape_of(basis)[-1], axis=-1)
        u = concatenate([inside, rest], len(shape_of(inside)) - 1)
    return [s, u, adjoint(v)]


svd_p.abstract = _svd_abstract
svd_p.jvp = _svd_jvp
batch_matrices(svd_p)
svd_p.lower = _svd_lower
svd_p.facts = Facts(flops=matrix_flops(6.0, 20.0), workspace=copies(2))


# `svd` inside its derivatives, as `eigh_frame` is `eigh` inside its derivatives.
svd_frame_p = Primitive("svd_frame", multiple_results=True)
svd_frame_p.def_sharding(specs=matrices)
_THIN = {"full_matrices": False, "compute_uv": True, "subset_by_index": None}
svd_frame_p.abstract = lambda x, *, last, algorithm: _svd_abstract(
    x, algorithm=algorithm, **_THIN
)


def _frame_jvp(
    primals: Any, tangents: Any, *, last: bool, algorithm: Any, turn: bool = True
) -> Any:
    (a,), (da,) = primals, tangents
    s, u, vt = svd_frame_p.bind(a, algorithm=algorithm, last=True)
    if type(da) is Zero:
        return [s, u, vt], [Zero(core.aval_of(x).to_tangent()) for x in (s, u, vt)]
    rotated = inner(u, matmul(da, adjoint(vt)))
    if last:
        ds, du, dvt = _svd_tangents(s, u, vt, da, True, rotated)
        return [s, u, vt], [ds, add(du, undefined(s, du)), add(dvt, undefined(s, dvt))]
    if turn:
        basis = aligned_basis_p.bind(neg(s), neg(rotated))
        u, vt = matmul(u, basis), matmul(adjoint(basis), vt)
        rotated = matmul(adjoint(basis), matmul(rotated, basis))
    return [s, u, vt], _svd_tangents(s, u, vt, da, True, rotated)


svd_frame_p.jvp = _frame_jvp
svd_frame_p.linearize = linearize_in_given_basis(_frame_jvp)
batch_matrices(svd_frame_p)
svd_frame_p.lower = lambda ctx, x, *, last, algorithm: _svd_lower(
    ctx, x, algorithm=algorithm, full_matrices=False, compute_uv=True, subset_by_index=None
)
svd_frame_p.facts = Facts(flops=matrix_flops(6.0, 20.0), workspace=copies(2))


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    r"""Compute the singular value decomposition :math:`x = U \mathrm{diag}(s) V^H`.

    Args:
      x: matrices [..., m, n] of a float or complex dtype.
      full_matrices: whether U and V are square; otherwise they have k = min(m, n)
        columns.
      compute_uv: whether to return U and V^H.
      subset_by_index: (start, end): return only these values, in descending order.
      algorithm: an `SvdAlgorithm`, or None: the platform's best.

    Returns:
      (U, s, V^H), or s: U [..., m, m] and V^H [..., n, n] (or with k columns and rows) of
      `x`'s dtype, s [..., k] real.

    Raises:
      ValueError: `subset_by_index` is out of range, or used with `full_matrices`.

    Example:
      >>> import minijax.numpy as jnp
      >>> svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    shape = shape_of(x)
    subset = None
    if subset_by_index is not None and len(shape) > 1:
        subset = check_subset(subset_by_index, min(shape[-2:]))
        if subset and full_matrices and compute_uv:
            raise ValueError("full_matrices and subset_by_index cannot both be set")
    out = svd_p.bind(
        x,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        subset_by_index=subset,
        algorithm=algorithm,
    )
    if not compute_uv:
        return out[0]
    s, u, vt = out
    return u, s, vt


# -------------------------------------------------------------- the polar decomposition


def _weights(eps: float) -> list[tuple[float, float, float]]:
    """Return the weights (a, b, c) of the iterations that map singular values in [eps, 1]
    to 1."""
    bound = eps
    out: list[tuple[float, float, float]] = []
    while not 1 - 10 * eps < bound < 1 + 10 * eps and len(out) < 10:
        l2 = bound * bound
        d = (4 * (1 / l2 - 1) / l2) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - l2) / (l2 * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        bound = bound * (a + b * l2) / (1 + c * l2)
        out.append((a, b, c))
    return out


def _halley(x: Any, a: float, b: float, c: float) -> Any:
    """Return x (a + b x^H x) (1 + c x^H x)^-1, by QR for large c, otherwise by Cholesky."""
    dtype = core.aval_of(x).dtype
    keep, change = scalar(b / c, dtype), a - b / c
    n = shape_of(x)[-1]
    if c > 100:  # 1 + c x^H x is too ill-conditioned for Cholesky
        eye = identity((n, n), dtype)
        full = (*shape_of(x)[:-2], n, n)
        eye = broadcast_in_dim(eye, full, (len(full) - 2, len(full) - 1))
        stacked = [mul(scalar(math.sqrt(c), dtype), x), eye]
        q, _ = qr(concatenate(stacked, len(full) - 2), full_matrices=False)
        m = shape_of(x)[-2]
        q1, q2 = slice_in_dim(q, 0, m, axis=-2), slice_in_dim(q, m, m + n, axis=-2)
        moved = matmul(q1, adjoint(q2))
        change /= math.sqrt(c)
    else:
        gram = mul(scalar(c, dtype), matmul(adjoint(x), x))
        eye = identity((n, n), dtype)
        batch_ndim = len(shape_of(gram)) - 2
        eye = broadcast_in_dim(eye, shape_of(gram), (batch_ndim, batch_ndim + 1))
        factor = cholesky_p.bind(symmetrized(add(gram, eye)))
        half = triangular_solve(
            factor, x, left_side=False, lower=True, transpose_a=True, conjugate_a=True
        )
        moved = triangular_solve(factor, half, left_side=False, lower=True)
    return add(mul(keep, x), mul(scalar(change, dtype), moved))


def _scaled(x: Any) -> Any:
    """Divide x by a bound of its largest singular value: sqrt(|x|_1 |x|_inf)."""
    size = abs(x)
    axis = len(shape_of(x)) - 1
    sums = [reduce_max(reduce_sum(size, (i,)), (axis - 1,)) for i in (axis - 1, axis)]
    factor = mul(*(rsqrt(select(gt(s, filled(s, 0)), s, filled(s, 1))) for s in sums))
    factors = broadcast_in_dim(factor, shape_of(x), tuple(range(axis - 1)))
    return mul(x, cast(factors, core.aval_of(x).dtype))


def _final_step(x: Any) -> Any:
    """Do one Newton-Schulz step, which removes rounding errors."""
    dtype = core.aval_of(x).dtype
    cube = matmul(x, matmul(adjoint(x), x))
    return sub(mul(scalar(1.5, dtype), x), mul(scalar(0.5, dtype), cube))


def _eps_of(x: Any) -> float:
    return float(ml_dtypes.finfo(dtypes.real_of(core.aval_of(x).dtype)).eps)


def polar(x: Any) -> tuple[Any, Any]:
    """Return Q with orthonormal columns and H positive semidefinite, such that x = Q H."""
    u = _scaled(x)
    for weights in _weights(_eps_of(x) / 2):
        u = _halley(u, *weights)
    u = _final_step(u)
    return u, symmetrized(matmul(adjoint(u), x))


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Compute the polar decomposition :math:`x = u h` by weighted Halley iterations.

    Args:
      x: a matrix [m, n], m >= n, of a float or complex dtype.
      is_hermitian: whether x is Hermitian; then u is exactly Hermitian.
      max_iterations: the largest number of iterations (None: 10).
      eps: the tolerance, relative to 1 (None: the dtype's machine epsilon).
      dynamic_shape: (rows, columns) of the leading block to use; the rest of x is treated
        as zero.

    Returns:
      u [m, n] with orthonormal columns and h [n, n] Hermitian positive semidefinite, of
      `x`'s dtype; the number of iterations, an integer; and whether they converged, a
      bool.

    Raises:
      ValueError: `x` is not a matrix, or has more columns than rows.

    Example:
      >>> import minijax.numpy as jnp
      >>> u, h, n, done = qdwh(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
      >>> bool(done), h.shape
      (True, (2, 2))

    Source: Y. Nakatsukasa, Z. Bai, F. Gygi, "Optimizing Halley's iteration for computing
    the matrix polar decomposition" (2010).
    """
    shape = shape_of(x)
    if len(shape) != 2 or shape[0] < shape[1]:
        raise ValueError(
            f"qdwh takes a matrix with at least as many rows as columns, got {shape}."
        )
    eps = _eps_of(x) if eps is None else float(eps)
    limit = 10 if max_iterations is None else int(max_iterations)
    if dynamic_shape is not None:
        x = _leading_block(x, dynamic_shape)
    planned = _weights(eps)
    plan = (planned + [(3.0, 1.0, 3.0)] * limit)[:limit]
    count_dtype = dtypes.int_default()
    u, count = _scaled(x), count_dtype.type(0)
    active: Any = None  # None until the planned iterations are done
    real = dtypes.real_of(core.aval_of(x).dtype)
    tolerance = scalar((4 * eps) ** (1 / 3), real)
    for i, weights in enumerate(plan):
        old, u = u, _halley(u, *weights)
        change = sqrt(reduce_sum(square(abs(sub(u, old))), (0, 1)))
        count = add(count, count_dtype.type(1) if active is None else cast(active, count_dtype))
        far = gt(change, tolerance) if i + 1 >= len(planned) else None
        if active is not None:
            u, far = select(active, u, old), bitwise_and(active, far)
        active = far
    active = np.bool_(True) if active is None else active
    u = _final_step(u)
    h = symmetrized(matmul(adjoint(u), x))
    if is_hermitian:
        u = symmetrized(u)
    return u, h, cast(count, count_dtype, True), eq(active, np.bool_(False))


def _leading_block(x: Any, sizes: tuple[Any, Any]) -> Any:
    """Return x with zeros outside of its leading block."""
    shape = shape_of(x)
    for axis, size in enumerate(sizes):
        positions = broadcasted_iota(np.int32, shape, axis)
        inside = lt(positions, broadcast_in_dim(cast(size, dtypes.int32), shape, ()))
        x = select(inside, x, filled(x, 0))
    return x
