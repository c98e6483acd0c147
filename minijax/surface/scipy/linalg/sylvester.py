"""Sylvester's equation, A X + X B = C, by the algorithm of Bartels and Stewart.

With the Schur forms A = U R U^H and B = V S V^H it is R Y + Y S = U^H C V, whose columns
follow from each other by triangular systems (R. Bartels and G. Stewart, "Solution of the
matrix equation AX + XB = C", Communications of the ACM 15, 1972).  Derivatives are
implicit: they solve the same equation.

Next: matrices.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base import errors
from ....control.calls.jit import composite
from ....control.loop_functions.while_loop import fori_loop
from ....control.rules.custom_solve import custom_linear_solve
from ....prims import lax, lax_linalg
from ....prims.gather.dynamic_slicing import dynamic_update_index_in_dim
from ... import jnp
from ...numpy import linear_solve
from ...numpy._common import ArrayLike
from .common import *
from .decompositions import schur

__all__ = ("solve_sylvester",)


def _least_sum(left: Any, right: Any) -> Any:
    """Return the least magnitude of a sum of an eigenvalue of A and one of B."""
    return jnp.abs(left[:, None] + right).min(initial=np.inf)


def _by_schur(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    r, u = schur(a, output="complex")
    s, v = schur(b, output="complex")
    right = precise(precise(adjoint(u), c.astype(u.dtype)), v)
    m, n = right.shape
    eye = np.eye(m, dtype=r.dtype)

    def column(j: Any, y: Any) -> Any:
        rest = right[:, j] - jnp.matvec(y, s[:, j])
        x = solve_upper(r + s[j, j] * eye, rest)
        return dynamic_update_index_in_dim(y, x, j, 1)

    y = fori_loop(0, n, column, jnp.zeros_like(right)) if n else right
    sums = _least_sum(jnp.diagonal(r), jnp.diagonal(s))
    return precise(precise(u, y), adjoint(v)), sums


def _by_eigenvectors(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    left, u = lax_linalg.eig(a, compute_left_eigenvectors=False)
    right, v = lax_linalg.eig(b, compute_left_eigenvectors=False)
    inside = linear_solve.solve_matrix(u, precise(c.astype(u.dtype), v))
    y = inside / (left[:, None] + right)
    x = transpose_matrices(
        linear_solve.solve_matrix(transpose_matrices(v), transpose_matrices(precise(u, y)))
    )
    return x, _least_sum(left, right)


_METHODS = {"schur": _by_schur, "eigen": _by_eigenvectors}


def bartels_stewart(a: Any, b: Any, c: Any, method: str = "schur", tol: float = 0) -> Any:
    """Solve a X + X b = c for single matrices of one dtype."""
    solve_method = _METHODS[method]

    def solved(a: Any, b: Any, c: Any) -> Any:
        x, sums = solve_method(a, b, c)
        x = x if is_complex(c) else lax.real(x)
        return jnp.where(sums < tol, c.dtype.type(np.nan), x) if tol else x

    return custom_linear_solve(
        lambda x: precise(a, x) + precise(x, b),
        c,
        solve=lambda _, c: solved(a, b, c),
        transpose_solve=lambda _, c: solved(transpose_matrices(a), transpose_matrices(b), c),
    )


@composite(static=("method", "tol"))
def _solve_sylvester(A: Any, B: Any, C: Any, method: str, tol: float) -> Any:
    A, B, C = operands(A, B, C)
    fits = all(x.ndim >= 2 for x in (A, B, C))
    if fits:
        (m, m2), (n, n2) = A.shape[-2:], B.shape[-2:]
        fits = m == m2 and n == n2 and C.shape[-2:] == (m, n)
    if not fits:
        raise errors.value_error(
            f"Incompatible shapes for Sylvester equation:\nA: {A.shape}\nB: {B.shape}\nC:"
            f" {C.shape}",
            why="they must be [..., m, m], [..., n, n] and [..., m, n].",
        )

    def one(a: Any, b: Any, c: Any) -> Any:
        return bartels_stewart(a, b, c, method, tol)

    return over_stacks(one, "(m,m),(n,n),(m,n)->(m,n)", A, B, C)


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Any:
    """Solve Sylvester's equation: :math:`A X + X B = C`.

    Args:
      A: matrices, shape (..., m, m).
      B: matrices, shape (..., n, n).
      C: matrices, shape (..., m, n).
      method: 'schur', by Bartels and Stewart, on CPUs, or 'eigen', by eigenvectors, which
        is less accurate if they are ill-conditioned.
      tol: the least magnitude of a sum of an eigenvalue of A and one of B.

    Returns:
      X, of the inexact common dtype, shape (..., m, n); nan if a sum is below `tol`.

    Raises:
      ValueError: the method is unknown, or shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> solve_sylvester(jnp.array([[1.]]), jnp.array([[3.]]), jnp.array([[8.]]))
      Array([[2.]], dtype=float32)

    Source: R. Bartels, G. Stewart, "Solution of the matrix equation AX + XB = C" (1972).
    """
    if method not in _METHODS:
        raise errors.value_error(
            f'Unrecognized method {method}. The two valid methods are either "schur" or'
            ' "eigen".'
        )
    return _solve_sylvester(A, B, C, method, float(tol))
