"""Means and variances over axes: mean, var, std, average.

All results are strongly typed floats (or complex numbers); float16 and bfloat16 are
computed in float32 unless a dtype is requested.

Next: reductions.py, for the sums; quantiles.py, for order statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE
from ...prims import lax
from ...prims.shape.shapes import broadcast_to
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ._common import (
    ArrayLike,
    Axis,
    DTypeLike,
    as_array,
    broadcast_sizes,
    canonical_axes,
    check_arraylike,
    choose,
    convert,
    no_out,
    number,
    promote_dtypes_inexact,
    static_dtype,
    typed_constant,
    wider,
)
from .reductions import (
    HALVES,
    check_where,
    hashable_axis,
    keep,
    masked,
    reduce_axes,
    reduction,
    strong,
    sum_axes,
)

__all__ = ("mean", "var", "std", "average")

# ------------------------------------------------------------------ means and variances


def size_along(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Return the number of elements that a reduction combines."""
    n = 1
    for i in axes:
        n *= shape[i]
    return n


def count_where(where: Any, shape: tuple[int, ...], axes: Any, dtype: Any) -> Any:
    """Count, along axes, the elements of an array of this shape where a mask is true."""
    old = core.aval_of(where).shape
    if broadcast_or_none(old, shape) != shape:
        raise errors.value_error(
            f"Incompatible shapes for broadcasting: where of shape {old} and"
            f" requested shape {shape}",
            why="a mask selects among the existing elements of the array.",
            tries=["jnp.broadcast_to(x, ...) before the reduction"],
        )
    return sum_axes(convert(broadcast_to(where, shape), dtype), axes)


