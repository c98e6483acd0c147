"""Eigenvalues and eigenvectors: eigh, eig, and Schur's form.

Derivatives (M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008): with P = V^-1 dA V, the tangent of the
eigenvalues is diag P, and that of the eigenvectors is V (F o P), F_ij = 1 / (w_j - w_i) off
the diagonal.  LAPACK normalizes eigenvectors of `eig` to norm 1 and a real largest
component, which determines the component of each tangent along its eigenvector.

Eigenvectors of equal eigenvalues are an arbitrary basis of their space.  Second derivatives
of smooth functions (the sum of f(w), a norm) are correct in the basis in which the
perturbation is diagonal, because then the eigenvectors do not rotate.  The jvp of
`eigh_frame` returns that basis: derivatives of `eigh` contain `eigh_frame` instead of
`eigh`.

matrix.py contains the helpers.  Next: svd.py.
"""

from __future__ import annotations

import enum
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from ...analysis.cost_model import copies
from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...passes import ad_util
from ...passes.ad_util import Zero
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import const, filled, weak_if_operands, zero_jvp
from ..math.algebraic import add, div, mul, neg, sub
from ..math.cast import cast, scalar
from ..math.logic import bitwise_and, bitwise_or, eq, gt, le, lt, select
from ..math.order import abs, complex, imag, real
from ..reduce.over_axes import argmax, reduce_max, reduce_or, reduce_sum
from ..shape.concatenation import concatenate
from ..shape.creation import broadcasted_iota
from ..shape.shapes import broadcast_in_dim
from ..shape.slicing import slice_in_dim
from ..sharding_specs import matrices
from .lapack import call, char, flag, nan_where_failed, plain_call, routine
from .lu import solve
from .matrix import *
from .solve import symmetric

__all__ = (
    "EighImplementation",
    "eigh_p",
    "eigh",
    "EigImplementation",
    "eig_p",
    "eig",
    "schur_p",
    "schur",
)

# ------------------------------------------------------------------------------- shared


def gaps(left: Any, right: Any, dtype: Any) -> Any:
    """Return 1 / (right_j - left_i) off the diagonal, and 0 on it."""
    n = shape_of(left)[-1]
    shape = (*shape_of(left), n)
    batch_axes = tuple(range(len(shape) - 2))
    across = broadcast_in_dim(right, shape, (*batch_axes, len(shape) - 1))
    down = broadcast_in_dim(left, shape, (*batch_axes, len(shape) - 2))
    difference = cast(sub(across, down), dtype)
    eye = identity(shape[-2:], dtype)
    if batch_axes:
        eye = broadcast_in_dim(eye, shape, (len(shape) - 2, len(shape) - 1))
    return sub(div(scalar(1, dtype), add(difference, eye)), eye)


def _pairs(w: Any) -> tuple[Any, Any]:
    """Return arrays with w_j and with w_i at position (i, j)."""
    shape = (*shape_of(w), shape_of(w)[-1])
    batch_axes = tuple(range(len(shape) - 2))
    across = broadcast_in_dim(w, shape, (*batch_axes, len(shape) - 1))
    return across, broadcast_in_dim(w, shape, (*batch_axes, len(shape) - 2))


def _rounding(w: Any) -> Any:
    """Return a bound of the gap that rounding can cause between equal values, per pair."""
    size = abs(_pairs(w)[0])
    axes = (len(shape_of(size)) - 1,)
    top = broadcast_in_dim(reduce_max(size, axes), shape_of(size), tuple(range(axes[0])))
    eps = float(ml_dtypes.finfo(core.aval_of(w).dtype).eps)
    return mul(top, const(top, 8 * shape_of(w)[-1] * eps))


def _equal_pairs(w: Any) -> Any:
    """Return which pairs of different positions have equal values, except for rounding."""
    across, down = _pairs(w)
    close = le(abs(sub(across, down)), _rounding(w))
    apart = eq(identity(shape_of(close), core.aval_of(w).dtype), filled(across, 0))
    return bitwise_and(close, apart)


