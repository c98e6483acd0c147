"""Order statistics: quantile, percentile, median, and the same without nans.

Arrays are sorted along the reduced axes; a quantile is computed from two neighbours.

Next: sorting.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.reshard import apply_out_sharding
from ...prims.shape import shapes
from ...types import dtypes
from . import indexing
from ._common import *
from ._function_tables import row
from .reductions import hashable_axis
from .subscripts import ARRAY, SPAN, IndexPlan

__all__ = ("quantile", "nanquantile", "percentile", "nanpercentile", "median", "nanmedian")

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_STATIC = ("axis", "method", "keepdims", "squash")


def _checked(name: str, axis, out, overwrite_input: bool, method: str, weights):
    if overwrite_input or out is not None:
        raise ValueError(
            f"jax.numpy.{name} does not support overwrite_input=True or out != None"
        )
    if method not in _METHODS:
        names = ", ".join(map(repr, _METHODS[:-1]))
        raise ValueError(f"method can only be {names} or {_METHODS[-1]!r}; got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    return None if axis is None else hashable_axis(axis)


_ARG_DOCS = {
    "a": "real array; integers become floats.",
    "q": "the fraction, or several in an array of one axis.",
    "overwrite_input": "not supported.",
    "method": "the value between two elements: 'linear' (interpolate), 'lower',\n"
    "    'higher', 'midpoint', 'nearest', or 'inverted_cdf' (the first element at which\n"
    "    the fraction is reached).",
    "weights": "weights of the elements, for 'inverted_cdf'.",
}


def _quantile_function(
    name: str, percent: bool, squash: bool, summary: str, example: str
) -> Any:
    shape = (
        "An array of `a`'s dtype (integers become floats), with the axis of `q`, if any,\n"
        "  and the axes of `a` without `axis`."
    )
    raises = (
        "ValueError: complex input, zero elements, `q` of more than one axis, an unknown\n"
        "    method.\n  NotImplementedError: weights with a method other than 'inverted_cdf'."
    )

    @row(name, __name__, summary, shape, example, raises=raises, **_ARG_DOCS)
    def fun(
        a: ArrayLike,
        q: ArrayLike,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: ArrayLike | None = None,
    ) -> Any:
        axis = _checked(name, axis, out, overwrite_input, method, weights)
        check_arraylike(name, a, q)
        q = fraction_of_percent(q) if percent else q
        return _quantile(a, q, weights, axis, method, keepdims, squash)

    return fun


def fraction_of_percent(q: Any) -> Any:
    """Convert percents to fractions."""
    if isinstance(q, (int, float)):
        return q / 100
    (q,) = promote_dtypes_inexact(as_array(q))
    return lax.div(q, convert(100.0, q.dtype, core.aval_of(q).weak_type))


quantile = _quantile_function(
    "quantile",
    False,
    False,
    "Return the `q`-quantile, below which a fraction `q`, in [0, 1], of the elements is.",
    "[1., 2., 4.], 0.25 -> 1.5",
)
nanquantile = _quantile_function(
    "nanquantile",
    False,
    True,
    "Return the `quantile` of the elements that are not nan.",
    "[1., jnp.nan, 2.], 0.5 -> 1.5",
)
nanpercentile = _quantile_function(
    "nanpercentile",
    True,
    True,
    "Return the `percentile` of the elements that are not nan.",
    "[1., jnp.nan, 2.], 50 -> 1.5",
)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return a `quantile` at fractions in percent.

    Args:
      a: real array; integers become floats.
      q: percents, in [0, 100]: a number, or several in an array of one axis.
      axis: axes to reduce; None for all of them.
      out: not supported.
      overwrite_input: not supported.
      method: as for `quantile`.
      keepdims: keep reduced axes with size 1.
      weights: weights of the elements, for 'inverted_cdf'.
      out_sharding: sharding of the result.

    Returns:
      An array of `a`'s dtype (integers become floats), with the axis of `q`, if any, and
      the axes of `a` without `axis`.

    Raises:
      ValueError: complex input, zero elements, `q` of more than one axis, an unknown
        method.
      NotImplementedError: weights with a method other than 'inverted_cdf'.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.percentile(jnp.array([1., 2., 4.]), 25)
      Array(1.5, dtype=float32)
    """
    axis = _checked("percentile", axis, out, overwrite_input, method, weights)
    check_arraylike("percentile", a, q)
    result = _quantile(a, fraction_of_percent(q), weights, axis, method, keepdims, False)
    return apply_out_sharding("percentile", result, out_sharding)