def broadcast_or_none(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape that shapes broadcast to, or None if there is none."""
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        return None


@reduction("dtype", "keepdims")
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """Return the arithmetic mean along axes.

    Args:
      a: array or number; integers and bools become floats.
      axis: axes to average over; None for all of them.
      dtype: dtype to convert to and compute in.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are excluded.

    Returns:
      An array of `dtype`, or of `a`'s dtype (integers become floats), without the
      axes of `axis`; nan for the mean of zero elements.

    Raises:
      ValueError: an axis does not exist or is named twice, or `where` is not boolean.
      NotImplementedError: `out` is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.mean(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    no_out("mean", out)
    check_arraylike("mean", a)
    check_where("mean", where)
    aval = core.aval_of(a)
    dtype = static_dtype(dtype, "mean")
    result = dtype or dtypes.to_inexact(aval.dtype)
    working = dtypes.float32 if dtype is None and result in HALVES else result
    return convert(mean_in(a, axis, working, keepdims, where), result)


def mean_in(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """Return the mean, computed in a dtype."""
    a = strong(a, dtype)
    shape = core.aval_of(a).shape
    axes, names = reduce_axes(axis, len(shape))
    count: Any = number(size_along(shape, axes), dtype)
    if where is not None:
        count = count_where(where, shape, axes, dtype)
        a = masked(a, where, typed_constant(0, dtype))
        if names:
            count = lax.pmean(count, names)
        if keepdims:
            count = keep(count, axes, len(shape))
    total = sum_axes(a, axes)
    if names:
        total = lax.pmean(total, names)
    if keepdims:
        total = keep(total, axes, len(shape))
    return lax.div(total, count)


def variance(name: str, a, axis, dtype, correction, keepdims: bool, where, center):
    """Return the variance along axes."""
    check_arraylike(name, a)
    check_where(name, where)
    dtype = static_dtype(dtype, name)
    input_dtype = core.aval_of(a).dtype
    working, result = variance_dtypes(name, input_dtype, dtype)
    if dtype is not None and dtypes.is_integer(dtype):
        a = convert(a, dtype)
    a = strong(a, working)
    if center is None:
        center = mean_in(a, axis, working, True, where)
    else:
        check_arraylike(name, center)
        center = convert(center, working)
    deviation = difference(a, center)
    shape = core.aval_of(deviation).shape
    axes, names = reduce_axes(axis, len(shape))
    real = dtypes.real_of(working)
    count: Any = size_along(shape, axes)
    if where is not None:
        count = count_where(where, shape, axes, real)
        # Mask before squaring: at infinity its slope is infinite, and 0 times that is nan.
        deviation = masked(deviation, where, typed_constant(0, working))
    total = sum_axes(squared(deviation), axes)
    if names:
        total = lax.psum(total, names)
        count = lax.psum(count, names)
    x = over_count(total, count, correction, real, result)
    if name == "var" and dtypes.is_integer(result):  # as JAX, which selects a nan
        x = convert(x, dtypes.float_default(), True)
    return keep(x, axes, len(shape)) if keepdims else x


def difference(x: Any, y: Any) -> Any:
    """Return `x - y`, with size-1 and missing axes of `y` repeated."""
    shape, other = core.aval_of(x).shape, core.aval_of(y).shape
    if other and len(other) != len(shape):
        y = broadcast_to(y, broadcast_sizes(shape, other))
    return lax.sub(x, y)


def squared(x: Any) -> Any:
    """Return the squared size of each element."""
    if dtypes.is_complex(core.aval_of(x).dtype):
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.square(x)


def variance_dtypes(name: str, input_dtype: Any, requested_dtype: Any) -> tuple[Any, Any]:
    """Return the dtype that a variance is computed in, and the dtype of the result."""
    if requested_dtype is not None and dtypes.is_bool(requested_dtype):
        raise errors.type_error(
            f"jnp.{name} does not accept dtype bool.",
            why="a variance is a quotient.",
            tries=["jnp.var(x) != 0"],
        )
    if requested_dtype is None:
        wide = dtypes.to_inexact(input_dtype)
        result = dtypes.real_of(wide)
        return (dtypes.float32 if wide in HALVES else wide), result
    if dtypes.is_complex(input_dtype) and not dtypes.is_complex(requested_dtype):
        raise errors.value_error(
            f"jax.numpy.{name} does not yet support real dtype parameters when computing"
            " the variance of an array of complex values.",
            which=f"dtype={requested_dtype} of an array of dtype {input_dtype}",
            why="the mean of complex values is complex.",
            tries=["drop dtype", "convert the result with .astype(...)"],
        )
    return wider(
        dtypes.to_inexact(input_dtype), dtypes.to_inexact(requested_dtype)
    ), requested_dtype


def over_count(total: Any, count: Any, correction: Any, dtype: Any, result: Any) -> Any:
    """Return `total / (count - correction)`, or nan where the divisor is not positive."""
    if isinstance(count, int) and isinstance(correction, (int, float)):
        n = count - correction
        if n > 0:
            return convert(lax.div(total, dtype.type(n)), result)
        nan = lax.broadcast_in_dim(typed_constant(np.nan, dtype), core.aval_of(total).shape, ())
        return convert(nan, result)
    if isinstance(count, (int, SymbolicDim)):
        count = number(count, dtype)
    n = lax.sub(count, convert(correction, dtype))
    x = choose(lax.gt(n, dtype.type(0)), lax.div(total, n), dtype.type(np.nan))
    return convert(x, result)


def _correction(ddof: Any, correction: Any) -> Any:
    """Return `ddof` or `correction`, whichever the user passed."""
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


_compiled_variance = composite(
    variance, static=("name", "axis", "dtype", "correction", "keepdims")
)


def _variance(name: str, a: Any, axis: Any, dtype: Any, *rest: Any) -> Any:
    axis = hashable_axis(axis) if axis is not None else None
    # `correction` is static, unless it is an array or tracer.
    fixed = isinstance(rest[0], (int, float, np.number))
    if STATE.trace is EVAL and fixed:
        return _compiled_variance(name, a, axis, dtype, *rest)
    return variance(name, a, axis, dtype, *rest)


def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Any:
    """Return the variance along axes: the mean squared distance from the mean.

    .. math:: \\sigma^2 = \\frac{1}{n - \\mathrm{ddof}} \\sum_i |a_i - \\bar a|^2

    Args:
      a: array or number; for complex values the result is real.
      axis: axes to reduce; None for all of them.
      dtype: dtype of the result; the computation uses at least the dtype of `a`.
      out: not supported.
      ddof: subtracted from the number of elements in the divisor of the sum of squares.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are excluded.
      mean: the precomputed mean (with reduced axes of size 1).
      correction: another name for `ddof`.

    Returns:
      A real array of `dtype`, or of `a`'s (integers become floats), without the axes
      of `axis`; nan where the divisor is not positive.

    Raises:
      ValueError: both `ddof` and `correction`, an axis that does not exist, or a real
        `dtype` for complex values.
      TypeError: `dtype` is bool.
      NotImplementedError: `out` is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.var(jnp.array([1., 2., 3., 4.]))
      Array(1.25, dtype=float32)
    """
    no_out("var", out)
    n = _correction(ddof, correction)
    return _variance("var", a, axis, dtype, n, keepdims, where, mean)


def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Any:
    """Return the standard deviation along axes: the root of `var`.

    Args:
      a: array or number; for complex values the result is real.
      axis: axes to reduce; None for all of them.
      dtype: inexact dtype of the result; the computation uses at least the dtype of `a`.
      out: not supported.
      ddof: subtracted from the number of elements in the divisor of the sum of squares.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are excluded.
      mean: the precomputed mean (with reduced axes of size 1).
      correction: another name for `ddof`.

    Returns:
      A real array of `dtype`, or of `a`'s (integers become floats), without the axes
      of `axis`; nan where the divisor is not positive.

    Raises:
      ValueError: a `dtype` that is not inexact, or real for complex values; both `ddof`
        and `correction`; an axis that does not exist.
      NotImplementedError: `out` is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.std(jnp.array([1., 2., 3., 4.]))
      Array(1.118034, dtype=float32)
    """
    no_out("std", out)
    n = _correction(ddof, correction)
    if dtype is not None and not dtypes.is_inexact(dtypes.as_dtype(dtype)):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    return lax.sqrt(_variance("std", a, axis, dtype, n, keepdims, where, mean))


def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean along axes.

    Args:
      a: array or number.
      axis: axes to average over; None for all of them.
      weights: of the shape of `a`, or of its axes `axis`; None for equal weights.
      returned: also return the sum of the weights.
      keepdims: keep reduced axes with size 1.

    Returns:
      An array of `a`'s and the weights' common inexact dtype, without the axes of `axis`;
      with `returned`, a pair of that array and the sum of the weights, of one shape.

    Raises:
      TypeError, ValueError: weights of a shape that does not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.average(jnp.array([1., 2.]), weights=jnp.array([3., 1.]))
      Array(1.25, dtype=float32)
    """
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        if not returned:
            return out
        count = core.aval_of(a).size // out.size if out.size else 0
        return out, lax.broadcast_in_dim(typed_constant(count, out.dtype), out.shape, ())
    check_arraylike("average", a, weights)
    out, total = _average(a, weights, None if axis is None else hashable_axis(axis), keepdims)
    return (out, broadcast_to(total, out.shape)) if returned else out


@composite(static=("axis", "keepdims"))
def _average(a: Any, weights: Any, axis: Any, keepdims: bool) -> Any:
    a, weights = promote_dtypes_inexact(as_array(a), as_array(weights))
    axes = canonical_axes(axis, a.ndim)
    if a.shape != weights.shape:
        weights = _aligned_weights(a.shape, weights, axis, axes)
    total = sum_axes(strong(weights, weights.dtype), axes)
    out = sum_axes(strong(lax.mul(a, weights), a.dtype), axes)
    if keepdims:
        total, out = keep(total, axes, a.ndim), keep(out, axes, a.ndim)
    return lax.div(out, total), total


def _aligned_weights(shape: Any, weights: Any, axis: Any, axes: Any) -> Any:
    """Return weights of some axes, with size 1 along the others."""
    if axis is None:
        raise ValueError(
            "Axis must be specified when shapes of a and weights differ:"
            f" {shape} and {weights.shape}."
        )
    expected_shape = tuple(shape[i] for i in axes)
    if weights.shape != expected_shape:
        raise errors.value_error(
            "Shape of weights must be consistent with shape of a along specified"
            f" axis: {weights.shape} and {shape}.",
            why=f"along axis {axis} the array has shape {expected_shape}.",
        )
    sorted_indices = np.argsort(axes)
    if list(sorted_indices) != list(range(len(axes))):
        weights = lax.transpose(weights, tuple(int(i) for i in sorted_indices))
    full = [n if i in axes else 1 for i, n in enumerate(shape)]
    return lax.reshape(weights, tuple(full))
