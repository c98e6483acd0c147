"""Linear algebra: the functions of `minijax.numpy.linalg`.

Decompositions, solvers and norms are imported from their modules.  The products defined
here follow the array API, which differs slightly from NumPy.
"""

from __future__ import annotations

from typing import Any

from ...ir import core
from . import diagonals, linear, manipulation
from ._common import ArrayLike, DTypeLike, canonical_axis, check_arraylike
from .decompositions import *
from .least_squares import *
from .linear_solve import *
from .norms import *

# --------------------------------------------------- the array API's names for products


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return the matrix product; see `jnp.matmul`.

    Args:
      x1: array of shape (n,) or (..., k, n).
      x2: array of shape (n,) or (..., n, m).
      precision, preferred_element_type: as for `jnp.matmul`.

    Returns:
      Array of shape (..., k, m), without the axis that a vector lacks, in the common
      dtype or `preferred_element_type`.

    Raises:
      ValueError: a scalar operand, or leading axes that do not broadcast.
      TypeError: unequal sizes of the summed axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.matmul(jnp.array([[1, 2]]), jnp.array([[3], [4]]))
      Array([[11]], dtype=int32)
    """
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return linear.matmul(x1, x2, **options)


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return products summed over pairs of axes; see `jnp.tensordot`.

    Args:
      x1, x2: arrays.
      axes: number of last axes of `x1` and first axes of `x2` to sum over, or a pair of
        axes or of lists of axes.
      precision, preferred_element_type, out_sharding: as for `jnp.tensordot`.

    Returns:
      Array of the other axes of `x1`, then of `x2`, in the common dtype or
      `preferred_element_type`.

    Raises:
      TypeError: axes that do not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.tensordot(jnp.array([1, 2]), jnp.array([3, 4]), axes=1)
      Array(11, dtype=int32)
    """
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return linear.tensordot(x1, x2, axes, out_sharding=out_sharding, **options)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return products summed over one axis, `x1` conjugated; see `jnp.vecdot`.

    Args:
      x1, x2: arrays whose axes `axis` have one size; other axes broadcast.
      axis: the axis to sum over.
      precision, preferred_element_type: as for `jnp.vecdot`.

    Returns:
      Array of the other axes, in the common dtype or `preferred_element_type`.

    Raises:
      ValueError: unequal sizes along `axis`, or other axes that do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.vecdot(jnp.array([1, 2]), jnp.array([3, 4]))
      Array(11, dtype=int32)
    """
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return linear.vecdot(x1, x2, axis=axis, **options)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Return all products of the elements of two vectors; `jnp.outer` also flattens arrays.

    Args:
      x1, x2: arrays of shapes (m,) and (n,).

    Returns:
      Array of shape (m, n), in the common dtype.

    Raises:
      ValueError: an operand does not have exactly one axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    check_arraylike("jnp.linalg.outer", x1, x2)
    m, n = core.aval_of(x1).ndim, core.aval_of(x2).ndim
    if m != 1 or n != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={m} x2.ndim={n}"
        )
    return linear.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    """Return the cross product of vectors of 3 components; see `jnp.cross`.

    Args:
      x1, x2: arrays with 3 components along `axis`; other axes broadcast.
      axis: the axis of the components, of operands and result.

    Returns:
      Array of the broadcast shape, in the common dtype.

    Raises:
      ValueError: vectors that do not have 3 components.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    check_arraylike("jnp.linalg.cross", x1, x2)
    shapes = [core.aval_of(x).shape for x in (x1, x2)]
    sizes = [s[canonical_axis(axis, len(s))] for s in shapes]
    if sizes != [3, 3]:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have"
            f" x1.shape[axis]={sizes[0]} and x2.shape[axis]={sizes[1]}"
        )
    return linear.cross(x1, x2, axis=axis)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Any:
    """Return the sum of a diagonal of the matrices in the last two axes.

    Args:
      x: array of shape (..., m, n).
      offset: distance above the main diagonal (negative: below).
      dtype: dtype to sum in; None widens small integers and bools to 32 bits.

    Returns:
      Array of shape (...), in the dtype summed in.

    Raises:
      ValueError: fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return diagonals.trace(x, offset, -2, -1, dtype)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Any:
    """Return a diagonal of the matrices in the last two axes.

    Args:
      x: array of shape (..., m, n).
      offset: distance above the main diagonal (negative: below).

    Returns:
      Array of shape (..., k), of the dtype of `x`, where k is the length of the diagonal.

    Raises:
      ValueError: fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return diagonals.diagonal(x, offset, -2, -1)


def matrix_transpose(x: ArrayLike, /) -> Any:
    """Transpose the matrices in the last two axes.

    Args:
      x: array of shape (..., m, n).

    Returns:
      Array of shape (..., n, m), of the dtype of `x`.

    Raises:
      ValueError: fewer than two axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linalg.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    check_arraylike("jnp.linalg.matrix_transpose", x)
    ndim = core.aval_of(x).ndim
    if ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got {ndim=}")
    return manipulation.matrix_transpose(x)
