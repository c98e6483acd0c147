"""Reductions that ignore nans: nansum, nanmean, nanmax, nanvar, nanargmax ...

Integers cannot be nan: for them each function is the ordinary reduction.

Next: reductions.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...types import dtypes
from . import moments, reductions, running
from ._common import *
from ._function_tables import row
from .moments import variance_dtypes
from .reductions import check_where, keep, masked, reduce_axes, reduction, strong

__all__ = (
    "nansum",
    "nanprod",
    "nanmax",
    "nanmin",
    "nanmean",
    "nanvar",
    "nanstd",
    "nanargmax",
    "nanargmin",
    "nancumsum",
    "nancumprod",
)


def nans_of(x: Any) -> Any:
    """Return a mask of the nans of an array."""
    return lax.ne(x, x)


def not_nan(x: Any) -> Any:
    """Return a mask of the elements that are not nan."""
    return lax.bitwise_not(nans_of(x))


def without_nans(name: str, a: Any, value: Any) -> Any:
    """Return the array with nans replaced; integer arrays are returned unchanged."""
    check_arraylike(name, a)
    a = as_array(a)
    if not dtypes.is_inexact(a.dtype):
        return a
    a = strong(a, a.dtype)
    return choose(nans_of(a), typed_constant(value, a.dtype), a)


def _accumulation(name: str, compute: Any, neutral: int, summary: str, example: str) -> Any:
    @reduction("dtype", "keepdims")
    @row(
        name,
        __name__,
        summary,
        reductions.SUMMED,
        example,
        raises=reductions.BAD_AXIS,
        dtype=reductions.WIDENED,
    )
    def fun(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Any:
        no_out(name, out)
        check_where(name, where)
        a = without_nans(name, a, neutral)
        return compute(a, axis, dtype, None, keepdims, initial, where)

    return fun


nansum = _accumulation(
    "nansum",
    reductions.sum,
    0,
    "Return the sum along axes, where nans count as 0.",
    "[1., jnp.nan, 2.] -> 3.",
)
nanprod = _accumulation(
    "nanprod",
    reductions.prod,
    1,
    "Return the product along axes, where nans count as 1.",
    "[3., jnp.nan, 2.] -> 6.",
)


def _nan_extremum(name: str, a, axis, keepdims: bool, initial, where):
    check_arraylike(name, a)
    check_where(name, where)
    a = as_array(a)
    filled = without_nans(name, a, -np.inf if name == "nanmax" else np.inf)
    out = reductions.extremum(name[3:], filled, axis, keepdims, initial, where)
    if not dtypes.is_inexact(a.dtype) or initial is not None:
        return out
    all_nan = reductions.all(nans_of(a), axis, None, keepdims, where=where)
    return choose(all_nan, typed_constant(np.nan, out.dtype), out)


nanmax = reductions.extremum_function(
    _nan_extremum,
    "nanmax",
    "Return the largest element that is not nan (nan if all are).",
    "[3., jnp.nan, 2.] -> 3.",
)
nanmin = reductions.extremum_function(
    _nan_extremum,
    "nanmin",
    "Return the smallest element that is not nan (nan if all are).",
    "[3., jnp.nan, 2.] -> 2.",
)


@reduction("dtype", "keepdims")
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """Return the mean along axes of the elements that are not nan.

    Args:
      a: array or number; integers and bools become floats.
      axis: axes to average over; None for all of them.
      dtype: dtype to convert to and compute in.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are excluded.

    Returns:
      An array of `dtype`, or of `a`'s dtype (integers become floats), without the
      axes of `axis`; nan where all elements are nan.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.nanmean(jnp.array([1., jnp.nan, 2.]))
      Array(1.5, dtype=float32)
    """
    no_out("nanmean", out)
    check_arraylike("nanmean", a)
    check_where("nanmean", where)
    a = as_array(a)
    if not dtypes.is_inexact(a.dtype):
        return moments.mean(a, axis, dtype, None, keepdims, where=where)
    dtype = static_dtype(dtype, "nanmean") or a.dtype
    count = reductions.sum(not_nan(a), axis, dtype, None, keepdims, None, where)
    total = nansum(a, axis, dtype, None, keepdims, None, where)
    if not _any_along(a, axis):
        if not dtypes.is_inexact(dtype):
            return moments.mean(a, axis, dtype, None, keepdims, where=where)
        return _nans_like(total, dtype)
    return lax.div(total, count)


def _any_along(a: Any, axis: Any) -> bool:
    return bool(moments.size_along(a.shape, reduce_axes(axis, a.ndim)[0]))


def _nans_like(x: Any, dtype: Any) -> Any:
    """Return constant nans of the shape of `x`; the slope of 0 / 0 would be nan."""
    nan = np.array(complex(np.nan, np.nan) if dtypes.is_complex(dtype) else np.nan)
    return lax.broadcast_in_dim(nan.astype(dtype), core.aval_of(x).shape, ())


def nan_variance(name: str, a, axis, dtype, ddof, keepdims: bool, where, center):
    """Return the variance of the elements that are not nan."""
    check_arraylike(name, a)
    check_where(name, where)
    a, dtype = as_array(a), static_dtype(dtype, name)
    if not dtypes.is_inexact(a.dtype) or (dtype is not None and dtypes.is_integer(dtype)):
        return moments.variance(name, a, axis, dtype, ddof, keepdims, where, center)
    working, result = variance_dtypes(name, a.dtype, dtype)
    a = strong(a, working)
    if center is None:
        center = nanmean(a, axis, working, None, True, where)
    valid = not_nan(a)
    # Mask before squaring: the slope of a square at nan is nan, even times 0.
    deviation = moments.difference(a, convert(center, working))
    deviation = choose(valid, deviation, typed_constant(0, working))
    if where is not None:
        deviation = masked(deviation, where, typed_constant(0, working))
    squares = moments.squared(deviation)
    real = squares.dtype
    valid = convert(valid, real)
    count = reductions.sum(valid, axis, None, None, keepdims, None, where)
    count = lax.sub(count, convert(ddof, real))
    total = reductions.sum(squares, axis, None, None, keepdims)
    if not _any_along(a, axis):
        return convert(_nans_like(total, real), result)
    few = lax.le(count, real.type(0))
    x = lax.div(
        choose(few, typed_constant(np.nan, real), total),
        choose(few, typed_constant(1, real), count),
    )
    return convert(x, result)


_compiled = composite(nan_variance, static=("name", "axis", "dtype", "keepdims"))


def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Any:
    """Return the variance along axes of the elements that are not nan.

    Args:
      a: array or number; for complex values the result is real.
      axis: axes to reduce; None for all of them.
      dtype: dtype of the result; the computation uses at least the dtype of `a`.
      out: not supported.
      ddof: subtracted from the number of elements in the divisor of the sum of squares.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are excluded.
      mean: the precomputed mean (with reduced axes of size 1).

    Returns:
      A real array of `dtype`, or of `a`'s (integers become floats), without the axes
      of `axis`; nan where at most `ddof` elements remain.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.nanvar(jnp.array([1., jnp.nan, 3.]))
      Array(1., dtype=float32)
    """
    no_out("nanvar", out)
    axis = axis if axis is None else reductions.hashable_axis(axis)
    return _compiled("nanvar", a, axis, dtype, ddof, keepdims, where, mean)


def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Any:
    """Return the standard deviation of the elements that are not nan: the root of `nanvar`.

    Args:
      a: array or number; for complex values the result is real.
      axis: axes to reduce; None for all of them.
      dtype: inexact dtype of the result; the computation uses at least the dtype of `a`.
      out: not supported.
      ddof: subtracted from the number of elements in the divisor of the sum of squares.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are excluded.
      mean: the precomputed mean (with reduced axes of size 1).

    Returns:
      A real array of `dtype`, or of `a`'s (integers become floats), without the axes
      of `axis`; nan where at most `ddof` elements remain.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.nanstd(jnp.array([1., jnp.nan, 3.]))
      Array(1., dtype=float32)
    """
    no_out("nanstd", out)
    axis = axis if axis is None else reductions.hashable_axis(axis)
    return lax.sqrt(_compiled("nanstd", a, axis, dtype, ddof, keepdims, where, mean))


def _nan_position(name: str, prim: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    """Return the position of the extremum of the elements that are not nan, or -1."""
    check_arraylike(name, a)
    a = as_array(a)
    if dtypes.is_complex(a.dtype):
        raise TypeError(f"{name}: complex numbers have no order: {errors.type_text(a)}")
    if not dtypes.is_inexact(a.dtype):
        return reductions.position(name[3:], prim, a, axis, keepdims)
    filled = without_nans(name, a, -np.inf if name == "nanargmax" else np.inf)
    at = reductions.position(name[3:], prim, filled, axis, keepdims)
    axes = canonical_axes(axis, a.ndim)
    all_nan = lax.reduce_and_p.bind(nans_of(a), axes=axes)
    if keepdims:
        all_nan = keep(all_nan, axes, a.ndim)
    return choose(all_nan, typed_constant(-1, at.dtype), at)


nanargmax = reductions.argextremum_function(
    _nan_position,
    "nanargmax",
    lax.argmax_p,
    "Return the position of the first largest element that is not nan, or -1.",
    "[1., jnp.nan, 3.] -> 2",
)
nanargmin = reductions.argextremum_function(
    _nan_position,
    "nanargmin",
    lax.argmin_p,
    "Return the position of the first smallest element that is not nan, or -1.",
    "[jnp.nan, 1., 3.] -> 1",
)


nancumsum = running.running_function(
    lambda a, axis, dtype: running.cumsum(without_nans("nancumsum", a, 0), axis, dtype),
    "nancumsum",
    __name__,
    "Return the running sum, where nans count as 0.",
    "[1., jnp.nan, 2.] -> [1., 1., 3.]",
)
nancumprod = running.running_function(
    lambda a, axis, dtype: running.cumprod(without_nans("nancumprod", a, 1), axis, dtype),
    "nancumprod",
    __name__,
    "Return the running product, where nans count as 1.",
    "[2., jnp.nan, 3.] -> [2., 2., 6.]",
)
