"""LU factors with row exchanges, and symmetric products.

The derivative of LU splits L^-1 P dA U^-1 into its triangles (F. de Hoog, R. Anderssen
and M. Lukas, "Differentiation of matrix functionals using triangular factorization",
Mathematics of Computation 80, 2011).

matrix.py contains the helpers.  Next: qr.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...analysis.cost_model import copies
from ...ir import core
from ...ir.core import ByPlatform, Primitive
from ...ir.facts import Facts
from ...passes.ad_util import Zero
from ...symbolic.dims import min_dim
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import FLOAT, check_kind, same_dtype, weak_if_operands, zero_jvp
from ..gather.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..gather.dynamic_slicing import dynamic_index_in_dim
from ..gather.gather import gather
from ..math.algebraic import add, mul, sub
from ..math.logic import eq, select
from ..reduce.over_axes import reduce_sum
from ..sequential import emit_loop
from ..shape.concatenation import concatenate
from ..shape.creation import broadcasted_iota
from ..shape.shapes import broadcast_in_dim, expand_dims
from ..shape.slicing import slice_in_dim
from ..sharding_specs import batched_specs, matrices
from .lapack import call, nan_where_failed, plain_call, routine
from .matrix import *
from .solve import triangular_solve

__all__ = (
    "lu_pivots_to_permutation_p",
    "lu_pivots_to_permutation",
    "lu_p",
    "lu",
    "symmetric_product_p",
    "symmetric_product",
)

# ------------------------------------------------------------ lu_pivots_to_permutation

lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation")


@weak_if_operands
def _pivots_abstract(pivots: Any, *, permutation_size: int) -> Any:
    name = "lu_pivots_to_permutation"
    if pivots.dtype != dtypes.int32:
        raise TypeError(
            f"{name} does not accept dtype {pivots.dtype} at position 0. Accepted"
            " dtypes at position 0 are subtypes of int32."
        )
    if pivots.ndim < 1:
        raise TypeError(
            f"Input 0 to {name} must have rank at least 1, but got shape={pivots.shape}"
        )
    if permutation_size < pivots.shape[-1]:
        raise ValueError(
            f"Output permutation size {permutation_size} has to exceed the trailing"
            f" dimension of the pivots. Got pivots size {pivots.shape[-1]}"
        )
    return shaped((*pivots.shape[:-1], permutation_size), dtypes.int32)


def _exchange(i: Any, pivots: Any, perm: Any) -> tuple[Any, Any]:
    """Exchange entry i of each permutation with the entry at its pivot."""
    shape = shape_of(perm)
    last = len(shape) - 1
    positions = broadcasted_iota(np.int32, shape, last)

    def wide(x: Any) -> Any:
        return broadcast_in_dim(x, shape, tuple(range(last)))

    other = wide(dynamic_index_in_dim(pivots, i, last, keepdims=False))
    own_entry = wide(dynamic_index_in_dim(perm, i, last, keepdims=False))
    other_entry = select(eq(positions, other), perm, mul(perm, np.int32(0)))
    other_entry = wide(reduce_sum(other_entry, (last,)))
    is_own = eq(positions, broadcast_in_dim(i, shape, ()))
    return pivots, select(is_own, other_entry, select(eq(positions, other), own_entry, perm))


def _pivots_lower(ctx: Any, pivots: Any, *, permutation_size: int) -> Any:
    return permutation_of(ctx, pivots, ctx.avals_in[0], ctx.avals_out[0])


def permutation_of(ctx: Any, pivots: Any, aval: Any, out: Any) -> Any:
    """Emit the permutations that sequences of exchanges produce."""
    if 0 in out.shape:
        return ctx.constant(0, out)
    if ctx.platform == "cuda" and aval.shape[-1]:
        return call(
            ctx, "cu_lu_pivots_to_permutation", [pivots], [aval], [out], batch=out.ndim - 1
        )[0]
    start = ctx.op("iota", out, iota_dimension=ctx.i64(out.ndim - 1))
    return emit_loop(ctx, aval.shape[-1], _exchange, [pivots, start], [aval, out])[1]


lu_pivots_to_permutation_p.abstract = _pivots_abstract
zero_jvp(lu_pivots_to_permutation_p)
lu_pivots_to_permutation_p.def_sharding(specs=batched_specs(1))
batch_matrices(lu_pivots_to_permutation_p, vectors=True)
lu_pivots_to_permutation_p.lower = _pivots_lower


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    r"""Return the permutation that row exchanges produce:
    :math:`p = \tau_{k-1} \cdots \tau_0 (0, 1, .., n-1)`, where :math:`\tau_i` exchanges
    elements i and pivots[i].

    Args:
      pivots: int32 [..., k], counting from 0.
      permutation_size: the number n of rows, at least k.

    Returns:
      The permutations, int32 [..., n].

    Example:
      >>> import minijax.numpy as jnp
      >>> lu_pivots_to_permutation(jnp.array([2, 1]), 3)
      Array([2, 1, 0], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=int(permutation_size))


