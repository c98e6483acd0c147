"""Linear systems by the smallest residual over all directions so far.

A round spans the Krylov space of the preconditioned residual z by orthonormal vectors V
(Arnoldi), so that M A V = V' H with H of one row more than columns, and moves x by V y,
where y makes |beta e1 - H y| least; then the next round starts there.
"""

from __future__ import annotations

from typing import Any

from ....base import errors, tree
from ....control.loops.while_loop import fori_loop, while_loop
from ....prims.dot.precision import Precision
from ....types import dtypes
from ... import jnp
from ...numpy import least_squares
from .vectors import Operator, Vector, as_vector, implicit, minus, norm, size

__all__ = ("gmres",)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: Any = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    r"""Solve :math:`A x = b` by generalized minimal residuals, for any A.

    Derivatives by `b`, and by what `A` is made of, are those of the solution: each is
    another solve.

    Args:
      A: a square matrix, an object with `@`, or a linear function from trees like `b` to
        such.
      b: the right-hand side, a pytree of arrays.
      x0: where to start, a tree like `b` (default: zeros).
      tol, atol: how small the residual must be: :math:`|b - A x| \le \max(tol |b|,
        atol)`.
      restart: how many directions a round keeps.
      maxiter: the number of rounds at most (default: ten times the size of `b`).
      M: an approximation of the inverse of A, in any of its forms.
      solve_method: "batched" solves for y once at the end of a round; "incremental"
        knows the residual in each step, and ends a round as soon as it is small enough.

    Returns:
      (x, info): the solution, a tree like `b`; and an int, 0, or -1 where x has NaN.

    Raises:
      TypeError: `A` or `M` is no linear operator.
      ValueError: a matrix is not square, `x0` is not like `b`, or an unknown method.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, _ = gmres(jnp.array([[2., 1.], [0., 3.]]), jnp.array([4., 6.]))
      >>> jnp.round(x, 4)
      Array([1., 2.], dtype=float32)

    Source: Saad, Schultz, SIAM J. Sci. Stat. Comput. 7(3), 1986.
    """
    if solve_method not in ("batched", "incremental"):
        raise errors.value_error(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    n = size(as_vector(b))
    rounds, m = 10 * n if maxiter is None else maxiter, min(restart, n)
    spanned = at_the_end if solve_method == "batched" else step_by_step

    def solve(A: Operator, b: Vector, x0: Vector, M: Operator) -> Vector:
        limit = jnp.maximum(tol * norm(b), atol)

        def body(carry: Any) -> Any:
            k, x, r, size = carry
            z = M(r)
            x = spanned(lambda v: M(A(v)), x, z, limit / size, m)
            r = minus(b, A(x))
            return k + 1, x, r, norm(r)

        def cond(carry: Any) -> Any:
            k, _, _, size = carry
            return (size > limit) & (k < rounds)

        r = minus(b, A(x0))
        return while_loop(cond, body, (0, x0, r, norm(r)))[1] if n else x0

    x = implicit(solve, A, b, x0, M, hermitian=False)
    return x, jnp.where(jnp.isnan(norm(x)), -1, 0)


# ----------------------------------------------------------------------------- Arnoldi


def put(V: Vector, k: Any, v: Vector) -> Vector:
    """V with its row k set to v."""
    return tree.map(lambda V, v: V.at[k].set(v), V, v)


def along(V: Vector, w: Vector) -> Any:
    """The parts of w along the rows of V."""
    parts = [
        jnp.tensordot(jnp.conj(V), w, w.ndim, precision=Precision.HIGHEST)
        for V, w in zip(tree.leaves(V), tree.leaves(w), strict=True)
    ]
    return sum(parts[1:], parts[0])


def combined(V: Vector, y: Any) -> Vector:
    """The sum of the rows of V with factors y."""

    def leaf(V: Any) -> Any:
        return jnp.tensordot(y.astype(V.dtype), V, 1, precision=Precision.HIGHEST)

    return tree.map(leaf, V)


def scaled(v: Vector, a: Any) -> Vector:
    """v / a, and zeros where a is 0."""
    return tree.map(lambda x: jnp.where(a > 0, x / a, 0).astype(x.dtype), v)


def first_rows(z: Vector, m: int) -> tuple[Vector, Any, Any]:
    """V with z / |z| in its first of m + 1 rows, |z|, and H of zeros, transposed."""
    dtype = jnp.result_type(*tree.leaves(z))
    beta = norm(z)
    V = tree.map(lambda x: jnp.zeros((m + 1, *x.shape), x.dtype), z)
    return put(V, 0, scaled(z, beta)), beta, jnp.zeros((m, m + 1), dtype)


def next_row(B: Operator, V: Vector, k: Any) -> tuple[Vector, Any, Any]:
    """V with row k + 1 orthogonal to those before; column k of H, and its last number.

    Orthogonal to rounding: Gram and Schmidt, twice.  A vector that is next to nothing
    then lies in the space already: 0 stands for it.
    """
    w = B(tree.map(lambda V: V[k], V))
    before = norm(w)
    h = along(V, w)
    w = minus(w, combined(V, h))
    more = along(V, w)
    w = minus(w, combined(V, more))
    after = norm(w)
    eps = float(jnp.finfo(dtypes.real_of(h.dtype)).eps)
    after = jnp.where(after > eps * before, after, 0)
    V = put(V, k + 1, scaled(w, after))
    return V, (h + more).at[k + 1].set(after.astype(h.dtype)), after


def at_the_end(B: Operator, x: Vector, z: Vector, enough: Any, m: int) -> Vector:
    """x moved to where the residual is least over m directions: one small system."""
    V, beta, H = first_rows(z, m)

    def body(k: Any, carry: Any) -> Any:
        V, H = carry
        V, h, _ = next_row(B, V, k)
        return V, H.at[k].set(h)

    V, H = fori_loop(0, m, body, (V, H))
    first = jnp.zeros(m + 1, H.dtype).at[0].set(beta.astype(H.dtype))
    return moved(x, V, nearest(H.T, first))


def nearest(A: Any, b: Any) -> Any:
    """The y that makes |b - A y| least, in float32 at least, as LAPACK wants it."""
    dtype = jnp.promote_types(A.dtype, dtypes.float32)
    return least_squares.lstsq(A.astype(dtype), b.astype(dtype))[0]


def moved(x: Vector, V: Vector, y: Any) -> Vector:
    """x and the sum of V's rows but the last with factors y."""
    step = combined(tree.map(lambda V: V[:-1], V), y)
    return tree.map(lambda x, d: x + d, x, step)


def step_by_step(B: Operator, x: Vector, z: Vector, enough: Any, m: int) -> Vector:
    """`at_the_end`, by Givens' rotations, until the residual has shrunk to `enough`.

    Each step turns the new column by the rotations so far and finds one more, which
    makes H triangular; what is left of beta e1 in the last place is the residual.
    """
    V, beta, R = first_rows(z, m)
    rest = jnp.zeros(m + 1, R.dtype).at[0].set(beta.astype(R.dtype))
    turns = jnp.zeros((m, 2), R.dtype).at[:, 0].set(1)

    def turn(x: Any, j: Any, turn: Any) -> Any:
        c, s = turn
        top, low = x[j], x[j + 1]
        x = x.at[j].set(c * top + s * low)
        return x.at[j + 1].set(c * low - jnp.conj(s) * top)

    def body(carry: Any) -> Any:
        k, V, R, turns, rest = carry
        V, h, low = next_row(B, V, k)
        h = fori_loop(0, k, lambda j, h: turn(h, j, turns[j]), h)
        top = jnp.abs(h[k])
        both = jnp.hypot(top, low)
        sign = jnp.where(top > 0, h[k] / jnp.where(top > 0, top, 1), 1)
        c = jnp.where(both > 0, top / both, 1)
        s = jnp.where(both > 0, sign * (low / both), 0)
        mine = jnp.stack([c.astype(R.dtype), s.astype(R.dtype)])
        R = R.at[k].set(turn(h, k, mine))
        return k + 1, V, R, turns.at[k].set(mine), turn(rest, k, mine)

    def cond(carry: Any) -> Any:
        k, *_, rest = carry
        return (k < m) & (jnp.abs(rest[k]) > enough * beta)

    k, V, R, _, rest = while_loop(cond, body, (0, V, R, turns, rest))
    # Steps that were not taken, and such that led nowhere, count for nothing.
    taken = jnp.arange(m) < k
    R = jnp.where(taken[:, None], R[:, :-1], 0).T
    return moved(x, V, nearest(R, jnp.where(taken, rest[:-1], 0)))
