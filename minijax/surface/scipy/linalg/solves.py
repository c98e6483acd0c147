"""Linear systems and factorizations with SciPy's names.

`solve` has its own derivative rule, which reuses the factors.  The other functions are
differentiated through triangular solves and factorizations.

Next: decompositions.py.
"""

from __future__ import annotations

from typing import Any

from ....base import errors
from ....control.calls.jit import composite
from ....control.rules.custom_solve import custom_linear_solve
from ....prims import lax, lax_linalg
from ....prims.stop_gradient import stop_gradient
from ... import jnp
from ...numpy import linear_solve
from ...numpy._common import ArrayLike
from .common import *

__all__ = (
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "inv",
    "lu_factor",
    "lu_solve",
    "solve",
    "solve_triangular",
)

# ---------------------------------------------------------------- triangular systems

_TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve_triangles(
    a: Any, b: Any, vector: bool, *, trans: int = 0, lower: bool, unit: bool = False
) -> Any:
    """Solve triangular systems, leading axes broadcast."""
    options = {
        "left_side": True,
        "lower": lower,
        "transpose_a": trans > 0,
        "conjugate_a": trans == 2,
        "unit_diagonal": unit,
    }

    def one(a: Any, b: Any) -> Any:
        return lax_linalg.triangular_solve(a, b, **options)

    columns = "(n)" if vector else "(n,k)"
    return jnp.vectorize(one, signature=f"(n,n),{columns}->{columns}")(a, b)


@composite(static=("trans", "lower", "unit_diagonal", "vector"))
def _solve_triangular(
    a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool, vector: bool
) -> Any:
    a, b = operands(a, b)
    return solve_triangles(a, b, vector, trans=trans, lower=lower, unit=unit_diagonal)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """Solve :math:`A x = b` for triangular matrices A.

    Args:
      a: matrices, shape (..., n, n); the other triangle is not read.
      b: right-hand sides: a vector, shape (n,), or matrices, shape (..., n, k).
      trans: 0 or 'N'; 1 or 'T' to solve :math:`A^T x = b`; 2 or 'C' for :math:`A^H`.
      lower: A is the lower triangle; otherwise the upper one.
      unit_diagonal: assume a diagonal of ones, and do not read it.
      overwrite_b, debug, check_finite: SciPy's; without effect.

    Returns:
      x, of the inexact common dtype, shape (..., n) or (..., n, k).

    Raises:
      ValueError: `trans` is another value, or shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> a = jnp.array([[2., 0.], [1., 1.]])
      >>> solve_triangular(a, jnp.array([2., 3.]), lower=True)
      Array([1., 2.], dtype=float32)
    """
    if trans not in _TRANSPOSED:
        raise errors.value_error(
            f"Invalid 'trans' value {trans}", why="it is 0, 1, 2, 'N', 'T' or 'C'."
        )
    vector = are_vectors("solve_triangular", a, b)
    return _solve_triangular(a, b, _TRANSPOSED[trans], bool(lower), bool(unit_diagonal), vector)


# ------------------------------------------------------------------------- cholesky


def _triangle(a: Any, lower: bool) -> Any:
    """Return the Cholesky factor, from the triangle of `a` that `lower` selects."""
    (a,) = operands(a)
    factor = lax_linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


@composite(static=("lower", "overwrite_a", "check_finite"))
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Compute the Cholesky factor: :math:`A = U^H U`, or :math:`A = L L^H`.

    Args:
      a: Hermitian positive definite matrices, shape (..., n, n); only the triangle of
        the result is read.
      lower: return L; otherwise U.
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n, n); nan for matrices that are not
      positive definite.

    Example:
      >>> import minijax.numpy as jnp
      >>> cholesky(jnp.array([[4., 2.], [2., 2.]]))
      Array([[2., 1.],
             [0., 1.]], dtype=float32)
    """
    return _triangle(a, lower)


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Compute the Cholesky factor for `cho_solve`: :math:`A = U^H U`, or :math:`A = L L^H`.

    Args:
      a: Hermitian positive definite matrices, shape (..., n, n).
      lower: factor the lower triangle; otherwise the upper one.
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      (c, lower): the triangles, shape (..., n, n), with zeros elsewhere, and the flag.

    Example:
      >>> import minijax.numpy as jnp
      >>> cho_factor(jnp.array([[4., 2.], [2., 2.]]))[0]
      Array([[2., 1.],
             [0., 1.]], dtype=float32)
    """
    return cholesky(a, lower), lower