# ----------------------------------------------------------------------------------- lu

lu_p = Primitive("lu", multiple_results=True)
lu_p.def_sharding(specs=matrices)


@weak_if_operands
def _lu_abstract(x: Any) -> list[Any]:
    check_matrix("lu", x)
    m, n = x.shape[-2:]
    batch_shape = x.shape[:-2]
    return [
        x,
        shaped((*batch_shape, min_dim(m, n)), dtypes.int32),
        shaped((*batch_shape, m), dtypes.int32),
    ]


def permute_rows(x: Any, perm: Any) -> Any:
    """Return x[..., perm, :]."""
    shape = shape_of(x)
    if 0 in shape:
        return x
    batch_ndim = len(shape) - 2
    numbers = GatherDimensionNumbers(
        offset_dims=(batch_ndim + 1,),
        collapsed_slice_dims=(batch_ndim,),
        start_index_map=(batch_ndim,),
        operand_batching_dims=tuple(range(batch_ndim)),
        start_indices_batching_dims=tuple(range(batch_ndim)),
    )
    return gather(
        x,
        expand_dims(perm, (-1,)),
        numbers,
        (*[1] * batch_ndim, 1, shape[-1]),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        unique_indices=True,
    )


def _lu_jvp(primals: Any, tangents: Any) -> Any:
    (a,), (da,) = primals, tangents
    lu, pivots, perm = lu_p.bind(a)
    zeros = [Zero(core.aval_of(v).to_tangent()) for v in (pivots, perm)]
    if type(da) is Zero:
        return [lu, pivots, perm], [Zero(core.aval_of(lu).to_tangent()), *zeros]
    return [lu, pivots, perm], [_lu_tangent(lu, permute_rows(da, perm)), *zeros]


def _lu_tangent(lu: Any, da: Any) -> Any:
    """Return the tangent of packed factors, by blocks: first the leading square block."""
    m, n = shape_of(lu)[-2:]
    k = min_dim(m, n)
    square = slice_in_dim(slice_in_dim(lu, 0, k, axis=-2), 0, k, axis=-1)
    low = {"left_side": True, "lower": True, "unit_diagonal": True}
    high = {"left_side": False, "lower": False}
    inner_change = slice_in_dim(slice_in_dim(da, 0, k, axis=-2), 0, k, axis=-1)
    inner_change = triangular_solve(
        square, triangular_solve(square, inner_change, **low), **high
    )
    eye = identity(shape_of(square), core.aval_of(lu).dtype)
    dl = matmul(add(strictly_lower(square), eye), strictly_lower(inner_change))
    du = matmul(upper_triangle(inner_change), upper_triangle(square))
    out = add(dl, du)
    if m > k:  # rows of L, from their rows of dA = dL U + L dU
        rest = slice_in_dim(lu, k, m, axis=-2)
        change = sub(slice_in_dim(da, k, m, axis=-2), matmul(rest, du))
        rest_t = triangular_solve(square, change, **high)
        out = concatenate([out, rest_t], len(shape_of(out)) - 2)
    if n > k:  # columns of U, from their columns of dA
        rest = slice_in_dim(lu, k, n, axis=-1)
        change = sub(slice_in_dim(da, k, n, axis=-1), matmul(dl, rest))
        rest_t = triangular_solve(square, change, **low)
        out = concatenate([out, rest_t], len(shape_of(out)) - 1)
    return out


def _lu_lower(ctx: Any, x: Any) -> list[Any]:
    out, pivots, perm = ctx.avals_out
    if 0 in out.shape:
        iota = ctx.op("iota", perm, iota_dimension=ctx.i64(perm.ndim - 1))
        return [ctx.constant(0, out), ctx.constant(0, pivots), iota]
    if ctx.platform == "tpu":
        return plain_call(ctx, "LuDecomposition", [x], [out, pivots, perm], version=2)
    info = shaped(out.shape[:-2], dtypes.int32)
    cuda = ctx.platform == "cuda"
    target = "cusolver_getrf_ffi" if cuda else routine("getrf", out.dtype)
    lu, swaps, status = call(
        ctx, target, [x], [out], [out, pivots, info], batch=out.ndim - 2, aliases=[(0, 0)]
    )
    # LAPACK counts from 1.  A zero pivot is not a failure.
    swaps = ctx.op("subtract", pivots, swaps, ctx.constant(1, pivots))
    (lu,) = nan_where_failed(ctx, status, info.shape, [lu], [out], positive_is_fine=True)
    return [lu, swaps, permutation_of(ctx, swaps, pivots, perm)]


