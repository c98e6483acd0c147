"""Differences, gradients, integrals, interpolation and unwrapping along an axis.

Next: convolution.py.
"""

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.shape import shapes
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from . import reductions, running, searching, selection, sorting, ufuncs
from ._common import *
from .creation import asarray

__all__ = ("diff", "ediff1d", "gradient", "trapezoid", "interp", "unwrap")


def slice_axis(x: Any, axis: int, start: int | None = None, stop: int | None = None) -> Any:
    """Return `x[..., start:stop, ...]` along an axis."""
    if isinstance(x.shape[axis], SymbolicDim):
        return lax.slice_in_dim(x, start, stop, axis=axis)
    start, stop, _ = slice(start, stop).indices(x.shape[axis])
    return lax.slice_in_dim(x, start, max(start, stop), axis=axis)


# ------------------------------------------------------------------------- differences


@composite(static=("n", "axis"))
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Any:
    """Return differences of neighbours along an axis, taken `n` times.

    Args:
      a: array; for bools, the result is True where they change.
      n: number of repetitions.
      axis: the axis.
      prepend, append: values to add before and after first; a number adds one slice.

    Returns:
      An array of the common dtype of `a` and the added values, `n` shorter along the axis.

    Raises:
      ValueError: a scalar, or negative `n`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.diff(jnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    check_arraylike("diff", a)
    a, n = as_array(a), operator.index(n)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError(
            f"diff requires input that is at least one dimensional; got {errors.type_text(a)}"
        )
    axis = canonical_axis(axis, a.ndim)
    pieces = [a]
    if prepend is not None:
        pieces.insert(0, _piece(prepend, a, axis))
    if append is not None:
        pieces.append(_piece(append, a, axis))
    if len(pieces) > 1:
        a = lax.concatenate(promote_dtypes(*pieces), axis)
    op = ufuncs.not_equal if dtypes.is_bool(a.dtype) else ufuncs.subtract
    for _ in range(n):
        a = op(slice_axis(a, axis, 1), slice_axis(a, axis, 0, -1 if a.shape[axis] else 0))
    return a


def _piece(x: Any, a: Any, axis: int) -> Any:
    """Return what `diff` puts before or after: a number becomes one slice."""
    check_arraylike("diff", x)
    x = as_array(x)
    if x.ndim:
        return x
    shape = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    return lax.broadcast_in_dim(x, shape, ())


@composite
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Any:
    """Return differences of neighbours in the flattened array.

    Args:
      ary: array.
      to_end, to_begin: values to add after and before the differences.

    Returns:
      An array of `ary`'s dtype and one axis: one element less than `ary`, plus the added
      values.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ediff1d(jnp.array([1, 4, 9]), to_begin=0)
      Array([0, 3, 5], dtype=int32)
    """
    check_arraylike("ediff1d", ary)
    x = as_array(ary)
    x = lax.reshape(x, (x.size,))
    out = ufuncs.subtract(slice_axis(x, 0, 1), slice_axis(x, 0, 0, -1 if x.size else 0))
    pieces = [out]
    for extra, at in ((to_begin, 0), (to_end, 2)):
        if extra is not None:
            check_arraylike("ediff1d", extra)
            extra = as_array(extra)
            flat = lax.reshape(extra, (extra.size,))
            pieces.insert(at, convert(flat, out.dtype))
    return lax.concatenate(pieces, 0) if len(pieces) > 1 else out


def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Any = None, edge_order: int | None = None
) -> Any:
    """Return derivatives along axes by central differences, one-sided at the ends.

    Args:
      f: samples of a function.
      *varargs: the spacing: empty (1), one number, or for each axis a number or its
        coordinates.
      axis: axes to differentiate along; None for all of them.
      edge_order: not supported.

    Returns:
      Array, or a list of arrays, one per axis.

    Raises:
      ValueError: fewer than two samples, coordinates of the wrong size.
      TypeError: the numbers of spacings and axes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.gradient(jnp.array([0., 1., 4., 9.]))
      Array([1., 2., 4., 5.], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    check_arraylike("gradient", f, *varargs)
    x, *spacing_args = promote_dtypes_inexact(*map(as_array, (f, *varargs)))
    axes = canonical_axes(None if axis is None else static_axis(axis), x.ndim)
    if min((x.shape[i] for i in axes), default=2) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2"
            f" elements are required; got {errors.type_text(x)}."
        )
    if len(spacing_args) == 0:
        spacings: list[Any] = [1.0] * len(axes)
    elif len(spacing_args) == 1:
        spacings = [spacing_args[0]] * len(axes)
    elif len(spacing_args) == len(axes):
        spacings = spacing_args
    else:
        raise TypeError(f"Invalid number of spacing arguments {len(spacing_args)} for {axis=}")
    out = [_gradient(x, h, i) for i, h in zip(axes, spacings, strict=True)]
    return out[0] if len(axes) == 1 else out


