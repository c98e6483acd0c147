"""Polynomials as arrays of coefficients, the highest power first.

Next: array_api_linalg.py, whose functions find roots and fits.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import ml_dtypes
import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...control.loop_functions.scan import run_scan
from ...ir import core
from ...prims import lax
from ...prims.elementwise import const
from ...types import dtypes
from . import convolution, diagonals, linear, rearrange, reductions, selection, sorting, ufuncs
from ._common import *
from .creation import asarray

__all__ = (
    "polyval",
    "polyadd",
    "polysub",
    "polymul",
    "polydiv",
    "polyder",
    "polyint",
    "poly",
    "polyfit",
    "roots",
    "vander",
)


@composite(static=("unroll",))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Any:
    """Evaluate a polynomial by Horner's rule.

    .. math:: \\sum_k p_k x^{n - 1 - k}

    Args:
      p: coefficients along the first axis, the highest power first.
      x: the positions to evaluate at.
      unroll: number of steps in one iteration of the compiled loop.

    Returns:
      An array of the common dtype, of the shape to which `x` and the coefficients,
      p.shape[1:], broadcast.

    Raises:
      TypeError: `p` is a scalar.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polyval(jnp.array([1., 0., -1.]), 3.)
      Array(8., dtype=float32)
    """
    check_arraylike("polyval", x)
    _check_coefficients("polyval", p)
    p, x = promote_dtypes(as_array(p), as_array(x))
    batch_shapes = p.shape[1:], x.shape
    if all(batch_shapes):
        check_ranks("polyval", batch_shapes, (p.shape, x.shape))
    shape = broadcast_sizes(*batch_shapes)
    y = lax.broadcast_in_dim(typed_constant(0, x.dtype), shape, ())
    out, _ = run_scan(lambda y, c: (y * x + c, None), y, p, unroll=unroll)
    return out


def _check_coefficients(name: str, *ps: Any) -> None:
    check_arraylike(name, *ps)
    for p in ps:
        if not core.aval_of(p).shape:
            raise errors.type_error(
                f"jnp.{name}: len() of unsized object: {errors.type_text(p)}.",
                why="the coefficients of a polynomial form an axis.",
                tries=["jnp.atleast_1d(p)"],
            )


def _pair(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    check_arraylike(name, a1, a2)
    return promote_dtypes(as_array(a1), as_array(a2))  # type: ignore[return-value]


def _sum(a1: Any, a2: Any) -> Any:
    """Add two polynomials: the shorter one is added to the end of the other."""
    (n1, n2) = a1.shape[0], a2.shape[0]
    if n1 == n2 or not n1 or not n2:
        return ufuncs.add(*ranked(a1, a2)) if n1 == n2 else a1 if n1 else a2
    return a1.at[-n2:].add(a2) if n1 > n2 else a2.at[-n1:].add(a1)


@composite
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Add two polynomials.

    Args:
      a1, a2: coefficients along the first axis, the highest power first.

    Returns:
      An array of the common dtype, with the size of the longer operand.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([5]))
      Array([1, 7], dtype=int32)
    """
    return _sum(*_pair("polyadd", a1, a2))


