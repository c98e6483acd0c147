"""Functions of matrices: the exponential and its derivative, the square root, `funm`.

The exponential uses scaling and squaring of a Padé approximant (N. Higham, "The scaling
and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26,
2005), after a diagonal similarity that balances rows and columns (E. Osborne, "On
pre-conditioning of matrices", 1960).  Each squaring doubles rounding errors, and a norm
that is large only because of bad scaling needs no squarings.

The others use the Schur form: the square root of a triangle (Å. Björck and S. Hammarling,
"A Schur method for the square root of a matrix", 1983), and Parlett's recurrence (G. Golub
and C. Van Loan, "Matrix Computations", 9.1).  Both solve one triangular system per column.

Next: sylvester.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....api.autodiff import jvp
from ....base import errors, util
from ....control.branches.cond_functions import cond
from ....control.calls.jit import composite
from ....control.loop_functions.while_loop import fori_loop
from ....control.rules.custom_jvp import custom_jvp
from ....prims import lax_linalg
from ....prims.gather.dynamic_slicing import dynamic_update_index_in_dim
from ....prims.stop_gradient import stop_gradient
from ....types import dtypes
from ... import jnp
from ...numpy import linear_solve
from ...numpy._common import ArrayLike
from ...numpy.floating_point import exponent_of, power_of_two
from .common import *
from .decompositions import rsf2csf, schur
from .sylvester import bartels_stewart

__all__ = ("expm", "expm_frechet", "funm", "sqrtm")

# -------------------------------------------------------------------- the exponential

# By precision: the degree of the approximant, and the norm up to which it is exact to
# the last digit (Higham, table 2.3; for single precision the same computation).
_DEGREES = {dtypes.float32: (7, 3.925724783138660), dtypes.float64: (13, 5.371920351148152)}


@util.cached(1024)
def _coefficients(degree: int) -> tuple[float, ...]:
    """Return the coefficients of the numerator of the diagonal Padé approximant of exp, as
    integers: (2m - j)! / (m - j)! j!, divided by m!, so that the last is 1."""
    m, f = degree, math.factorial
    return tuple(float(f(2 * m - j) // (f(m - j) * f(j))) for j in range(m + 1))


def _pade(a: Any, degree: int) -> tuple[Any, Any]:
    """Return the even and the odd part of the approximant's numerator."""
    b = [a.dtype.type(x) for x in _coefficients(degree)]
    eye = identity(a.shape[-1], a)
    a2 = precise(a, a)
    a4 = precise(a2, a2)
    a6 = precise(a4, a2)
    if degree == 7:
        odd = b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
        even = b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    else:
        high = precise(a6, b[13] * a6 + b[11] * a4 + b[9] * a2)
        odd = high + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
        high = precise(a6, b[12] * a6 + b[10] * a4 + b[8] * a2)
        even = high + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    return even, precise(a, odd)


def _two_to(k: Any, like: Any) -> Any:
    """Return 2^k in the dtype of `like`, for exponents k of normal floats."""
    return power_of_two(k, real_dtype(like)).astype(like.dtype)


def _one_norm(a: Any) -> Any:
    return jnp.abs(a).sum(-2).max(-1)


_SWEEPS = 40
_UNEVEN = 16  # the largest ratio of a row's and a column's maximum that needs no balancing
_SHIFT = 1 << 16


def _row_and_column(sizes: Any, least: Any) -> tuple[Any, Any]:
    """Return the largest element of each row and column, or `least` if that is larger."""
    rows, columns = sizes.max(-1), sizes.max(-2)
    return jnp.maximum(rows, least), jnp.maximum(columns, least)


def _sizes(a: Any) -> tuple[Any, Any]:
    """Return the sizes of off-diagonal elements, and the least size that matters: scaling
    elements below 1, or below the largest diagonal element, saves no squarings."""
    sizes, eye = jnp.abs(a), np.eye(a.shape[-1], dtype=bool)
    least = jnp.maximum(jnp.where(eye, sizes, 0).max((-2, -1)), 1)
    return jnp.where(eye, 0, sizes), least[..., None]


