r"""The largest eigenvalues of a symmetric operator: `lobpcg_standard`.

Locally optimal block preconditioned conjugate gradients, without a preconditioner.  A step
finds the best vectors, by the Rayleigh-Ritz method, in the span of the current vectors,
their residuals, and the last step.  Before that, each block is made orthonormal and
orthogonal to the previous blocks, so that the small eigenproblem is a standard one.

Source: Knyazev, Toward the Optimal Preconditioned Eigensolver, SIAM J. Sci. Comput. 23
(2001); Duersch, Shao, Yang and Gu, A Robust and Efficient Implementation of LOBPCG, SIAM
J. Sci. Comput. 40 (2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...api.eval_shape import eval_shape
from ...base import errors
from ...control.body_staging import kept_by
from ...control.calls.jit import jit
from ...control.loop_functions.while_loop import while_loop
from ...types import dtypes
from .. import jnp
from ..numpy.decompositions import eigh, qr

__all__ = ("lobpcg_standard",)


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> Any:
    r"""Return the largest eigenvalues of a symmetric matrix, and their eigenvectors.

    Args:
      A: a symmetric array (n, n), or a function that multiplies an array (n, k) by it.
      X: the initial vectors, an array (n, k) for k eigenvalues; 5 k < n.
      m: the largest number of steps.
      tol: a pair :math:`\lambda, v` has converged if :math:`|A v - \lambda v|` is
        less than tol 10 n (:math:`\lambda` + :math:`|A v|`); None means the rounding error
        of the dtype.

    Returns:
      `(theta, U, i)`: the eigenvalues, (k,), in descending order; orthonormal
      eigenvectors, (n, k); the number of steps.

    Raises:
      ValueError: shapes or dtypes do not fit, or k is too large.

    Example:
      >>> import minijax.numpy as jnp
      >>> theta, U, i = lobpcg_standard(jnp.diag(jnp.arange(20.)), jnp.ones((20, 1)))
      >>> float(theta[0].round(3))
      19.0

    Source: Knyazev, Toward the Optimal Preconditioned Eigensolver (2001).
    """
    X = jnp.asarray(X)
    if X.ndim != 2:
        raise errors.value_error(f"X must be an array (n, k), got shape {X.shape}.")
    n, k = X.shape
    if not callable(A):
        A = jnp.asarray(A)
    _check(A, X, n, k)
    if not dtypes.is_inexact(X.dtype):
        raise errors.value_error(f"X must have floating dtype, got {X.dtype}.")
    tol = float(jnp.finfo(X.dtype).eps) if tol is None else tol
    if callable(A):
        return kept_by(A, _of_function)(X, m, tol)
    return _of_matrix(A, X, m, tol)


def _check(A: Any, X: Any, n: int, k: int) -> None:
    """Raise ValueError unless the operator and the vectors fit."""
    if callable(A):
        out = eval_shape(A, X)
        out_shape, dtype, fits = (out.shape[0], 1), out.dtype, out.shape == X.shape
    else:
        out_shape, dtype, fits = (A.shape[0], 1), A.dtype, A.shape == (n, n)
    if not fits:
        raise errors.value_error(f"A must be ({n}, {n}) matrix A, got output {out_shape}")
    if dtype != X.dtype:
        raise errors.value_error(f"A, X must have same dtypes (were {dtype}, {X.dtype})")
    if k * 5 >= n:
        raise errors.value_error(f"expected search dim * 5 < matrix dim (got {k * 5}, {n})")


def _times(A: Any, X: Any) -> Any:
    return A @ X


@jit
def _of_matrix(A: Any, X: Any, m: Any, tol: Any) -> Any:
    return _iterate(functools.partial(_times, A), X, m, tol)


def _of_function(A: Callable[[Any], Any]) -> Callable[..., Any]:
    return jit(functools.partial(_iterate, A))  # type: ignore[no-any-return]


def _iterate(A: Callable[[Any], Any], X: Any, m: Any, tol: Any) -> Any:
    n, k = X.shape
    X = qr(X)[0]

    def residuals(X: Any) -> tuple[Any, Any, Any]:
        AX = A(X)
        theta = jnp.sum(X.conj() * AX, 0).real
        R = AX - X * theta.astype(X.dtype)
        size = jnp.sqrt(jnp.sum(jnp.abs(AX) ** 2, 0)) + jnp.abs(theta)
        residual_norm = jnp.sqrt(jnp.sum(jnp.abs(R) ** 2, 0))
        return theta, R, residual_norm < tol * 10 * n * size

    def not_done(state: Any) -> Any:
        i, *_, is_converged = state
        return (i < m) & ~jnp.all(is_converged)

    def step(state: Any) -> Any:
        i, X, P, _, R, _ = state
        X, P = _best(A, X, R, P, k)
        return (i + 1, X, P, *residuals(X))

    theta, R, is_converged = residuals(X)
    # Take at least one step: the initial vectors may be eigenvectors, but not the largest.
    start = (0, X, jnp.zeros_like(X), theta, R, jnp.zeros_like(is_converged))
    i, X, _, theta, *_ = while_loop(not_done, step, start)
    descending = jnp.argsort(-theta)
    return theta[descending], X[:, descending], i


def _best(A: Callable[[Any], Any], X: Any, R: Any, P: Any, k: int) -> tuple[Any, Any]:
    """Return the best vectors in the span of all three blocks, and the step from X."""
    R = _orthonormal(_without(R, X))
    P = _orthonormal(_without(_without(P, X), R))
    S = jnp.concatenate([X, R, P], 1)
    H = S.conj().T @ A(S)
    # Zero columns must not be chosen: give them an eigenvalue below all others.
    is_present = jnp.sum(jnp.abs(S) ** 2, 0) > 0.5
    least = -2 * jnp.sqrt(jnp.sum(jnp.abs(H) ** 2)) - 1
    H = H + jnp.diag(jnp.where(is_present, 0, least).astype(H.dtype))
    C = eigh((H + H.conj().T) / 2)[1][:, -k:][:, ::-1]
    X = qr(S @ C)[0]
    return X, S[:, k:] @ C[k:]


def _without(V: Any, U: Any) -> Any:
    """Subtract from V its projection on the columns of U, which are orthonormal or 0."""
    for _ in range(2):  # the second pass removes the rounding errors of the first
        V = V - U @ (U.conj().T @ V)
    return V


def _orthonormal(V: Any) -> Any:
    """Return orthonormal columns of the same span; dependent columns become 0."""
    eps = jnp.finfo(V.dtype).eps
    for _ in range(2):  # one pass squares the condition number, so it loses half the digits
        sizes = jnp.sqrt(jnp.sum(jnp.abs(V) ** 2, 0))
        V = V / jnp.where(sizes > 0, sizes, 1).astype(V.dtype)
        w, Q = eigh(V.conj().T @ V)
        is_independent = w > eps * 10 * jnp.max(w)
        scale = jnp.where(is_independent, 1 / jnp.sqrt(jnp.where(is_independent, w, 1)), 0)
        V = (V @ Q) * scale.astype(V.dtype)
    return V