@composite
def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Subtract two polynomials.

    Args:
      a1, a2: coefficients along the first axis, the highest power first.

    Returns:
      An array of the common dtype, with the size of the longer operand.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polysub(jnp.array([1, 2]), jnp.array([5]))
      Array([ 1, -3], dtype=int32)
    """
    a1, a2 = _pair("polysub", a1, a2)
    return _sum(a1, ufuncs.negative(a2))


def _trim_leading(x: Any) -> Any:
    """Remove leading zeros, but keep at least one coefficient."""
    nonzero_indices = np.flatnonzero(
        np.asarray(concrete_or_error(None, x, "trim_leading_zeros"))
    )
    return x[int(nonzero_indices[0]) :] if nonzero_indices.size else x[-1:]


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Any:
    """Multiply two polynomials.

    Args:
      a1, a2: coefficients, one axis, the highest power first.
      trim_leading_zeros: drop leading zeros first, as NumPy does; concrete arrays only.

    Returns:
      An array of the common inexact dtype, shape (n1 + n2 - 1,).

    Raises:
      TypeError: a scalar instead of coefficients.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polymul(jnp.array([1., 1.]), jnp.array([1., -1.]))
      Array([ 1.,  0., -1.], dtype=float32)
    """
    _check_coefficients("polymul", a1, a2)
    a1, a2 = promote_dtypes_inexact(as_array(a1), as_array(a2))
    if trim_leading_zeros and (a1.size > 1 or a2.size > 1):
        a1, a2 = _trim_leading(a1), _trim_leading(a2)
    if a1.size == 0:
        a1 = asarray([0], dtype=a2.dtype)
    if a2.size == 0:
        a2 = asarray([0], dtype=a1.dtype)
    return convolution.convolve(a1, a2)


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Return the quotient and the remainder of two polynomials.

    Args:
      u: the dividend, m coefficients, the highest power first.
      v: the divisor, n coefficients.
      trim_leading_zeros: drop leading zeros of the remainder, as NumPy does; concrete
        arrays only.

    Returns:
      Two arrays of the common inexact dtype: the quotient, of size max(m - n + 1, 1),
      and the remainder, with as many coefficients as `u` has.

    Raises:
      TypeError: a scalar instead of coefficients.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polydiv(jnp.array([1., 0., -1.]), jnp.array([1., 1.]))[0]
      Array([ 1., -1.], dtype=float32)
    """
    _check_coefficients("polydiv", u, v)
    u, v = promote_dtypes_inexact(as_array(u), as_array(v))
    m, n = u.shape[0] - 1, v.shape[0] - 1
    scale = 1.0 / v[0]
    quotient = lax.broadcast_in_dim(typed_constant(0, u.dtype), (max(m - n + 1, 1),), ())
    for k in range(m - n + 1):
        d = scale * u[k]
        quotient = quotient.at[k].set(d)
        u = u.at[k : k + n + 1].add(-d * v)
    if trim_leading_zeros:
        u = _trim_leading(u)
    return quotient, u


def _order(name: str, m: Any, what: str) -> int:
    m = concrete_or_error(operator.index, m, f"'m' argument of jnp.{name}")
    if m < 0:
        see = " (see polyder)" if what == "integral" else ""
        raise ValueError(f"Order of {what} must be positive{see}, got {m}")
    return int(m)


def polyder(p: ArrayLike, m: int = 1) -> Any:
    """Differentiate a polynomial.

    Args:
      p: coefficients, the highest power first.
      m: order of the derivative.

    Returns:
      An array of `p`'s inexact dtype, with `m` coefficients fewer, possibly zero.

    Raises:
      ValueError: negative `m`.
      TypeError: a scalar instead of coefficients.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polyder(jnp.array([1., 2., 3.]))
      Array([2., 2.], dtype=float32)
    """
    _check_coefficients("polyder", p)
    m = _order("polyder", m, "derivative")
    (p,) = promote_dtypes_inexact(as_array(p))
    if m == 0:
        return p
    n = p.shape[0]
    factors = [math.prod(range(k - m + 1, k + 1)) for k in range(n - 1, m - 1, -1)]
    head = p[: max(n - m, 0)]
    return head * np.asarray(factors, p.dtype)


def polyint(p: ArrayLike, m: int = 1, k: int | ArrayLike | None = None) -> Any:
    """Integrate a polynomial.

    Args:
      p: coefficients, the highest power first.
      m: number of integrations.
      k: the constants of integration, one for all or `m` of them (default: 0).

    Returns:
      An array of the common inexact dtype, with `m` coefficients more than `p`.

    Raises:
      ValueError: negative `m`, or a wrong number of constants.
      TypeError: a scalar instead of coefficients.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.polyint(jnp.array([2., 2.]), k=3)
      Array([1., 2., 3.], dtype=float32)
    """
    m = _order("polyint", m, "integral")
    k = 0 if k is None else k
    check_arraylike("polyint", k)
    _check_coefficients("polyint", p)
    p, constants = promote_dtypes_inexact(as_array(p), as_array(k))
    if m == 0:
        return p
    constants = lax.reshape(constants, (constants.size,))
    if constants.size == 1:
        constants = broadcast_to(constants, (m,))
    if constants.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    joint = lax.concatenate([p, constants], 0)
    n = joint.shape[0]
    top = [max(n - 1 - i, 0) for i in range(n)]
    # After all integrations, the power of coefficient i is top[i].
    done = [m if i < n - m else n - 1 - i for i in range(n)]
    divisors = [math.prod(range(t - d + 1, t + 1)) for t, d in zip(top, done, strict=True)]
    return joint / np.asarray(divisors, joint.dtype)


