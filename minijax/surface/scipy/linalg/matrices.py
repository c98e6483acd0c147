"""Special matrices: from diagonals, from polynomials, and from a size.

Matrices that depend only on a size are exact integers or fractions, computed on the host.
Toeplitz and Hankel matrices are one gather of their diagonals.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....base import errors
from ....control.calls.jit import composite
from ....ir.core import aval_of
from ....prims import dtype_arguments, lax
from ....runtime.arrays import transfers
from ....symbolic.dims import SymbolicDim
from ....types import dtypes
from ....types.avals import shaped
from ... import jnp
from ...numpy._common import ArrayLike, DTypeLike, as_array, check_arraylike
from .common import *

__all__ = (
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
)

# ------------------------------------------------------------------- blocks, diagonals


@composite
def block_diag(*arrs: ArrayLike) -> Any:
    """Return a block-diagonal matrix: :math:`A_1 \\oplus \\cdots \\oplus A_k`.

    Args:
      *arrs: the blocks: matrices; vectors and numbers are single rows.

    Returns:
      A matrix of the common dtype; its numbers of rows and columns are the sums of the
      blocks'.  Without blocks its shape is (1, 0).

    Raises:
      ValueError: more than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> block_diag(jnp.ones((1, 2)), 3.)
      Array([[1., 1., 0.],
             [0., 0., 3.]], dtype=float32)
    """
    check_arraylike("block_diag", *arrs)
    blocks = [as_array(x) for x in arrs] or [jnp.zeros((1, 0))]
    for i, x in enumerate(blocks):
        if x.ndim > 2:
            raise errors.value_error(
                "Arguments to jax.scipy.linalg.block_diag must have at most 2"
                f" dimensions, got {errors.type_text(x)} at argument {i}.",
                tries=["jnp.vectorize, or vmap, over leading axes"],
            )
    blocks = _of_one_dtype([jnp.atleast_2d(x) for x in blocks])
    width = sum(x.shape[1] for x in blocks)
    before, rows = 0, []
    for x in blocks:
        after = width - before - x.shape[1]
        padding = [(0, 0, 0), (before, after, 0)]
        rows.append(lax.pad(x, x.dtype.type(0), padding) if before or after else x)
        before += x.shape[1]
    return rows[0] if len(rows) == 1 else lax.concatenate(rows, 0)


def _along_diagonals(values: Any, rows: int, columns: int, step: int) -> Any:
    """Return [..., i, j] = values[..., start + step i + j], constant along diagonals."""
    if isinstance(rows, SymbolicDim) or isinstance(columns, SymbolicDim):
        indices = jnp.arange(rows)[:, None] * step + jnp.arange(columns)
    else:
        indices = np.arange(rows)[:, None] * step + np.arange(columns)
    indices = indices - (rows - 1) * min(step, 0)
    return (
        jnp.take(values, indices, -1, mode="promise_in_bounds")
        if indices.size
        else (jnp.zeros((*values.shape[:-1], rows, columns), values.dtype))
    )


def _broadcast_leading(c: Any, r: Any) -> tuple[Any, Any]:
    """Broadcast two stacks of vectors to the same leading axes."""
    leading = lax.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    return tuple(jnp.broadcast_to(x, (*leading, x.shape[-1])) for x in (c, r))  # type: ignore


@composite
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    """Return matrices with constant diagonals: :math:`A_{ij} = c_{i-j}`, and
    :math:`r_{j-i}` above the main diagonal.

    Args:
      c: first columns, shape (..., n).
      r: first rows, shape (..., m); their first elements are not read (None: the
        conjugate of `c`).

    Returns:
      An array of the common dtype, shape (..., n, m).

    Example:
      >>> import minijax.numpy as jnp
      >>> toeplitz(jnp.array([1, 2, 3]), jnp.array([0, 8, 9]))
      Array([[1, 8, 9],
             [2, 1, 8],
             [3, 2, 1]], dtype=int32)
    """
    if r is None:
        check_arraylike("toeplitz", c)
        c = jnp.atleast_1d(c)
        r = jnp.conj(c)
    else:
        check_arraylike("toeplitz", c, r)
        c, r = jnp.atleast_1d(c), jnp.atleast_1d(r)
    n, m = c.shape[-1], r.shape[-1]
    c, r = _broadcast_leading(*_of_one_dtype([c, r]))
    values = lax.concatenate([lax.rev(c, (c.ndim - 1,)), r[..., 1:]], c.ndim - 1)
    return _along_diagonals(values, n, m, -1)


@composite
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    """Return matrices with constant antidiagonals:
    :math:`A_{ij} = (c, r_1, r_2 ..)_{i+j}`.

    Args:
      c: first columns, shape (..., n).
      r: last rows, shape (..., m); their first elements are not read (None: zeros).

    Returns:
      An array of the common dtype, shape (..., n, m).

    Raises:
      ValueError: `c` or `r` is a scalar.

    Example:
      >>> import minijax.numpy as jnp
      >>> hankel(jnp.array([1, 2]), jnp.array([0, 8, 9]))
      Array([[1, 2, 8],
             [2, 8, 9]], dtype=int32)
    """
    check_arraylike("hankel", c, *([] if r is None else [r]))
    c = as_array(c)
    r = jnp.zeros_like(c) if r is None else as_array(r)
    for name, x in (("c", c), ("r", r)):
        if x.ndim == 0:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    n, m = c.shape[-1], r.shape[-1]
    c, r = _broadcast_leading(*_of_one_dtype([c, r]))
    values = lax.concatenate([c, r[..., 1:]], c.ndim - 1)
    return _along_diagonals(values, n, m, 1)


@composite
def circulant(c: ArrayLike) -> Any:
    """Return matrices of cyclically shifted columns: :math:`A_{ij} = c_{(i-j) \\bmod n}`.

    Args:
      c: first columns, shape (..., n).

    Returns:
      An array of `c`'s dtype, shape (..., n, n).

    Example:
      >>> import minijax.numpy as jnp
      >>> circulant(jnp.array([1, 2, 3]))
      Array([[1, 3, 2],
             [2, 1, 3],
             [3, 2, 1]], dtype=int32)
    """
    check_arraylike("circulant", c)
    c = _strong(jnp.atleast_1d(c))
    n = c.shape[-1]
    last = c.ndim - 1
    values = lax.rev(lax.concatenate([c[..., 1:], c], last), (last,))
    return _along_diagonals(values, n, n, -1)


@composite(static=("n", "mode"))
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Any:
    """Return convolution matrices: A v is `jnp.convolve(a, v, mode)`.

    .. math:: A_{ij} = a_{i - j}

    Args:
      a: vectors, shape (..., m).
      n: the length of v.
      mode: 'full' (m + n - 1 rows), 'same' (max(m, n)) or 'valid'
        (max(m, n) - min(m, n) + 1).

    Returns:
      An array of `a`'s dtype, shape (..., rows, n).

    Raises:
      ValueError: `n` is not positive, `a` is empty or a scalar, or `mode` is unknown.

    Example:
      >>> import minijax.numpy as jnp
      >>> convolution_matrix(jnp.array([1, 2]), 2)
      Array([[1, 0],
             [2, 1],
             [0, 2]], dtype=int32)
    """
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    check_arraylike("convolution_matrix", a)
    a = _strong(as_array(a))
    if a.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = a.shape[-1]
    if m < 1:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    rows = {"full": m + n - 1, "same": max(m, n), "valid": abs(m - n) + 1}[mode]
    num_skipped = (m + n - 1 - rows) // 2  # leading rows of 'full' that are left out
    no_padding = [(0, 0, 0)] * (a.ndim - 1)
    padded = lax.pad(a, a.dtype.type(0), [*no_padding, (n - 1, n - 1, 0)])
    values = lax.rev(padded, (a.ndim - 1,))
    # Row i of all m + n - 1 rows starts at index m + n - 2 - i.
    start = m + n - 2 - num_skipped - (rows - 1)
    values = lax.slice_in_dim(values, start, start + rows + n - 1, axis=-1)
    return _along_diagonals(values, rows, n, -1)


# ------------------------------------------------------------------------ polynomials


@composite
def companion(a: ArrayLike) -> Any:
    """Return matrices whose eigenvalues are the roots of polynomials: the first row is
    :math:`-a_{1..} / a_0`, and the subdiagonal is ones.

    Args:
      a: coefficients, shape (..., n), the highest first, n at least 2.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n - 1, n - 1).

    Raises:
      ValueError: fewer than two coefficients.

    Example:
      >>> import minijax.numpy as jnp
      >>> companion(jnp.array([1., -3., 2.]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    check_arraylike("companion", a)
    (a,) = operands(jnp.atleast_1d(a))
    n = a.shape[-1]
    if n < 2:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {a.shape}."
        )
    return _below_first(-a[..., 1:] / a[..., :1], np.ones(n - 2, a.dtype))


def _below_first(first: Any, below: Any) -> Any:
    """Return matrices with a given first row and first subdiagonal."""
    n = first.shape[-1]
    row_axis = first.ndim - 1
    below = jnp.vectorize(jnp.diag, signature="(n)->(n,n)")(below)
    below = jnp.broadcast_to(below, (*first.shape[:-1], n - 1, n - 1))
    rest = lax.pad(below, below.dtype.type(0), [*[(0, 0, 0)] * (row_axis + 1), (0, 1, 0)])
    return lax.concatenate([first[..., None, :], rest], row_axis)


@composite
def fiedler(a: ArrayLike) -> Any:
    """Return symmetric matrices of differences: :math:`|a_i - a_j|`.

    Args:
      a: vectors, shape (..., n).

    Returns:
      A real array of `a`'s precision, shape (..., n, n).

    Example:
      >>> import minijax.numpy as jnp
      >>> fiedler(jnp.array([1, 4]))
      Array([[0, 3],
             [3, 0]], dtype=int32)
    """
    check_arraylike("fiedler", a)
    a = _strong(jnp.atleast_1d(a))
    return jnp.abs(a[..., :, None] - a[..., None, :])


@composite
def fiedler_companion(a: ArrayLike) -> Any:
    """Return pentadiagonal matrices whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients :math:`a_0 \\ne 0, a_1 ..`, shape (..., n), the highest first.

    Returns:
      An array of `a`'s inexact dtype, shape (..., n - 1, n - 1).

    Raises:
      ValueError: there are no coefficients.

    Example:
      >>> import minijax.numpy as jnp
      >>> fiedler_companion(jnp.array([1., 2., 3., 4.]))
      Array([[-2., -3.,  1.],
             [ 1.,  0.,  0.],
             [ 0., -4.,  0.]], dtype=float32)

    Source: M. Fiedler, "A note on companion matrices" (2003).
    """
    check_arraylike("fiedler_companion", a)
    (a,) = operands(jnp.atleast_1d(a))
    if a.shape[-1] == 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but"
            f" got an array of shape {a.shape}."
        )
    n = a.shape[-1] - 1
    if n == 0:
        return jnp.zeros((*a.shape[:-1], 0, 0), a.dtype)
    c = -a[..., 1:] / a[..., :1]
    ones, indices = np.zeros((n, n), a.dtype), np.full((n, n), n)
    indices[0, 0] = 0
    ones[1:2, 0] = 1
    for k in range(1, n):  # a coefficient next to the diagonal, a one on the second diagonal
        row, column = (k - 1, k) if k % 2 else (k, k - 1)
        indices[row, column] = k
        if k > 1:
            ones[(k, k - 2) if k % 2 else (k - 2, k)] = 1
    padded = jnp.concatenate([c, jnp.zeros((*c.shape[:-1], 1), c.dtype)], -1)
    return jnp.take(padded, indices, -1, mode="promise_in_bounds") + ones


