"""Linear systems, determinants, inverses, powers of matrices.

Solvers and determinants have custom derivative rules, which reuse the factors instead of
differentiating them.

Next: least_squares.py; norms.py.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base import errors
from ...control.branches.cond_functions import cond as lax_cond
from ...control.calls.jit import composite
from ...control.rules.custom_jvp import custom_jvp
from ...control.rules.custom_solve import custom_linear_solve
from ...prims import lax, lax_linalg
from ...prims.stop_gradient import stop_gradient
from ...symbolic.dims import broadcast_sizes
from ...types import dtypes
from . import (
    contraction,
    indexing,
    linear,
    manipulation,
    reductions,
    running,
    selection,
    ufuncs,
)
from ._common import *
from .decompositions import (
    SlogdetResult,
    adjoint,
    eps_of,
    identity,
    operand,
    precise,
    square,
    svd,
    transpose_matrices,
)
from .diagonals import diagonal_of_replicated

__all__ = (
    "solve",
    "inv",
    "slogdet",
    "det",
    "matrix_power",
    "multi_dot",
    "tensorinv",
    "tensorsolve",
)

# ----------------------------------------------------------------------- linear systems


class Factors(NamedTuple):
    """LU factors, P A = L U: both triangles in one matrix, and the rows of A in P's order."""

    packed: Any
    rows: Any
    pivots: Any


def factorize(a: Any) -> Factors:
    """Return LU factors, which are constants for differentiation."""
    packed, pivots, rows = lax_linalg.lu(stop_gradient(a))
    return Factors(packed, rows, pivots)


def solve_factored(factors: Factors, b: Any, trans: int = 0) -> Any:
    """Solve A x = b (trans 0), A^T x = b (1) or A^H x = b (2) with LU factors of A."""
    packed, rows = factors.packed, factors.rows
    batch_shape = broadcast_sizes(packed.shape[:-2], b.shape[:-2])
    packed = manipulation.broadcast_to(packed, (*batch_shape, *packed.shape[-2:]))
    rows = manipulation.broadcast_to(rows, (*batch_shape, rows.shape[-1]))
    b = manipulation.broadcast_to(b, (*batch_shape, *b.shape[-2:]))
    low = {"left_side": True, "lower": True, "unit_diagonal": True}
    high = {"left_side": True, "lower": False}
    flip = {"transpose_a": trans > 0, "conjugate_a": trans == 2}
    triangular = lax_linalg.triangular_solve
    if trans == 0:
        return triangular(packed, triangular(packed, _permute_rows(b, rows), **low), **high)
    x = triangular(packed, triangular(packed, b, **high, **flip), **low, **flip)
    return _permute_rows(x, rows.argsort(-1))


def _permute_rows(x: Any, permutation: Any) -> Any:
    """Permute the rows of matrices."""
    if permutation.ndim == 1:
        return indexing.take(x, permutation, 0, mode="promise_in_bounds")
    return indexing.take_along_axis(x, permutation[..., None], -2, mode="promise_in_bounds")


def solve_matrix(a: Any, b: Any) -> Any:
    """Solve A X = B for stacks of matrices, differentiated implicitly."""
    batch_shape = broadcast_sizes(a.shape[:-2], b.shape[:-2])
    b = manipulation.broadcast_to(b, (*batch_shape, *b.shape[-2:]))
    factors = factorize(a)
    return custom_linear_solve(
        lambda x: precise(a, x),
        b,
        solve=lambda _, x: solve_factored(factors, x),
        transpose_solve=lambda _, x: solve_factored(factors, x, 1),
    )