# x_ij / (w_j - w_i) off the diagonal, and 0 on it.  If two values are equal except for
# rounding, the result is 0 if x_ij is only rounding, because then the eigenvectors do not
# rotate.  It is NaN if a larger x_ij couples exactly equal values.
over_gaps_p = Primitive("over_gaps")
over_gaps_p.abstract = lambda x, w: x


def _over_gaps(x: Any, w: Any) -> Any:
    dtype, shape = core.aval_of(x).dtype, shape_of(x)
    across, down = _pairs(w)
    equal = _equal_pairs(w)
    size = abs(x)
    batch_ndim = len(shape) - 2
    top = reduce_max(size, (batch_ndim, batch_ndim + 1))
    top = broadcast_in_dim(top, shape, tuple(range(batch_ndim)))
    eps = float(ml_dtypes.finfo(dtypes.real_of(dtype)).eps)
    negligible = le(size, mul(top, const(top, 8 * shape[-1] * eps)))
    on_diagonal = eq(identity(shape, dtype), filled(x, 1))
    gap = sub(across, down)
    same = eq(gap, filled(gap, 0))
    ratio = div(x, cast(select(same, filled(gap, 1), gap), dtype))
    coupled = select(same, filled(x, np.nan), ratio)
    is_zero = bitwise_or(on_diagonal, bitwise_and(equal, negligible))
    return select(is_zero, filled(x, 0), coupled)


def _over_gaps_jvp(primals: Any, tangents: Any) -> Any:
    (x, w), (t, u) = primals, tangents
    ans = over_gaps_p.bind(x, w)
    total: Any = Zero(core.aval_of(ans).to_tangent())
    if type(t) is not Zero:
        total = over_gaps_p.bind(t, w)
    if type(u) is not Zero:
        across, down = _pairs(u)
        moved = mul(ans, cast(sub(across, down), core.aval_of(ans).dtype))
        total = ad_util.add(total, neg(over_gaps_p.bind(moved, w)))
    return ans, total


over_gaps_p.jvp = _over_gaps_jvp
over_gaps_p.transpose = lambda ct, x, w: [over_gaps_p.bind(ct, w), None]
batch_matrices(over_gaps_p)
over_gaps_p.lower = lambda ctx, x, w: ctx.fun(_over_gaps, x, w)[0]


# Unitary matrices that diagonalize a perturbation within each space of equal values.  They
# are the identity if all values differ.
aligned_basis_p = Primitive("turned_basis")
aligned_basis_p.abstract = lambda w, rotated: rotated


def _aligned_basis(w: Any, rotated: Any) -> Any:
    across, down = _pairs(w)
    equal = _equal_pairs(w)
    shape, dtype = shape_of(rotated), core.aval_of(rotated).dtype
    eye = identity(shape, dtype)
    on_diagonal = eq(eye, filled(eye, 1))
    block = symmetrized(select(bitwise_or(equal, on_diagonal), rotated, filled(rotated, 0)))
    # Shift each block above all lower values, so that eigh keeps the order of the blocks.
    below = gt(sub(down, across), _rounding(w))
    count = reduce_sum(select(below, filled(across, 1), filled(across, 0)), (len(shape) - 1,))
    size = reduce_max(reduce_sum(abs(block), (len(shape) - 1,)), (len(shape) - 2,))
    size = broadcast_in_dim(size, shape_of(count), tuple(range(len(shape) - 2)))
    step = mul(mul(count, size), const(count, 4))
    moved = add(block, columns(eye, cast(step, dtype), mul))
    return eigh_p.bind(
        moved, lower=True, sort_eigenvalues=True, subset_by_index=None, algorithm=None
    )[0]


