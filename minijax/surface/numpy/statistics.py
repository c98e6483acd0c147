"""Counts and covariances: histograms, bincount, cov, corrcoef.

Next: quantiles.py, for order statistics; moments.py, for means and variances.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...prims import dtype_arguments, lax
from ...types import dtypes
from ...types.sizes import index_of
from . import (
    diagonals,
    differences,
    elementwise,
    linear,
    moments,
    reductions,
    searching,
    selection,
    ufuncs,
)
from ._common import *
from .creation import asarray, zeros
from .ranges import linspace

__all__ = (
    "histogram_bin_edges",
    "histogram",
    "histogram2d",
    "histogramdd",
    "bincount",
    "cov",
    "corrcoef",
)

# --------------------------------------------------------------------------- histograms


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Any = None, weights: ArrayLike | None = None
) -> Any:
    """Return the edges of the bins that `histogram` counts in.

    Args:
      a: array, which is flattened.
      bins: number of bins of equal width, or their edges.
      range: (lowest, highest) edge; by default the smallest and largest element.
      weights: ignored.

    Returns:
      Array of edges, one more than bins.

    Raises:
      TypeError: `bins` is the name of a rule, which is not supported.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.histogram_bin_edges(jnp.array([0., 1., 4.]), bins=2)
      Array([0., 2., 4.], dtype=float32)
    """
    del weights
    if isinstance(bins, str):
        raise TypeError(
            f"histogram: string values for `bins` not implemented: {bins!r}.\n"
            "Try: np.histogram_bin_edges for the edges, then jnp.histogram."
        )
    check_arraylike("histogram_bin_edges", a)
    a = as_array(a)
    (x,) = promote_dtypes_inexact(a)
    if np.ndim(bins) == 1 or getattr(bins, "ndim", 0) == 1:
        return convert(asarray(bins), x.dtype)
    n = concrete_or_error(operator.index, bins, "bins argument of histogram_bin_edges")
    if range is None:
        if x.size == 0:
            low, high = x.dtype.type(0), x.dtype.type(1)
        else:
            low, high = (convert(f(a), x.dtype) for f in (reductions.min, reductions.max))
    else:
        ends = asarray(range)
        if ends.shape != (2,):
            raise ValueError(
                f"`range` must be either None or a sequence of 2 scalars; got {range!r}"
            )
        low, high = ends.astype(x.dtype)
    empty = ufuncs.equal(low, high)
    low = selection.where(empty, ufuncs.subtract(low, 0.5), low)
    high = selection.where(empty, ufuncs.add(high, 0.5), high)
    return linspace(low, high, n + 1, dtype=x.dtype)


def bin_numbers(x: Any, edges: Any) -> Any:
    """Return the number of each element's bin, from 1; the last bin includes its end."""
    at = searching.searchsorted(edges, x, side="right")
    return selection.where(ufuncs.equal(x, edges[-1]), edges.shape[0] - 1, at)


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, Any]:
    """Count the elements in each of a row of bins.

    Args:
      a: array, which is flattened.
      bins: number of bins of equal width, or their edges.
      range: (lowest, highest) edge; elements outside are ignored.
      weights: the weight of each element (default: 1).
      density: divide by the total and by the width of each bin.

    Returns:
      The counts, and the edges, one more than bins.

    Raises:
      ValueError: weights of another shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.histogram(jnp.array([0., 1., 1., 4.]), bins=2)
      (Array([3., 1.], dtype=float32), Array([0., 2., 4.], dtype=float32))
    """
    check_arraylike("histogram", a, *(() if weights is None else (weights,)))
    if weights is None:
        (x,) = promote_dtypes_inexact(as_array(a))
        w = lax.broadcast_in_dim(typed_constant(1, x.dtype), x.shape, ())
    else:
        if core.aval_of(weights).shape != core.aval_of(a).shape:
            raise ValueError("weights should have the same shape as a.")
        x, w = promote_dtypes_inexact(as_array(a), as_array(weights))
    edges = histogram_bin_edges(x, bins, range)
    # The array is not flattened: each device counts its own shard.
    numbers = bin_numbers(x, edges)
    counts = zeros(edges.shape[0], w.dtype).at[numbers].add(w)[1:]
    if density:
        widths = differences.diff(edges)
        counts = counts / widths / reductions.sum(counts)
    return counts, edges


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """Count the points in each cell of a plane.

    Args:
      x, y: coordinates, arrays of one axis.
      bins: number of bins on each axis, or their edges; one value for both axes, or one per
        axis.
      range: for each axis None or (lowest, highest) edge.
      weights, density: as for `histogram`.

    Returns:
      The counts, and the edges of either axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.array([0., 1., 1.])
      >>> jnp.histogram2d(x, x, bins=2)[0]
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    check_arraylike("histogram2d", x, y)
    sample = lax.stack(promote_dtypes(as_array(x), as_array(y)), 1)
    try:
        alone = len(bins) not in (1, 2)
    except TypeError:
        alone = True
    if alone and np.ndim(bins) == 1:
        bins = [bins, bins]
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """Count the points in each cell of a space.

    Args:
      sample: points, shape (n, d).
      bins: number of bins on each axis, or a list of numbers or edges, one per axis.
      range: for each axis None or (lowest, highest) edge.
      weights, density: as for `histogram`.

    Returns:
      The counts, an array of d axes, and a list of edges.

    Raises:
      ValueError: the number of bins or ranges differs from the number of axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.histogramdd(jnp.array([[0., 0.], [1., 1.]]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    check_arraylike("histogramdd", sample)
    points = as_array(sample)
    n, d = points.shape
    if range is not None and (
        len(range) != d or any(r is not None and len(r) != 2 for r in range)
    ):
        raise ValueError(
            f"For sample.shape={(n, d)}, range must be {d} pairs or Nones; got range={range!r}."
        )
    one_each = isinstance(bins, (list, tuple)) or np.ndim(bins)
    many = bins if one_each else [bins] * d
    if len(many) != d:
        raise ValueError("should be a bin for each dimension.")
    edges, numbers = [], []
    for i in np.arange(d):
        column = points[:, int(i)]
        own = histogram_bin_edges(column, many[i], None if range is None else range[i])
        edges.append(own)
        numbers.append(bin_numbers(convert(column, own.dtype), own))
    if weights is None:
        w = lax.broadcast_in_dim(typed_constant(1, dtypes.int_default()), (n,), ())
    else:
        check_arraylike("histogramdd", weights)
        if core.aval_of(weights).shape != (n,):
            raise ValueError("should have one weight for each sample.")
        _, w = promote_dtypes_inexact(points, as_array(weights))
    shape = tuple(e.shape[0] + 1 for e in edges)
    counts = zeros(shape, w.dtype).at[tuple(numbers)].add(w)
    counts = counts[(slice(1, -1),) * d]
    if density:
        counts = convert(counts, dtypes.to_inexact(points.dtype))
        counts = counts / reductions.sum(counts)
        for i, e in enumerate(edges):
            shape = tuple(-1 if j == i else 1 for j in np.arange(d))
            counts = counts / differences.diff(e).reshape(shape)
    return counts, edges


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Count how often each of 0, 1, 2, ... occurs.

    Args:
      x: integers, one axis; negative ones count as 0.
      weights: the weight of each element (default: 1).
      minlength: the minimum size of the result.
      length: the size of the result, required if `x` is traced; larger numbers are ignored.
      out_sharding: sharding of the result.

    Returns:
      An array of the weights' dtype (default: the default integer), shape (length,), or
      (max(minlength, x.max() + 1),).

    Raises:
      TypeError: `x` does not contain integers.
      ValueError: `x` is not a vector, or weights of another shape.
      ConcretizationTypeError: a traced array without `length`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.bincount(jnp.array([0, 2, 2]))
      Array([1, 0, 2], dtype=int32)
    """
    check_arraylike("bincount", x)
    x = as_array(x)
    if dtypes.is_bool(x.dtype):
        x = convert(x, dtypes.int_default())
    if not dtypes.is_integer(x.dtype):
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype}")
    if x.ndim != 1:
        raise ValueError(f"only 1-dimensional input supported; got {errors.type_text(x)}.")
    least = concrete_or_error(operator.index, minlength, "minlength of bincount")
    if length is None:
        concrete_or_error(
            None,
            x,
            "The error occurred because of argument 'x' of jnp.bincount. To"
            " avoid this error, pass a static `length` argument.",
        )
        values = np.asarray(x)
        length = max(int(least), max(int(values.max()), 0) + 1 if values.size else 0)
    else:
        length = concrete_or_error(index_of, length, "length of bincount")
    if weights is None:
        weights = dtypes.int_default().type(1)
        dtype_arguments.check_holds("bincount", x.shape[0], dtypes.int_default())
    elif core.aval_of(weights).shape != x.shape:
        raise ValueError("shape of weights must match shape of x.")
    if out_sharding is None:
        return _bincount(x, weights, length)
    return call_with_out_sharding("bincount", out_sharding, _counts, [x, weights], length)


def _counts(xs: Sequence[Any], length: int) -> Any:
    return _bincount(*xs, length)


@composite(static=("length",))
def _bincount(x: Any, weights: Any, length: int) -> Any:
    w = as_array(weights)
    counts = lax.broadcast_in_dim(typed_constant(0, w.dtype), (length,), ())
    return counts.at[elementwise.clip(x, 0, None)].add(w)


# --------------------------------------------------------------------------- covariance


@composite(static=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: Any = None,
) -> Any:
    """Return the covariance matrix of variables.

    Args:
      m: variables in rows, observations in columns; or one variable.
      y: more variables.
      rowvar: False if variables are in columns.
      bias: divide by the number of observations N, instead of N - 1.
      ddof: divide by N - ddof.
      fweights: number of times that each observation counts, integers.
      aweights: weights of the observations.
      dtype: of the result; at least the dtype of the variables.

    Returns:
      Matrix with a row for each variable, or a number for a single one; nan for zero
      observations, and a matrix of shape (0, 0) for zero variables in `m`.

    Raises:
      ValueError: more than two axes, or a `dtype` that is not inexact.
      RuntimeError: weights of a shape that does not match.
      TypeError: `fweights` are not integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cov(jnp.array([[0., 1., 2.], [2., 1., 0.]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    x = _variables(m, y, rowvar, dtype)
    if 0 in x.shape:
        shape = x.shape[:1] * (0 if x.shape[0] == 1 else 2)
        return broadcast_to(as_array(typed_constant(np.nan, x.dtype)), shape)
    w = _weights(x.shape[1], fweights, aweights)
    x = x if dtype is None else convert(x, static_dtype(dtype, "cov"))
    if ddof is None:
        ddof = 0 if bias else 1
    if w is None:
        mean = moments.mean(x, 1)
        divisor: Any = x.shape[1] - ddof
    else:
        mean, total = moments.average(x, 1, w, returned=True)
        total = total[0]
        if not ddof:
            divisor = total
        elif aweights is None:
            divisor = total - ddof
        else:
            squares = reductions.sum(w * ufuncs.absolute(as_array(aweights)))
            divisor = total - ddof * squares / total
    x = x - mean[:, None]
    other = x if w is None else x * w[None]
    out = linear.dot(x, ufuncs.conj(other).T) / divisor
    return lax.squeeze(out, tuple(i for i in (0, 1) if out.shape[i] == 1))


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """Return variables in rows, observations in columns; no rows at all if `m` has none."""
    operands = (m,) if y is None else (m, y)
    check_arraylike("cov", *operands)
    variables = promote_dtypes_inexact(*(as_array(x) for x in operands))
    for name, x in zip("my", variables, strict=False):
        if x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is not None and not dtypes.is_inexact(static_dtype(dtype, "cov")):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got {dtype=}")
    rows: list[Any] = []
    for x in variables:
        if x.ndim < 2:
            x = lax.reshape(x, (1, x.size))
        elif not rowvar and (not rows or x.shape[0] != 1):
            x = x.T
        if not rows and not x.shape[0]:
            zero = dtypes.float_default().type(0)
            return lax.broadcast_in_dim(zero, (0, 0), ())
        rows.append(x)
    return rows[0] if len(rows) == 1 else lax.concatenate(rows, 0)


def _weights(n: int, fweights: Any, aweights: Any) -> Any:
    """Return the weights of `n` observations, or None if there are none."""
    w = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        check_arraylike("cov", weights)
        aval = core.aval_of(weights)
        if aval.ndim != 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if aval.shape != (n,):
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and not dtypes.is_integer(aval.dtype):
            raise TypeError("fweights must be integer.")
        own = ufuncs.absolute(as_array(weights))
        w = own if w is None else w * own
    return w


@composite(static=("rowvar", "dtype"))
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: Any = None
) -> Any:
    """Return the matrix of Pearson's correlation coefficients.

    .. math:: R_{ij} = C_{ij} / \\sqrt{C_{ii} C_{jj}}

    Args:
      x: variables in rows, observations in columns; or one variable.
      y: more variables.
      rowvar: False if variables are in columns.
      dtype: of the result; at least the dtype of the variables.

    Returns:
      Matrix of the variables' inexact dtype with a row for each, values in [-1, 1]; a
      number for a single variable.

    Raises:
      ValueError: more than two axes, or a `dtype` that is not inexact.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.corrcoef(jnp.array([0., 1., 2.]), jnp.array([2., 1., 0.]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return c / c
    deviations = ufuncs.sqrt(ufuncs.real(diagonals.diag(c)))
    deviations = convert(deviations, c.dtype)
    c = c / deviations[:, None] / deviations[None, :]
    if dtypes.is_complex(c.dtype):
        parts = (elementwise.clip(part, -1, 1) for part in (c.real, c.imag))
        return lax.complex(*parts)
    return elementwise.clip(c, -1, 1)