@composite
def solve(a: ArrayLike, b: ArrayLike) -> Any:
    """Solve the linear system :math:`A x = b`.

    Args:
      a: square matrices, shape (..., n, n).
      b: right-hand side: a vector, shape (n,), or matrices, shape (..., n, k).

    Returns:
      The solution x, of the shape of `b` (with the leading axes of both).

    Raises:
      ValueError: shapes that do not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 2.]))
      Array([1. , 0.5], dtype=float32)
    """
    a, b = operand("solve", a, b)
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got {a.shape=}")
    n = a.shape[-1]
    vector = b.ndim == 1
    if 1 < b.ndim == a.ndim - 1 and b.shape[-1] == n != b.shape[-2]:
        raise errors.value_error(
            f"Invalid shapes for solve: {a.shape}, {b.shape}.",
            why="a stack of vectors has the shape of a matrix.",
            tries=["solve(a, b[..., None])[..., 0] for a stack of vectors"],
        )
    if a.shape[-2] != n or b.ndim == 0 or b.shape[0 if vector else -2] != n:
        raise errors.value_error(
            f"solve: shapes {a.shape} and {b.shape} do not fit.",
            why="a must be square, and b must have the same number of rows: sizes"
            f" {a.shape[-2:]} and {b.shape[0 if vector else -2 :]}.",
            tries=["jnp.linalg.lstsq for a matrix that is not square"],
        )
    if a.ndim != (2 if vector else b.ndim):
        check_rank_promotion("solve", (a.shape, b.shape))
    if vector:
        return solve_matrix(a, b[:, None])[..., 0]
    return solve_matrix(a, b)


@composite
def inv(a: ArrayLike) -> Any:
    """Return the inverses of square matrices.

    Args:
      a: matrices, shape (..., n, n).  To solve a system, use `solve`, which is faster and
        more accurate.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n, n); inf or nan for singular
      matrices.

    Raises:
      ValueError: not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.inv(jnp.array([[2., 0.], [0., 4.]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    a = square("inv", a)
    return solve_matrix(a, identity(a.shape[-1], a))


# ------------------------------------------------------------------------- determinants


def _swaps(factors: Factors) -> Any:
    """Return -1 for each matrix whose rows were swapped an odd number of times, else 1."""
    pivots = factors.pivots
    positions = lax.broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    count = reductions.sum(pivots != positions, -1)
    return 1 - 2 * (count % 2)


def _sign_and_log(factors: Factors) -> tuple[Any, Any]:
    """Return the sign and the logarithm of the size of a determinant."""
    diagonal = diagonal_of_replicated(factors.packed)
    dtype = diagonal.dtype
    zero = reductions.any(diagonal == 0, -1)
    sign = reductions.prod(ufuncs.sign(diagonal), -1) * convert(_swaps(factors), dtype)
    log = reductions.sum(ufuncs.log(ufuncs.absolute(diagonal)), -1)
    sign = selection.where(zero, convert(0, dtype), sign)
    return sign, selection.where(zero, convert(-np.inf, log.dtype), log)


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    n = a.shape[-1]
    if a.dtype.itemsize > 2 or n not in (1, 2):
        return _sign_and_log(factorize(a))
    det_a = a[..., 0, 0] if n == 1 else _det_2x2(a, a)  # LAPACK lacks half precision
    return ufuncs.sign(det_a), ufuncs.log(ufuncs.absolute(det_a))


def _slogdet_jvp(fun: Any, primals: Any, tangents: Any) -> Any:
    """Differentiate log det A along T: trace(A^-1 T)."""
    (a,), (t,) = primals, tangents
    sign, log = fun(a)
    rate = _log_rate(a, t)
    size_rate = ufuncs.real(rate)
    if dtypes.is_complex(a.dtype):
        sign_tangent = (rate - convert(size_rate, rate.dtype)) * sign
    else:
        sign_tangent = lax.broadcast_in_dim(typed_constant(0, sign.dtype), sign.shape, ())
    return (sign, log), (sign_tangent, size_rate)


def _log_rate(a: Any, t: Any) -> Any:
    """Return trace(A^-1 T); for small matrices by adjugates, infinite if singular."""
    n = a.shape[-1]
    if n == 1:
        return t[..., 0, 0] / a[..., 0, 0]
    if n == 2:
        return (_det_2x2(a, t) + _det_2x2(t, a)) / _det_2x2(a, a)
    return reductions.sum(diagonal_of_replicated(solve_matrix(a, t)), -1)


def _det_2x2(a: Any, b: Any) -> Any:
    """Return the determinant of the first row of one matrix and the second of another."""
    return a[..., 0, 0] * b[..., 1, 1] - a[..., 0, 1] * b[..., 1, 0]


@custom_jvp
def _slogdet_qr(a: Any) -> tuple[Any, Any]:
    """Use Householder's QR: each reflection multiplies the determinant by a phase."""
    packed, taus = lax_linalg.geqrf_p.bind(a)
    diagonal = diagonal_of_replicated(packed)
    log = reductions.sum(ufuncs.log(ufuncs.absolute(diagonal)), -1)
    signs = reductions.prod(ufuncs.sign(diagonal), -1)
    flips, one = ufuncs.absolute(taus) > 0, a.dtype.type(1)
    turns = selection.where(flips, -taus / ufuncs.conj(taus), one)
    return signs * reductions.prod(turns, -1), log


