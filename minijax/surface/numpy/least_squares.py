"""Least squares and Moore-Penrose inverses.

Both are computed from the singular values.  Their derivatives avoid those of singular
vectors: they exist where singular values are equal, and no intermediate result is larger
than the operands (G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973).

Next: decompositions.py.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...control.rules.custom_jvp import custom_jvp
from ...ir import core
from ...prims import lax
from ...symbolic.dims import SymbolicDim, max_dim
from ...types import dtypes
from . import manipulation, moments, reductions, selection, ufuncs
from ._common import ArrayLike, convert, lead_with_ones, typed_constant
from .creation import asarray
from .decompositions import adjoint, default_rtol, eps_of, operand, precise, svd, symmetrized

__all__ = ("pinv", "lstsq")

# ------------------------------------------------------------------------------ inverses


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Any:
    """Return Moore-Penrose inverses.

    Args:
      a: matrices, shape (..., m, n).
      rtol: singular values up to this fraction of the largest count as 0 (default: 10 *
        max(m, n) * eps, at most 0.01).
      hermitian: `a` is Hermitian.
      rcond: another name for `rtol`.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n, m).

    Raises:
      ValueError: both `rtol` and `rcond`, or fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.pinv(jnp.array([[2., 0.], [0., 0.]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    return _pinv(a, rcond if rtol is None else rtol, hermitian)


@composite(static=("hermitian",))
def _pinv(a: Any, rtol: Any, hermitian: bool) -> Any:
    (a,) = operand("pinv", a)
    if a.ndim < 2:
        raise ValueError(f"pinv takes matrices, got {errors.type_text(a)}.")
    m, n = a.shape[-2:]
    if not m or not n:
        return lax.broadcast_in_dim(typed_constant(0, a.dtype), (*a.shape[:-2], n, m), ())
    if rtol is None:
        rtol = default_rtol(a.dtype, max(m, n), 10)
    return _pinv_svd(a, asarray(rtol), hermitian)


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _pinv_svd(a: Any, rtol: Any, hermitian: bool) -> Any:
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    rank = max(s.ndim, rtol.ndim + 1)  # stacked tolerances broadcast with the matrices
    u, s, vh = (manipulation.expand_dims(x, tuple(range(rank - s.ndim))) for x in (u, s, vh))
    rtol = convert(rtol, s.dtype)[..., None]
    rtol = lead_with_ones(rtol, rtol.shape, rank)
    # Division by inf gives 0; a mask of 1 / s would divide by 0 first.
    s = selection.where(s > rtol * s[..., :1], s, np.inf)
    return precise(adjoint(vh), adjoint(u) / convert(s, a.dtype)[..., None])


@_pinv_svd.defjvp
def _pinv_jvp(hermitian: bool, primals: Any, tangents: Any) -> Any:
    """Differentiate by theorem 4.3 of Golub and Pereyra; truncated values count as 0."""
    (a, rtol), t = primals, tangents[0]
    p = _pinv_svd(a, rtol, hermitian)
    if hermitian:  # as eigh sees them
        a, t = symmetrized(a), symmetrized(t)
    if a.shape[-2] >= a.shape[-1]:
        return p, _pinv_tangent(a, p, t)
    return p, adjoint(_pinv_tangent(adjoint(a), adjoint(p), adjoint(t)))


def _pinv_tangent(a: Any, p: Any, t: Any) -> Any:
    """Return the tangent for no fewer rows than columns: no product is larger than A."""
    change = precise(p, t)
    flipped = adjoint(change)
    inside = flipped - precise(precise(p, a), flipped) - change
    beyond = adjoint(t) - precise(precise(adjoint(t), a), p)
    return precise(inside, p) + precise(precise(p, adjoint(p)), beyond)


# ------------------------------------------------------------------------- least squares


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """Return the least-squares solution of :math:`A x = b`, of least norm.

    Args:
      a: matrix, shape (m, n).
      b: vector, shape (m,), or matrix, shape (m, k).
      rcond: singular values below this fraction of the largest count as 0 (default:
        max(m, n) * eps, at most 0.01; eps if negative).
      numpy_resid: return empty residuals where NumPy does: for deficient and for wide
        matrices.  The rank must then be concrete, which excludes `jit`.

    Returns:
      The solution, the sums of squared residuals, the rank of `a`, its singular values.

    Raises:
      TypeError, ValueError: shapes that do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> a = jnp.array([[1., 0.], [1., 1.], [1., 2.]])
      >>> jnp.linalg.lstsq(a, jnp.array([1., 3., 5.]))[0].round(3)
      Array([1., 2.], dtype=float32)
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    if numpy_resid:
        m, n = core.aval_of(a).shape
        if m <= n or rank < n:
            residuals = asarray(np.zeros(0), residuals.dtype)
    return x, residuals, rank, s


@composite
def _lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any, Any]:
    a, b = operand("lstsq", a, b)
    if a.ndim and b.ndim and a.shape[0] != b.shape[0]:
        raise ValueError(
            f"Leading dimensions of input arrays must match: {a.shape} and {b.shape}."
        )
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise TypeError(
            f"{b.ndim}-dimensional array given. Array must be one or two-dimensional"
        )
    vector = b.ndim == 1
    columns = b[:, None] if vector else b
    n = a.shape[1]
    if not a.size:
        s = lax.broadcast_in_dim(typed_constant(0, a.dtype), (0,), ())
        rank: Any = asarray(np.zeros((), dtypes.int_default()))
        x = lax.broadcast_in_dim(typed_constant(0, a.dtype), (n, columns.shape[1]), ())
    else:
        s = svd(a, full_matrices=False).S
        eps = eps_of(a.dtype)
        if rcond is None:
            x = _least_squares(a, columns)
            cutoff: Any = _cutoff(a)
        else:
            cutoff = convert(rcond, s.dtype)
            cutoff = selection.where(cutoff < 0, s.dtype.type(eps), cutoff)
            x = _solved_by_svd(a, columns, cutoff)
        rank = reductions.sum(_nonzero_mask(s, cutoff))
    rest = columns - precise(a, x)
    residuals = reductions.sum(moments.squared(rest), 0)
    return (x[:, 0] if vector else x), residuals, rank, s


def _nonzero_mask(s: Any, cutoff: Any) -> Any:
    """Return a mask of the singular values that count."""
    return ufuncs.logical_and(s > 0, s >= cutoff * s[0])


def _solved_by_svd(a: Any, b: Any, cutoff: Any) -> Any:
    u, s, vh = svd(a, full_matrices=False)
    nonzero = _nonzero_mask(s, cutoff)
    safe = selection.where(nonzero, s, s.dtype.type(1))
    scales = selection.where(nonzero, 1 / safe, s.dtype.type(0))
    coefficients = precise(adjoint(u), b)
    wide = manipulation.broadcast_to(convert(scales, a.dtype)[:, None], coefficients.shape)
    return precise(adjoint(vh), wide * coefficients)


@custom_jvp
def _least_squares(a: Any, b: Any) -> Any:
    return _solved_by_svd(a, b, _cutoff(a))


def _cutoff(a: Any) -> Any:
    """Return the ratio to the largest singular value below which others count as 0."""
    real, eps = dtypes.real_of(a.dtype), eps_of(a.dtype)
    size = max_dim(*a.shape)
    if isinstance(size, SymbolicDim):
        return lax.mul(size.of_dtype(real), real.type(eps))
    return real.type(default_rtol(a.dtype, size))


@_least_squares.defjvp
def _least_squares_jvp(primals: Any, tangents: Any) -> Any:
    """Differentiate A+ b like A+."""
    (a, b), (a_t, b_t) = primals, tangents
    x = _least_squares(a, b)
    p = _pinv_svd(a, asarray(default_rtol(a.dtype, max(a.shape))), False)
    back, a_th = adjoint(p), adjoint(a_t)
    away = precise(a_th, precise(back, x))
    rest = b - precise(a, x)
    along = b_t - precise(a_t, x) + precise(back, precise(a_th, rest)) - precise(a, away)
    return x, precise(p, along) + away