def by_cholesky(c: Any, b: Any, lower: bool, vector: bool) -> Any:
    """Solve A x = b with the Cholesky factor of A."""
    b = solve_triangles(c, b, vector, lower=lower, trans=0 if lower else 2)
    return solve_triangles(c, b, vector, lower=lower, trans=2 if lower else 0)


@composite(static=("lower", "vector"))
def _cho_solve(c: Any, b: Any, lower: bool, vector: bool) -> Any:
    c, b = operands(c, b)
    return by_cholesky(c, b, lower, vector)


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve :math:`A x = b`, given the Cholesky factor of A.

    Args:
      c_and_lower: the result of `cho_factor`: triangles, shape (..., n, n), and whether
        they are lower triangles.
      b: right-hand sides: a vector, shape (n,), or matrices, shape (..., n, k).
      overwrite_b, check_finite: SciPy's; without effect.

    Returns:
      x, of the inexact common dtype, shape (..., n) or (..., n, k).

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> factors = cho_factor(jnp.array([[4., 2.], [2., 2.]]))
      >>> cho_solve(factors, jnp.array([6., 4.]))
      Array([1., 1.], dtype=float32)
    """
    c, lower = c_and_lower
    vector = are_vectors("cho_solve", c, b)
    return _cho_solve(c, b, bool(lower), vector)


# ------------------------------------------------------------------------------- lu


@composite(static=("overwrite_a", "check_finite"))
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Compute the LU decomposition with row exchanges, for `lu_solve`: :math:`P A = L U`.

    Args:
      a: matrices, shape (..., m, n).
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      (lu, piv): L (without its diagonal of ones) and U in one array, shape
      (..., m, n); row i was exchanged with row piv[i], int32 (..., min(m, n)).

    Raises:
      TypeError: fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> lu_factor(jnp.array([[1., 2.], [2., 2.]]))[0]
      Array([[2. , 2. ],
             [0.5, 1. ]], dtype=float32)
    """
    (a,) = operands(a)
    factors, pivots, _ = lax_linalg.lu(a)
    return factors, pivots


@composite(static=("trans", "vector"))
def _lu_solve(factors: Any, pivots: Any, b: Any, trans: int, vector: bool) -> Any:
    factors, b = operands(factors, b)
    check_squares(
        factors, f"LU decomposition must be a square matrix, got shape {factors.shape}."
    )
    n = factors.shape[-1]
    pivots = jnp.asarray(pivots)

    def one(factors: Any, pivots: Any, b: Any) -> Any:
        rows = lax_linalg.lu_pivots_to_permutation(pivots, n)
        lu_factors = linear_solve.Factors(factors, rows, pivots)
        if vector:
            return linear_solve.solve_factored(lu_factors, b[:, None], trans)[:, 0]
        return linear_solve.solve_factored(lu_factors, b, trans)

    columns = "(n)" if vector else "(n,k)"
    signature = f"(n,n),(n),{columns}->{columns}"
    return jnp.vectorize(one, signature=signature)(factors, pivots, b)


