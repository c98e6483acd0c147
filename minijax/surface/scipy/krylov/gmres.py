"""Linear systems by the smallest residual over all directions so far.

A cycle spans the Krylov space of the preconditioned residual z by orthonormal vectors V
(Arnoldi), so that M A V = V' H, where H has one row more than columns.  It adds V y to x,
where y minimizes |beta e1 - H y|.  The next cycle starts from there.
"""

from __future__ import annotations

from typing import Any

from ....base import errors, tree
from ....control.loop_functions.while_loop import fori_loop, while_loop
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

    Derivatives by `b` and by the parameters of `A` are implicit: each is another solve.

    Args:
      A: a square matrix, an object with `@`, or a linear function of trees like `b`.
      b: the right-hand side, a pytree of arrays.
      x0: the initial guess, a tree like `b` (default: zeros).
      tol, atol: tolerances of the residual: :math:`|b - A x| \le \max(tol |b|, atol)`.
      restart: the number of directions per cycle.
      maxiter: the largest number of cycles (default: ten times the size of `b`).
      M: an approximation of the inverse of A, in any of its forms.
      solve_method: "batched" solves for y once at the end of a cycle; "incremental"
        updates the residual in each step, and ends a cycle once it is small enough.

    Returns:
      (x, info): the solution, a tree like `b`; and an int, 0, or -1 if x contains NaN.

    Raises:
      TypeError: `A` or `M` is not a linear operator.
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
    max_cycles, m = 10 * n if maxiter is None else maxiter, min(restart, n)
    run_cycle = solve_batched if solve_method == "batched" else solve_incremental

    def solve(A: Operator, b: Vector, x0: Vector, M: Operator) -> Vector:
        limit = jnp.maximum(tol * norm(b), atol)

        def body(carry: Any) -> Any:
            k, x, r, size = carry
            z = M(r)
            x = run_cycle(lambda v: M(A(v)), x, z, limit / size, m)
            r = minus(b, A(x))
            return k + 1, x, r, norm(r)

        def cond(carry: Any) -> Any:
            k, _, _, size = carry
            return (size > limit) & (k < max_cycles)

        r = minus(b, A(x0))
        return while_loop(cond, body, (0, x0, r, norm(r)))[1] if n else x0

    x = implicit(solve, A, b, x0, M, hermitian=False)
    return x, jnp.where(jnp.isnan(norm(x)), -1, 0)


# ----------------------------------------------------------------------------- Arnoldi


def set_row(V: Vector, k: Any, v: Vector) -> Vector:
    """Return V with row k set to v."""
    return tree.map(lambda V, v: V.at[k].set(v), V, v)


def project(V: Vector, w: Vector) -> Any:
    """Return the inner products of the rows of V with w."""
    products = [
        jnp.tensordot(jnp.conj(V), w, w.ndim, precision=Precision.HIGHEST)
        for V, w in zip(tree.leaves(V), tree.leaves(w), strict=True)
    ]
    return sum(products[1:], products[0])


def linear_combination(V: Vector, y: Any) -> Vector:
    """Return the linear combination of the rows of V with coefficients y."""

    def leaf(V: Any) -> Any:
        return jnp.tensordot(y.astype(V.dtype), V, 1, precision=Precision.HIGHEST)

    return tree.map(leaf, V)


def divide_or_zero(v: Vector, a: Any) -> Vector:
    """Return v / a, or zeros where a is 0."""
    return tree.map(lambda x: jnp.where(a > 0, x / a, 0).astype(x.dtype), v)


def initial_basis(z: Vector, m: int) -> tuple[Vector, Any, Any]:
    """Return V (m + 1 rows, the first of them z / |z|), |z|, and zeros for H transposed."""
    dtype = jnp.result_type(*tree.leaves(z))
    beta = norm(z)
    V = tree.map(lambda x: jnp.zeros((m + 1, *x.shape), x.dtype), z)
    return set_row(V, 0, divide_or_zero(z, beta)), beta, jnp.zeros((m, m + 1), dtype)


