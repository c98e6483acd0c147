"""Decompositions with SciPy's names: lu, qr, svd, eigh, schur, hessenberg, polar.

`prims/linalg/` does the work; this module adapts it to SciPy's arguments and results.

Next: tridiagonal.py; functions.py, which use the Schur form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....api.autodiff import jvp
from ....base import errors
from ....control.calls.jit import composite
from ....control.loop_functions.while_loop import fori_loop
from ....control.rules.custom_jvp import custom_jvp
from ....prims import lax, lax_linalg
from ... import jnp
from ...numpy._common import ArrayLike
from .common import *

__all__ = ("eigh", "hessenberg", "lu", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "svd")


@composite(static=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """Compute the LU decomposition with row exchanges: :math:`A = P L U`.

    Args:
      a: matrices, shape (..., m, n).
      permute_l: return the product P L instead of both factors.
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      (P, L, U), or (P L, U): a permutation, shape (..., m, m), a lower triangle with ones
      on its diagonal, (..., m, k), and an upper one, (..., k, n), where k is min(m, n);
      of `a`'s inexact dtype, P of the real one.

    Raises:
      TypeError: fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> p, l, u = lu(jnp.array([[1., 2.], [2., 2.]]))
      >>> l @ u
      Array([[2., 2.],
             [1., 2.]], dtype=float32)
    """
    (a,) = operands(a)
    packed, _, rows = lax_linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    ones = np.eye(m, k, dtype=a.dtype)
    low = jnp.tril(packed[..., :k], -1) + ones
    high = jnp.triu(packed[..., :k, :])
    permutation = np.arange(m)[:, None] == rows[..., None, :]
    if permute_l:
        return precise(permutation.astype(a.dtype), low), high
    return permutation.astype(real_dtype(a)), low, high


# ------------------------------------------------------------------------------- qr


@composite(static=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Compute the QR decomposition: :math:`A = Q R`, or :math:`A_{:p} = Q R` with pivoting.

    Args:
      a: matrices, shape (..., m, n).
      overwrite_a, lwork, check_finite: SciPy's; without effect.
      mode: 'full' (Q has m columns), 'economic' (min(m, n) columns), or 'r' (only R,
        with m rows).
      pivoting: exchange columns, so that the diagonal of R is not increasing.

    Returns:
      (Q, R), or (R,), of `a`'s inexact dtype, Q with orthonormal columns, R upper
      triangular; with pivoting p, int32 (..., n), comes last.

    Raises:
      ValueError: an unknown mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> [x.shape for x in qr(jnp.ones((4, 2)), mode='economic')]
      [(4, 2), (2, 2)]
    """
    if mode not in ("full", "r", "economic"):
        raise errors.value_error(
            f"Unsupported QR decomposition mode '{mode}'", tries=["'full', 'economic' or 'r'"]
        )
    (a,) = operands(a)
    out = lax_linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return out[1:] if mode == "r" else out


def _with_packed(a: Any, c: Any, left: bool, pivoting: bool) -> tuple[Any, ...]:
    """Return Q c or c Q, computed from Householder reflections; R; the column order."""
    m, n = a.shape[-2:]
    k = min(m, n)
    if pivoting:
        zeros = np.zeros((*a.shape[:-2], n), np.int32)
        packed, column_order, taus = lax_linalg.geqp3_p.bind(a, zeros, use_magma=None)
        permutation: tuple[Any, ...] = (column_order - 1,)
    else:
        packed, taus = lax_linalg.geqrf_p.bind(a)
        permutation = ()
    if left and m > k:  # pad c, because `ormqr` multiplies by all m columns of Q
        config = [(0, 0, 0)] * (c.ndim - 2) + [(0, m - k, 0), (0, 0, 0)]
        c = lax.pad(c, c.dtype.type(0), config)
    reflections = packed[..., :k]
    out = lax_linalg.ormqr(reflections, taus, c, left=left)
    return out if left else out[..., :k], jnp.triu(packed[..., :k, :]), *permutation


def _with_q(a: Any, c: Any, left: bool, pivoting: bool) -> tuple[Any, ...]:
    """Return the result of `_with_packed` by an explicit Q, which is differentiable."""
    q, r, *rest = lax_linalg.qr(a, pivoting=pivoting, full_matrices=False)
    return precise(q, c) if left else precise(c, q), r, *rest