def _balance(a: Any) -> Any:
    """Return exponents e such that a_ij 2^(e_j - e_i) has rows and
    columns of equal size."""
    sizes, least = (jnp.log2(x) for x in _sizes(a))
    start = _row_and_column(sizes, least)[0] * 0  # zeros with the sharding of the rows

    def sweep(_: Any, e: Any) -> Any:
        scaled_sizes = sizes + e[..., None, :] - e[..., None]
        rows, columns = _row_and_column(scaled_sizes, least)
        # Both ends of a gap change: each takes half of the half that it alone would need.
        return e + (rows - columns) / 4

    e = fori_loop(0, _SWEEPS, sweep, start)
    max_exponent = {4: 40, 8: 450}[e.dtype.itemsize]  # exponents of normal floats, also halved
    return jnp.clip(jnp.round(e), -max_exponent, max_exponent).astype(np.int32)


def _gaps(e: Any) -> Any:
    return e[..., None, :] - e[..., None]


def _balanced(a: Any, norm: Any, count_of: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Return the exponents of the diagonal D of powers of two, which are 0 unless D^-1 A D
    has less than half the norm; the numbers of squarings; and a bound on them."""
    count = count_of(norm)
    rows, columns = _row_and_column(*_sizes(a))
    is_uneven = (rows > _UNEVEN * columns) | (columns > _UNEVEN * rows)
    is_uneven = is_uneven.any(-1) & (count > 0) & jnp.isfinite(norm)
    # One number decides for all lanes, so that lanes on several devices take one branch.
    greatest = jnp.max(jnp.where(is_uneven, count + _SHIFT, count))

    def balance() -> tuple[Any, Any]:
        e = _balance(a)
        lower = _one_norm(a * _two_to(_gaps(e), a))
        helps = is_uneven & (lower < norm / 2)
        e = jnp.where(helps[..., None], e, 0)
        return e, jnp.where(helps, count_of(lower), count)

    unbalanced = lambda: ((rows < 0).astype(np.int32), count)
    e, count = cond(greatest >= _SHIFT, balance, unbalanced)
    return e, count, greatest % _SHIFT


@composite(static=("upper_triangular", "max_squarings"))
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """Compute the exponential of square matrices: :math:`e^A = \\sum_k A^k / k!`.

    Args:
      A: matrices, shape (..., n, n).
      upper_triangular: the matrices are upper triangular; the diagonal is then exact.
      max_squarings: the largest number of squarings.  The default suffices for norms up to
        about :math:`4 \\cdot 2^{16}` after balancing; the result is nan for matrices that
        need more.

    Returns:
      An array of `A`'s inexact dtype and shape.

    Raises:
      ValueError: a matrix is not square.
      TypeError: the dtype has half precision.

    Example:
      >>> import minijax.numpy as jnp
      >>> expm(jnp.array([[0., 1.], [0., 0.]]))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)

    Differs from JAX:
      Badly scaled matrices are balanced first, so that they need few squarings.

    Source: N. Higham, "The scaling and squaring method for the matrix exponential
    revisited" (2005).
    """
    (A,) = numbers("expm", A)
    check_squares(A, f"Expected A to be a (batched) square matrix, got {A.shape=}.")
    if real_dtype(A) not in _DEGREES:
        raise errors.type_error(
            f"A.dtype={A.dtype} is not supported.", tries=["A.astype(jnp.float32)"]
        )
    if A.shape[-1] == 0:
        return A
    degree, bound = _DEGREES[real_dtype(A)]
    fixed_A = stop_gradient(A)
    norm = _one_norm(fixed_A)

    def count_of(norm: Any) -> Any:
        power = exponent_of(norm / norm.dtype.type(bound))
        return jnp.clip(power, 0, max_squarings + 1)

    e, count, greatest = _balanced(fixed_A, norm, count_of)
    count = count[..., None, None]
    least = np.int32(-126 if degree == 7 else -1022)
    scaled = A * _two_to(jnp.maximum(_gaps(e) - count, least), A)
    even, odd = _pade(scaled, degree)
    above, below = even + odd, even - odd
    if upper_triangular:
        x = lax_linalg.triangular_solve(below, above, left_side=True, lower=False)
    else:
        x = linear_solve.solve_matrix(below, above)

    def square(i: Any, x: Any) -> Any:
        def once(x: Any) -> Any:
            return jnp.where(i < count, diagonal(precise(x, x), i + 1), x)

        # `cond` saves the product in iterations that no matrix of the stack needs.
        return cond(i < greatest, once, lambda x: x, x)

    def diagonal(x: Any, i: Any) -> Any:
        """Set the exact diagonal of triangles: each squaring would double its errors."""
        if not upper_triangular:
            return x
        eye = np.eye(x.shape[-1], dtype=bool)
        powers = jnp.exp(jnp.where(eye, scaled, 0) * _two_to(jnp.minimum(i, count), A))
        return jnp.where(eye, powers, x)

    x = fori_loop(0, max_squarings, square, diagonal(x, 0)) * _two_to(-_gaps(e), x)
    needs_more = (count > max_squarings) | ~jnp.isfinite(norm)[..., None, None]
    return jnp.where(needs_more, A.dtype.type(np.nan), x)


@composite(static=("method", "compute_expm"))
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """Compute the derivative of the matrix exponential at A along E:
    :math:`\\int_0^1 e^{(1 - s) A} E e^{s A} ds`.

    Args:
      A: matrices, shape (..., n, n).
      E: the direction, of the same shape.
      method: 'SPS' (the default) differentiates `expm`; 'blockEnlarge' takes a block of
        the exponential of [[A, E], [0, A]].
      compute_expm: also return the exponential.

    Returns:
      (expm(A), the derivative), or only the derivative: arrays of the inexact common
      dtype and `A`'s shape.

    Raises:
      ValueError: the method is unknown, a matrix is not square, or shapes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> expm_frechet(jnp.zeros((1, 1)), jnp.ones((1, 1)), compute_expm=False)
      Array([[1.]], dtype=float32)

    Source: A. Al-Mohy, N. Higham, "Computing the Fréchet derivative of the matrix
    exponential" (2009): the derivative of the algorithm.
    """
    A, E = numbers("expm_frechet", A, E)
    square_pair(A, E, "AE")
    if method in (None, "SPS"):
        out, derivative = jvp(expm, (A,), (E,))
    elif method == "blockEnlarge":
        n = A.shape[-1]
        upper = jnp.concatenate([A, E], -1)
        lower = jnp.concatenate([jnp.zeros_like(A), A], -1)
        block_exponential = expm(jnp.concatenate([upper, lower], -2))
        out, derivative = block_exponential[..., :n, :n], block_exponential[..., :n, n:]
    else:
        raise ValueError(f"Unknown implementation {method}")
    return (out, derivative) if compute_expm else derivative


# ------------------------------------------------------------- functions of triangles


def _by_columns(
    t: Any, diagonal: Any, system: Callable[[Any, Any, Any], tuple[Any, Any, Any]]
) -> Any:
    """Return the triangle with a given diagonal whose column j solves a triangular system
    that depends on the previous columns: `system(f, j, diagonal)` returns (pivots, upper
    triangle, right-hand side).

    A zero pivot is replaced by 1.
    """
    n = t.shape[-1]
    index = np.arange(n)

    def column(j: Any, f: Any) -> Any:
        pivots, upper, right = system(f, j, diagonal)
        above = index < j
        pivots = jnp.where(above & (pivots != 0), pivots, 1)
        inside = above[:, None] & above & (index[:, None] < index)
        upper = jnp.where(inside, upper, 0) + jnp.diag(pivots)
        x = solve_upper(upper, jnp.where(above, right, 0))
        x = jnp.where(index == j, diagonal, jnp.where(above, x, 0))
        return dynamic_update_index_in_dim(f, x, j, 1)

    return fori_loop(0, n, column, jnp.zeros_like(t)) if n else t


def _root_of_triangle(t: Any) -> Any:
    """Return the square root R of a triangle: r_ij (r_ii + r_jj) + sum r_ik r_kj = t_ij."""
    roots = jnp.sqrt(jnp.diagonal(t))

    def system(r: Any, j: Any, roots: Any) -> tuple[Any, Any, Any]:
        return roots + roots[j], r, t[:, j]

    r = _by_columns(t, roots, system)
    # Some singular triangles have no root: mark them with nan.
    pairs = roots[:, None] + roots
    has_no_root = (pairs == 0) & (jnp.triu(r, 1) != 0)
    return jnp.where(jnp.any(has_no_root), t.dtype.type(complex(np.nan, np.nan)), r)


@custom_jvp
def _sqrtm(a: Any) -> Any:
    t, z = schur(a, output="complex")
    return precise(precise(z, _root_of_triangle(t)), adjoint(z))


@_sqrtm.defjvp
def _sqrtm_jvp(primals: Any, tangents: Any) -> Any:
    """Solve the Sylvester equation X dX + dX X = dA."""
    x = _sqrtm(*primals)
    return x, bartels_stewart(x, x, tangents[0].astype(x.dtype))


@composite(static=("blocksize",))
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Any:
    """Compute the principal square root of square matrices, :math:`X X = A`, on CPUs.

    Args:
      A: matrices, shape (..., n, n), without eigenvalues on the negative real axis.
      blocksize: SciPy's; must be 1.

    Returns:
      A complex array of `A`'s precision and shape; nan if no root exists.

    Raises:
      NotImplementedError: another block size.
      ValueError: a matrix is not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> sqrtm(jnp.array([[4., 0.], [0., 9.]])).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)

    Source: Å. Björck, S. Hammarling, "A Schur method for the square root of a matrix"
    (1983).
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    (A,) = numbers("sqrtm", A)
    check_squares(A, f"The input to schur must be a square matrix. Got shape {A.shape}.")
    A = A.astype(complex_dtype(A))
    return over_stacks(_sqrtm, "(n,n)->(n,n)", A)


