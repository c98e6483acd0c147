"""Matrices and grids of indices: identity, triangles, mesh grids, index helpers.

All of them compare or combine `iota`s.  Sizes are static; the diagonal `k` of `eye` may be
traced.  `mgrid`, `ogrid`, `r_` and `c_` are indexed, as in NumPy.

Next: manipulation.py, which reshapes arrays.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.vmap import vmap
from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import Tracer
from ...prims import lax
from ...prims.elementwise import const
from ...types import dtypes
from ._common import *
from .creation import asarray, on_device, ones
from .joining import concatenate, stack
from .manipulation import expand_dims
from .ranges import arange, linspace
from .searching import nonzero

__all__ = (
    "eye",
    "identity",
    "tri",
    "tril",
    "triu",
    "tril_indices",
    "triu_indices",
    "tril_indices_from",
    "triu_indices_from",
    "diag_indices",
    "diag_indices_from",
    "mask_indices",
    "meshgrid",
    "indices",
    "fromfunction",
    "mgrid",
    "ogrid",
    "r_",
    "c_",
    "index_exp",
    "s_",
)

# -------------------------------------------------------------------------- triangles


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Return a matrix with ones on a diagonal and zeros off it.

    Args:
      N, M: numbers of rows and columns (default of M: N).
      k: the diagonal: 0 is the main one, positive ones are above it; may be traced.
      dtype: by default float32 (with x64 float64).
      device: device or sharding of the result.

    Returns:
      Array of shape (N, M).

    Raises:
      ValueError: a size is negative, or k is not an integer.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.eye(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    shape = matrix_shape("eye", N, M)
    check_arraylike("eye", k)
    if aval_of(k).shape or not dtypes.is_integer(aval_of(k).dtype):
        raise ValueError(f"k must be a scalar integer; got {k}")
    requested_dtype = dtypes.float_default() if dtype is None else static_dtype(dtype, "eye")
    if isinstance(k, int):
        return on_device(_eye(shape, int(k), requested_dtype), device)
    return on_device(_eye_at_traced_offset(shape, k, requested_dtype), device)


def matrix_shape(name: str, n: Any, m: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    rows = _one_size(n, name)
    columns = rows if m is None else _one_size(m, name)
    if rows < 0 or columns < 0:
        raise errors.ShapeError(f"negative dimensions are not allowed, got {n} and {m}")
    return rows, columns


def _one_size(n: Any, name: str) -> int:
    return static_shape((n,), name)[0]


@composite(static=("shape", "k", "dtype"))
def _eye(shape: Any, k: int, dtype: Any) -> Any:
    return convert(_compare_indices(lax.eq, shape, k), dtype)


@composite(static=("shape", "dtype"))
def _eye_at_traced_offset(shape: Any, k: Any, dtype: Any) -> Any:
    return convert(_compare_indices(lax.eq, shape, convert(k, dtypes.int32)), dtype)


def _compare_indices(relation: Callable[..., Any], shape: Sequence[int], k: Any) -> Any:
    """Return relation(row + k, column) as a matrix of bools."""
    rows = lax.broadcasted_iota(dtypes.int32, tuple(shape), 0)
    columns = lax.broadcasted_iota(dtypes.int32, tuple(shape), 1)
    if not (isinstance(k, int) and k == 0):
        rows = lax.add(rows, const(rows, k) if isinstance(k, int) else k)
    return relation(rows, columns)


def identity(n: Any, dtype: Any = None) -> Any:
    """Return the identity matrix.

    Args:
      n: the size.
      dtype: by default float32 (with x64 float64).

    Returns:
      Array of shape (n, n).

    Raises:
      ValueError: n is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.identity(2, int)
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    requested_dtype = None if dtype is None else static_dtype(dtype, "identity")
    return eye(n, dtype=requested_dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Return ones on and below a diagonal, and zeros above it.

    Args:
      N, M: numbers of rows and columns (default of M: N).
      k: the diagonal: 0 is the main one, positive ones are above it.
      dtype: float32 by default.

    Returns:
      Array of shape (N, M).

    Raises:
      ValueError: a size is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.tri(2)
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    requested_dtype = static_dtype(dtype, "tri") or dtypes.float32
    return _tri(matrix_shape("tri", N, M), operator.index(k), requested_dtype)


@composite(static=("shape", "k", "dtype"))
def _tri(shape: Any, k: int, dtype: Any) -> Any:
    return convert(_compare_indices(lax.ge, shape, k), dtype)


def _triangle(name: str, m: Any, k: Any, lower: bool) -> Any:
    check_arraylike(name, m)
    if len(shape_of(m)) < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    if isinstance(k, Tracer):
        k = concrete_or_error(operator.index, k, f"It is the `k` of jnp.{name}.")
    return _masked_triangle(m, operator.index(k), lower)


@composite(static=("k", "lower"))
def _masked_triangle(m: Any, k: int, lower: bool) -> Any:
    shape = shape_of(m)
    inside = _compare_indices(lax.ge, shape[-2:], k if lower else k - 1)
    rank = len(shape)
    if rank > 2:
        inside = lax.broadcast_in_dim(inside, shape, (rank - 2, rank - 1))
    zero = const(m, 0)
    return choose(inside, m, zero) if lower else choose(inside, zero, m)


def tril(m: Any, k: int = 0) -> Any:
    """Return the lower triangle of matrices, with zeros above it.

    Args:
      m: array of rank 2 or more: the last two axes are the matrices.
      k: the diagonal above which elements are zeroed.

    Returns:
      Array of the shape and dtype of `m`.

    Raises:
      ValueError: the rank is below 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.tril(jnp.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    return _triangle("tril", m, k, True)


def triu(m: Any, k: int = 0) -> Any:
    """Return the upper triangle of matrices, with zeros below it.

    Args:
      m: array of rank 2 or more: the last two axes are the matrices.
      k: the diagonal below which elements are zeroed.

    Returns:
      Array of the shape and dtype of `m`.

    Raises:
      ValueError: the rank is below 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.triu(jnp.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return _triangle("triu", m, k, False)


# -------------------------------------------------------------- positions in a matrix


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """Return rows and columns of the lower triangle of an (n, m) matrix.

    Args:
      n, m: numbers of rows and columns (default of m: n).
      k: the last diagonal that is included.

    Returns:
      (rows, columns), two vectors of int32 (with x64 int64), row by row.

    Raises:
      ValueError: a size is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = matrix_shape("tril_indices", n, m)
    return _mask_positions(np.tri(rows, columns, operator.index(k), bool))


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """Return rows and columns of the upper triangle of an (n, m) matrix.

    Args:
      n, m: numbers of rows and columns (default of m: n).
      k: the first diagonal that is included.

    Returns:
      (rows, columns), two vectors of int32 (with x64 int64), row by row.

    Raises:
      ValueError: a size is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = matrix_shape("triu_indices", n, m)
    return _mask_positions(~np.tri(rows, columns, operator.index(k) - 1, bool))


def _mask_positions(mask: Any) -> tuple[Any, ...]:
    """Return the indices of the true elements of a NumPy mask."""
    return tuple(asarray(i) for i in np.nonzero(mask))


def _matrix_of(name: str, arr: Any) -> tuple[int, int]:
    arr = core.unwrapped(arr)
    if not hasattr(arr, "shape"):
        check_arraylike(name, arr)
    shape = tuple(arr.shape) if hasattr(arr, "shape") else ()
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return rows and columns of the lower triangle of a matrix like `arr`.

    Args:
      arr: array of rank 2, or an object with such a shape.
      k: the last diagonal that is included.

    Returns:
      (rows, columns), two vectors of int32 (with x64 int64), row by row.

    Raises:
      ValueError: the rank is not 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.tril_indices_from(jnp.ones((2, 2)))
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, m = _matrix_of("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return rows and columns of the upper triangle of a matrix like `arr`.

    Args:
      arr: array of rank 2, or an object with such a shape.
      k: the first diagonal that is included.

    Returns:
      (rows, columns), two vectors of int32 (with x64 int64), row by row.

    Raises:
      ValueError: the rank is not 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.triu_indices_from(jnp.ones((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _matrix_of("triu_indices_from", arr)
    return triu_indices(n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Return the indices of the main diagonal of an array with `ndim` axes of size n.

    Args:
      n: the size of the axes.
      ndim: the number of axes.

    Returns:
      Tuple of `ndim` arrays of shape (n,), int32 (with x64 int64).

    Raises:
      ValueError: n or ndim is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.diag_indices(2)
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n, ndim = operator.index(n), operator.index(ndim)
    for value, name in ((n, "n"), (ndim, "ndim")):
        if value < 0:
            raise ValueError(
                f"{name} argument to diag_indices must be nonnegative, got {value}"
            )
    return (arange(n, dtype=dtypes.int_default()),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Return the indices of the main diagonal of an array like `arr`.

    Args:
      arr: array of rank 2 or more, with axes of one size.

    Returns:
      Tuple of vectors of int32 (with x64 int64), one for each axis of `arr`.

    Raises:
      ValueError: the rank is below 2, or sizes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.diag_indices_from(jnp.ones((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    check_arraylike("diag_indices_from", arr)
    sizes = shape_of(arr)
    if len(sizes) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(sizes)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(sizes[0], len(sizes))


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: Any = 0, *, size: int | None = None
) -> tuple[Any, Any]:
    """Return rows and columns where a mask function leaves an (n, n) matrix of ones.

    Args:
      n: the size of the matrix.
      mask_func: a function of (matrix, k), such as `jnp.triu`.
      k: passed to `mask_func`.
      size: the number of positions to return (static), required under jit; None for all.
        Missing ones are 0.

    Returns:
      (rows, columns), two vectors of int32 (with x64 int64), row by row.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.mask_indices(2, jnp.triu)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return nonzero(mask_func(ones((n, n)), k), size=size)


# ------------------------------------------------------------------------- mesh grids


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """Return coordinate arrays of the grid spanned by vectors.

    Args:
      xi: arrays of rank 1.
      copy: must be True.
      sparse: keep size 1 along axes where the coordinate is constant.
      indexing: "xy": the first vector runs along the second axis; "ij": the first.

    Returns:
      Tuple with one array per vector, of its dtype and with one axis for each vector; with
      "xy", the first two axes are swapped.

    Raises:
      ValueError: an array is not of rank 1, `indexing` is unknown, or `copy` is False.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, y = jnp.meshgrid(jnp.arange(2), jnp.arange(3))
      >>> x.shape
      (3, 2)

    Differs from JAX: the result is a tuple, as in the array API standard, not a list.
    """
    check_arraylike("meshgrid", *xi)
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    shapes = [shape_of(x) for x in xi]
    if any(len(s) != 1 for s in shapes):
        raise ValueError(f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {shapes}")
    return tuple(_meshgrid(xi, bool(sparse), indexing == "xy"))


@composite(static=("sparse", "swapped"))
def _meshgrid(xs: Any, sparse: bool, swapped: bool) -> list[Any]:
    rank = len(xs)
    axes = list(range(rank))
    if swapped and rank > 1:
        axes[0], axes[1] = 1, 0
    full = [1] * rank
    for axis, x in zip(axes, xs, strict=True):
        full[axis] = shape_of(x)[0]
    out = []
    for axis, x in zip(axes, xs, strict=True):
        shape = [n if not sparse or i == axis else 1 for i, n in enumerate(full)]
        out.append(as_array(x) if rank == 1 else lax.broadcast_in_dim(x, shape, (axis,)))
    return out


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """Return the indices of every element of an array, one array per axis.

    Args:
      dimensions: the shape.
      dtype: by default int32 (with x64 int64).
      sparse: a tuple of arrays that broadcast, instead of one array.

    Returns:
      Array of shape (rank, *dimensions), or a tuple of `rank` arrays if sparse.

    Raises:
      TypeError: `dimensions` contains something other than concrete non-negative integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.indices((2, 2))[0]
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    shape = static_shape(tuple(dimensions), "indices")
    requested_dtype = dtypes.int_default() if dtype is None else static_dtype(dtype, "indices")
    check_sizes(shape, "indices")
    return _indices(shape, requested_dtype, bool(sparse))


@composite(static=("shape", "dtype", "sparse"))
def _indices(shape: Any, dtype: Any, sparse: bool) -> Any:
    rank = len(shape)
    if sparse:
        return tuple(
            lax.reshape(lax.iota(dtype, n), (1,) * i + (n,) + (1,) * (rank - i - 1))
            for i, n in enumerate(shape)
        )
    grids = [lax.broadcasted_iota(dtype, shape, i) for i in range(rank)]
    if not grids:
        return lax.broadcast_in_dim(np.zeros((), dtype)[()], (0,), ())
    return lax.stack(grids, 0)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """Compute an array (or pytree of arrays) from the indices of its elements.

    Args:
      function: a function of one scalar index per axis; it is vectorised.
      shape: int or sequence of ints.
      dtype: of the indices; `float` is the default float.
      kwargs: passed to `function` unchanged.

    Returns:
      The result of `function`, with the axes of `shape` before its own.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
      Array([[0, 1],
             [1, 2]], dtype=int32)
    """
    sizes = static_shape(shape, "fromfunction")
    fun = functools.partial(function, **kwargs) if kwargs else function
    for i in range(len(sizes)):
        axes: list[Any] = [None] * len(sizes)
        axes[-1 - i] = 0
        fun = vmap(fun, in_axes=tuple(axes))
    return fun(*(arange(n, dtype=dtype) for n in sizes))


# -------------------------------------------------------- objects that are indexed


def _range_of_slice(s: slice) -> Any:
    """Return the array that a slice describes; an imaginary step is a number of steps.

    Missing or zero bounds are arange's defaults: 0.0 does not cause floats, and a single
    start is a stop.
    """
    start, step = s.start or 0, s.step or 1
    if np.iscomplexobj(step):
        return linspace(start, s.stop, int(abs(step)))
    return arange(start, s.stop, step)


class _Grid:
    """`mgrid` or `ogrid`: `mgrid[0:2, 0:3]`."""

    def __init__(self, name: str, sparse: bool, doc: str) -> None:
        self._name = name
        self._sparse = sparse
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range_of_slice(key)
        key = tuple(key)
        if not key:
            return [] if self._sparse else asarray(np.zeros(0, dtypes.int_default()))
        axes = promote_dtypes(*(_range_of_slice(s) for s in key))
        grids = meshgrid(*axes, indexing="ij", sparse=self._sparse)
        return list(grids) if self._sparse else stack(grids, 0)

    def __repr__(self) -> str:
        return f"<minijax.numpy.{self._name}>"


mgrid = _Grid(
    "mgrid",
    False,
    "Dense coordinate grids from slices: one array per slice.\n\n"
    "Example:\n  >>> import minijax.numpy as jnp\n"
    "  >>> jnp.mgrid[0:2, 0:3].shape\n  (2, 2, 3)\n",
)
ogrid = _Grid(
    "ogrid",
    True,
    "Open coordinate grids from slices: arrays that broadcast.\n\n"
    "Example:\n  >>> import minijax.numpy as jnp\n"
    "  >>> [x.shape for x in jnp.ogrid[0:2, 0:3]]\n  [(2, 1), (1, 3)]\n",
)


class _Joiner:
    """`r_` or `c_`: arrays, numbers and slices joined by indexing."""

    def __init__(self, name: str, rank: int, start: int, doc: str) -> None:
        self._name = name
        self._rank = rank  # the minimum rank of the operands
        self._start = start  # position of an operand's own axes in that rank
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, rank, start = (-1 if self._name == "c_" else 0), self._rank, self._start
        matrix = ""
        if items and isinstance(items[0], str):
            directive = items.pop(0)
            if directive in ("r", "c"):
                matrix = directive
            else:
                axis, rank, start = self._numbers(directive, axis, rank, start)
        if any(isinstance(x, str) for x in items):
            raise ValueError("string directive must be placed at the beginning")
        out = concatenate([self._lift(self._operand(x), rank, start) for x in items], axis)
        if matrix and len(shape_of(out)) == 1:
            out = expand_dims(out, 0 if matrix == "r" else 1)
        return out

    def _numbers(self, text: str, axis: int, rank: int, start: int) -> Any:
        try:
            numbers = [int(n) for n in text.split(",")]
            if len(numbers) > 3:
                raise ValueError
        except ValueError:
            raise errors.value_error(
                f"could not understand directive {text!r}",
                where=self._name,
                tries=["'axis', 'axis,ndim' or 'axis,ndim,start', e.g. '0,2'"],
            ) from None
        default = start if len(numbers) < 3 else numbers[2]
        return numbers[0], (numbers[1] if len(numbers) > 1 else rank), default

    def _operand(self, x: Any) -> Any:
        return _range_of_slice(x) if isinstance(x, slice) else asarray(x)

    def _lift(self, x: Any, rank: int, start: int) -> Any:
        """Return `x` with axes of size 1 up to `rank`, its own axes from `start` on."""
        own = len(shape_of(x))
        missing = rank - own
        if missing <= 0:
            return x
        before = max(start + missing + 1, 0) if start < 0 else min(start, missing)
        return expand_dims(x, (*range(before), *range(before + own, rank)))

    def __repr__(self) -> str:
        return f"<minijax.numpy.{self._name}>"


r_ = _Joiner(
    "r_",
    1,
    -1,
    "Arrays, numbers and slices joined along the first axis.\n\n"
    "Example:\n  >>> import minijax.numpy as jnp\n"
    "  >>> jnp.r_[1:3, 7]\n  Array([1, 2, 7], dtype=int32)\n",
)
c_ = _Joiner(
    "c_",
    2,
    0,
    "Arrays, numbers and slices joined along the last axis, vectors as columns.\n\n"
    "Example:\n  >>> import minijax.numpy as jnp\n"
    "  >>> jnp.c_[1:3, 3:5]\n  Array([[1, 3],\n         [2, 4]], dtype=int32)\n",
)
s_, index_exp = np.s_, np.index_exp