def poly(seq_of_zeros: ArrayLike) -> Any:
    """Return the polynomial with given roots, or the characteristic polynomial of a matrix.

    Args:
      seq_of_zeros: roots, one axis; or a square matrix.

    Returns:
      An array of the inexact dtype (complex for a matrix), shape (n + 1,), whose first
      element is 1; the number 1 if there are zero roots.

    Raises:
      ValueError: neither a vector nor a square matrix.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.poly(jnp.array([1., 2.]))
      Array([ 1., -3.,  2.], dtype=float32)
    """
    check_arraylike("poly", seq_of_zeros)
    (roots_,) = promote_dtypes_inexact(as_array(seq_of_zeros))
    if roots_.ndim == 2 and roots_.shape[0] == roots_.shape[1] != 0:
        from . import array_api_linalg

        roots_ = array_api_linalg.eigvals(roots_)
    if roots_.ndim == 0:
        roots_ = lax.reshape(roots_, (1,))
    if roots_.ndim != 1:
        raise ValueError(
            f"input must be 1d or non-empty square 2d array; got {errors.type_text(roots_)}"
        )
    return _poly(roots_) if roots_.size else asarray(1, dtype=roots_.dtype)


@composite
def _poly(zeros: Any) -> Any:
    out = lax.broadcast_in_dim(typed_constant(1, zeros.dtype), (1,), ())
    nothing = const(zeros, 0)
    for i in range(zeros.shape[0]):  # multiply by (x - zero)
        lower = lax.pad(out, nothing, [(1, 0, 0)]) * zeros[i]
        out = lax.pad(out, nothing, [(0, 1, 0)]) - lower
    return out


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool = False,
) -> Any:
    """Fit a polynomial to points by least squares.

    Args:
      x: positions of the points; one axis.
      y: values, one axis, or several sets of values in columns.
      deg: the degree.
      rcond: singular values below this fraction of the largest count as 0.
      full: also return residuals, rank, singular values and rcond.
      w: weights of the points.
      cov: also return the covariance of the coefficients ('unscaled': not scaled by the
        residuals).

    Returns:
      The coefficients, of the common inexact dtype, the highest power first, shape (deg
      + 1,) or (deg + 1, k) for k sets of values; with `full` (coefficients, residuals,
      rank, singular values, rcond), with `cov` (coefficients, covariance).

    Raises:
      ValueError: negative degree.
      TypeError: shapes that do not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.array([0., 1., 2.])
      >>> jnp.polyfit(x, 2 * x + 1, 1).round(3)
      Array([2., 1.], dtype=float32)
    """
    from . import array_api_linalg

    check_arraylike("polyfit", x, y, *(() if w is None else (w,)))
    if isinstance(deg, str):
        raise TypeError(f"the degree must be a number, got {deg!r}.")
    deg = concrete_or_error(int, deg, "deg must be a static int")
    order = deg + 1
    if deg < 0:
        raise ValueError(f"expected deg >= 0, got {deg}")
    x, y = promote_dtypes_inexact(as_array(x), as_array(y))
    for bad, text in (
        (x.ndim != 1, "expected 1D vector for x"),
        (x.size == 0, "expected non-empty vector for x"),
        (y.ndim not in (1, 2), "expected 1D or 2D array for y"),
        (x.shape != y.shape[:1], "expected x and y to have same length"),
    ):
        if bad:
            raise TypeError(f"{text}; got {errors.type_text(x)} and {errors.type_text(y)}")
    if rcond is None:
        rcond = x.size * float(ml_dtypes.finfo(x.dtype).eps)
    lhs, rhs = vander(x, order), y
    if w is not None:
        (w,) = promote_dtypes_inexact(as_array(w))
        if w.shape != (x.size,):
            raise TypeError("expected a 1-d array for weights, of the length of y")
        lhs = lhs * w[:, None]
        rhs = rhs * (w[:, None] if rhs.ndim == 2 else w)
    scale = ufuncs.sqrt(reductions.sum(lhs * lhs, 0))
    lhs = lhs / scale[None]
    c, residuals, rank, s = array_api_linalg.lstsq(lhs, rhs, rcond)
    c = c / (scale[:, None] if c.ndim == 2 else scale)
    if full:
        return c, residuals, rank, s, asarray(rcond)
    if not cov:
        return c
    base = array_api_linalg.inv(linear.dot(lhs.T, lhs))
    base = base / linear.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    else:
        if x.size <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (x.size - order)
    if y.ndim == 1:
        return c, base * (factor if cov == "unscaled" else factor[:, None])
    factor = factor if cov == "unscaled" else factor[None, None]
    return c, base[:, :, None] * factor


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Any:
    """Return the roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
      p: coefficients.
      strip_zeros: drop leading and trailing zeros first; concrete arrays only.  With False
        the number of results depends on the size alone: nan for each leading zero.

    Returns:
      Complex array.

    Raises:
      ValueError: `p` has several axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.sort(jnp.roots(jnp.array([1., -3., 2.])).real).round(3)
      Array([1., 2.], dtype=float32)
    """
    check_arraylike("roots", p)
    (p,) = promote_dtypes_inexact(as_array(p))
    if p.ndim == 0:
        p = lax.reshape(p, (1,))
    if p.ndim != 1:
        raise ValueError(f"Input must be a rank-1 array; got {errors.type_text(p)}.")
    if p.size < 2:
        return asarray([], dtype=dtypes.complex_of(p.dtype))
    if not strip_zeros:
        return _roots_with_zeros(p)
    values = np.asarray(concrete_or_error(None, p, "jnp.roots with strip_zeros=True"))
    nonzero_indices = np.flatnonzero(values)
    if not nonzero_indices.size:
        return asarray([], dtype=dtypes.complex_of(p.dtype))
    first, last = int(nonzero_indices[0]), int(nonzero_indices[-1])
    return _roots(p[first : last + 1], p.size - 1 - last)