@composite(static=("axis",))
def _gradient(x: Any, spacing: Any, axis: int) -> Any:
    n = x.shape[axis]
    h = as_array(spacing)
    first, last = slice_axis(x, axis, 0, 1), slice_axis(x, axis, -1)
    start, end = slice_axis(x, axis, 1, 2) - first, last - slice_axis(x, axis, n - 2, n - 1)
    before, middle, after = (
        slice_axis(x, axis, 0, -2),
        slice_axis(x, axis, 1, -1),
        slice_axis(x, axis, 2),
    )
    if h.ndim == 0:
        inner = (after - before) * 0.5 / h
        return lax.concatenate([start / h, inner, end / h], axis)
    if h.shape != (n,):
        raise ValueError(
            "Spacing arrays must have the same length as the dimension along which the"
            f" gradient is calculated: {h.shape} for an axis of size {n}."
        )
    steps = diff(h)
    shape = tuple(-1 if i == axis else 1 for i in range(x.ndim))
    left, right = steps[:-1].reshape(shape), steps[1:].reshape(shape)
    total = left + right
    inner = (
        before * (-right / (left * total))
        + middle * ((right - left) / (left * right))
        + after * (left / (right * total))
    )
    return lax.concatenate([start / steps[0], inner, end / steps[-1]], axis)


@composite(static=("axis",))
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Any:
    """Return the integral along an axis by the trapezoidal rule.

    .. math:: \\sum_i (x_{i+1} - x_i) (y_i + y_{i+1}) / 2

    Args:
      y: samples.
      x: positions of the samples; broadcasts with `y`.
      dx: the spacing, if `x` is None.
      axis: the axis.

    Returns:
      An array of the common inexact dtype, without the axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.trapezoid(jnp.array([0., 1., 4.]))
      Array(3., dtype=float32)
    """
    if x is None:
        check_arraylike("trapezoid", y)
        (y,) = promote_dtypes_inexact(as_array(y))
        steps = asarray(dx)
        if steps.ndim:
            steps = shapes.move_axis(steps, canonical_axis(axis, steps.ndim), steps.ndim - 1)
    else:
        check_arraylike("trapezoid", y, x)
        y, x = promote_dtypes_inexact(as_array(y), as_array(x))
        if x.ndim == 1:
            steps = diff(x)
        else:
            steps = diff(shapes.move_axis(x, canonical_axis(axis, x.ndim), x.ndim - 1))
    y = shapes.move_axis(y, canonical_axis(axis, y.ndim), y.ndim - 1)
    last = y.ndim - 1
    pairs = slice_axis(y, last, 1) + slice_axis(y, last, 0, -1)
    return reductions.sum(steps * pairs, -1) * 0.5


# ------------------------------------------------------------------------ interpolation


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Any:
    """Interpolate linearly between given points.

    Args:
      x: positions to interpolate at.
      xp: the points, increasing, one axis.
      fp: the values at the points.
      left, right: values outside of the points (default: the first and last); or
        'extrapolate'.
      period: of `xp`, which then need not increase.

    Returns:
      An array of the shape of `x`, and of the common inexact dtype.

    Raises:
      ValueError: `xp` and `fp` are not vectors of one size; complex `x`; a string other
        than 'extrapolate'; a period that is not a scalar.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.interp(1.5, jnp.array([1., 2.]), jnp.array([10., 20.]))
      Array(15., dtype=float32)
    """
    sides = []
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(
                f"the only valid string value of `{name}` is 'extrapolate', but got: {value!r}"
            )
        sides.append(isinstance(value, str))
    edge_values = [None if isinstance(v, str) else v for v in (left, right)]
    return _interp(x, xp, fp, *edge_values, period, tuple(sides))