@composite
def leslie(f: ArrayLike, s: ArrayLike) -> Any:
    """Return Leslie matrices of population growth: fecundities in the first row, survival
    rates on the subdiagonal, :math:`A_{i+1,i} = s_i`.

    Args:
      f: fecundities, shape (..., n), n at least 2.
      s: survival rates, shape (..., n - 1).

    Returns:
      An array of the common dtype, shape (..., n, n).

    Raises:
      ValueError: there are too few elements, or lengths do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> leslie(jnp.array([0., 2.]), jnp.array([0.5]))
      Array([[0. , 2. ],
             [0.5, 0. ]], dtype=float32)
    """
    check_arraylike("leslie", f, s)
    f, s = jnp.atleast_1d(f), jnp.atleast_1d(s)
    if f.shape[-1] < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {f.shape}."
        )
    if s.shape[-1] != f.shape[-1] - 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be"
            f" one less than the length of f; got f shape {f.shape} and s shape"
            f" {s.shape}."
        )
    return _below_first(*_broadcast_leading(*_of_one_dtype([f, s])))


# ----------------------------------------------------------------------- from a size


def _of_one_dtype(arrays: list[Any]) -> Any:
    """Convert arrays to their common dtype."""
    dtype = jnp.result_type(*arrays)
    return [_strong(x).astype(dtype) for x in arrays]


