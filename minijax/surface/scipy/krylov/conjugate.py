"""Linear systems by conjugate directions: short recurrences of four or eight vectors.

Both stop when |b - A x| <= max(tol |b|, atol), or after `maxiter` steps.

Next: gmres.py, which stores all directions.
"""

from __future__ import annotations

from typing import Any

from ....control.loop_functions.while_loop import while_loop
from ... import jnp
from .vectors import (
    Operator,
    Vector,
    as_vector,
    dot,
    identity,
    implicit,
    minus,
    plus,
    size,
    squared,
)

__all__ = ("cg", "bicgstab")


def limit_of(b: Vector, tol: Any, atol: Any) -> Any:
    """Return the square of the largest acceptable norm of a residual."""
    return jnp.maximum(jnp.square(tol) * squared(b), jnp.square(atol))


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    r"""Solve :math:`A x = b` by conjugate gradients, for A Hermitian and positive.

    Derivatives by `b` and by the parameters of `A` are implicit: each is another solve.

    Args:
      A: a square matrix, an object with `@`, or a linear function of trees like `b`.
      b: the right-hand side, a pytree of arrays.
      x0: the initial guess, a tree like `b` (default: zeros).
      tol, atol: tolerances of the residual: :math:`|b - A x| \le \max(tol |b|, atol)`.
      maxiter: the largest number of steps (default: ten times the size of `b`).
      M: an approximation of the inverse of A, Hermitian and positive, in any of the
        forms of `A`.

    Returns:
      (x, None): the solution, a tree like `b`, and a placeholder for information.

    Raises:
      TypeError: `A` or `M` is not a linear operator.
      ValueError: a matrix is not square, or `x0` is not like `b`.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, _ = cg(jnp.array([[2., 1.], [1., 3.]]), jnp.array([4., 7.]))
      >>> jnp.round(x, 4)
      Array([1., 2.], dtype=float32)

    Source: Hestenes, Stiefel, Journal of Research of the NBS 49(6), 1952.
    """
    steps = 10 * size(as_vector(b)) if maxiter is None else maxiter

    def solve(A: Operator, b: Vector, x0: Vector, M: Operator) -> Vector:
        limit = limit_of(b, tol, atol)

        def body(carry: Any) -> Any:
            k, x, r, z, p, rz = carry
            q = A(p)
            step = rz / jnp.real(dot(p, q))
            x, r = plus(x, step, p), plus(r, -step, q)
            z = M(r)
            rz_new = jnp.real(dot(r, z))
            return k + 1, x, r, z, plus(z, rz_new / rz, p), rz_new

        def cond(carry: Any) -> Any:
            k, _, r, _, _, rz = carry
            return ((rz if M is identity else squared(r)) > limit) & (k < steps)

        r = minus(b, A(x0))
        z = M(r)
        first = (0, x0, r, z, z, jnp.real(dot(r, z)))
        return while_loop(cond, body, first)[1]

    return implicit(solve, A, b, x0, M, hermitian=True), None


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    r"""Solve :math:`A x = b` by stabilized biconjugate gradients, for any A.

    Derivatives by `b` and by the parameters of `A` are implicit: each is another solve.

    Args:
      A: a square matrix, an object with `@`, or a linear function of trees like `b`.
      b: the right-hand side, a pytree of arrays.
      x0: the initial guess, a tree like `b` (default: zeros).
      tol, atol: tolerances of the residual: :math:`|b - A x| \le \max(tol |b|, atol)`.
      maxiter: the largest number of steps (default: ten times the size of `b`).
      M: an approximation of the inverse of A, in any of its forms.

    Returns:
      (x, None): the solution, a tree like `b`, and a placeholder for information.  If the
      method breaks down, x is the best solution so far.

    Raises:
      TypeError: `A` or `M` is not a linear operator.
      ValueError: a matrix is not square, or `x0` is not like `b`.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, _ = bicgstab(jnp.array([[2., 1.], [0., 3.]]), jnp.array([4., 6.]))
      >>> jnp.round(x, 4)
      Array([1., 2.], dtype=float32)

    Source: van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992.
    """
    steps = 10 * size(as_vector(b)) if maxiter is None else maxiter

    def solve(A: Operator, b: Vector, x0: Vector, M: Operator) -> Vector:
        limit = limit_of(b, tol, atol)
        shadow = r = minus(b, A(x0))
        # The scalars of the recurrence are complex for complex systems.
        one = jnp.ones((), dot(r, r).dtype)

        def body(carry: Any) -> Any:
            k, x, r, p, q, rho, step, omega, _ = carry
            rho_new = dot(shadow, r)
            p = plus(r, rho_new / rho * (step / omega), plus(p, -omega, q))
            preconditioned_p = M(p)
            q = A(preconditioned_p)
            step = rho_new / dot(shadow, q)
            s = plus(r, -step, q)
            converged_early = squared(s) < limit
            preconditioned_s = M(s)
            t = A(preconditioned_s)
            omega = jnp.where(
                converged_early, 0, dot(t, s) / jnp.where(converged_early, 1, dot(t, t))
            )
            x = plus(plus(x, step, preconditioned_p), omega, preconditioned_s)
            broken = ~converged_early & ((rho_new == 0) | (step == 0) | (omega == 0))
            return k + 1, x, plus(s, -omega, t), p, q, rho_new, step, omega, broken

        def cond(carry: Any) -> Any:
            k, _, r, *_, broken = carry
            return (squared(r) > limit) & (k < steps) & ~broken

        not_broken = jnp.zeros((), bool)
        first = (0, x0, r, r, r, one, one, one, not_broken)
        # With p = q = r and scalars 1, the first step computes p = r + c (r - r) = r.
        return while_loop(cond, body, first)[1]

    return implicit(solve, A, b, x0, M, hermitian=False), None