@composite(static=("extrapolate",))
def _interp(x, xp, fp, left, right, period, extrapolate):
    check_arraylike("interp", x, xp, fp)
    if core.aval_of(xp).ndim != 1 or core.aval_of(xp).shape != core.aval_of(fp).shape:
        raise ValueError(
            "xp and fp must be one-dimensional arrays of equal size; got"
            f" {errors.type_text(xp)} and {errors.type_text(fp)}."
        )
    x, xp = promote_dtypes_inexact(as_array(x), as_array(xp))
    (fp,) = promote_dtypes_inexact(as_array(fp))
    if dtypes.is_complex(x.dtype):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
    n = xp.shape[0]
    at = searching.searchsorted(xp, x, side="right").clip(1, n - 1)
    x0, x1, f0, f1 = xp[at - 1], xp[at], fp[at - 1], fp[at]
    width = x1 - x0
    tiny = np.spacing(np.asarray(ml_dtypes.finfo(xp.dtype).eps).astype(xp.dtype))
    flat = ufuncs.absolute(width) <= tiny
    slope = (f1 - f0) * ((x - x0) / selection.where(flat, 1, width))
    out = selection.where(flat, f0, f0 + slope)
    if period is None:
        if not extrapolate[0]:
            out = selection.where(x < xp[0], fp[0] if left is None else left, out)
        if not extrapolate[1]:
            out = selection.where(x > xp[-1], fp[-1] if right is None else right, out)
    return out


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return the points within one period, sorted, with a neighbour added on either side."""
    if core.aval_of(period).ndim:
        raise ValueError(f"period must be a scalar; got {period}")
    period = ufuncs.absolute(as_array(period))
    x, xp = x % period, xp % period
    sorted_indices = sorting.argsort(xp)
    xp, fp = xp[sorted_indices], fp[sorted_indices]
    xp = lax.concatenate([xp[-1:] - period, xp, xp[:1] + period], 0)
    fp = lax.concatenate([fp[-1:], fp, fp[:1]], 0)
    return x, xp, fp


@composite(static=("axis",))
def unwrap(
    p: ArrayLike,
    discont: ArrayLike | None = None,
    axis: int = -1,
    period: ArrayLike = 2 * np.pi,
) -> Any:
    """Remove jumps of more than half a period from phases, by adding full periods.

    Args:
      p: phases.
      discont: jumps up to this size are kept (at least half a period, the default).
      axis: the axis.
      period: the period.

    Returns:
      An array of `p`'s shape, and of the common dtype of `p` and the period.

    Raises:
      ValueError: complex phases, or an axis that does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.unwrap(jnp.array([0., 3., -3.]))
      Array([0.       , 3.       , 3.2831855], dtype=float32)
    """
    check_arraylike("unwrap", p)
    p = as_array(p)
    if dtypes.is_complex(p.dtype):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    axis = canonical_axis(axis, p.ndim)
    joint = promote_dtypes(p, as_array(period))
    p, period = joint[0], joint[1]
    if p.shape[axis] == 0:
        return p
    jumps = diff(p, axis=axis)
    is_integer = dtypes.is_integer(p.dtype)
    half = period // 2 if is_integer else period / 2
    low = -half
    wrapped = (jumps - low) % period + low
    # A jump of exactly half a period keeps its direction.
    edge = (wrapped == low) & (jumps > 0)
    if is_integer:
        edge = edge & (period % 2 == 0)
    wrapped = selection.where(edge, half, wrapped)
    change = wrapped - jumps
    small = ufuncs.absolute(jumps) < (half if discont is None else discont)
    change = selection.where(small, 0, change)
    rest = slice_axis(p, axis, 1) + running.cumsum(change, axis)
    return lax.concatenate([slice_axis(p, axis, 0, 1), convert(rest, p.dtype)], axis)
