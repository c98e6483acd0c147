"""Linear systems by conjugate directions: short recurrences, four vectors or eight.

Both stop when |b - A x| <= max(tol |b|, atol), or after `maxiter` steps.

Next: gmres.py, which keeps all directions.
"""

from __future__ import annotations

from typing import Any

from ....control.loops.while_loop import while_loop
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
    """The square of the norm that a residual may have."""
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

    Derivatives by `b`, and by what `A` is made of, are those of the solution: each is
    another solve.

    Args:
      A: a square matrix, an object with `@`, or a linear function from trees like `b` to
        such.
      b: the right-hand side, a pytree of arrays.
      x0: where to start, a tree like `b` (default: zeros).
      tol, atol: how small the residual must be: :math:`|b - A x| \le \max(tol |b|,
        atol)`.
      maxiter: the number of steps at most (default: ten times the size of `b`).
      M: an approximation of the inverse of A, Hermitian and positive, in any of the
        forms of `A`.

    Returns:
      (x, None): the solution, a tree like `b`, and a place for what may be told.

    Raises:
      TypeError: `A` or `M` is no linear operator.
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
            now = jnp.real(dot(r, z))
            return k + 1, x, r, z, plus(z, now / rz, p), now

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

    Derivatives by `b`, and by what `A` is made of, are those of the solution: each is
    another solve.

    Args:
      A: a square matrix, an object with `@`, or a linear function from trees like `b` to
        such.
      b: the right-hand side, a pytree of arrays.
      x0: where to start, a tree like `b` (default: zeros).
      tol, atol: how small the residual must be: :math:`|b - A x| \le \max(tol |b|,
        atol)`.
      maxiter: the number of steps at most (default: ten times the size of `b`).
      M: an approximation of the inverse of A, in any of its forms.

    Returns:
      (x, None): the solution, a tree like `b`, and a place for what may be told. Where
      the method breaks down, x is the best that it found.

    Raises:
      TypeError: `A` or `M` is no linear operator.
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
        # Real systems have real numbers; those of a complex one are complex.
        one = jnp.ones((), dot(r, r).dtype)

        def body(carry: Any) -> Any:
            k, x, r, p, q, rho, step, slope, _ = carry
            now = dot(shadow, r)
            p = plus(r, now / rho * (step / slope), plus(p, -slope, q))
            ahead = M(p)
            q = A(ahead)
            step = now / dot(shadow, q)
            s = plus(r, -step, q)
            half_way = squared(s) < limit
            better = M(s)
            t = A(better)
            slope = jnp.where(half_way, 0, dot(t, s) / jnp.where(half_way, 1, dot(t, t)))
            x = plus(plus(x, step, ahead), slope, better)
            broken = ~half_way & ((now == 0) | (step == 0) | (slope == 0))
            return k + 1, x, plus(s, -slope, t), p, q, now, step, slope, broken

        def cond(carry: Any) -> Any:
            k, _, r, *_, broken = carry
            return (squared(r) > limit) & (k < steps) & ~broken

        none = jnp.zeros((), bool)
        first = (0, x0, r, r, r, one, one, one, none)
        # In the first step p = r: it gets there from 0 = p - slope q.
        return while_loop(cond, body, first)[1]

    return implicit(solve, A, b, x0, M, hermitian=False), None