def arnoldi_step(B: Operator, V: Vector, k: Any) -> tuple[Vector, Any, Any]:
    """Return V with row k + 1 orthogonal to the previous rows; column k of H;
    its last entry.

    Gram-Schmidt runs twice, so that rows are orthogonal up to rounding.  A vector that is
    then negligible was in the span already and becomes 0.
    """
    w = B(tree.map(lambda V: V[k], V))
    norm_before = norm(w)
    h = project(V, w)
    w = minus(w, linear_combination(V, h))
    correction = project(V, w)
    w = minus(w, linear_combination(V, correction))
    norm_after = norm(w)
    eps = float(jnp.finfo(dtypes.real_of(h.dtype)).eps)
    norm_after = jnp.where(norm_after > eps * norm_before, norm_after, 0)
    V = set_row(V, k + 1, divide_or_zero(w, norm_after))
    return V, (h + correction).at[k + 1].set(norm_after.astype(h.dtype)), norm_after


def solve_batched(B: Operator, x: Vector, z: Vector, tolerance: Any, m: int) -> Vector:
    """Minimize the residual over x plus m directions,
    with one small least-squares system."""
    V, beta, H = initial_basis(z, m)

    def body(k: Any, carry: Any) -> Any:
        V, H = carry
        V, h, _ = arnoldi_step(B, V, k)
        return V, H.at[k].set(h)

    V, H = fori_loop(0, m, body, (V, H))
    first = jnp.zeros(m + 1, H.dtype).at[0].set(beta.astype(H.dtype))
    return update_solution(x, V, least_squares_solution(H.T, first))


def least_squares_solution(A: Any, b: Any) -> Any:
    """Return the y that minimizes |b - A y|, in float32 or wider, as LAPACK requires."""
    dtype = jnp.promote_types(A.dtype, dtypes.float32)
    return least_squares.lstsq(A.astype(dtype), b.astype(dtype))[0]


def update_solution(x: Vector, V: Vector, y: Any) -> Vector:
    """Add to x the combination of all rows of V except the last, with coefficients y."""
    step = linear_combination(tree.map(lambda V: V[:-1], V), y)
    return tree.map(lambda x, d: x + d, x, step)


def solve_incremental(B: Operator, x: Vector, z: Vector, tolerance: Any, m: int) -> Vector:
    """Compute `solve_batched` by Givens rotations,
    until the residual is at most `tolerance`.

    Each step applies the previous rotations to the new column and finds one more, so that
    H stays triangular.  The last entry of the rotated beta e1 is the residual.
    """
    V, beta, R = initial_basis(z, m)
    rhs = jnp.zeros(m + 1, R.dtype).at[0].set(beta.astype(R.dtype))
    rotations = jnp.zeros((m, 2), R.dtype).at[:, 0].set(1)

    def rotate(x: Any, j: Any, rotation: Any) -> Any:
        c, s = rotation
        top, low = x[j], x[j + 1]
        x = x.at[j].set(c * top + s * low)
        return x.at[j + 1].set(c * low - jnp.conj(s) * top)

    def body(carry: Any) -> Any:
        k, V, R, rotations, rhs = carry
        V, h, low = arnoldi_step(B, V, k)
        h = fori_loop(0, k, lambda j, h: rotate(h, j, rotations[j]), h)
        top = jnp.abs(h[k])
        both = jnp.hypot(top, low)
        sign = jnp.where(top > 0, h[k] / jnp.where(top > 0, top, 1), 1)
        c = jnp.where(both > 0, top / both, 1)
        s = jnp.where(both > 0, sign * (low / both), 0)
        rotation = jnp.stack([c.astype(R.dtype), s.astype(R.dtype)])
        R = R.at[k].set(rotate(h, k, rotation))
        return k + 1, V, R, rotations.at[k].set(rotation), rotate(rhs, k, rotation)

    def cond(carry: Any) -> Any:
        k, *_, rhs = carry
        return (k < m) & (jnp.abs(rhs[k]) > tolerance * beta)

    k, V, R, _, rhs = while_loop(cond, body, (0, V, R, rotations, rhs))
    # Mask the columns of steps that were not taken.
    is_done = jnp.arange(m) < k
    R = jnp.where(is_done[:, None], R[:, :-1], 0).T
    return update_solution(x, V, least_squares_solution(R, jnp.where(is_done, rhs[:-1], 0)))