def _strong(x: Any) -> Any:
    """Return an array without weak type."""
    return x.astype(x.dtype) if aval_of(x).weak_type else x


def _size(n: Any) -> int:
    """Return the number of rows; a fractional number is rounded up, as in `jnp.arange`."""
    return max(math.ceil(n), 0)


def _table(n: int, entry: Callable[[int, int], float], dtype: Any) -> Any:
    """Return a square matrix computed on the host, element by element, and rounded once."""
    values = [[float(entry(i, j)) for j in range(n)] for i in range(n)]
    return _own(np.array(values, np.float64).reshape(n, n).astype(dtype))


def _own(values: Any) -> Any:
    """Put host constants on the device; the transfer guard does not apply to them."""
    return transfers.put_own(values, shaped(values.shape, values.dtype))


def hilbert(n: int) -> Any:
    """Return the Hilbert matrix: :math:`A_{ij} = 1 / (i + j + 1)`.

    Args:
      n: the number of rows and columns.

    Returns:
      An array of the default float dtype, shape (n, n).

    Raises:
      TypeError: `n` is negative.

    Example:
      >>> hilbert(2)
      Array([[1.        , 0.5       ],
             [0.5       , 0.33333334]], dtype=float32)
    """
    n = operator.index(n)
    if n < 0:
        raise TypeError(f"hilbert: the number of rows must be nonnegative, got {n}.")
    index = np.arange(n)
    return _own((1 / (index[:, None] + index + 1.0)).astype(dtypes.float_default()))


