"""Reductions over axes: sums, extrema, means, spreads, arg-extrema and running sums.

All results are strongly typed.  Sums widen small integers to the default ones, and
float16 and bfloat16 are summed in float32 unless a dtype is asked for.

Reductions that leave nans out are in nanreductions.py, order statistics in quantiles.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..control.jit import composite
from ..core import core
from ..core.core import EVAL, STATE
from ..ops import collectives, cumulative
from ..ops import reductions as lax
from ..ops.arithmetic import add, div, mul, sqrt, square, sub
from ..ops.arithmetic import max as max_of_two
from ..ops.arithmetic import min as min_of_two
from ..ops.convert import conj, real
from ..ops.logic import gt, ne
from ..ops.structural import (
    broadcast_in_dim,
    broadcast_to,
    concatenate,
    reshape,
    transpose,
)
from ..types import dtypes
from ._common import (
    ArrayLike,
    Axis,
    DTypeLike,
    as_array,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    choose,
    convert,
    no_out,
    promote_dtypes_inexact,
    static_axis,
    static_dtype,
)

Reducer = Callable[..., Any]


def reduction(*static: str) -> Callable[[Any], Any]:
    """Declare a reduction: one compiled call; `axis` may be a list or an array.

    `static` names the arguments besides `axis` that are not arrays.
    """

    def declare(fun: Any) -> Any:
        compiled = composite(fun, static=("axis", *static))

        @functools.wraps(fun)
        def public(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
            if axis is not None and type(axis) is not int:
                axis = hashable_axis(axis)
            if STATE.trace is EVAL:
                return compiled(a, axis, *args, **kwargs)
            return fun(a, axis, *args, **kwargs)

        return public

    return declare


def hashable_axis(axis: Any) -> Any:
    """An axis argument with names left as they are, hashable."""
    if isinstance(axis, str):
        return axis
    if isinstance(axis, (tuple, list)):
        return tuple([a if isinstance(a, str) else static_axis(a) for a in axis])
    return static_axis(axis)


# -------------------------------------------------------------------- what they share


def reduce_axes(axis: Any, ndim: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positional axes and the named ones among `axis`."""
    if axis is None or type(axis) is int:
        return canonical_axes(axis, ndim), ()
    items = axis if isinstance(axis, tuple) else (axis,)
    names = tuple([a for a in items if isinstance(a, str)])
    return canonical_axes(tuple([a for a in items if not isinstance(a, str)]), ndim), names


def keep(x: Any, axes: Sequence[int], ndim: int) -> Any:
    """A reduced array with its reduced axes kept as axes of size 1."""
    if not axes:
        return x
    shape = core.aval_of(x).shape
    kept = [i for i in range(ndim) if i not in axes]
    full = [1] * ndim
    for i, n in zip(kept, shape, strict=True):
        full[i] = n
    return broadcast_in_dim(x, tuple(full), tuple(kept))


def masked(a: Any, where: Any, otherwise: Any) -> Any:
    """`a` with what a reduction's `where` leaves out replaced by a neutral value."""
    check_arraylike("where", where)
    aval = core.aval_of(where)
    if not dtypes.is_bool(aval.dtype):
        where = ne(where, aval.dtype.type(0))
    return choose(where, a, otherwise)


def strong(a: Any, dtype: Any) -> Any:
    """`a` as a strongly typed operand of this dtype."""
    return convert(a, dtype)


def wide_int(dtype: Any) -> Any:
    """What small integers and bools are summed in: the default integer's width."""
    if dtypes.is_bool(dtype):
        return dtypes.int_default()
    default = dtypes.int_default()
    if dtypes.is_unsigned(dtype) and dtype.itemsize < default.itemsize:
        return dtypes.canonical(np.dtype(f"uint{8 * default.itemsize}"))
    if dtypes.is_signed(dtype) and dtype.itemsize < default.itemsize:
        return default
    return dtype