def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Apply a function to square matrices, by its values at their eigenvalues, on CPUs.

    Args:
      A: matrices, shape (..., n, n), whose eigenvalues differ.
      func: function of complex numbers, elementwise.
      disp: return only the result; nothing is printed.

    Returns:
      f(A), a complex array of `A`'s precision and shape; and, without `disp`, an estimate
      of its relative error, real, shape (...).

    Raises:
      ValueError: a matrix is not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> funm(jnp.array([[4., 0.], [0., 9.]]), jnp.sqrt).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)

    Source: G. Golub, C. Van Loan, Matrix Computations, 9.1: Parlett's recurrence.
    """
    (A,) = numbers("funm", A)
    check_squares(A, "expected square array_like input")

    def one(a: Any) -> tuple[Any, Any]:
        return _of_triangle(func, *rsf2csf(*schur(a)))

    out, error = over_stacks(one, "(n,n)->(n,n),()", A)
    return out if disp else (out, error)


def _of_triangle(func: Any, t: Any, z: Any) -> tuple[Any, Any]:
    """Return z f(t) z^H, from F T = T F column by column; and an error estimate from the
    smallest pivot."""
    values = jnp.diagonal(t)

    def system(f: Any, j: Any, diagonal: Any) -> tuple[Any, Any, Any]:
        column = jnp.where(np.arange(t.shape[-1]) < j, t[:, j], 0)
        return values - values[j], t, jnp.matvec(f, column) - diagonal[j] * column

    f = _by_columns(t, jnp.asarray(func(values)), system)
    out = precise(precise(z, f), adjoint(z))
    eps = eps_of(t.dtype)
    gaps = jnp.abs(values[:, None] - values)
    gaps = jnp.where(np.triu(np.ones(t.shape, bool), 1), gaps, np.inf)
    least = jnp.minimum(jnp.min(gaps, initial=np.inf), jnp.abs(values[0]))
    least = jnp.where(least == 0, eps, least)
    size = jnp.abs(jnp.triu(t, 1)).sum(-2).max(initial=0.0)
    error = jnp.clip(eps / least * size, eps, 1)
    return out, jnp.where(jnp.all(jnp.isfinite(out)), error, np.inf)