def invhilbert(n: int) -> Any:
    """Return the inverse of the Hilbert matrix; its elements are integers.

    .. math:: (-1)^{i+j} (i+j+1) \\binom{n+i}{n-j-1} \\binom{n+j}{n-i-1} \\binom{i+j}{i}^2

    Args:
      n: the number of rows and columns.

    Returns:
      An array of the default float dtype, shape (n, n), each element rounded once.

    Example:
      >>> invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)

    Source: M.-D. Choi, "Tricks or treats with the Hilbert matrix" (1983).
    """
    n, c = _size(n), math.comb

    def entry(i: int, j: int) -> int:
        size = (i + j + 1) * c(n + i, n - j - 1) * c(n + j, n - i - 1) * c(i + j, i) ** 2
        return -size if (i + j) % 2 else size

    return _table(n, entry, dtypes.float_default())


_KINDS = ["symmetric", "lower", "upper"]


def _pascal_kind(kind: Any, wording: str) -> str:
    kind = "symmetric" if kind is None else kind
    if kind not in _KINDS:
        raise errors.value_error(f"Expected kind to be {wording} of: {_KINDS}; got {kind}")
    return kind


def pascal(n: int, kind: str | None = None) -> Any:
    """Return the Pascal matrix: :math:`\\binom{i+j}{i}`.

    Args:
      n: the number of rows and columns.
      kind: 'symmetric' (the default), 'lower', :math:`\\binom{i}{j}`, or 'upper'.

    Returns:
      A float32 array, shape (n, n).

    Raises:
      ValueError: the kind is unknown.

    Example:
      >>> pascal(3)
      Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32)
    """
    c = math.comb
    entries = {
        "symmetric": lambda i, j: c(i + j, i),
        "lower": lambda i, j: c(i, j),
        "upper": lambda i, j: c(j, i),
    }
    return _table(_size(n), entries[_pascal_kind(kind, "one")], dtypes.float32)