_HALVES = (dtypes.float16, dtypes.bfloat16)


def accumulate(
    name: str,
    reducer: Reducer,
    combine: Callable[[Any, Any], Any],
    neutral: Any,
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool,
) -> Any:
    """A sum or a product."""
    check_arraylike(name, a)
    aval = core.aval_of(a)
    dtype = static_dtype(dtype, name)
    found = aval.dtype
    result = dtype or (wide_int(found) if promote_integers else found)
    working = dtypes.float32 if dtype is None and found in _HALVES else result
    a = strong(a, working)
    axes, names = reduce_axes(axis, len(aval.shape))
    if where is not None:
        a = masked(a, where, working.type(neutral))
        axes, names = reduce_axes(axis, core.aval_of(a).ndim)
    ndim = core.aval_of(a).ndim
    x = reducer(a, axes)
    if names:
        x = collectives.psum(x, names)
    if initial is not None:
        x = combine(convert(initial, working), x)
    if keepdims:
        x = keep(x, axes, ndim)
    return x if working == result else convert(x, result)


def sum_axes(x: Any, axes: tuple[int, ...]) -> Any:
    return lax.reduce_sum_p.bind(x, axes=axes, out_sharding=None)


def prod_axes(x: Any, axes: tuple[int, ...]) -> Any:
    return lax.reduce_prod_p.bind(x, axes=axes)


# -------------------------------------------------------------------- sums and products