def _median_function(name: str, squash: bool, summary: str, example: str) -> Any:
    shape = "An array of `a`'s dtype (integers become floats), without the axes of `axis`."
    raises = "ValueError: complex input, zero elements, or an axis that does not exist."

    @row(name, __name__, summary, shape, example, raises=raises, **_ARG_DOCS)
    def fun(
        a: ArrayLike,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Any:
        check_arraylike(name, a)
        axis = _checked(name, axis, out, overwrite_input, "midpoint", None)
        return _quantile(a, 0.5, None, axis, "midpoint", keepdims, squash)

    return fun


median = _median_function(
    "median",
    False,
    "Return the middle element along axes, or the mean of the two middle ones.",
    "[5., 1., 2.] -> 2.",
)
nanmedian = _median_function(
    "nanmedian", True, "`median` of what is not nan.", "[1., jnp.nan, 2.] -> 1.5"
)


# ------------------------------------------------------------------- implementation


@composite(static=_STATIC)
def _quantile(a, q, weights, axis, method: str, keepdims: bool, squash: bool):
    check_arraylike("quantile", a, q)
    (a,), q = promote_dtypes_inexact(as_array(a)), as_array(q)
    if dtypes.is_complex(a.dtype):
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly"
            f" defined: {errors.type_text(a)}."
        )
    if not dtypes.is_inexact(q.dtype):
        q = convert(q, dtypes.to_inexact(q.dtype), core.aval_of(q).weak_type)
    if dtypes.is_complex(q.dtype):
        raise TypeError(f"quantile does not accept dtype {q.dtype} for q.")
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    axes = canonical_axes(axis, a.ndim)
    rows = _axes_together(a, axes)
    shape = (*q.shape, *rows.shape[:-1])
    if rows.shape[-1] == 0 and math.prod(shape):
        raise ValueError(f"quantile of no elements: {errors.type_text(a)} along axis {axis}.")
    if weights is not None:
        weights = _axes_together(_weights(a, weights, axis, axes), axes)
    if rows.shape[-1] == 0:  # the result is empty
        out = lax.full(shape, 0, a.dtype)
    else:
        out = convert(_of_rows(rows, q, weights, method, squash), a.dtype)
    kept_shape = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    return lax.reshape(out, (*q.shape, *kept_shape)) if keepdims else out


def _axes_together(x: Any, axes: tuple[int, ...]) -> Any:
    """Merge the reduced axes into one last axis."""
    rest = [i for i in range(x.ndim) if i not in axes]
    permutation = (*rest, *axes)
    if permutation != tuple(range(x.ndim)):
        x = lax.transpose(x, permutation)
    n = len(rest)
    return lax.reshape(x, (*x.shape[:n], math.prod(x.shape[n:])))


def _weights(a: Any, weights: Any, axis: Any, axes: tuple[int, ...]) -> Any:
    weights = as_array(weights)
    if weights.shape == a.shape:
        return convert(weights, a.dtype)
    if axis is None:
        raise TypeError("If weights are not the same shape as a, an axis must be specified.")
    expected_shape = tuple(a.shape[i] for i in axes)
    if weights.shape != expected_shape:
        raise ValueError(
            f"weights of shape {weights.shape} do not fit an array of shape {a.shape}"
            f" along axis {axis}, which has shape {expected_shape}."
        )
    wide = lax.broadcast_in_dim(weights, a.shape, axes)
    return convert(wide, a.dtype)


def _of_rows(x: Any, q: Any, weights: Any, method: str, squash: bool) -> Any:
    """Return quantiles along the last axis, with the axis of `q` in front."""
    dtype = x.dtype if core.aval_of(q).weak_type else wider(x.dtype, q.dtype)
    last = x.ndim - 1
    # A row of nans, or a row with a nan if nans count, has the quantile nan.
    if weights is not None or not squash:
        nans = lax.ne(x, x)
        spoiled = (lax.reduce_and if squash else lax.reduce_or)(nans, (last,))
        shown = lax.broadcast_in_dim(spoiled, x.shape, tuple(range(last)))
        x = choose(shown, typed_constant(np.nan, x.dtype), x)
        if weights is not None:
            return _weighted(x, q, weights, nans, squash)
    (ordered,) = lax.sort_p.bind(x, dimension=last, is_stable=True, num_keys=1)
    q = convert(q, dtype)
    if not squash:
        return _of_ordered(ordered, q, number(x.shape[-1], dtype), method, False, dtype)
    # Count in the sorted rows: a count of the sharded input would need communication.
    count = lax.reduce_sum(convert(lax.eq(ordered, ordered), dtype), (last,))
    out = _of_ordered(ordered, q, count, method, True, dtype)
    rows = tuple(range(out.ndim - count.ndim, out.ndim))
    shown = lax.broadcast_in_dim(lax.eq(count, dtype.type(0)), out.shape, rows)
    return choose(shown, typed_constant(np.nan, out.dtype), out)


