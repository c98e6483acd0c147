"""Norms, condition numbers and ranks.

Next: decompositions.py, for the singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...types import dtypes
from . import manipulation, reductions, selection, ufuncs
from ._common import *
from .decompositions import default_rtol, eigvalsh, operand, svdvals
from .linear_solve import inv

__all__ = ("norm", "matrix_norm", "vector_norm", "cond", "matrix_rank")

# -------------------------------------------------------------------------------- norms


def norm(
    x: ArrayLike,
    ord: int | str | None = None,
    axis: tuple[int, ...] | int | None = None,
    keepdims: bool = False,
) -> Any:
    """Return the norm of vectors or matrices.

    Args:
      x: array.
      ord: for vectors a number (2 by default), inf, -inf or 0 (the number of nonzero
        elements); for matrices 'fro' (the default), 'nuc', 1, -1, 2, -2, inf, -inf.
      axis: one axis for vectors, two for matrices; None treats the array as one vector or
        matrix, or flattens it if `ord` is None.
      keepdims: keep reduced axes with size 1.

    Returns:
      A real array of `x`'s precision (float precision for integers), without the axes
      of the vectors or matrices.

    Raises:
      ValueError: more than two axes, an unknown `ord`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.norm(jnp.array([3., 4.]))
      Array(5., dtype=float32)
    """
    if axis is not None:
        axis = static_axis(axis)
    return _norm(x, ord, axis, keepdims)


@composite(static=("ord", "axis", "keepdims"))
def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    (x,) = operand("norm", x)
    if axis is None and ord is None:
        return lax.sqrt(reductions.sum(_squares(x), None, keepdims=keepdims))
    axes = canonical_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, axes, 2 if ord is None else ord, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, axes, "fro" if ord is None else ord, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a"
        " vector-norm, or two axes to compute a matrix-norm."
    )


def _squares(x: Any) -> Any:
    if dtypes.is_complex(x.dtype):
        return ufuncs.real(x * ufuncs.conj(x))
    return x * x


def _vector_norm(x: Any, axes: Any, ord: Any, keepdims: bool) -> Any:
    if isinstance(ord, str):
        number = ord.replace("inf", "jax.numpy.inf")
        advice = f"Use '{number}' instead." if ord in ("inf", "-inf") else ""
        raise ValueError(f"Invalid order '{ord}' for vector norm.{advice}")
    if isinstance(ord, (complex, np.complexfloating)):
        raise TypeError(f"the order of a norm is a real number, got {ord}.")
    if ord == 2:
        return lax.sqrt(reductions.sum(_squares(x), axes, keepdims=keepdims))
    if ord == np.inf:
        return reductions.max(ufuncs.absolute(x), axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return reductions.min(ufuncs.absolute(x), axes, keepdims=keepdims)
    real = dtypes.real_of(x.dtype)
    if ord == 0:
        return reductions.sum(x != 0, axes, dtype=real, keepdims=keepdims)
    size = ufuncs.absolute(x)
    if ord == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    total = reductions.sum(size**ord, axes, keepdims=keepdims)
    return total ** (1.0 / ord)


def _matrix_norm(x: Any, axes: Any, ord: Any, keepdims: bool) -> Any:
    rows, columns = axes
    if ord in ("fro", "f"):
        return lax.sqrt(reductions.sum(_squares(x), axes, keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf) and not isinstance(ord, str):
        inner, outer_axis = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reductions.sum(ufuncs.absolute(x), inner, keepdims=True)
        if ord > 0:
            out = reductions.max(sums, outer_axis, keepdims=True, initial=0)
        else:
            out = reductions.min(sums, outer_axis, keepdims=True)
    elif ord in (2, -2, "nuc"):
        s = svdvals(manipulation.moveaxis(x, axes, (-2, -1)))
        if ord == "nuc":
            out = reductions.sum(s, -1)
        elif ord == 2:
            out = reductions.max(s, -1, initial=0)
        else:
            out = reductions.min(s, -1)
        return lax.expand_dims(out, tuple(sorted(axes))) if keepdims else out
    else:
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    return out if keepdims else lax.squeeze(out, tuple(sorted(axes)))


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: str | int = "fro") -> Any:
    """Return the norm of the matrices in the last two axes.

    Args:
      x: matrices, shape (..., m, n).
      keepdims: keep the last two axes with size 1.
      ord: 'fro' (the root of the sum of squares), 'nuc' (the sum of singular values),
        1, -1, inf, -inf (sums of columns or rows), 2 or -2 (singular values).

    Returns:
      A real array of `x`'s precision (float precision for integers), shape (...).

    Raises:
      ValueError: fewer than two axes, an unknown `ord`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.matrix_norm(jnp.array([[3., 0.], [0., 4.]]))
      Array(5., dtype=float32)
    """
    check_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | str = 2,
) -> Any:
    """Return the norm of vectors along any number of axes together.

    Args:
      x: array.
      axis: the axes of the vectors, which are flattened; None for all of them.
      keepdims: keep reduced axes with size 1.
      ord: a number p, for the p-th root of the sum of :math:`|x_i|^p`; inf or -inf for the
        largest or smallest size, 0 for the number of nonzero elements.

    Returns:
      A real array of `x`'s precision (float precision for integers), without the axes
      of `axis`.

    Raises:
      ValueError: an axis does not exist, or `ord` is a string.
      TypeError: `ord` is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.vector_norm(jnp.array([[3., 0.], [0., 4.]]))
      Array(5., dtype=float32)
    """
    check_arraylike("jnp.linalg.vector_norm", x)
    return _norm_of_all(x, None if axis is None else static_axis(axis), keepdims, ord)


@composite(static=("axis", "keepdims", "ord"))
def _norm_of_all(x: Any, axis: Any, keepdims: bool, ord: Any) -> Any:
    input_dtype = core.aval_of(x).dtype
    if not dtypes.is_inexact(input_dtype):  # use floats that can represent integer sums
        x = convert(x, dtypes.to_inexact(reductions.wide_int(input_dtype)))
    (x,) = operand("vector_norm", x)
    return _vector_norm(x, canonical_axes(axis, x.ndim), 2 if ord is None else ord, keepdims)


@composite(static=("p",))
def cond(x: ArrayLike, p: Any = None) -> Any:
    """Return condition numbers: the norm of a matrix times the norm of its inverse.

    Args:
      x: matrices, shape (..., m, n).
      p: the norm; see `norm` (default: 2, the ratio of singular values).

    Returns:
      A real array of `x`'s precision, shape (...); infinite for singular matrices,
      nan for zeros.

    Raises:
      ValueError: not a matrix, an empty one, or one that is not square although `p`
        requires it.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.cond(jnp.array([[4., 0.], [0., 2.]]))
      Array(2., dtype=float32)
    """
    (x,) = operand("cond", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape}"
        )
    if not x.shape[-1] or not x.shape[-2]:
        raise ValueError(
            f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape}"
        )
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = s[..., 0], s[..., -1]
        if p != -2:
            return first / last
        out = last / first
    elif x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={x.shape}"
        )
    else:
        out = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    # nan without a nan in the input is 0 / 0 or inf * 0: the matrix is singular.
    spoiled = reductions.any(x != x, (-2, -1))
    return selection.where(ufuncs.logical_and(out != out, ~spoiled), np.inf, out)


@composite(static=("hermitian",))
def _rank(m: Any, rtol: Any, tol: Any, hermitian: bool) -> Any:
    (m,) = operand("matrix_rank", m)
    if m.ndim < 2:
        return convert(reductions.any(m != 0), dtypes.int32)
    s = ufuncs.absolute(eigvalsh(m)) if hermitian else svdvals(m)
    if tol is not None:
        limit = as_array(tol)[..., None] if core.aval_of(tol).ndim else tol
    else:
        if rtol is None:
            rtol = default_rtol(m.dtype, max(m.shape[-2:]))
        largest = reductions.max(s, -1, keepdims=True, initial=0)
        limit = largest * (as_array(rtol)[..., None] if core.aval_of(rtol).ndim else rtol)
    return reductions.sum(s > limit, -1)


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Any:
    """Return ranks: the number of singular values that are not 0.

    Args:
      M: matrices, shape (..., m, n); a vector counts as a row.
      rtol: fraction of the largest up to which one counts as 0 (default: max(m, n) * eps,
        at most 0.01).
      hermitian: `M` is Hermitian.
      tol: size up to which one counts as 0.

    Returns:
      An array of the default integer dtype, shape (...).

    Raises:
      ValueError: both `rtol` and `tol`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.matrix_rank(jnp.array([[1., 1.], [1., 1.]]))
      Array(1, dtype=int32)
    """
    check_arraylike("jnp.linalg.matrix_rank", M)
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    return _rank(M, rtol, tol, hermitian)