@reduction("dtype", "keepdims", "promote_integers")
def sum(  # noqa: A001
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Any:
    """Sum of the elements along axes.

    Args:
      a: array or number.
      axis: axes to sum over; None for all of them.
      dtype: dtype to convert to and sum in; by default small integers widen to the
        default ones, and 16-bit floats are summed in float32.
      out: not supported.
      keepdims: keep summed axes with size 1.
      initial: a number added to the sum.
      where: a mask; elements where it is False are left out.
      promote_integers: widen small integers when no dtype is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([4, 6], dtype=int32)
    """
    no_out("sum", out)
    return accumulate(
        "sum", sum_axes, add, 0, a, axis, dtype, keepdims, initial, where,
        promote_integers,
    )  # fmt: skip


@reduction("dtype", "keepdims", "promote_integers")
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Any:
    """Product of the elements along axes; arguments as for `sum`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.prod(jnp.array([2., 3., 4.]))
      Array(24., dtype=float32)
    """
    no_out("prod", out)
    return accumulate(
        "prod", prod_axes, mul, 1, a, axis, dtype, keepdims, initial, where,
        promote_integers,
    )  # fmt: skip


# -------------------------------------------------------------------------- extrema


def extremum(
    name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """The maximum or minimum along axes."""
    check_arraylike(name, a)
    dtype = core.aval_of(a).dtype
    a = strong(a, dtype)
    prim, combine, neutral, across = _EXTREMA[name]
    if where is not None:
        if initial is None:
            raise ValueError(
                errors.message(
                    f"reduction operation {name} does not have an identity, so to use a"
                    " where mask one has to specify 'initial'",
                    which=errors.type_text(a),
                    tries=[f"jnp.{name}(x, where=mask, initial=...)"],
                )
            )
        a = masked(a, where, dtype.type(neutral(dtype)))
    shape = core.aval_of(a).shape
    axes, names = reduce_axes(axis, len(shape))
    if initial is None and 0 in [shape[i] for i in axes]:
        raise ValueError(
            f"zero-size array to reduction operation {name} which has no identity:"
            f" {errors.type_text(a)}"
        )
    x = prim.bind(a, axes=axes)
    if names:
        x = across(x, names)
    if initial is not None:
        x = combine(convert(initial, dtype), x)
    return keep(x, axes, len(shape)) if keepdims else x


_EXTREMA = {
    "max": (lax.reduce_max_p, max_of_two, lax.lowest, collectives.pmax),
    "min": (lax.reduce_min_p, min_of_two, lax.highest, collectives.pmin),
}


@reduction("keepdims")
def max(  # noqa: A001
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Any:
    """Largest element along axes; nan if there is one.

    Args:
      a: array or number.
      axis: axes to reduce; None for all of them.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      initial: a number that takes part; needed with `where` and for empty axes.
      where: a mask; elements where it is False are left out.

    Raises:
      ValueError: nothing to reduce, or a mask, without `initial`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.max(jnp.array([[1, 5], [4, 2]]), axis=1)
      Array([5, 4], dtype=int32)
    """
    no_out("max", out)
    return extremum("max", a, axis, keepdims, initial, where)


@reduction("keepdims")
def min(  # noqa: A001
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Any:
    """Smallest element along axes; arguments as for `max`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.min(jnp.array([[1, 5], [4, 2]]), axis=1)
      Array([1, 2], dtype=int32)
    """
    no_out("min", out)
    return extremum("min", a, axis, keepdims, initial, where)


amax = max
amin = min


@reduction("keepdims")
def ptp(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """Range along axes: the largest element less the smallest.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ptp(jnp.array([3, 9, 4]))
      Array(6, dtype=int32)
    """
    no_out("ptp", out)
    return sub(
        extremum("max", a, axis, keepdims, None, None),
        extremum("min", a, axis, keepdims, None, None),
    )


# --------------------------------------------------------------------------- all, any


def truth(
    name: str, prim: Any, neutral: bool, a: Any, axis: Any, keepdims: bool, where: Any
) -> Any:
    """`all` or `any`."""
    check_arraylike(name, a)
    a = convert(a, dtypes.bool_)
    if where is not None:
        a = masked(a, where, np.bool_(neutral))
    ndim = core.aval_of(a).ndim
    axes = canonical_axes(axis, ndim)
    x = prim.bind(a, axes=axes)
    return keep(x, axes, ndim) if keepdims else x


@reduction("keepdims")
def all(  # noqa: A001
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """Whether all elements along axes are true (not zero).

    Args:
      a: array or number.
      axis: axes to reduce; None for all of them.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are left out.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.all(jnp.array([1, 1, 0]))
      Array(False, dtype=bool)
    """
    no_out("all", out)
    return truth("all", lax.reduce_and_p, True, a, axis, keepdims, where)


@reduction("keepdims")
def any(  # noqa: A001
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """Whether any element along axes is true (not zero); arguments as for `all`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.any(jnp.array([0, 0, 1]))
      Array(True, dtype=bool)
    """
    no_out("any", out)
    return truth("any", lax.reduce_or_p, False, a, axis, keepdims, where)


@reduction("keepdims")
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements along axes are not zero.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.count_nonzero(jnp.array([3, 0, 4]))
      Array(2, dtype=int32)
    """
    check_arraylike("count_nonzero", a)
    dtype = core.aval_of(a).dtype
    ones = convert(ne(strong(a, dtype), dtype.type(0)), dtypes.int_default())
    axes = canonical_axes(axis, core.aval_of(a).ndim)
    x = sum_axes(ones, axes)
    return keep(x, axes, core.aval_of(a).ndim) if keepdims else x


# -------------------------------------------------------------------- means and spreads


def size_along(shape: Sequence[int], axes: Sequence[int]) -> int:
    """The number of elements that a reduction takes together."""
    n = 1
    for i in axes:
        n *= shape[i]
    return n


def count_where(where: Any, shape: tuple[int, ...], axes: Any, dtype: Any) -> Any:
    """How many elements a mask takes along axes."""
    return sum_axes(convert(broadcast_to(convert(where, dtypes.bool_), shape), dtype), axes)


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
    """Arithmetic mean along axes.

    Args:
      a: array or number; integers become floats.
      axis: axes to average over; None for all of them.
      dtype: dtype to convert to and compute in.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are left out.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.mean(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    no_out("mean", out)
    check_arraylike("mean", a)
    aval = core.aval_of(a)
    dtype = static_dtype(dtype, "mean")
    result = dtype or dtypes.to_inexact(aval.dtype)
    working = dtypes.float32 if dtype is None and result in _HALVES else result
    return convert(mean_in(a, axis, working, keepdims, where), result)


def mean_in(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """The mean, computed in a dtype."""
    a = strong(a, dtype)
    total: Any
    if where is not None:
        a_masked = masked(a, where, dtype.type(0))
        shape = core.aval_of(a_masked).shape
        axes, names = reduce_axes(axis, len(shape))
        count = count_where(where, shape, axes, dtype)
        total = sum_axes(a_masked, axes)
        if keepdims:
            count = keep(count, axes, len(shape))
    else:
        shape = core.aval_of(a).shape
        axes, names = reduce_axes(axis, len(shape))
        count = dtype.type(size_along(shape, axes))
        total = sum_axes(a, axes)
    if names:
        total = collectives.pmean(total, names)
    if keepdims:
        total = keep(total, axes, len(shape))
    return div(total, count)


def spread(
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    correction: Any,
    keepdims: bool,
    where: Any,
    center: Any,
) -> Any:
    """The variance along axes."""
    check_arraylike(name, a)
    dtype = static_dtype(dtype, name)
    found = core.aval_of(a).dtype
    working, result = spread_dtypes(name, found, dtype)
    a = strong(a, working)
    if center is None:
        center = mean_in(a, axis, working, True, where)
    else:
        check_arraylike(name, center)
        center = convert(center, working)
    centered = squared(difference(a, center))
    working = dtypes.real_of(working)
    shape = core.aval_of(centered).shape
    axes = canonical_axes(axis, len(shape))
    if where is not None:
        count = count_where(where, shape, axes, working)
        centered = masked(centered, where, working.type(0))
    else:
        count = size_along(shape, axes)
    total = sum_axes(centered, axes)
    x = over_count(total, count, correction, working, result)
    return keep(x, axes, len(shape)) if keepdims else x


def difference(x: Any, y: Any) -> Any:
    """`x - y`, with size-1 axes and missing ones of `y` repeated."""
    shape, other = core.aval_of(x).shape, core.aval_of(y).shape
    if other and len(other) != len(shape):
        y = broadcast_to(y, np.broadcast_shapes(shape, other))
    return sub(x, y)


def squared(x: Any) -> Any:
    """The squared size of each element."""
    if dtypes.is_complex(core.aval_of(x).dtype):
        return real(mul(x, conj(x)))
    return square(x)


def spread_dtypes(name: str, found: Any, asked: Any) -> tuple[Any, Any]:
    """What a variance is computed in, and the dtype of the result."""
    if asked is None:
        wide = dtypes.to_inexact(found)
        result = dtypes.real_of(wide)
        return (dtypes.float32 if wide in _HALVES else wide), result
    if dtypes.is_complex(found) and not dtypes.is_complex(asked):
        raise ValueError(
            errors.message(
                f"jnp.{name} does not support real dtype parameters when computing the"
                " variance of an array of complex values.",
                which=f"dtype={asked} of an array of dtype {found}",
                why="the mean of complex values is complex.",
                tries=["drop dtype", "convert the result with .astype(...)"],
            )
        )
    asked_inexact = dtypes.to_inexact(asked)
    working, _ = dtypes.promote(((dtypes.to_inexact(found), False), (asked_inexact, False)))
    return working, dtypes.real_of(asked)


def over_count(total: Any, count: Any, correction: Any, dtype: Any, result: Any) -> Any:
    """`total / (count - correction)`; nan where that is not positive."""
    if isinstance(count, int) and isinstance(correction, (int, float)):
        n = count - correction
        if n > 0:
            return convert(div(total, dtype.type(n)), result)
        nan = result.type(np.nan)
        return broadcast_in_dim(nan, core.aval_of(total).shape, ())
    if isinstance(count, int):
        count = dtype.type(count)
    n = sub(count, convert(correction, dtype))
    x = convert(div(total, n), result)
    return choose(gt(n, dtype.type(0)), x, result.type(np.nan))


def _correction(ddof: Any, correction: Any) -> Any:
    """The one of `ddof` and `correction` that was given."""
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


_compiled_spread = composite(spread, static=("name", "axis", "dtype", "correction", "keepdims"))


def _spread(name: str, a: Any, axis: Any, dtype: Any, *rest: Any) -> Any:
    axis = hashable_axis(axis) if axis is not None else None
    fixed = isinstance(rest[0], (int, float, np.number))
    if STATE.trace is EVAL and fixed:
        return _compiled_spread(name, a, axis, dtype, *rest)
    return spread(name, a, axis, dtype, *rest)


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
    """Variance along axes: the mean squared distance from the mean.

    Args:
      a: array or number; of complex values the result is real.
      axis: axes to reduce; None for all of them.
      dtype: dtype of the result; computed in no less than the dtype of `a`.
      out: not supported.
      ddof: taken from the number of elements that the sum of squares is divided by.
      keepdims: keep reduced axes with size 1.
      where: a mask; elements where it is False are left out.
      mean: the mean, if it is known (with reduced axes of size 1).
      correction: another name for `ddof`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.var(jnp.array([1., 2., 3., 4.]))
      Array(1.25, dtype=float32)
    """
    no_out("var", out)
    n = _correction(ddof, correction)
    return _spread("var", a, axis, dtype, n, keepdims, where, mean)


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
    """Standard deviation along axes: the root of `var`; arguments as there.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.std(jnp.array([1., 2., 3., 4.]))
      Array(1.118034, dtype=float32)
    """
    no_out("std", out)
    n = _correction(ddof, correction)
    if dtype is not None and not dtypes.is_inexact(dtypes.as_dtype(dtype)):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    return sqrt(_spread("std", a, axis, dtype, n, keepdims, where, mean))


def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted mean along axes.

    Args:
      a: array or number.
      axis: axes to average over; None for all of them.
      weights: of the shape of `a`, or of its axes `axis`; None for equal weights.
      returned: return also the sum of the weights.
      keepdims: keep reduced axes with size 1.

    Returns:
      The average, or (average, sum of weights), of one shape.

    Raises:
      TypeError, ValueError: weights of a shape that does not fit.

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
        return out, broadcast_in_dim(out.dtype.type(count), out.shape, ())
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
    out = sum_axes(strong(mul(a, weights), a.dtype), axes)
    if keepdims:
        total, out = keep(total, axes, a.ndim), keep(out, axes, a.ndim)
    return div(out, total), total


def _aligned_weights(shape: Any, weights: Any, axis: Any, axes: Any) -> Any:
    """Weights of some axes, with size 1 along the others."""
    if axis is None:
        raise ValueError(
            "Axis must be specified when shapes of a and weights differ:"
            f" {shape} and {weights.shape}."
        )
    wanted = tuple(shape[i] for i in axes)
    if weights.shape != wanted:
        raise ValueError(
            errors.message(
                "Shape of weights must be consistent with shape of a along specified"
                f" axis: {weights.shape} and {shape}.",
                why=f"along axis {axis} the array has shape {wanted}.",
            )
        )
    order = np.argsort(axes)
    if list(order) != list(range(len(axes))):
        weights = transpose(weights, tuple(int(i) for i in order))
    full = [n if i in axes else 1 for i, n in enumerate(shape)]
    return reshape(weights, tuple(full))


# -------------------------------------------------------------------------- arg-extrema


def position(name: str, prim: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    """The position of the first extremum."""
    check_arraylike(name, a)
    shape = core.aval_of(a).shape
    if axis is None:
        x = reshape(a, (core.aval_of(a).size,))
        at = 0
    else:
        x, at = a, canonical_axis(axis, len(shape))
    if core.aval_of(x).shape[at] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    out = prim.bind(as_array(x), axes=(at,), index_dtype=dtypes.int_default())
    if not keepdims:
        return out
    return keep(out, (at,) if axis is not None else tuple(range(len(shape))), len(shape))


@composite(static=("axis", "keepdims"))
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Position of the first largest element (or nan) along an axis.

    Args:
      a: array.
      axis: the axis; None for the position in the flattened array.
      out: not supported.
      keepdims: keep the reduced axis with size 1.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.argmax(jnp.array([[1, 9], [7, 2]]), axis=1)
      Array([1, 0], dtype=int32)
    """
    no_out("argmax", out)
    return position("argmax", lax.argmax_p, a, axis, keepdims)


@composite(static=("axis", "keepdims"))
def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Position of the first smallest element (or nan) along an axis; see `argmax`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.argmin(jnp.array([[1, 9], [7, 2]]), axis=1)
      Array([0, 1], dtype=int32)
    """
    no_out("argmin", out)
    return position("argmin", lax.argmin_p, a, axis, keepdims)


# ------------------------------------------------------------------------- running sums


def running(
    name: str, op: Callable[..., Any], a: Any, axis: Any, dtype: Any, wide: bool = False
) -> Any:
    """A running sum or product."""
    check_arraylike(name, a)
    dtype = static_dtype(dtype, name)
    a = as_array(a)
    if axis is None or not a.shape:
        if axis is not None:
            canonical_axis(axis, 1)
        a, axis = reshape(a, (a.size,)), 0
    found = a.dtype
    if dtype is None:
        dtype = wide_int(found) if wide or dtypes.is_bool(found) else found
    return op(strong(a, dtype), axis=canonical_axis(axis, a.ndim))


@composite(static=("axis", "dtype"))
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Any:
    """Running sum along an axis.

    Args:
      a: array or number; bools become integers.
      axis: the axis; None for the flattened array.
      dtype: dtype to convert to first.
      out: not supported.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cumsum(jnp.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
    """
    no_out("cumsum", out)
    return running("cumsum", cumulative.cumsum, a, axis, dtype)


@composite(static=("axis", "dtype"))
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Any:
    """Running product along an axis; arguments as for `cumsum`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cumprod(jnp.array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    no_out("cumprod", out)
    return running("cumprod", cumulative.cumprod, a, axis, dtype)


def _cumulative(
    name: str, op: Any, neutral: int, x: Any, axis: Any, dtype: Any, include: bool
) -> Any:
    check_arraylike(name, x)
    x = as_array(x)
    if not x.shape:
        raise ValueError(
            f"The input to jnp.{name} must be non-scalar to take a cumulative {op.__name__[3:]}:"
            " it has no axis."
        )
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"The input to jnp.{name} has rank {x.ndim}, yet the axis was not set.\n"
                "Try: axis=0, or jnp.ravel(x)."
            )
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    out = running(name, op, x, axis, dtype, wide=True)
    if not include:
        return out
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return concatenate([broadcast_in_dim(out.dtype.type(neutral), shape, ()), out], axis)


@composite(static=("axis", "dtype", "include_initial"))
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Running sum along an axis, as the array API standard has it.

    Args:
      x: array of at least one axis; small integers widen.
      axis: the axis; it may be left out for an array of one axis.
      dtype: dtype to convert to first.
      include_initial: begin with 0, so that the result is one longer.

    Raises:
      ValueError: a scalar, or no axis for an array of several.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_sum", cumulative.cumsum, 0, x, axis, dtype, include_initial)


@composite(static=("axis", "dtype", "include_initial"))
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Running product along an axis, as the array API standard has it.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
      Array([1, 1, 2, 6], dtype=int32)
    """
    return _cumulative("cumulative_prod", cumulative.cumprod, 1, x, axis, dtype, include_initial)