def _aligned_basis_lower(ctx: Any, w: Any, rotated: Any) -> Any:
    (out,) = ctx.avals_out
    axes = tuple(range(out.ndim))
    (some,) = ctx.fun(lambda w, _: reduce_or(_equal_pairs(w), axes), w, rotated)
    index = ctx.op("convert", shaped((), dtypes.int32), some)
    op = ctx.region_op("stablehlo.case", [ctx.type(out)], [index], regions=2)
    with ctx.block(op.regions[0]):
        (eye,) = ctx.fun(lambda: identity(out.shape, out.dtype), avals=[])
        ctx.return_(eye)
    with ctx.block(op.regions[1]):
        ctx.return_(*ctx.fun(_aligned_basis, w, rotated))
    return op.results[0]


zero_jvp(aligned_basis_p)
batch_matrices(aligned_basis_p, vectors=True)
aligned_basis_p.lower = _aligned_basis_lower


def undefined(w: Any, like: Any) -> Any:
    """Return zeros in the shape of `like`, or NaN for matrices with equal values."""
    equal = _equal_pairs(w)
    rank = len(shape_of(equal))
    some = reduce_or(equal, (rank - 2, rank - 1))
    some = broadcast_in_dim(some, shape_of(like), tuple(range(rank - 2)))
    return select(some, filled(like, np.nan), filled(like, 0))


def check_subset(subset: Any, n: int) -> tuple[int, int] | None:
    """Return `subset_by_index` as a pair of ints, or None if it contains all indices."""
    if subset is None:
        return None
    start, end = (int(i) for i in subset)
    if not 0 <= start < end <= n:
        raise ValueError(
            f"subset_by_index must be within [0, {n}), start before end; got {subset}."
        )
    return None if (start, end) == (0, n) else (start, end)


# --------------------------------------------------------------------------------- eigh