def _of_ordered(ordered: Any, q: Any, count: Any, method: str, squash: bool, dtype: Any) -> Any:
    """Return quantiles of sorted rows, counting the first `count` elements."""
    counts = core.aval_of(count).shape
    shape = (*q.shape, *counts)
    q = lax.broadcast_in_dim(q, shape, tuple(range(q.ndim)))
    if counts:
        count = lax.broadcast_in_dim(
            count, shape, tuple(range(len(shape) - len(counts), len(shape)))
        )
    one, zero = dtype.type(1), dtype.type(0)
    top = lax.sub(count, one)
    if method == "inverted_cdf":
        position = lax.sub(lax.ceil(lax.mul(q, count)), one)
        return _pick(ordered, _bounded(position, zero, top), squash)
    position = lax.mul(q, top)
    low, high = lax.floor(position), lax.ceil(position)
    fraction = lax.sub(position, low)
    low, high = _bounded(low, zero, top), _bounded(high, zero, top)
    if method == "nearest":
        near = lax.select_n(lax.le(fraction, dtype.type(0.5)), high, low)
        return _pick(ordered, near, squash)
    below = None if method == "higher" else _pick(ordered, low, squash)
    above = None if method == "lower" else _pick(ordered, high, squash)
    if below is None or above is None:
        return above if below is None else below
    if method == "midpoint":
        total = lax.add(below, above)
        return lax.mul(total, total.dtype.type(0.5))
    if below.dtype.itemsize < dtype.itemsize:
        below, above = convert(below, dtype), convert(above, dtype)
    fraction = _to_shape(convert(fraction, below.dtype), below.shape)
    rest = lax.sub(below.dtype.type(1), fraction)
    return lax.add(lax.mul(below, rest), lax.mul(above, fraction))


def _bounded(x: Any, low: Any, high: Any) -> Any:
    return lax.max(low, lax.min(x, high))


def _to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Repeat `x`, which has the first axes of `shape` or all of them, to `shape`."""
    if x.shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))


def _pick(ordered: Any, position: Any, by_row: bool) -> Any:
    """Return elements at positions along the last axis, common to all rows or per row."""
    at = lax.convert_element_type(position, dtypes.int32)
    last = ordered.ndim - 1
    if by_row and last:
        wide = lax.reshape(at, (*at.shape, 1))
        rows = ordered
        if at.ndim > last:
            shape = (*at.shape, ordered.shape[-1])
            rows = lax.broadcast_in_dim(ordered, shape, tuple(range(1, len(shape))))
        out = indexing.take_along_axis(rows, wide, -1, mode="promise_in_bounds")
        return lax.squeeze(out, (at.ndim,))
    # Even one position is an array: for a slice at a dynamic position, the compiler would
    # gather all of a sharded array.
    spans = tuple((SPAN, 0, n, 1, False) for n in ordered.shape[:-1])
    plan = IndexPlan((*spans, (ARRAY,)), ordered.shape, True, False)
    positions = at if at.ndim else lax.reshape(at, (1,))
    out = indexing.read(ordered, (positions,), plan)
    return shapes.move_axis(out, last, 0) if at.ndim else lax.squeeze(out, (last,))


def _weighted(x: Any, q: Any, weights: Any, nans: Any, squash: bool) -> Any:
    """Return the first element at which the fraction of the weights is reached."""
    last = x.ndim - 1
    if squash:
        weights = choose(nans, typed_constant(0, weights.dtype), weights)
    ordered, weights = lax.sort((x, weights), dimension=last, num_keys=1)
    running = lax.cumsum(weights, last)
    n = x.shape[-1]
    total = running[..., n - 1 :]
    shares = lax.div(running, broadcast_to(total, running.shape))
    lanes = (*q.shape, *running.shape)
    wide_q = lax.broadcast_in_dim(convert(q, running.dtype), lanes, tuple(range(q.ndim)))
    wide = lax.broadcast_in_dim(shares, lanes, tuple(range(q.ndim, len(lanes))))
    before = convert(lax.lt(wide, wide_q), dtypes.int32)
    at = lax.reduce_sum(before, (len(lanes) - 1,))
    at = lax.min(at, dtypes.int32.type(n - 1))
    rows = lax.broadcast_in_dim(ordered, lanes, tuple(range(q.ndim, len(lanes))))
    at = lax.reshape(at, (*at.shape, 1))
    out = indexing.take_along_axis(rows, at, -1, mode="promise_in_bounds")
    return lax.squeeze(out, (len(lanes) - 1,))
