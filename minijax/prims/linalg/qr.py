"""Factorizations by reflections: QR, Hessenberg and tridiagonal form.

A reflection I - tau v v^H is stored packed: v below the diagonal, tau in a second array.  The
derivative of QR splits Q^H dA R^-1 into a skew-Hermitian and an upper triangular part
(S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions",
2010); that of wide matrices goes through their leading square block (D. Roberts and
L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms",
arXiv:2009.10071).

matrix.py contains the helpers.  Next: spectral.py.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...analysis.cost_model import copies
from ...ir import core
from ...ir.core import ByPlatform, Primitive
from ...ir.facts import Facts
from ...passes.ad_util import Zero
from ...symbolic.dims import max_dim, min_dim
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import same_dtype, weak_if_operands
from ..gather.dynamic_slicing import dynamic_index_in_dim
from ..math.algebraic import add, mul, neg, sub
from ..math.logic import eq, gt, select
from ..sequential import emit_loop
from ..shape.concatenation import concatenate, pad
from ..shape.creation import broadcasted_iota
from ..shape.shapes import broadcast_in_dim, expand_dims
from ..shape.slicing import slice_in_dim
from ..sharding_specs import batched_specs, matrices
from .lapack import call, char, flag, nan_where_failed, plain_call, routine
from .lu import permute_rows, solve
from .matrix import *
from .solve import triangular_solve

__all__ = (
    "householder_product_p",
    "householder_product",
    "ormqr_p",
    "ormqr",
    "qr_p",
    "qr",
    "hessenberg_p",
    "hessenberg",
    "tridiagonal_p",
    "tridiagonal",
)

# ---------------------------------------------------- Householder's reflections, packed

geqrf_p = Primitive("geqrf", multiple_results=True)
geqrf_p.def_sharding(specs=matrices)
geqp3_p = Primitive("geqp3", multiple_results=True)
geqp3_p.def_sharding(specs=matrices)


@weak_if_operands
def _geqrf_abstract(x: Any) -> list[Any]:
    check_matrix("geqrf", x)
    return [x, shaped((*x.shape[:-2], min_dim(*x.shape[-2:])), x.dtype)]


def _geqrf_lower(ctx: Any, x: Any) -> list[Any]:
    out, tau = ctx.avals_out
    if 0 in out.shape:
        return [ctx.constant(0, out), ctx.constant(0, tau)]
    if ctx.platform == "tpu":
        return plain_call(ctx, "Qr", [x], [out, tau])
    cuda = ctx.platform == "cuda"
    target = "cusolver_geqrf_ffi" if cuda else routine("geqrf", out.dtype)
    return call(ctx, target, [x], [out], [out, tau], batch=out.ndim - 2, aliases=[(0, 0)])


@weak_if_operands
def _geqp3_abstract(x: Any, jpvt: Any, *, use_magma: bool | None) -> list[Any]:
    check_matrix("geqp3", x)
    return [x, jpvt, shaped((*x.shape[:-2], min_dim(*x.shape[-2:])), x.dtype)]


def _geqp3_lower(ctx: Any, x: Any, jpvt: Any, *, use_magma: bool | None) -> list[Any]:
    out, pivots, tau = ctx.avals_out
    if 0 in out.shape:
        columns = ctx.op("iota", pivots, iota_dimension=ctx.i64(pivots.ndim - 1))
        columns = ctx.op("add", pivots, columns, ctx.constant(1, pivots))
        return [ctx.constant(0, out), columns, ctx.constant(0, tau)]
    if ctx.platform == "cuda":
        target, config = "cuhybrid_geqp3", f'magma = "{magma(use_magma)}"'
    else:
        target, config = routine("geqp3", out.dtype), ""
    return call(
        ctx,
        target,
        [x, jpvt],
        [out, pivots],
        [out, pivots, tau],
        config,
        batch=out.ndim - 2,
        aliases=[(0, 0), (1, 1)],
    )


def magma(use: bool | None) -> str:
    """Return the attribute by which the hybrid routines decide whether to use MAGMA."""
    return "auto" if use is None else "on" if use else "off"


geqrf_p.abstract = _geqrf_abstract
no_jvp(geqrf_p)
batch_matrices(geqrf_p)
geqrf_p.lower = _geqrf_lower
geqrf_p.facts = Facts(flops=matrix_flops(2.0, -2 / 3), workspace=copies(1.5))
geqp3_p.abstract = _geqp3_abstract
no_jvp(geqp3_p)
batch_matrices(geqp3_p)
only_on(geqp3_p, _geqp3_lower, "cpu", "cuda")
geqp3_p.facts = Facts(workspace=copies(1.5))


householder_product_p = Primitive("householder_product")


@weak_if_operands
def _product_abstract(a: Any, taus: Any) -> Any:
    name = "householder_product"
    check_matrix(name, a)
    same_dtype(name, (a, taus))
    if a.ndim - 2 != taus.ndim - 1:
        raise TypeError(
            f"All inputs to {name} must have the same number of batch dimensions, but"
            f" got {[a.ndim - 2, taus.ndim - 1]} batch dimensions for the inputs."
        )
    m, n = a.shape[-2:]
    if m < n:
        raise ValueError(
            f"The first argument to {name} must have at least as many rows as columns,"
            f" got shape {a.shape}"
        )
    if a.shape[:-2] != taus.shape[:-1] or taus.shape[-1] > min_dim(m, n):
        raise ValueError(
            f"The second argument to {name} must not have more rows than the minimum of"
            f" the first argument's rows and columns. Got shapes {a.shape} and"
            f" {taus.shape}"
        )
    return a


def _product_lower(ctx: Any, a: Any, taus: Any) -> Any:
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(0, out)
    if ctx.platform == "tpu":
        name = "ProductOfElementaryHouseholderReflectors"
        return plain_call(ctx, name, [a, taus], [out])[0]
    cuda = ctx.platform == "cuda"
    target = "cusolver_orgqr_ffi" if cuda else routine("orgqr", out.dtype)
    return call(
        ctx, target, [a, taus], list(ctx.avals_in), [out], batch=out.ndim - 2, aliases=[(0, 0)]
    )[0]


householder_product_p.abstract = _product_abstract
no_jvp(householder_product_p)
householder_product_p.def_sharding(specs=batched_specs(2, 1))
batch_matrices(householder_product_p)
householder_product_p.lower = _product_lower
householder_product_p.facts = Facts(flops=matrix_flops(2.0, -2 / 3), workspace=copies(1.5))


def householder_product(a: Any, taus: Any) -> Any:
    r"""Return the leading columns of a product of :math:`H_i = I - \tau_i v_i v_i^H`.

    Args:
      a: [..., m, n], m >= n, of a float or complex dtype: column i holds, below its
        diagonal, the vector v of reflection i, whose element i is 1 and whose earlier
        ones are 0.
      taus: the factors tau, [..., k], k <= n, of the same dtype.

    Returns:
      The first n columns of the product, an array of `a`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> householder_product(jnp.array([[0.0], [1.0]]), jnp.array([1.0]))
      Array([[ 0.],
             [-1.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


ormqr_p = Primitive("ormqr")


@weak_if_operands
def _ormqr_abstract(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    check_matrix("ormqr", a)
    check_matrix("ormqr", c, position=2)
    same_dtype("ormqr", (a, taus, c))
    m = a.shape[-2]
    if c.shape[-2 if left else -1] != m:
        side = "rows" if left else "columns"
        raise ValueError(
            f"ormqr with left={left} expects c to have the same number of {side} as the"
            f" Householder matrix a. Got a shape {a.shape} and c shape {c.shape}."
        )
    if not a.shape[:-2] == taus.shape[:-1] == c.shape[:-2]:
        raise ValueError(
            "ormqr expects arguments with equal leading axes, got"
            f" {a.shape}, {taus.shape}, {c.shape}."
        )
    return shaped(c.shape, c.dtype)


def _ormqr_lower(ctx: Any, *args: Any, left: bool, transpose: bool) -> Any:
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return args[2]
    cuda = ctx.platform == "cuda"
    target = "cusolver_ormqr_ffi" if cuda else routine("ormqr", out.dtype)
    return call(
        ctx,
        target,
        args,
        list(ctx.avals_in),
        [out],
        f"left = {flag(left)}, transpose = {flag(transpose)}",
        batch=out.ndim - 2,
        aliases=[(2, 0)],
    )[0]


def _ormqr_lower_plain(ctx, a, taus, c, *, left: bool, transpose: bool):
    """Lower to a loop over the reflections."""
    matrix, factors, out = (shaped(v.shape, v.dtype) for v in ctx.avals_in)
    k, m = factors.shape[-1], matrix.shape[-2]
    forward = left == transpose
    vector_shape = (*matrix.shape[:-2], m)

    def reflect(step: Any, a: Any, taus: Any, c: Any) -> tuple[Any, Any, Any]:
        i = step if forward else sub(np.int32(k - 1), step)
        positions = broadcasted_iota(np.int32, vector_shape, len(vector_shape) - 1)
        v = dynamic_index_in_dim(a, i, len(vector_shape), keepdims=False)
        at = broadcast_in_dim(i, vector_shape, ())
        zero = mul(v, v.dtype.type(0))
        v = select(
            eq(positions, at), add(zero, v.dtype.type(1)), select(gt(positions, at), v, zero)
        )
        tau = dynamic_index_in_dim(taus, i, len(vector_shape) - 1, keepdims=True)
        tau = expand_dims(conjugate(tau) if transpose else tau, (-1,))
        column = expand_dims(v, (-1,))
        if left:
            change = matmul(column, matmul(adjoint(column), c))
        else:
            change = matmul(matmul(c, column), adjoint(column))
        factor = broadcast_in_dim(tau, shape_of(c), tuple(range(len(shape_of(c)))))
        return a, taus, sub(c, mul(factor, change))

    return emit_loop(ctx, k, reflect, [a, taus, c], [matrix, factors, out])[2]


ormqr_p.abstract = _ormqr_abstract
no_jvp(ormqr_p)
ormqr_p.def_sharding(specs=batched_specs(2, 1, 2))
batch_matrices(ormqr_p)
ormqr_p.lower = ByPlatform(_ormqr_lower_plain, cpu=_ormqr_lower, cuda=_ormqr_lower)
ormqr_p.facts = Facts(workspace=copies(1.5))


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Return :math:`Q c` or :math:`c Q`, where Q is the product of packed reflections.

    Args:
      a, taus: reflections, as for `householder_product`: [..., m, k] and [..., k].
      c: matrices [..., m, n] if left, otherwise [..., n, m].
      left: whether Q is the left factor.
      transpose: whether to multiply by Q^H instead.

    Returns:
      An array of `c`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> ormqr(jnp.array([[0.0], [1.0]]), jnp.array([1.0]), jnp.array([[2.0], [3.0]]))
      Array([[-3.],
             [-2.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


# ----------------------------------------------------------------------------------- qr

qr_p = Primitive("qr", multiple_results=True)
qr_p.def_sharding(specs=matrices)


@weak_if_operands
def _qr_abstract(
    x: Any, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> list[Any]:
    check_matrix("qr", x)
    m, n = x.shape[-2:]
    k = m if full_matrices else min_dim(m, n)
    batch_shape = x.shape[:-2]
    out = [shaped((*batch_shape, m, k), x.dtype), shaped((*batch_shape, k, n), x.dtype)]
    return [*out, shaped((*batch_shape, n), dtypes.int32)] if pivoting else out


def _qr_jvp(primals: Any, tangents: Any, *, pivoting: bool, **params: Any) -> Any:
    (a,), (da,) = primals, tangents
    q, r, *permutation = qr_p.bind(a, pivoting=pivoting, **params)
    zeros = [Zero(core.aval_of(v).to_tangent()) for v in permutation]
    if type(da) is Zero:
        moved = [Zero(core.aval_of(v).to_tangent()) for v in (q, r)]
        return [q, r, *permutation], [*moved, *zeros]
    if pivoting:
        da = _permute_columns(da, permutation[0])
    m, n = shape_of(a)[-2:]
    k = min_dim(m, n)
    dq, dr = _qr_tangents(q, slice_in_dim(r, 0, k, axis=-1), slice_in_dim(da, 0, k, axis=-1))
    if n > m:  # R2 = Q^H A2 of the columns beyond the square
        a2 = matmul(q, slice_in_dim(r, k, n, axis=-1))
        dr2 = add(inner(dq, a2), inner(q, slice_in_dim(da, k, n, axis=-1)))
        dr = concatenate([dr, dr2], len(shape_of(dr)) - 1)
    return [q, r, *permutation], [dq, dr, *zeros]


def _permute_columns(x: Any, perm: Any) -> Any:
    return transpose_matrix(permute_rows(transpose_matrix(x), perm))


def _qr_tangents(q: Any, r: Any, da: Any) -> tuple[Any, Any]:
    """Return the tangents of A = Q R with at least as many rows as columns.

    Q is thin or square.

    With C = Q^H dA R^-1 = Omega + dR R^-1: Omega is skew-Hermitian and has the strictly
    lower part of C.
    """
    (m, k), n = shape_of(q)[-2:], shape_of(r)[-1]
    thin = slice_in_dim(q, 0, n, axis=-1)
    square = slice_in_dim(r, 0, n, axis=-2)
    right = triangular_solve(square, da, left_side=False, lower=False)
    c = inner(thin, right)
    low, without_lower = split_lower(c)
    omega = sub(low, adjoint(low))
    if is_complex(q):
        omega = add(omega, _imaginary_diagonal(c))
    dr = matmul(without_lower(sub(c, omega)), square)
    dq = matmul(thin, omega)
    if m > n:  # outside of Q's range, dQ is dA R^-1
        dq = add(dq, sub(right, matmul(thin, c)))
    if k > n:
        rest = _further_columns(thin, dq)
        dq = concatenate([dq, rest], len(shape_of(dq)) - 1)
        config = [(0, 0, 0)] * (len(shape_of(dr)) - 2) + [(0, k - n, 0), (0, 0, 0)]
        dr = pad(dr, core.aval_of(dr).dtype.type(0), config)
    return dq, dr


def _further_columns(q1: Any, dq1: Any) -> Any:
    """Return the tangent of the columns that complete Q.

    A product of reflections is I - V T V^H, V unit lower trapezoidal.  Its first columns
    are Q1, so M = E - Q1 = V (T V1^H) determines V and T.  The other columns are
    Q2 = E2 - M K with M1^H K = M2^H, where 1 and 2 denote the first rows and the rest.
    """
    (m, n), batch_ndim = shape_of(q1)[-2:], len(shape_of(q1)) - 2
    eye = identity((m, n), core.aval_of(q1).dtype)
    reflected = sub(broadcast_in_dim(eye, shape_of(q1), (batch_ndim, batch_ndim + 1)), q1)
    change = neg(dq1)
    (top, rest), (top_t, rest_t) = (
        (slice_in_dim(x, 0, n, axis=-2), slice_in_dim(x, n, m, axis=-2))
        for x in (reflected, change)
    )
    k = solve(adjoint(top), adjoint(rest))
    k_t = solve(adjoint(top), sub(adjoint(rest_t), matmul(adjoint(top_t), k)))
    return neg(add(matmul(change, k), matmul(reflected, k_t)))


def _imaginary_diagonal(c: Any) -> Any:
    """Return i Im(diag c), which keeps R's diagonal real."""
    shape = shape_of(c)
    eye = identity(shape[-2:], core.aval_of(c).dtype)
    eye = broadcast_in_dim(eye, shape, (len(shape) - 2, len(shape) - 1))
    half = core.aval_of(c).dtype.type(0.5)
    return mul(eye, mul(half, sub(c, conjugate(c))))


def _qr_lower(
    ctx: Any, x: Any, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> list[Any]:
    def factors(a: Any) -> list[Any]:
        permutation: list[Any] = []
        if pivoting:
            # Zeros mark columns that may be exchanged; results count columns from 1.
            zeros = np.zeros((*shape_of(a)[:-2], shape_of(a)[-1]), np.int32)
            packed, jpvt, taus = geqp3_p.bind(a, zeros, use_magma=use_magma)
            permutation = [sub(jpvt, np.ones_like(zeros))]
        else:
            packed, taus = geqrf_p.bind(a)
        return [*_unpack(packed, taus, full_matrices), *permutation]

    return ctx.fun(factors, x)


def _unpack(packed: Any, taus: Any, full_matrices: bool) -> tuple[Any, Any]:
    """Return Q and R of packed reflections."""
    m, n = shape_of(packed)[-2:]
    if m < n:
        q = slice_in_dim(packed, 0, m, axis=-1)
    elif full_matrices and m > n:
        config = [(0, 0, 0)] * (len(shape_of(packed)) - 1) + [(0, m - n, 0)]
        q = pad(packed, core.aval_of(packed).dtype.type(0), config)
    else:
        q = packed
    r = packed if full_matrices else slice_in_dim(packed, 0, min_dim(m, n), axis=-2)
    if 0 in shape_of(taus):
        return _first_columns(q), upper_triangle(r)
    return householder_product_p.bind(q, taus), upper_triangle(r)


def _first_columns(q: Any) -> Any:
    """Return the leading columns of the identity: Q if there are no reflections."""
    shape = shape_of(q)
    eye = identity(shape[-2:], core.aval_of(q).dtype)
    if len(shape) == 2:
        return eye
    return broadcast_in_dim(eye, shape, (len(shape) - 2, len(shape) - 1))


qr_p.abstract = _qr_abstract
qr_p.jvp = _qr_jvp
batch_matrices(qr_p)
qr_p.lower = _qr_lower
qr_p.facts = Facts(flops=matrix_flops(4.0, -4 / 3), workspace=copies(1.5))


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> Any:
    """Compute QR factors: :math:`x = Q R`, or with pivoting :math:`x P = Q R`.

    P permutes columns.

    Args:
      x: matrices [..., m, n] of a float or complex dtype.
      pivoting: whether to exchange columns so that the diagonal of R does not grow.
      full_matrices: whether Q is square [..., m, m]; otherwise it has min(m, n) columns.
      use_magma: on GPUs, whether pivoting uses MAGMA (None: if it is installed).

    Returns:
      (Q, R) of `x`'s dtype, Q with orthonormal columns, R upper triangular; with
      pivoting also p, int32 [..., n]: `x[..., p]` is Q R.

    Example:
      >>> import minijax.numpy as jnp
      >>> [v.shape for v in qr(jnp.ones((5, 3)), full_matrices=False)]
      [(5, 3), (3, 3)]
    """
    out = qr_p.bind(
        x,
        pivoting=bool(pivoting),
        full_matrices=bool(full_matrices),
        use_magma=None if use_magma is None else bool(operator.index(use_magma)),
    )
    return tuple(out)


# ----------------------------------------------------------- hessenberg and tridiagonal

hessenberg_p = Primitive("hessenberg", multiple_results=True)
hessenberg_p.def_sharding(specs=matrices)


@weak_if_operands
def _hessenberg_abstract(x: Any) -> list[Any]:
    check_matrix("hessenberg", x)
    n = x.shape[-1]
    if x.shape[-2] != n:
        raise ValueError(
            f"Argument to Hessenberg reduction must have shape [..., n, n], got shape {x.shape}"
        )
    return [x, shaped((*x.shape[:-2], max_dim(n - 1, 0)), x.dtype)]


def _hessenberg_lower(ctx: Any, x: Any) -> list[Any]:
    out, taus = ctx.avals_out
    if 0 in out.shape:
        return [ctx.constant(0, out), ctx.constant(0, taus)]
    info = shaped(out.shape[:-2], dtypes.int32)
    a, tau, status = call(
        ctx,
        routine("gehrd", out.dtype),
        [x],
        [out],
        [out, taus, info],
        f"low = 1 : i32, high = {out.shape[-1]} : i32",
        batch=out.ndim - 2,
        aliases=[(0, 0)],
    )
    return nan_where_failed(ctx, status, info.shape, [a, tau], [out, taus])


hessenberg_p.abstract = _hessenberg_abstract
no_jvp(hessenberg_p)
batch_matrices(hessenberg_p)
only_on(hessenberg_p, _hessenberg_lower, "cpu")
hessenberg_p.facts = Facts(workspace=copies(1.5))


def hessenberg(a: Any) -> tuple[Any, Any]:
    """Reduce to Hessenberg form by reflections: :math:`a = Q H Q^H`.

    Args:
      a: square matrices [..., n, n].

    Returns:
      H on and above the first subdiagonal, with the reflections below it, of `a`'s
      shape and dtype; and their factors tau [..., n - 1] (see `householder_product`).

    Example:
      >>> import minijax.numpy as jnp
      >>> [v.shape for v in hessenberg(jnp.eye(3))]
      [(3, 3), (2,)]
    """
    h, taus = hessenberg_p.bind(a)
    return h, taus


tridiagonal_p = Primitive("tridiagonal", multiple_results=True)
tridiagonal_p.def_sharding(specs=matrices)


@weak_if_operands
def _tridiagonal_abstract(x: Any, *, lower: bool) -> list[Any]:
    check_matrix("tridiagonal", x, square=True)
    n, batch_shape = x.shape[-1], x.shape[:-2]
    if n == 0:
        raise ValueError(
            f"The input to tridiagonal must be a square matrix. Got shape {x.shape}."
        )
    real = dtypes.real_of(x.dtype)
    return [
        x,
        shaped((*batch_shape, n), real),
        shaped((*batch_shape, n - 1), real),
        shaped((*batch_shape, n - 1), x.dtype),
    ]


def _tridiagonal_lower(ctx: Any, x: Any, *, lower: bool) -> list[Any]:
    avals = list(ctx.avals_out)
    out = avals[0]
    if 0 in out.shape:
        return [ctx.constant(0, a) for a in avals]
    info = shaped(out.shape[:-2], dtypes.int32)
    if ctx.platform == "cuda":
        target, config = "cusolver_sytrd_ffi", f"lower = {flag(lower)}"
    else:
        target = routine("sytrd", out.dtype)
        config = f"uplo = {char('L' if lower else 'U')}"
    *values, status = call(
        ctx, target, [x], [out], [*avals, info], config, batch=out.ndim - 2, aliases=[(0, 0)]
    )
    return nan_where_failed(ctx, status, info.shape, values, avals)


tridiagonal_p.abstract = _tridiagonal_abstract
no_jvp(tridiagonal_p)
batch_matrices(tridiagonal_p)
only_on(tridiagonal_p, _tridiagonal_lower, "cpu", "cuda")
tridiagonal_p.facts = Facts(workspace=copies(1.5))


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """Reduce Hermitian matrices to real tridiagonal form: :math:`a = Q T Q^H`.

    Args:
      a: Hermitian matrices [..., n, n].
      lower: which triangle of a is read.

    Returns:
      The reflections, packed, of `a`'s shape and dtype; T's diagonal [..., n] and
      off-diagonal [..., n - 1], real; the reflections' factors tau [..., n - 1].

    Example:
      >>> import minijax.numpy as jnp
      >>> tridiagonal(jnp.diag(jnp.arange(3.0)))[1]
      Array([0., 1., 2.], dtype=float32)
    """
    packed, diagonal, off_diagonal, taus = tridiagonal_p.bind(a, lower=bool(lower))
    return packed, diagonal, off_diagonal, taus