class EighImplementation(enum.Enum):
    """Algorithms of `eigh`: QR (CPU, GPU), JACOBI (GPU, TPU), QDWH (TPU).

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> by = lax.linalg.EighImplementation.QR
    >>> lax.linalg.eigh(jnp.diag(jnp.array([3., 1.])), implementation=by)[1]
    Array([1., 3.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


eigh_p = Primitive("eigh", multiple_results=True)
eigh_p.def_sharding(specs=matrices)


@weak_if_operands
def _eigh_abstract(
    x: Any, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any
) -> list[Any]:
    check_matrix("eigh", x, square=True)
    n, batch_shape = x.shape[-1], x.shape[:-2]
    count = n if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
    vectors = shaped((*batch_shape, n, count), x.dtype)
    return [vectors, shaped((*batch_shape, count), dtypes.real_of(x.dtype))]


def _eigh_jvp(primals, tangents, *, subset_by_index, **params):
    (a,), (da,) = primals, tangents
    if subset_by_index is not None:
        # The tangents of these eigenvectors depend on all other eigenvectors.
        start, end = subset_by_index
        outs, out_ts = _eigh_jvp(primals, tangents, subset_by_index=None, **params)
        return (
            [slice_in_dim(x, start, end, axis=-1) for x in outs],
            [_slice_tangent(t, start, end) for t in out_ts],
        )
    v, w = eigh_frame_p.bind(a, last=False, **params)
    if type(da) is Zero:
        return [v, w], [Zero(core.aval_of(x).to_tangent()) for x in (v, w)]
    return [v, w], _eigh_tangents(v, w, inner(v, matmul(da, v)))


def _eigh_tangents(v: Any, w: Any, rotated: Any) -> list[Any]:
    return [matmul(v, over_gaps_p.bind(rotated, w)), real_part(diagonal_of(rotated))]


def _slice_tangent(t: Any, start: int, end: int) -> Any:
    if type(t) is not Zero:
        return slice_in_dim(t, start, end, axis=-1)
    shape = (*t.aval.shape[:-1], end - start)
    return Zero(shaped(shape, t.aval.dtype))


def _eigh_lower(
    ctx, x, *, lower: bool, sort_eigenvalues: bool, subset_by_index, algorithm
) -> list[Any]:
    v, w = ctx.avals_out
    n, batch_shape = v.shape[-2], v.shape[:-2]
    if 0 in ctx.avals_in[0].shape:
        return [ctx.constant(0, v), ctx.constant(0, w)]
    avals = [shaped((*batch_shape, n, n), v.dtype), shaped((*batch_shape, n), w.dtype)]
    values = _emit_eigh(ctx, x, avals, lower, sort_eigenvalues, algorithm)
    if subset_by_index is None:
        return values
    start, end = subset_by_index
    return ctx.fun(
        lambda *xs: [slice_in_dim(y, start, end, axis=-1) for y in xs], *values, avals=avals
    )


def _emit_eigh(
    ctx: Any, x: Any, avals: list[Any], lower: bool, sort: bool, algorithm: Any
) -> list[Any]:
    choice = EighImplementation
    platform = ctx.platform
    if platform == "tpu":
        if algorithm in (choice.QR, choice.QDWH):
            raise NotImplementedError(
                f"{algorithm.name} is not implemented on TPU.\nTry: the default"
            )
        # The last two: the largest number of Jacobi sweeps, and their tolerance.
        return plain_call(ctx, "Eigh", [x], avals, f"{lower:d},{sort:d},100,1e-6")
    if algorithm is choice.QDWH:
        raise NotImplementedError("QDWH implementation is only supported on TPU")
    if platform == "cpu":
        if algorithm is choice.JACOBI:
            raise NotImplementedError("Jacobi implementation is not supported on CPU")
        target = routine("syevd", avals[0].dtype)
        config = f"mode = {char('V')}, uplo = {char('L' if lower else 'U')}"
    else:
        target = "cusolver_syevd_ffi"
        number = {None: 0, choice.QR: 1, choice.JACOBI: 2}[algorithm]
        config = f"lower = {flag(lower)}, algorithm = {number} : ui8"
    info = shaped(avals[0].shape[:-2], dtypes.int32)
    *values, status = call(
        ctx,
        target,
        [x],
        avals[:1],
        [*avals, info],
        config,
        batch=avals[0].ndim - 2,
        aliases=[(0, 0)],
    )
    return nan_where_failed(ctx, status, info.shape, values, avals)


eigh_p.abstract = _eigh_abstract
eigh_p.jvp = _eigh_jvp
batch_matrices(eigh_p)
eigh_p.lower = _eigh_lower
eigh_p.facts = Facts(flops=matrix_flops(9.0), workspace=copies(2))


# `eigh` inside its derivatives.  If `last`, the jvp of this equation is a derivative of third
# order, which is undefined where values are equal.
eigh_frame_p = Primitive("eigh_frame", multiple_results=True)
eigh_frame_p.def_sharding(specs=matrices)
eigh_frame_p.abstract = lambda x, *, last, **params: _eigh_abstract(
    x, subset_by_index=None, **params
)


def _frame_jvp(
    primals: Any, tangents: Any, *, last: bool, turn: bool = True, **params: Any
) -> Any:
    (a,), (da,) = primals, tangents
    v, w = eigh_frame_p.bind(a, last=True, **params)
    if type(da) is Zero:
        return [v, w], [Zero(core.aval_of(x).to_tangent()) for x in (v, w)]
    rotated = inner(v, matmul(da, v))
    if last:
        dv, dw = _eigh_tangents(v, w, rotated)
        return [v, w], [add(dv, undefined(w, dv)), dw]
    if turn:
        basis = aligned_basis_p.bind(w, rotated)
        v = matmul(v, basis)
        rotated = matmul(adjoint(basis), matmul(rotated, basis))
    return [v, w], _eigh_tangents(v, w, rotated)


def _frame_lower(ctx: Any, x: Any, *, last: bool, **params: Any) -> Any:
    return _eigh_lower(ctx, x, subset_by_index=None, **params)


eigh_frame_p.jvp = _frame_jvp
eigh_frame_p.linearize = linearize_in_given_basis(_frame_jvp)
batch_matrices(eigh_frame_p)
eigh_frame_p.lower = _frame_lower
eigh_frame_p.facts = Facts(flops=matrix_flops(9.0), workspace=copies(2))


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    r"""Compute eigenvectors and eigenvalues of Hermitian matrices.

    :math:`x = V \mathrm{diag}(w) V^H`.

    Args:
      x: Hermitian matrices [..., n, n].
      lower: which triangle is read, if the input is not symmetrized.
      symmetrize_input: whether to use (x + x^H) / 2.  Derivatives assume that x is
        Hermitian in both cases.
      sort_eigenvalues: whether they must ascend (on CPUs and GPUs they always do).
      subset_by_index: (start, end): return only these eigenvalues, in ascending order.
      implementation: the algorithm (None: the platform's best).

    Returns:
      Eigenvectors V, the columns of an array [..., n, k] of `x`'s dtype, and
      eigenvalues w, a real array [..., k], k <= n.

    Example:
      >>> import minijax.numpy as jnp
      >>> eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))[1]
      Array([1., 3.], dtype=float32)
    """
    if symmetrize_input:
        x = symmetric(x, "eigh")
    shape = shape_of(x)
    subset = check_subset(subset_by_index, shape[-1]) if shape else None
    v, w = eigh_p.bind(
        x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=subset,
        algorithm=implementation,
    )
    return v, w


# ---------------------------------------------------------------------------------- eig


class EigImplementation(enum.Enum):
    """Libraries for `eig`: CUSOLVER and MAGMA (GPU), LAPACK (CPU, and from GPUs).

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> lax.linalg.eig(jnp.eye(2), implementation=lax.linalg.EigImplementation.LAPACK)[0]
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