_slogdet_lu.defjvp(functools.partial(_slogdet_jvp, _slogdet_lu))
_slogdet_qr.defjvp(functools.partial(_slogdet_jvp, _slogdet_qr))


@composite(static=("method",))
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Return the signs and the logarithms of the sizes of determinants.

    Args:
      a: square matrices, shape (..., n, n).
      method: 'lu' (the default) or 'qr'.

    Returns:
      (sign, logabsdet); of complex matrices the sign is a phase.

    Raises:
      ValueError: not square, an unknown method.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.slogdet(jnp.array([[0., 1.], [1., 0.]]))
      SlogdetResult(sign=Array(-1., dtype=float32), logabsdet=Array(0., dtype=float32))
    """
    a = square("slogdet()", a)
    if method in (None, "lu"):
        return SlogdetResult(*_slogdet_lu(a))
    if method == "qr":
        return SlogdetResult(*_slogdet_qr(a))
    raise ValueError(
        f"Unknown slogdet method {method!r}. Supported methods are 'lu' (`None`), and 'qr'."
    )


@custom_jvp
def _det_lu(a: Any) -> Any:
    factors = factorize(a)
    product = reductions.prod(diagonal_of_replicated(factors.packed), -1)
    product = product * convert(_swaps(factors), a.dtype)
    # Partial products may overflow or underflow even if the determinant does neither.
    sign, log = _sign_and_log(factors)
    size = ufuncs.absolute(product)
    sure = ufuncs.logical_and(size > 0, size < np.inf)
    return selection.where(sure, product, sign * convert(ufuncs.exp(log), a.dtype))


@_det_lu.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    """Differentiate det A along T by Jacobi's formula: trace(adj(A) T)."""
    (a,), (t,) = primals, tangents
    det_a = _det_lu(a)

    def regular(a: Any, t: Any) -> Any:
        return det_a * reductions.sum(diagonal_of_replicated(solve_matrix(a, t)), -1)

    def singular(a: Any, t: Any) -> Any:
        return reductions.sum(transpose_matrices(adjugate(a)) * t, (-2, -1))

    # Nearly singular matrices have inverses without any correct digits.
    pivots = ufuncs.absolute(diagonal_of_replicated(factorize(a).packed))
    most = reductions.max(pivots, -1, initial=0)
    least = reductions.min(pivots, -1, initial=np.inf)
    doubtful = ufuncs.logical_or(least <= a.shape[-1] * eps_of(a.dtype) * most, det_a == 0)
    return det_a, lax_cond(reductions.any(doubtful), singular, regular, a, t)


@custom_jvp
def adjugate(a: Any) -> Any:
    """Return adjugates, also of singular matrices, by products of singular values."""
    u, s, vh = svd(a)
    n = s.shape[-1]
    others = selection.where(np.eye(n, dtype=bool), 1, s[..., None, :])
    without = convert(reductions.prod(others, -1), a.dtype)
    phase = _det_lu(u) * _det_lu(vh)
    scaled = adjoint(vh) * without[..., None, :]
    return phase[..., None, None] * precise(scaled, adjoint(u))