def lu_solve(
    lu_and_piv: tuple[Any, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve :math:`A x = b`, given LU factors of A.

    Args:
      lu_and_piv: the result of `lu_factor` for square matrices.
      b: right-hand sides: a vector, shape (n,), or matrices, shape (..., n, k).
      trans: 0; 1 to solve :math:`A^T x = b`; 2 for :math:`A^H x = b`.
      overwrite_b, check_finite: SciPy's; without effect.

    Returns:
      x, of the inexact common dtype, shape (..., n) or (..., n, k).

    Raises:
      ValueError: `trans` is another value, or shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> factors = lu_factor(jnp.array([[1., 2.], [2., 2.]]))
      >>> lu_solve(factors, jnp.array([3., 4.]))
      Array([1., 1.], dtype=float32)
    """
    factors, pivots = lu_and_piv
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    vector = are_vectors("lu_solve", factors, b)
    return _lu_solve(factors, pivots, b, int(trans), vector)


# ------------------------------------------------------------- systems, determinants

_ASSUMED = ["gen", "sym", "her", "pos"]


def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    """Solve A x = b by the Cholesky factors, with an implicit derivative."""
    a, b = operands(a, b)
    num_batch = a.ndim - 2
    vector = b.ndim == a.ndim - 1
    fits = (
        a.ndim >= 2 and a.shape[-1] == a.shape[-2] and b.ndim in (num_batch + 1, num_batch + 2)
    )
    if not fits or b.shape[num_batch] != a.shape[-1]:
        raise errors.value_error(
            "The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or"
            f" b=[..., m]; got a={a.shape} and b={b.shape}",
            which=f"{errors.type_text(a)}, {errors.type_text(b)}",
        )
    if vector:
        b = b[..., None]
    leading = lax.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = jnp.broadcast_to(b, (*leading, *b.shape[-2:]))
    factor = _triangle(stop_gradient(a), lower)

    def solved(_: Any, x: Any) -> Any:
        return by_cholesky(factor, x, lower, False)

    def solved_transposed(_: Any, x: Any) -> Any:
        return jnp.conj(solved(_, jnp.conj(x)))  # the transpose is the conjugate

    x = custom_linear_solve(
        lambda x: precise(a, x), b, solved, solved_transposed if is_complex(a) else solved
    )
    return x[..., 0] if vector else x


@composite(static=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a"))
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Solve the linear system :math:`A x = b`.

    Args:
      a: square matrices, shape (..., n, n).
      b: right-hand sides: a vector, shape (n,), or matrices, shape (..., n, k).
      lower: the triangle to factor, if `assume_a` is 'pos'.
      overwrite_a, overwrite_b, debug, check_finite: SciPy's; without effect.
      assume_a: 'pos' for Hermitian positive definite matrices, solved by Cholesky
        factors; 'gen', 'sym', 'her' are solved by LU factors.

    Returns:
      x, of the inexact common dtype and the shape of `b`, with the leading axes of both;
      inf or nan where `a` is singular (not positive definite).

    Raises:
      ValueError: `assume_a` is another value, or shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 2.]))
      Array([1. , 0.5], dtype=float32)
    """
    if assume_a not in _ASSUMED:
        raise errors.value_error(f"Expected assume_a to be one of {_ASSUMED}; got {assume_a!r}")
    if assume_a == "pos":
        return _solve_positive(a, b, lower)
    return linear_solve.solve(a, b)


@composite(static=("overwrite_a", "check_finite"))
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Compute the inverses of square matrices: :math:`A^{-1}`.

    Args:
      a: matrices, shape (..., n, n).  To solve a system, `solve` is faster and more
        precise.
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n, n); inf or nan for singular
      matrices.

    Raises:
      ValueError: a matrix is not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> inv(jnp.array([[2., 0.], [0., 4.]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    return linear_solve.inv(a)


@composite(static=("overwrite_a", "check_finite"))
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Compute the determinants of square matrices: :math:`\\det A`.

    Args:
      a: matrices, shape (..., n, n).
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      An array of `a`'s inexact dtype, shape (...).

    Raises:
      ValueError: a matrix is not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> det(jnp.array([[1., 2.], [3., 4.]]))
      Array(-2., dtype=float32)
    """
    return linear_solve.det(a)