def _product(left: bool, pivoting: bool) -> Any:
    @custom_jvp
    def product(a: Any, c: Any) -> Any:
        return _with_packed(a, c, left, pivoting)

    @product.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return jvp(lambda a, c: _with_q(a, c, left, pivoting), primals, tangents)

    return product


@composite(static=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Multiply by Q of :math:`A = Q R`, without forming Q, which has min(m, n) columns.

    Args:
      a: matrices, shape (..., m, n); k is min(m, n).
      c: matrices, (..., p, m), for :math:`c Q`; (..., k, p) for :math:`Q c`; or one vector.
      mode: 'right' for c Q, 'left' for Q c.
      pivoting: exchange columns of `a`, so that the diagonal of R is not increasing.
      conjugate: multiply by the complex conjugate of Q.
      overwrite_a, overwrite_c: SciPy's; without effect.

    Returns:
      (the product, R), of the inexact common dtype: shape (..., p, k), or (..., m, p),
      and (..., k, n); with pivoting also the order of columns, int32 (..., n).

    Raises:
      ValueError: the mode is unknown, or shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> a = jnp.array([[3., 1.], [4., 2.]])
      >>> abs(qr_multiply(a, jnp.array([3., 4.]))[0][0])
      Array(5., dtype=float32)
    """
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    a, c = operands(a, c)
    left, vector = mode == "left", c.ndim == 1
    if vector:
        c = c[:, None] if left else c[None, :]
    if a.ndim < 2 or c.ndim < 2:
        raise ValueError(f"qr_multiply takes matrices; got shapes a={a.shape}, c={c.shape}")
    m, n = a.shape[-2:]
    k = min(m, n)
    if left and c.shape[-2] != k:
        raise ValueError(
            f"Array shapes are not compatible for Q @ c operation: a has shape {a.shape}"
            f" so Q has {k} columns, but c has {c.shape[-2]} rows (expected {k})."
        )
    if not left and c.shape[-1] != m:
        raise ValueError(
            f"Array shapes are not compatible for c @ Q operation: a has shape {a.shape}"
            f" so Q has {m} rows, but c has {c.shape[-1]} columns (expected {m})."
        )
    leading = lax.broadcast_shapes(a.shape[:-2], c.shape[:-2])
    a, c = (jnp.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (a, c))
    if conjugate:
        c = jnp.conj(c)
    out, *rest = _product(left, pivoting)(a, c)
    if conjugate:
        out = jnp.conj(out)
    return (
        out.ravel()
        if vector and not leading
        else out[..., 0]
        if vector and left
        else out[..., 0, :]
        if vector
        else out,
        *rest,
    )


# ------------------------------------------------------------- singular, eigenvalues

_DRIVERS = {"gesdd": None, "gesvd": lax_linalg.SvdAlgorithm.QR}


@composite(
    static=("full_matrices", "compute_uv", "overwrite_a", "check_finite", "lapack_driver")
)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Compute the singular value decomposition :math:`A = U \\, diag(s) \\, V^H`.

    Args:
      a: matrices, shape (..., m, n).
      full_matrices: return square U and V; otherwise with k = min(m, n) columns.
      compute_uv: return U and V^H, not only the singular values.
      overwrite_a, check_finite: SciPy's; without effect.
      lapack_driver: 'gesdd', the platform's best algorithm, or 'gesvd', by QR.

    Returns:
      (U, s, V^H), or s: U (..., m, m) and V^H (..., n, n), or with k columns and rows; s
      is real, descending, (..., k).

    Raises:
      ValueError: an unknown driver.

    Example:
      >>> import minijax.numpy as jnp
      >>> svd(jnp.array([[3., 0.], [0., 4.]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    if lapack_driver not in _DRIVERS:
        raise ValueError(f'lapack_driver must be "gesdd" or "gesvd", not {lapack_driver!r}')
    (a,) = operands(a)
    return lax_linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, algorithm=_DRIVERS[lapack_driver]
    )


@composite(
    static=(
        "lower",
        "eigvals_only",
        "overwrite_a",
        "overwrite_b",
        "turbo",
        "eigvals",
        "type",
        "check_finite",
    )
)
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Compute eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices:
    :math:`A V = V \\, diag(w)`.

    Args:
      a: Hermitian matrices, shape (..., n, n); the mean of both triangles is taken.
      b: the second matrix of the generalized problem; must be None.
      lower: the triangle to read; without effect, because `a` is symmetrized first.
      eigvals_only: return only the eigenvalues.
      overwrite_a, overwrite_b, turbo, check_finite: SciPy's; without effect.
      eigvals: the range of eigenvalues; must be None, for all of them.
      type: the kind of the generalized problem; must be 1.

    Returns:
      (w, V), or w: eigenvalues, real, (..., n), and eigenvectors in columns, of `a`'s
      inexact dtype, (..., n, n).

    Raises:
      NotImplementedError: `b`, `type` or `eigvals` is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> eigh(jnp.array([[2., 0.], [0., 1.]]), eigvals_only=True)
      Array([1., 2.], dtype=float32)
    """
    if b is not None or type != 1 or eigvals is not None:
        only = "b=None" if b is not None else "type=1" if type != 1 else "eigvals=None"
        raise NotImplementedError(f"Only the {only} case of eigh is implemented")
    (a,) = operands(a)
    vectors, values = lax_linalg.eigh(a, lower=lower)
    return values if eigvals_only else (values, vectors)


# ------------------------------------------------------------------ schur, hessenberg


@composite(static=("output",))
def schur(a: ArrayLike, output: str = "real") -> Any:
    """Compute the Schur decomposition :math:`A = Z T Z^H`, on CPUs.

    Args:
      a: square matrices, shape (..., n, n).
      output: 'real': for real matrices T is quasi-triangular, with 2 by 2 blocks on its
        diagonal; 'complex': T is triangular.

    Returns:
      [T, Z], Z unitary; of `a`'s inexact dtype, or the complex one.

    Raises:
      ValueError: `output` is neither of these.

    Example:
      >>> import minijax.numpy as jnp
      >>> schur(jnp.array([[1., 2.], [0., 3.]]))[0]
      Array([[1., 2.],
             [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (a,) = numbers("schur", a)
    return lax_linalg.schur(a.astype(complex_dtype(a)) if output == "complex" else a)


def _triangular_form(t: Any, z: Any) -> tuple[Any, Any]:
    """Make 2 by 2 blocks triangular, from the bottom up, by rotating each to one of its
    eigenvectors."""
    n = t.shape[-1]
    index = np.arange(n)

    def rows_of(x: Any, m: Any) -> Any:
        return lax.dynamic_slice_in_dim(x, m - 1, 2, 0)

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, z = state
        m = n - 1 - i
        block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        (a, b), (c, d) = block
        # The eigenvalue nearest to d, minus d, without cancellation.
        half = (a - d) / 2
        root = jnp.sqrt(half * half + b * c)
        root = jnp.where((jnp.conj(half) * root).real < 0, -root, root)
        shift = jnp.where(c == 0, a - d, half + root)
        size = jnp.hypot(jnp.abs(shift), jnp.abs(c))
        size = jnp.where(size == 0, 1, size)
        cos, sin = shift / size, c / size
        turn_ = jnp.stack([jnp.stack([jnp.conj(cos), jnp.conj(sin)]), jnp.stack([-sin, cos])])
        turn_ = jnp.where(c == 0, np.eye(2, dtype=t.dtype), turn_)
        rows = precise(turn_, rows_of(t, m))
        t = lax.dynamic_update_slice_in_dim(t, rows, m - 1, 0)
        columns = precise(lax.dynamic_slice_in_dim(t, m - 1, 2, 1), adjoint(turn_))
        t = lax.dynamic_update_slice_in_dim(t, columns, m - 1, 1)
        columns = precise(lax.dynamic_slice_in_dim(z, m - 1, 2, 1), adjoint(turn_))
        z = lax.dynamic_update_slice_in_dim(z, columns, m - 1, 1)
        below = (index[:, None] == m) & (index == m - 1)
        return jnp.where(below, t.dtype.type(0), t), z

    return fori_loop(0, n - 1, step, (t, z)) if n > 1 else (t, z)


@composite(static=("check_finite",))
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """Convert a real Schur form to the complex one: T becomes triangular, and
    :math:`Z T Z^H` is unchanged.

    Args:
      T: quasi-triangular matrices, shape (..., n, n).
      Z: unitary matrices, shape (..., n, n).
      check_finite: SciPy's; without effect.

    Returns:
      (T, Z), complex, of the broadcast shape.

    Raises:
      ValueError: a matrix is not square, or shapes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> t, z = rsf2csf(*schur(jnp.array([[0., 1.], [-1., 0.]])))
      >>> jnp.abs(t).round(3)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)

    Source: G. Golub, C. Van Loan, Matrix Computations, 7.4: Givens rotations.
    """
    T, Z = numbers("rsf2csf", T, Z)
    for name, x in (("T", T), ("Z", Z)):
        check_squares(x, f"Input '{name}' must be square.")
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {Z.shape} vs. T: {T.shape}")
    T, Z = (x.astype(complex_dtype(x)) for x in (T, Z))
    signature = "(n,n),(n,n)->(n,n),(n,n)"
    return over_stacks(_triangular_form, signature, T, Z)


@composite(static=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Compute the Hessenberg form :math:`A = Q H Q^H`, on CPUs.

    H is zero below its first subdiagonal.

    Args:
      a: square matrices, shape (..., n, n).
      calc_q: also return Q.
      overwrite_a, check_finite: SciPy's; without effect.

    Returns:
      H, or (H, Q), Q unitary; of `a`'s inexact dtype and shape.

    Raises:
      ValueError: a matrix is not square.

    Example:
      >>> import minijax.numpy as jnp
      >>> hessenberg(jnp.array([[1., 2.], [3., 4.]]))
      Array([[1., 2.],
             [3., 4.]], dtype=float32)
    """
    (a,) = numbers("hessenberg", a)
    packed, taus = lax_linalg.hessenberg(a)
    form = jnp.triu(packed, -1)
    if not calc_q:
        return form
    n = a.shape[-1]
    if n < 2:
        return form, identity(n, a)
    inner = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    no_padding = [(0, 0, 0)] * (a.ndim - 2)
    q = lax.pad(inner, inner.dtype.type(0), [*no_padding, (1, 0, 0), (1, 0, 0)])
    corner = np.zeros((n, n), q.dtype)
    corner[0, 0] = 1
    return form, q + corner