eig_p = Primitive("eig", multiple_results=True)
eig_p.def_sharding(specs=matrices)


@weak_if_operands
def _eig_abstract(
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[Any]:
    check_matrix("eig", x, square=True)
    dtype = dtypes.complex_of(x.dtype)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    return [shaped(x.shape[:-1], dtype), *[shaped(x.shape, dtype)] * count]


def _eig_jvp(
    primals: Any,
    tangents: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> Any:
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    if (left or right) and not enable_eigvec_derivs:
        raise errors.error(
            NotImplementedError,
            "Derivatives of non-symmetric eigenvectors are only valid under"
            " assumptions on the input: eigenvalues that differ, and one largest"
            " component in each eigenvector.",
            tries=[
                "enable_eigvec_derivs=True, if they hold",
                "only eigenvalues: compute_left_eigenvectors=False,"
                " compute_right_eigenvectors=False",
            ],
        )
    (a,), (da,) = primals, tangents
    outs = eig_p.bind(
        a,
        compute_left_eigenvectors=left,
        compute_right_eigenvectors=True,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )
    w, vr = outs[0], outs[-1]
    da = cast(da, core.aval_of(vr).dtype)
    rotated = solve(vr, matmul(da, vr))
    out_ts = [diagonal_of(rotated)]
    if left:
        u = outs[1]
        left_rotated = solve(u, matmul(adjoint(da), u))
        out_ts.append(_vector_tangent(u, conjugate(w), left_rotated))
    if right:
        out_ts.append(_vector_tangent(vr, w, rotated))
    else:
        outs = outs[:-1]
    return outs, out_ts


def _vector_tangent(v: Any, w: Any, rotated: Any) -> Any:
    """Return the tangents of normalised eigenvectors: V (F o P), and parts along V."""
    dv = matmul(v, mul(gaps(w, w, core.aval_of(v).dtype), rotated))
    shape = shape_of(v)
    row = len(shape) - 2
    # The norm stays 1: no real part along v.
    along = reduce_sum(real(mul(conjugate(v), dv)), (row,))
    # The largest component stays real.
    largest = argmax(abs(v), row, np.int32)
    largest_rows = broadcast_in_dim(largest, shape, (*range(row), row + 1))
    mask = eq(broadcasted_iota(np.int32, shape, row), largest_rows)
    zero = mul(v, scalar(0, core.aval_of(v).dtype))
    top, top_t = (reduce_sum(select(mask, x, zero), (row,)) for x in (v, dv))
    turn = div(imag(top_t), real(top))
    return sub(dv, columns(v, complex(along, turn), mul))


def _conjugate_pairs(w: Any, v: Any) -> Any:
    """Return the complex eigenvectors from the result of a real routine.

    For a pair of conjugate eigenvalues, the routine returns the real part, then the imaginary
    part, of the first one's vector."""
    shape = shape_of(v)
    column = len(shape) - 1
    im = imag(w)
    positive, negative = (
        broadcast_in_dim(c, shape, (*range(column - 1), column))
        for c in (
            gt(im, scalar(0, core.aval_of(im).dtype)),
            lt(im, scalar(0, core.aval_of(im).dtype)),
        )
    )
    n = shape[-1]
    after = _moved(v, -1, n)
    before = _moved(v, 1, n)
    zero = mul(v, scalar(0, core.aval_of(v).dtype))
    real_parts = select(negative, before, v)
    imag_parts = select(positive, after, select(negative, neg(v), zero))
    return complex(real_parts, imag_parts)


def _moved(v: Any, by: int, n: int) -> Any:
    """Roll columns by one."""
    axis = len(shape_of(v)) - 1
    if by < 0:
        pieces = [slice_in_dim(v, 1, n, axis=axis), slice_in_dim(v, 0, 1, axis=axis)]
    else:
        pieces = [slice_in_dim(v, n - 1, n, axis=axis), slice_in_dim(v, 0, n - 1, axis=axis)]
    return concatenate(pieces, axis)


def _eig_lower(
    ctx: Any,
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[Any]:
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    (aval,) = ctx.avals_in
    outs = list(ctx.avals_out)
    if 0 in aval.shape:
        return [ctx.constant(0, a) for a in outs]
    w = outs[0]
    vectors = shaped(aval.shape, w.dtype)
    info = shaped(aval.shape[:-2], dtypes.int32)
    real_in = not dtypes.is_complex(aval.dtype)
    value_avals = [shaped(w.shape, aval.dtype)] * 2 if real_in else [w]
    if ctx.platform == "cpu":
        if implementation not in (None, EigImplementation.LAPACK):
            raise ValueError("Only the lapack implementation is supported on CPU.")
        target = routine("geev", aval.dtype)
        config = (
            f"compute_left = {char('V' if left else 'N')},"
            f" compute_right = {char('V' if right else 'N')}"
        )
    else:
        if _uses_cusolver(implementation, left):
            return _emit_cusolver(ctx, x, aval, w, vectors, info, right)
        target = "cuhybrid_eig_real" if real_in else "cuhybrid_eig_comp"
        use = {None: "auto", EigImplementation.MAGMA: "on"}.get(implementation, "off")
        config = f'left = {flag(left)}, right = {flag(right)}, magma = "{use}"'
    *value_parts, vl, vr, status = call(
        ctx,
        target,
        [x],
        [aval],
        [*value_avals, vectors, vectors, info],
        config,
        batch=aval.ndim - 2,
    )
    values = value_parts[0]
    if real_in:
        values = ctx.op("complex", w, *value_parts)
    results = [values, *([vl] if left else []), *([vr] if right else [])]
    return nan_where_failed(ctx, status, info.shape, results, outs)


def _uses_cusolver(implementation: Any, left: bool) -> bool:
    if implementation is EigImplementation.CUSOLVER and left:
        raise NotImplementedError("Left eigenvectors are not supported by cusolver")
    return implementation is EigImplementation.CUSOLVER or (implementation is None and not left)


def _emit_cusolver(ctx, x, aval, w, vectors, info, right: bool) -> list[Any]:
    _, values, _, vr, status = call(
        ctx,
        "cusolver_geev_ffi",
        [x],
        [aval],
        [aval, w, aval, aval, info],
        f"left = false, right = {flag(right)}",
        batch=aval.ndim - 2,
    )
    results, avals = [values], [w]
    if right:
        if not dtypes.is_complex(aval.dtype):
            (vr,) = ctx.fun(_conjugate_pairs, values, vr, avals=[w, aval])
        results, avals = [values, vr], [w, vectors]
    return nan_where_failed(ctx, status, info.shape, results, avals)


eig_p.abstract = _eig_abstract
eig_p.jvp = _eig_jvp
batch_matrices(eig_p)
only_on(eig_p, _eig_lower, "cpu", "cuda")
eig_p.facts = Facts(workspace=copies(6))


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Compute eigenvalues and eigenvectors of square matrices.

    :math:`x v = w v`, and :math:`u^H x = w u^H` for left eigenvectors.

    Args:
      x: square matrices [..., n, n].
      compute_left_eigenvectors, compute_right_eigenvectors: which ones to return.
      enable_eigvec_derivs: whether eigenvectors may be differentiated, for matrices
        whose eigenvalues differ.
      implementation: the library (None: the platform's best).
      use_magma: deprecated; True means `implementation=EigImplementation.MAGMA`.

    Returns:
      A list of eigenvalues w [..., n], then, if requested, left eigenvectors u and right
      ones v, columns of norm 1 in arrays [..., n, n]; all complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), compute_left_eigenvectors=False)[0]
      Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if use_magma is not None:
        warnings.warn(
            "use_magma is deprecated, please use"
            " implementation=EigImplementation.MAGMA instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        if implementation is None:
            kinds = EigImplementation
            implementation = kinds.MAGMA if use_magma else kinds.LAPACK
    out: list[Any] = eig_p.bind(
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )
    return out


# -------------------------------------------------------------------------------- schur

schur_p = Primitive("schur", multiple_results=True)
schur_p.def_sharding(specs=matrices)


@weak_if_operands
def _schur_abstract(
    x: Any, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[Any]:
    check_matrix("schur", x, square=True)
    if sort_eig_vals:
        raise NotImplementedError(
            "The sort feature of LAPACK's gees routine is not implemented."
        )
    return [x, x] if compute_schur_vectors else [x]


def _schur_lower(ctx, x, *, compute_schur_vectors: bool, **_) -> list[Any]:
    (aval,) = ctx.avals_in
    if 0 in aval.shape:
        return [ctx.constant(0, a) for a in ctx.avals_out]
    info = shaped(aval.shape[:-2], dtypes.int32)
    values = shaped(aval.shape[:-1], aval.dtype)
    kinds = [values] if dtypes.is_complex(aval.dtype) else [values, values]
    results = call(
        ctx,
        routine("gees", aval.dtype),
        [x],
        [aval],
        [aval, aval, *kinds, info, info],
        f"mode = {char('V' if compute_schur_vectors else 'N')}, sort = {char('N')}",
        batch=aval.ndim - 2,
        aliases=[(0, 0)],
    )
    outputs = results[: len(ctx.avals_out)]
    return nan_where_failed(ctx, results[-1], info.shape, outputs, list(ctx.avals_out))


schur_p.abstract = _schur_abstract
no_jvp(schur_p)
batch_matrices(schur_p)
only_on(schur_p, _schur_lower, "cpu")
schur_p.facts = Facts(workspace=copies(2))


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> Any:
    """Compute Schur's form: :math:`x = Q T Q^H` with Q unitary.

    T is upper triangular; for real matrices it is quasi triangular.

    Args:
      x: square matrices [..., n, n].
      compute_schur_vectors: whether to return Q.
      sort_eig_vals, select_callable: sorting is not implemented; must be False.

    Returns:
      [T, Q], or [T], of `x`'s shape and dtype.  The diagonal of a quasi triangular T has a
      2 by 2 block for each pair of complex eigenvalues.

    Raises:
      NotImplementedError: sorting is requested.

    Example:
      >>> import minijax.numpy as jnp
      >>> schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]), compute_schur_vectors=False)[0]
      Array([[1., 2.],
             [0., 3.]], dtype=float32)
    """
    return schur_p.bind(
        x,
        compute_schur_vectors=bool(compute_schur_vectors),
        sort_eig_vals=bool(sort_eig_vals),
        select_callable=select_callable,
    )