@adjugate.defjvp
def _adjugate_jvp(primals: Any, tangents: Any) -> Any:
    """Differentiate in the bases of the SVD, by products of all singular values but two."""
    (a,), (t,) = primals, tangents
    u, s, vh = svd(a)
    moved = precise(adjoint(u), precise(t, adjoint(vh)))
    pairs = convert(_without_pairs(s), a.dtype)
    along = precise(pairs, diagonal_of_replicated(moved)[..., None])
    along = selection.where(np.eye(s.shape[-1], dtype=bool), along, a.dtype.type(0))
    phase = (_det_lu(u) * _det_lu(vh))[..., None, None]
    inside = precise(adjoint(vh), along - moved * pairs)
    return adjugate(a), phase * precise(inside, adjoint(u))


def _without_pairs(s: Any) -> Any:
    """Return, for each two of some numbers, the product of the others; 0 on the diagonal."""
    n = s.shape[-1]
    one = s.dtype.type(1)
    ones = lax.broadcast_in_dim(one, (*s.shape[:-1], 1), ())

    def before(x: Any) -> Any:
        return running.cumprod(lax.concatenate([ones, x[..., :-1]], x.ndim - 1), -1)

    last = (s.ndim - 1,)
    row, column = np.arange(n)[:, None], np.arange(n)
    shifted = lax.concatenate([ones, s[..., :-1]], s.ndim - 1)
    between = selection.where(column - 1 > row, shifted[..., None, :], one)
    between = running.cumprod(between, -1)
    after = lax.rev(before(lax.rev(s, last)), last)
    out = before(s)[..., :, None] * between * after[..., None, :]
    out = selection.where(column > row, out, s.dtype.type(0))
    return out + transpose_matrices(out)


@composite
def det(a: ArrayLike) -> Any:
    """Return determinants of square matrices.

    Args:
      a: matrices, shape (..., n, n).

    Returns:
      An array of `a`'s inexact dtype, shape (...).

    Raises:
      ValueError: not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.det(jnp.array([[1., 2.], [3., 4.]]))
      Array(-2., dtype=float32)
    """
    a = square("_det()", a)
    n = a.shape[-1]
    if n == 1:
        return a[..., 0, 0]
    if n == 2:
        return _det_2x2(a, a)
    if n == 3:
        terms = [
            a[..., 0, i] * a[..., 1, (i + s) % 3] * a[..., 2, (i + 2 * s) % 3]
            for s in (1, 2)
            for i in range(3)
        ]
        return (terms[0] + terms[1] + terms[2]) - (terms[3] + terms[4] + terms[5])
    return _det_lu(a)


# ---------------------------------------------------------------- powers, chains, tensors


@composite(static=("n",))
def matrix_power(a: ArrayLike, n: int) -> Any:
    """Raise square matrices to an integer power.

    Args:
      a: matrices, shape (..., m, m).
      n: the power; negative ones invert first.

    Returns:
      An array of `a`'s shape and dtype (an inexact one for negative `n`).

    Raises:
      TypeError: not square, or `n` is not an integer.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.matrix_power(jnp.array([[1., 1.], [0., 1.]]), 5)
      Array([[1., 5.],
             [0., 1.]], dtype=float32)
    """
    check_arraylike("jnp.linalg.matrix_power", a)
    a = as_array(a)
    if a.ndim < 2:
        raise TypeError(
            f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if a.shape[-2] != a.shape[-1]:
        raise TypeError(f"Last 2 dimensions of the array must be square, got {a.shape}")
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"exponent must be an integer, got {n}") from None
    if n == 0:
        return identity(a.shape[-1], a)
    if n < 0:
        a, n = inv(a), -n
    if n == 3:  # multiplied in NumPy's order
        return linear.matmul(linear.matmul(a, a), a)
    out = None
    while n:
        if n & 1:
            out = a if out is None else linear.matmul(out, a)
        n >>= 1
        if n:
            a = linear.matmul(a, a)
    return out


