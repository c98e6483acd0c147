"""Decompositions of matrices: cholesky, qr, eig, eigh, svd.

`minijax.lax.linalg` computes them; this module has NumPy's names, arguments and results.
Matrices are in the last two axes; leading axes form a stack.

Next: linear_solve.py, for solvers; prims/lax_linalg.py, for the primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...prims import lax, lax_linalg
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from . import indexing, linear, manipulation, selection, ufuncs
from ._common import *
from .creation import asarray

__all__ = (
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "qr",
    "eig",
    "eigvals",
    "eigh",
    "eigvalsh",
    "svd",
    "svdvals",
)


class EigResult(NamedTuple):
    """Eigenvalues, and right eigenvectors in columns.

    >>> import minijax.numpy as jnp
    >>> jnp.linalg.eig(jnp.eye(2)).eigenvalues
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Real eigenvalues, ascending, and orthonormal eigenvectors in columns.

    >>> import minijax.numpy as jnp
    >>> jnp.linalg.eigh(jnp.diag(jnp.array([3., 1.]))).eigenvalues
    Array([1., 3.], dtype=float32)
    """

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle.

    >>> import minijax.numpy as jnp
    >>> result = jnp.linalg.qr(jnp.array([[0., 2.], [1., 1.]]))
    >>> jnp.round(result.Q @ result.R, 3)
    Array([[0., 2.],
           [1., 1.]], dtype=float32)
    """

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Left singular vectors, singular values (descending), right ones in rows.

    >>> import minijax.numpy as jnp
    >>> jnp.linalg.svd(jnp.diag(jnp.array([3., 4.]))).S
    Array([4., 3.], dtype=float32)
    """

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the size of a determinant.

    >>> import minijax.numpy as jnp
    >>> jnp.linalg.slogdet(-jnp.eye(3)).sign
    Array(-1., dtype=float32)
    """

    sign: Any
    logabsdet: Any


# --------------------------------------------------------------------- shared helpers


def operand(name: str, *xs: Any) -> Sequence[Any]:
    """Return operands as inexact arrays of one dtype."""
    check_arraylike(f"jnp.linalg.{name}", *xs)
    return promote_dtypes_inexact(*(as_array(x) for x in xs))