def _roots(p: Any, zeros: int) -> Any:
    """Return the roots of a polynomial, followed by `zeros` zeros."""
    from . import array_api_linalg

    dtype = dtypes.complex_of(p.dtype)
    none = lax.broadcast_in_dim(typed_constant(0, dtype), (zeros,), ())
    n = p.size
    if n < 2:
        return none
    companion = diagonals.diag(
        lax.broadcast_in_dim(typed_constant(1, p.dtype), (n - 2,), ()), -1
    )
    companion = companion.at[0, :].set(-p[1:] / p[0])
    eigenvalues = array_api_linalg.eigvals(companion)
    return lax.concatenate([convert(eigenvalues, dtype), none], 0) if zeros else eigenvalues


@composite
def _roots_with_zeros(p: Any) -> Any:
    """Return the roots of a polynomial, with a nan at the end for each leading zero."""
    zeros = reductions.sum(reductions.all(_leading(p == 0), 1))
    values = _roots(rearrange.roll(p, -zeros), 0)
    # Moving the zeros to the end multiplied the polynomial by a power of x: roots at 0.
    sorted_indices = sorting.argsort(-ufuncs.absolute(values))
    position = lax.iota(dtypes.int32, values.size)
    values = values[sorted_indices]
    nan = values.dtype.type(np.nan * (1 + 1j))
    return selection.where(position < values.size - zeros, values, nan)


def _leading(mask: Any) -> Any:
    """Return a matrix: row i is the mask up to element i, and True after it."""
    n = mask.size
    rows = lax.broadcast_in_dim(mask, (n, n), (1,))
    return ufuncs.logical_or(rows, np.triu(np.ones((n, n), bool), 1))


@composite(static=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Any:
    """Return the matrix of powers of the elements of a vector.

    Args:
      x: a vector.
      N: number of columns (default: number of rows).
      increasing: start with the power 0.

    Returns:
      An array of `x`'s dtype (int32 for bools), shape (x.size, N).

    Raises:
      ValueError: `x` is not a vector, or `N` is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.vander(jnp.array([1, 2, 3]), 2)
      Array([[1, 1],
             [2, 1],
             [3, 1]], dtype=int32)
    """
    check_arraylike("vander", x)
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError(f"x must be a one-dimensional array; got {errors.type_text(x)}")
    n = x.shape[0] if N is None else operator.index(N)
    if n < 0:
        raise ValueError(f"N must be nonnegative; got N={n}")
    powers = np.arange(n) if increasing else np.arange(n)[::-1]
    (wide,) = (
        promote_dtypes(x) if not dtypes.is_bool(x.dtype) else (convert(x, np.dtype("int32")),)
    )
    columns = [wide ** int(k) for k in powers]
    if not columns:
        return lax.broadcast_in_dim(typed_constant(0, wide.dtype), (x.size, 0), ())
    return convert(lax.stack(columns, 1), wide.dtype)