lu_p.abstract = _lu_abstract
lu_p.jvp = _lu_jvp
batch_matrices(lu_p)
lu_p.lower = _lu_lower
lu_p.facts = Facts(flops=matrix_flops(1.0, -1 / 3), workspace=copies(1))


def lu(x: Any) -> list[Any]:
    """Compute LU factors with row exchanges: :math:`x_{p} = L U`, where p permutes rows.

    Args:
      x: matrices [..., m, n] of a float or complex dtype.

    Returns:
      L (unit lower triangular, its diagonal not stored) and U (upper triangular) in one
      array [..., m, n] of `x`'s dtype; the exchanges (pivots), int32 [..., min(m, n)];
      the permutation p of rows that they produce, int32 [..., m].

    Example:
      >>> import minijax.numpy as jnp
      >>> lu(jnp.array([[1.0, 2.0], [2.0, 2.0]]))[0]
      Array([[2. , 2. ],
             [0.5, 1. ]], dtype=float32)
    """
    return lu_p.bind(x)  # type: ignore[no-any-return]


def solve(a: Any, b: Any) -> Any:
    """Return a^-1 b, through the LU factors of a."""
    factors, _, perm = lu(a)
    y = triangular_solve(
        factors, permute_rows(b, perm), left_side=True, lower=True, unit_diagonal=True
    )
    return triangular_solve(factors, y, left_side=True, lower=False)


# ----------------------------------------------------------------------- products x x^T

symmetric_product_p = Primitive("symmetric_product")
symmetric_product_p.def_sharding(specs=matrices)


@weak_if_operands
def _symmetric_abstract(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    for i, aval in enumerate((a, c)):
        check_kind("symmetric_product", aval, FLOAT, i, 2)
        check_matrix("symmetric_product", aval, position=i)
    dtype = same_dtype("symmetric_product", (a, c))
    if c.shape != (*a.shape[:-2], a.shape[-2], a.shape[-2]):
        raise ValueError(
            "symmetric_update expects a rectangular matrix of shape (m, n) and a square"
            f" matrix of shape (m, m). Got shapes {a.shape} and {c.shape}."
        )
    return shaped(c.shape, dtype)


def _symmetric_lower(ctx: Any, a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    def product(a: Any, c: Any) -> Any:
        dtype = core.aval_of(c).dtype
        out = mul(dtype.type(alpha), matmul(a, transpose_matrix(a)))
        return out if beta == 0 else add(out, mul(dtype.type(beta), c))

    return ctx.fun(product, a, c)[0]


def _symmetric_lower_cuda(ctx, a, c, *, alpha: float, beta: float):
    (out,) = ctx.avals_out
    if 0 in ctx.avals_in[0].shape:
        return _symmetric_lower(ctx, a, c, alpha=alpha, beta=beta)
    one = shaped((), out.dtype)
    factors = [ctx.constant(alpha, one), ctx.constant(beta, one)]
    return call(
        ctx,
        "cusolver_syrk_ffi",
        [a, c, *factors],
        [*ctx.avals_in, one, one],
        [out],
        "transpose = false",
        batch=0,
        aliases=[(1, 0)],
        row_major=True,
    )[0]


symmetric_product_p.abstract = _symmetric_abstract
no_jvp(symmetric_product_p)
batch_matrices(symmetric_product_p)
symmetric_product_p.lower = ByPlatform(_symmetric_lower, cuda=_symmetric_lower_cuda)


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    r"""Return :math:`\alpha\, a a^T + \beta\, c`, for symmetric c.

    Args:
      a_matrix: a, an array [..., m, n] of a float dtype.
      c_matrix: c, an array [..., m, m] of the same dtype.
      alpha, beta: the factors, Python numbers.
      symmetrize_output: whether to copy the lower triangle into the upper one, which is
        otherwise undefined.

    Returns:
      An array of `c_matrix`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> symmetric_product(jnp.ones((2, 3)), jnp.eye(2))
      Array([[3., 3.],
             [3., 3.]], dtype=float32)
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if symmetrize_output:
        low = lower_triangle(out)
        out = add(low, transpose_matrix(strictly_lower(out)))
    return out