def square(name: str, a: Any) -> Any:
    """Return an operand that must be a stack of square matrices."""
    (a,) = operand(name, a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise errors.value_error(
            f"Argument to {name} must have shape [..., n, n], got {a.shape}.",
            which=errors.type_text(a),
            tries=["jnp.linalg.lstsq or pinv for matrices that are not square"],
        )
    return a


def transpose_matrices(x: Any) -> Any:
    """Transpose matrices."""
    return manipulation.matrix_transpose(x)


def adjoint(x: Any) -> Any:
    """Transpose and conjugate matrices."""
    return ufuncs.conj(transpose_matrices(x))


def symmetrized(x: Any) -> Any:
    """Return the Hermitian part of square matrices."""
    return (x + adjoint(x)) / 2


def identity(n: int, like: Any) -> Any:
    """Return an identity matrix for each matrix of a stack."""
    eye = convert(asarray(np.eye(n), dtypes.canonical(like.dtype)), like.dtype)
    return lax.broadcast_in_dim(eye, (*like.shape[:-2], n, n), (like.ndim - 2, like.ndim - 1))


def precise(a: Any, b: Any) -> Any:
    """Return a matrix product at full precision."""
    return linear.matmul(a, b, precision="highest")


def eps_of(dtype: Any) -> float:
    """Return the distance from 1 to the next number of a dtype."""
    return float(ml_dtypes.finfo(dtypes.real_of(dtype)).eps)


def default_rtol(dtype: Any, size: Any, factor: int = 1) -> Any:
    """Return the ratio to the largest singular value up to which others count as 0.

    At most 1/100: for a million rows, 10 * size * eps exceeds 1 in float32.
    """
    rtol = size * (factor * eps_of(dtype))
    return rtol if isinstance(size, SymbolicDim) else min(rtol, 0.01)


# ----------------------------------------------------------------------- decompositions


@composite(static=("upper", "symmetrize_input"))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the triangle L with :math:`A = L L^H`.

    Args:
      a: Hermitian positive definite matrices, shape (..., n, n).
      upper: return :math:`L^H`.
      symmetrize_input: average `a` with its adjoint first; if False, only its lower
        triangle is read.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n, n): lower triangles, or upper
      ones; nan for matrices that are not positive definite.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.cholesky(jnp.array([[4., 2.], [2., 2.]]))
      Array([[2., 0.],
             [1., 1.]], dtype=float32)
    """
    (a,) = operand("cholesky", a)
    low = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(low) if upper else low


@composite(static=("mode",))
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Return the decomposition :math:`A = Q R` into orthonormal columns and a triangle.

    Args:
      a: matrices, shape (..., m, n).
      mode: 'reduced' (min(m, n) columns; its old NumPy name is 'full'), 'complete' (m
        columns), 'r' (only R) or 'raw' (LAPACK's form).

    Returns:
      A `QRResult` of arrays of `a`'s inexact dtype: Q, shape (..., m, k), and R, shape
      (..., k, n), where k is min(m, n), or m if 'complete'; only R for 'r'; for 'raw'
      the transpose of LAPACK's packed matrix, and the factors of its reflections.

    Raises:
      ValueError: an unknown mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> q, r = jnp.linalg.qr(jnp.array([[1., 2.], [3., 4.]]))
      >>> bool(jnp.allclose(q @ r, jnp.array([[1., 2.], [3., 4.]]), atol=1e-5))
      True
    """
    (a,) = operand("qr", a)
    if mode == "raw":
        packed, taus = lax_linalg.geqrf_p.bind(a)
        return QRResult(transpose_matrices(packed), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode {mode!r}")
    q, r = lax_linalg.qr(a, pivoting=False, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@composite
def eig(a: ArrayLike) -> EigResult:
    """Return eigenvalues and right eigenvectors of square matrices.

    .. math:: A v_i = \\lambda_i v_i

    Args:
      a: matrices, shape (..., n, n).

    Returns:
      An `EigResult` of complex arrays: the eigenvalues, shape (..., n), unordered,
      and the eigenvectors, shape (..., n, n), in columns of norm 1.

    Raises:
      ValueError: not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.eig(jnp.array([[2., 0.], [0., 3.]])).eigenvalues.real
      Array([2., 3.], dtype=float32)
    """
    (a,) = operand("eig", a)
    values, vectors = lax_linalg.eig(a, compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@composite
def eigvals(a: ArrayLike) -> Any:
    """Return eigenvalues of square matrices.

    .. math:: \\det(A - \\lambda_i I) = 0

    Args:
      a: matrices, shape (..., n, n).

    Returns:
      A complex array, shape (..., n), unordered.

    Raises:
      ValueError: not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.eigvals(jnp.array([[2., 0.], [0., 3.]])).real
      Array([2., 3.], dtype=float32)
    """
    (a,) = operand("eigvals", a)
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[
        0
    ]


@composite(static=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices.

    .. math:: A = V \\, \\mathrm{diag}(w) \\, V^H

    Args:
      a: matrices, shape (..., n, n).
      UPLO: 'L' (the default) or 'U': the triangle to read.
      symmetrize_input: average `a` with its adjoint first.

    Returns:
      An `EighResult`: the eigenvalues, real, shape (..., n), and the eigenvectors, of
      `a`'s inexact dtype, shape (..., n, n), in columns.

    Raises:
      ValueError: an unknown triangle, or not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.eigh(jnp.array([[2., 0.], [0., 1.]])).eigenvalues
      Array([1., 2.], dtype=float32)
    """
    (a,) = operand("eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    vectors, values = lax_linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@composite(static=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Return eigenvalues of Hermitian matrices, ascending.

    .. math:: A = V \\, \\mathrm{diag}(w) \\, V^H

    Args:
      a: matrices, shape (..., n, n).
      UPLO: 'L' (the default) or 'U': the triangle to read.
      symmetrize_input: average `a` with its adjoint first.

    Returns:
      A real array of `a`'s precision, shape (..., n).

    Raises:
      ValueError: an unknown triangle, or not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.eigvalsh(jnp.array([[2., 0.], [0., 1.]]))
      Array([1., 2.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@composite(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return the singular value decomposition :math:`A = U \\, diag(s) \\, V^H`.

    Args:
      a: matrices, shape (..., m, n).
      full_matrices: return square U and V.
      compute_uv: return U and V, not only the singular values.
      hermitian: `a` is Hermitian, and its eigenvalues are used.
      subset_by_index: (first, last + 1) of the singular values to return.

    Returns:
      An `SVDResult`: U, shape (..., m, m), S, real, descending, shape (..., k), and Vh,
      shape (..., n, n), k being min(m, n); without `full_matrices` U is (..., m, k) and
      Vh (..., k, n). Without `compute_uv`, only S.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.svd(jnp.array([[3., 0.], [0., 4.]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    (a,) = operand("svd", a)
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return lax_linalg.svd(
            a, full_matrices=full_matrices, compute_uv=False, subset_by_index=subset_by_index
        )
    return SVDResult(
        *lax_linalg.svd(
            a, full_matrices=full_matrices, compute_uv=True, subset_by_index=subset_by_index
        )
    )


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    values, vectors = eigh(a)
    sizes = ufuncs.absolute(values)
    sorted_indices = lax.rev(sizes.argsort(-1), (sizes.ndim - 1,))
    s = indexing.take_along_axis(sizes, sorted_indices, -1)
    if not compute_uv:
        return s
    wide = lax.expand_dims(sorted_indices, (sorted_indices.ndim - 1,))
    u = indexing.take_along_axis(vectors, wide, -1)
    signs = ufuncs.sign(indexing.take_along_axis(values, sorted_indices, -1))
    # A zero eigenvalue has sign 0; any unit vector is valid for V.
    signs = selection.where(signs == 0, convert(1, signs.dtype), signs)
    return SVDResult(u, s, adjoint(u * convert(signs, u.dtype)[..., None, :]))


@composite
def svdvals(x: ArrayLike, /) -> Any:
    """Return singular values of matrices, descending.

    .. math:: s_i = \\sqrt{\\lambda_i(A^H A)}

    Args:
      x: matrices, shape (..., m, n).

    Returns:
      A real array of `x`'s precision, shape (..., min(m, n)).

    Raises:
      TypeError: fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.svdvals(jnp.array([[3., 0.], [0., 4.]]))
      Array([4., 3.], dtype=float32)
    """
    (x,) = operand("svdvals", x)
    return lax_linalg.svd(x, full_matrices=False, compute_uv=False)