# ---------------------------------------------------------------------------- polar


def _right_polar(a: Any, method: str, eps: Any, max_iterations: Any) -> Any:
    """Return U and P of a = U P."""
    if method == "svd":
        u, s, vh = lax_linalg.svd(a, full_matrices=False)
        scaled_vh = adjoint(vh) * s.astype(a.dtype)[None, :]
        return precise(u, vh), precise(scaled_vh, vh)
    m, n = a.shape
    if m < n:  # `qdwh` needs m >= n: decompose a^H, whose unitary factor is U^H
        u, _, *_ = lax_linalg.qdwh(adjoint(a), max_iterations=max_iterations, eps=eps)
        u = adjoint(u)
        p = precise(adjoint(u), a)
        return u, (p + adjoint(p)) / 2
    u, p, *_ = lax_linalg.qdwh(a, max_iterations=max_iterations, eps=eps)
    return u, p


@composite(static=("side", "method", "eps", "max_iterations"))
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Compute the polar decomposition :math:`A = U P`, or :math:`A = P U`.

    Args:
      a: matrices, shape (..., m, n).
      side: 'right' or 'left': the side of P.
      method: 'qdwh', dynamically weighted Halley iterations, or 'svd'.
      eps: the tolerance of the iterations, relative to 1 (None: the eps of the dtype).
      max_iterations: the largest number of iterations (None: 10).

    Returns:
      (U, P), of `a`'s inexact dtype: U, shape (..., m, n), with orthonormal columns, or
      orthonormal rows if m < n; P, Hermitian positive semidefinite, (..., n, n), or
      (..., m, m) for side 'left'.

    Raises:
      ValueError: fewer than two axes, or an unknown side or method.

    Example:
      >>> import minijax.numpy as jnp
      >>> polar(jnp.array([[0., 2.], [1., 0.]]))[1].diagonal().round(3)
      Array([1., 2.], dtype=float32)

    Source: Y. Nakatsukasa, Z. Bai, F. Gygi, "Optimizing Halley's iteration for computing
    the matrix polar decomposition" (2010).

    Differs from JAX: both sides accept all shapes, and both modes of differentiation work.
    """
    (a,) = operands(a)
    if a.ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")

    def one(a: Any) -> Any:
        return _right_polar(a, method, eps, max_iterations)

    if side == "right":
        return over_stacks(one, "(m,n)->(m,n),(n,n)", a)
    u, p = over_stacks(one, "(n,m)->(n,m),(m,m)", adjoint(a))
    return adjoint(u), p