def invpascal(n: int, kind: str | None = None) -> Any:
    """Return the inverse of the Pascal matrix; its elements are integers.

    .. math:: L^{-1}_{ij} = (-1)^{i+j} \\binom{i}{j}, \\quad A^{-1} = L^{-T} L^{-1}

    Args:
      n: the number of rows and columns.
      kind: 'symmetric' (the default), 'lower' or 'upper', as for `pascal`.

    Returns:
      An array of the default float dtype, shape (n, n), each element rounded once.

    Raises:
      ValueError: the kind is unknown.

    Example:
      >>> invpascal(2)
      Array([[ 2., -1.],
             [-1.,  1.]], dtype=float32)
    """
    kind, n, c = _pascal_kind(kind, "one"), _size(n), math.comb

    def size(i: int, j: int) -> int:
        if kind == "symmetric":
            return sum(c(k, i) * c(k, j) for k in range(n))
        return c(i, j) if kind == "lower" else c(j, i)

    def entry(i: int, j: int) -> int:
        return -size(i, j) if (i + j) % 2 else size(i, j)

    return _table(n, entry, dtypes.float_default())


def hadamard(n: int, dtype: DTypeLike = int) -> Any:
    """Return the Hadamard matrix in Sylvester's order, of 1 and -1: :math:`H H^T = n I`.

    Args:
      n: the number of rows and columns, a power of 2.
      dtype: the result's dtype.

    Returns:
      An array of `dtype`, shape (n, n).

    Raises:
      ValueError: `n` is not a power of 2.

    Example:
      >>> hadamard(2)
      Array([[ 1,  1],
             [ 1, -1]], dtype=int32)
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    index = np.arange(n)
    odd = np.zeros((n, n), np.int8)
    for k in range(n.bit_length()):
        odd ^= ((index[:, None] & index) >> k & 1).astype(np.int8)
    dtype = dtype_arguments.requested_dtype(float if dtype is None else dtype, "hadamard")
    return _own((1 - 2 * odd).astype(dtype))


def helmert(n: int, full: bool = False) -> Any:
    """Return the Helmert matrix: orthonormal rows
    (1, .., 1, -k, 0, ..) / :math:`\\sqrt{k (k + 1)}`.

    Args:
      n: the number of columns.
      full: start with a row of :math:`1 / \\sqrt{n}`.

    Returns:
      An array of the default float dtype, shape (n - 1, n), or (n, n).

    Raises:
      ValueError: `n` is not positive.

    Example:
      >>> helmert(2)
      Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    k, j = np.arange(1.0, n)[:, None], np.arange(n)
    rows = np.where(j < k, 1.0, np.where(j == k, -k, 0.0)) / np.sqrt(k * (k + 1))
    if full:
        rows = np.concatenate([np.full((1, n), 1 / np.sqrt(n)), rows])
    return _own(rows.astype(dtypes.float_default()))


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Any:
    """Return the matrix of the discrete Fourier transform: :math:`e^{-2 \\pi i j k / n}`.

    Args:
      n: the number of rows and columns.
      scale: None, 'sqrtn' (divided by :math:`\\sqrt n`: unitary) or 'n' (by n).
      dtype: a complex dtype (None: the default one).

    Returns:
      An array of `dtype`, shape (n, n), each element rounded once.

    Raises:
      ValueError: the scale is unknown, or the dtype is not complex.

    Example:
      >>> dft(2).real
      Array([[ 1.,  1.],
             [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    if dtype is None:
        dtype = dtypes.complex_of(dtypes.float_default())
    else:
        dtype = dtype_arguments.requested_dtype(dtype, "dft")
        if not dtypes.is_complex(dtype):
            raise ValueError(f"dtype must be a complex floating-point type; got {dtype}.")
    n = _size(n)
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    values = _unit_circle(turns, n)
    size = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}[scale]
    return _own((values / max(size, 1.0)).astype(dtype))


def _unit_circle(turns: Any, n: int) -> Any:
    """Return exp(-2 pi i turns / n), exact on the axes."""
    if not n:
        return np.zeros((0, 0), np.complex128)
    quarter, rest = np.divmod(4 * turns, n)
    angle = rest * (np.pi / 2 / n)
    return np.exp(-1j * angle) * np.array([1, -1j, -1, 1j])[quarter]
