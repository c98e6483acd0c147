"""Functions along an axis: softmax, sums of exponentials, standardization, one-hot.

The maximum is subtracted before exponentials are computed, so that none overflows, and it
is constant under differentiation.  Masked elements are replaced before any computation, so
that they affect neither values nor gradients.

Next: attention.py.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

from ...base import config, errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...control.rules.custom_jvp import custom_jvp
from ...ir.core import aval_of
from ...prims import lax, promotion
from ...prims.math.algebraic import rsqrt
from ...prims.shape.creation import broadcasted_iota
from ...prims.stop_gradient import stop_gradient
from ...types import dtypes
from ...types.sizes import index_of
from .. import jnp
from ..numpy._common import (
    Axis,
    as_array,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    promote_args_inexact,
    static_axis,
    static_dtype,
)
from ..numpy.reductions import keep

__all__ = ("softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize", "one_hot")

ArrayLike = Any


def check_mask(name: str, where: Any) -> None:
    """Raise ValueError unless a mask consists of bools."""
    if where is not None and not dtypes.is_bool(aval_of(where).dtype):
        raise errors.value_error(
            f"{name}: where must be None or a boolean array; got"
            f" where.dtype={aval_of(where).dtype!r}.",
            tries=["where != 0"],
        )


def stopped_max(x: Any, axis: Any, keepdims: bool = True) -> Any:
    """Return the maximum along axes, or -inf for no elements, without derivative."""
    x = stop_gradient(x)
    shape = aval_of(x).shape
    empty = 0 in [shape[i] for i in canonical_axes(axis, len(shape))]
    return jnp.max(x, axis, keepdims=keepdims, initial=-jnp.inf if empty else None)


# ---------------------------------------------------------------------------- softmax


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Any:
    r"""Compute the softmax :math:`e^{x_i} / \sum_j e^{x_j}` along axes.

    Args:
      x: array; integers become floats.
      axis: axes to sum over; None for all of them.
      where: a mask of bools; elements where it is False count as -inf.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Raises:
      ValueError: the axis is out of range, or the mask is not of bools.

    Example:
      >>> import minijax as mj
      >>> mj.nn.softmax(mj.numpy.array([0., 0., -mj.numpy.inf]))
      Array([0.5, 0.5, 0. ], dtype=float32)

    The derivative is computed from the result alone, which saves memory, and is precise
    also where one element is nearly 1.  With `jax_softmax_custom_jvp` set to False the
    expression is differentiated instead.
    """
    return _softmax(x, static_axis(axis), where)


@composite(static=("axis",))
def _softmax(x: Any, axis: Any, where: Any) -> Any:
    check_mask("softmax", where)
    if where is not None:
        x = jnp.where(where, x, -jnp.inf)
    (x,) = promote_args_inexact("softmax", x)
    kernel = _softmax_with_jvp if config.SOFTMAX_CUSTOM_JVP.value else shares
    out = kernel(x, axis)
    # Where all elements are masked, the quotients are nan.
    return out if where is None else jnp.where(where, out, 0)


def shares(x: Any, axis: Any) -> Any:
    """Return exponentials divided by their sum."""
    exponentials = jnp.exp(x - stopped_max(x, axis))
    return exponentials / jnp.sum(exponentials, axis, keepdims=True)


_softmax_with_jvp = custom_jvp(shares, nondiff_argnums=(1,))


@_softmax_with_jvp.defjvp
def _softmax_jvp(axis: Any, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _softmax_with_jvp(x, axis)
    return y, y * _subtract_weighted_mean(y, t, axis)


def _subtract_weighted_mean(y: Any, t: Any, axis: Any) -> Any:
    """Return t - sum(y t), subtracted twice.

    Since sum(y) is 1, the second subtraction changes nothing mathematically.  If one
    element of y is nearly 1, the first subtraction leaves only rounding errors of that
    element's tangent, and the second one corrects them.
    """
    shape = aval_of(t).shape
    axes = canonical_axes(axis, len(shape))
    kept_axes = tuple(i for i in range(len(shape)) if i not in axes)
    for _ in range(2):
        t = t + lax.broadcast_in_dim(-jnp.sum(y * t, axes), shape, kept_axes)
    return t


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Any:
    r"""Compute the logarithm of the softmax, :math:`x_i - \log \sum_j e^{x_j}`, along axes.

    It is precise where the softmax is near 0.  Where one element of the softmax is nearly
    1, its logarithm has the absolute precision of 1: it is about -s if the others sum to s,
    or 0 if s is below a rounding error of 1.

    Args:
      x: array; integers become floats.
      axis: axes to sum over; None for all of them.
      where: a mask of bools; elements where it is False count as -inf.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Raises:
      ValueError: the axis is out of range, or the mask is not of bools.

    Example:
      >>> import minijax as mj
      >>> mj.nn.log_softmax(mj.numpy.array([1000., 0.]))
      Array([    0., -1000.], dtype=float32)
    """
    return _log_softmax(x, static_axis(axis), where)


@composite(static=("axis",))
def _log_softmax(x: Any, axis: Any, where: Any) -> Any:
    check_mask("log_softmax", where)
    if where is not None:
        x = jnp.where(where, x, -jnp.inf)
    (x,) = promote_args_inexact("log_softmax", x)
    shifted = x - stopped_max(x, axis)
    out = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True))
    return out if where is None else jnp.where(where, out, -jnp.inf)


# ------------------------------------------------------------- sums of exponentials


def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """Compute log(sum(b * exp(a))) along axes, without overflow.

    Args:
      a: array or number; integers become floats.
      axis: axes to sum over; None for all of them.
      b: factors that broadcast with `a`; they may be negative or 0.
      keepdims: keep summed axes with size 1.
      return_sign: return the logarithm of the sum's magnitude, and its sign.
      where: a mask of bools; elements where it is False are ignored.

    Returns:
      The logarithm, nan where the sum is negative; with `return_sign` a pair of arrays:
      the logarithm and the sign, of magnitude 1 or 0.

    Raises:
      ValueError: the axis is out of range, or the mask is not of bools.

    Example:
      >>> import minijax as mj
      >>> mj.nn.logsumexp(mj.numpy.array([1000., -mj.numpy.inf]))
      Array(1000., dtype=float32)
    """
    return _logsumexp(a, static_axis(axis), b, bool(keepdims), bool(return_sign), where)


@composite(static=("axis", "keepdims", "return_sign"))
def _logsumexp(a, axis, b, keepdims: bool, return_sign: bool, where):
    check_mask("logsumexp", where)
    masked = where is not None
    if masked and dtypes.is_bool(aval_of(a).dtype):  # for bools the dtype of the mask decides
        a = jnp.where(where, a, -jnp.inf)
        masked = False
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
    if masked:
        a = jnp.where(where, a, -jnp.inf)
    if b is not None:
        a = jnp.where(b != 0, a, -jnp.inf)
    real = jnp.real(a) if dtypes.is_complex(aval_of(a).dtype) else a
    top = stopped_max(real, axis, keepdims=False)
    top = jnp.where(jnp.isfinite(top), top, aval_of(top).dtype.type(0))
    ndim = aval_of(a).ndim
    top_kept = keep(top, canonical_axes(axis, ndim), ndim)
    exponentials = jnp.exp(a - convert(top_kept, aval_of(a).dtype))
    if b is not None:
        exponentials = exponentials * (b if where is None else jnp.where(where, b, 0))
    total = jnp.sum(exponentials, axis, keepdims=keepdims)
    top = top_kept if keepdims else top
    if return_sign:
        return jnp.log(jnp.abs(total)) + top, jnp.sign(total)
    out = jnp.log(total) + convert(top, aval_of(total).dtype)
    if b is None or dtypes.is_complex(aval_of(total).dtype):
        return out
    return jnp.where(total < 0, jnp.nan, out)  # nan without a tangent, as intended


def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Any:
    r"""Compute :math:`\log(\frac{1}{n} \sum_i e^{x_i})` along axes, without overflow.

    Args:
      x: array or number; integers become floats.
      axis: axes to average over; None for all of them.
      where: a mask of bools; elements where it is False are ignored.
      keepdims: keep averaged axes with size 1.

    Returns:
      An array of `x`'s dtype (the default float dtype for integers), without the axes of
      `axis` unless `keepdims`.

    Raises:
      ValueError: the axis is out of range, or the mask is not of bools.

    Example:
      >>> import minijax as mj
      >>> mj.nn.logmeanexp(mj.numpy.array([1000., 1000.]))
      Array(1000., dtype=float32)
    """
    return _logmeanexp(x, static_axis(axis), where, bool(keepdims))


@composite(static=("axis", "keepdims"))
def _logmeanexp(x: Any, axis: Any, where: Any, keepdims: bool) -> Any:
    check_arraylike("logmeanexp", x)
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    shape = aval_of(x).shape
    if where is None:
        n: Any = 1
        for i in canonical_axes(axis, len(shape)):
            n *= shape[i]
    else:
        n = jnp.sum(jnp.broadcast_to(where, shape), axis, keepdims=keepdims)
    return total - jnp.log(convert(n, aval_of(total).dtype))


# ----------------------------------------------------------------------- standardizing


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Any:
    r"""Standardize along axes: :math:`(x - \mu) / \sqrt{\sigma^2 + \epsilon}`.

    Args:
      x: array; integers become floats.
      axis: axes of mean and variance.
      mean, variance: values to use instead; arrays that broadcast with `x`.
      epsilon: a small number that keeps the divisor positive.
      where: a mask; elements where it is False do not contribute to mean and variance.
      algorithm: "fast", by the mean of squares, or "stable", by the mean of squared
        differences from the mean.

    Returns:
      An array of the shape and the dtype that `x`, `mean` and `variance` broadcast and
      promote to; of the default float dtype for integers.

    Raises:
      ValueError: the algorithm is unknown, or the axis is out of range.

    Example:
      >>> import minijax as mj
      >>> mj.nn.standardize(mj.numpy.array([-2., 2.]), epsilon=0.)
      Array([-1.,  1.], dtype=float32)
    """
    return _standardize(x, static_axis(axis), mean, variance, epsilon, where, algorithm)


@composite(static=("axis", "algorithm"))
def _standardize(x, axis, mean, variance, epsilon, where, algorithm: str):
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            f"standardize: Unknown algorithm {algorithm!r}. Expected 'fast' or 'stable'."
        )
    original = x
    (x,) = promote_args_inexact("standardize", x)
    # Raises if the options forbid promotion and floats are passed with integers.
    promotion.promote(tuple((aval_of(v).dtype, aval_of(v).weak_type) for v in (original, x)))
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    centered = x - mean
    if variance is None and algorithm == "stable":
        variance = jnp.mean(jnp.square(centered), axis, keepdims=True, where=where)
    elif variance is None:
        squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
        # Rounding may bring the difference below 0.
        variance = jnp.clip(squares - jnp.square(mean), 0)
    return centered * rsqrt(variance + epsilon)


# ----------------------------------------------------------------------------- one-hot


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int | Any = -1) -> Any:
    """Encode classes as vectors that are 1 at the class's index and 0 elsewhere.

    Args:
      x: array (or nested lists) of classes; a class outside [0, num_classes) gives zeros.
      num_classes: size of the new axis.
      dtype: the result's dtype (default: the dtype of Python floats).
      axis: the position of the new axis in the result, or the name of a mapped axis, each
        lane of which gets its own element.

    Returns:
      An array of `dtype`, of the shape of `x` with an additional axis of size
      `num_classes`; for a named axis, of the shape of `x`.

    Raises:
      ConcretizationTypeError: `num_classes` is traced.
      ValueError: the axis is out of range, or the size of a named axis is not
        `num_classes`.

    Example:
      >>> import minijax as mj
      >>> mj.nn.one_hot(mj.numpy.array([0, 2]), 3)
      Array([[1., 0., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    n = concrete_or_error(None, num_classes, "It is num_classes of jax.nn.one_hot.")
    dtype = dtypes.float_default() if dtype is None else static_dtype(dtype, "one_hot")
    x = jnp.asarray(x)
    if not dtypes.is_integer(x.dtype):
        warnings.warn(
            f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype}",
            DeprecationWarning,
            stacklevel=2,
        )
    if isinstance(axis, (list, tuple)):
        axis = tuple(axis)
        for name in axis:
            if hasattr(name, "__index__"):
                canonical_axis(name, 0)
    elif not isinstance(axis, str) and hasattr(axis, "__index__"):
        axis = operator.index(axis)
    return _one_hot(x, index_of(n), dtype, axis)


@composite(static=("n", "dtype", "axis"))
def _one_hot(x: Any, n: int, dtype: Any, axis: Any) -> Any:
    if type(axis) is not int:
        return convert(x == _lane_of(axis, n), dtype)
    aval = aval_of(x)
    class_axis = canonical_axis(axis, aval.ndim + 1)
    shape = [1] * (aval.ndim + 1)
    shape[class_axis] = n
    classes = broadcasted_iota(aval.dtype, tuple(shape), class_axis)
    return convert(jnp.expand_dims(x, class_axis) == classes, dtype)


def _lane_of(axis: Any, n: int) -> Any:
    """Return this lane's index along a named axis, which must have n lanes."""
    size = lax.axis_size(axis)
    if size != n:
        raise ValueError(
            f"one_hot: Expected num_classes to match the size of axis {axis}, but {n} != {size}"
        )
    return as_array(lax.axis_index(axis))