def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None) -> Any:
    """Return the product of several matrices, in the cheapest order.

    Args:
      arrays: two or more matrices; the first and the last may be vectors.
      precision: precision of multiplications on accelerators (see `lax.dot_general`).

    Returns:
      An array of the common dtype, with the outer axes of the first and the last operand,
      if they are matrices.

    Raises:
      ValueError: shapes that do not chain.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
      Array([12., 12.], dtype=float32)
    """
    check_arraylike("jnp.linalg.multi_dot", *arrays)
    chain = [as_array(x) for x in arrays]
    if len(chain) < 2:
        raise ValueError(
            f"multi_dot requires at least two arrays; got len(arrays)={len(chain)}"
        )
    if any(x.ndim != 2 for x in chain[1:-1]) or any(
        x.ndim not in (1, 2) for x in (chain[0], chain[-1])
    ):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first"
            " and last array which may be 1 or 2 dimensional. Got array shapes"
            f" {[x.shape for x in chain]}"
        )
    if any(x.shape[-1] != y.shape[0] for x, y in itertools.pairwise(chain)):
        raise ValueError(
            "multi_dot: last dimension of each array must match first dimension of"
            f" following array. Got array shapes {[x.shape for x in chain]}"
        )
    labels = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    terms = [labels[i : i + 2] for i in range(len(chain))]
    if chain[0].ndim == 1:
        terms[0] = terms[0][1]
    if chain[-1].ndim == 1:
        terms[-1] = terms[-1][0]
    out = (terms[0][0] if chain[0].ndim == 2 else "") + (
        terms[-1][-1] if chain[-1].ndim == 2 else ""
    )
    return contraction.einsum(
        ",".join(terms) + "->" + out, *chain, optimize="auto", precision=precision
    )


def tensorinv(a: ArrayLike, ind: int = 2) -> Any:
    """Return the inverse of `tensordot(a, .., ind)`.

    Args:
      a: array whose first `ind` axes have as many elements as the others.
      ind: number of axes that index rows.

    Returns:
      An array of `a`'s inexact dtype, shape (*a.shape[ind:], *a.shape[:ind]).

    Raises:
      ValueError: `ind` is not positive, or the sizes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 4), ind=2).shape
      (4, 2, 2)
    """
    check_arraylike("jnp.linalg.tensorinv", a)
    a, ind = as_array(a), operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions"
            f" equals that of the remaining dimensions. got {a.shape=} with {ind=}."
        )
    n = math.prod(rows)
    return inv(a.reshape(n, n)).reshape(*columns, *rows)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Any:
    """Solve :math:`tensordot(a, x, x.ndim) = b`.

    Args:
      a: array of shape b.shape + x.shape (after moving `axes` to the end).
      b: right-hand side.
      axes: axes of `a` to move to the end.

    Returns:
      An array of the inexact common dtype, of the shape of x: a.shape[b.ndim:].

    Raises:
      ValueError: shapes that do not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> a = jnp.eye(4).reshape(2, 2, 4)
      >>> jnp.linalg.tensorsolve(a, jnp.ones((2, 2)))
      Array([1., 1., 1., 1.], dtype=float32)
    """
    check_arraylike("jnp.linalg.tensorsolve", a, b)
    a, b = as_array(a), as_array(b)
    if axes is not None:
        last = tuple(range(a.ndim - len(axes), a.ndim))
        a = manipulation.moveaxis(a, tuple(axes), last)
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got"
            f" {a.shape=}, {b.shape=}"
        )
    n = math.prod(shape)
    if n != b.size:
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]);"
            f" got {a.shape=}, {b.ndim=}."
        )
    return solve(a.reshape(n, n), b.ravel()).reshape(shape)
