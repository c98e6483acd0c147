"""Continuous distributions, computed by formulas from uniform and normal numbers.

Most apply the inverse of the distribution function to uniform numbers.

Next: discrete.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims.elementwise import const
from ...prims.math.algebraic import add, div, integer_pow, mul, neg, sqrt, sub
from ...prims.math.elementary import exp, log, log1p, pow, tan
from ...prims.math.logic import le, lt, select_n
from ...prims.math.order import abs as magnitude
from ...prims.math.order import max, min, nextafter, sign
from ...prims.shape.shapes import expand_dims
from ...prims.special.error_function import erf, erf_inv
from ...prims.stop_gradient import stop_gradient
from ...types import dtypes
from ..numpy._common import promote_dtypes_inexact
from .common import *
from .gammas import gamma_of
from .sampling import (
    Shape,
    above_minus_one,
    normal_of,
    split_of,
    sum_of_last,
    uniform_of,
    unit_of,
)

__all__ = (
    "exponential",
    "cauchy",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "double_sided_maxwell",
    "rayleigh",
    "pareto",
    "weibull_min",
    "triangular",
    "truncated_normal",
    "wald",
    "generalized_normal",
    "ball",
)


def constant(x: float, dtype: Any) -> Any:
    """Return a number in the dtype of a sample."""
    return np.asarray(x, np.float64).astype(dtype)[()]


# -------------------------------------------------------------------------- exponential


def exponential_of(key: Any, shape: Shape, dtype: Any) -> Any:
    return neg(log1p(neg(unit_of(key, shape, dtype))))


@distribution()
def exponential(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw exponential random numbers, with density :math:`e^{-x}` on :math:`x \geq 0`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`, with nonnegative numbers.

    Example:
      >>> import minijax as mj
      >>> mj.random.exponential(mj.random.key(0), (2,))
      Array([2.950128 , 3.8434246], dtype=float32)
    """
    return exponential_of(key, shape, dtype)


# ------------------------------------------------------------- cauchy, laplace, logistic


@distribution()
def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    r"""Draw Cauchy random numbers, with density :math:`1 / (\pi (1 + x^2))`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Example:
      >>> import minijax as mj
      >>> mj.random.cauchy(mj.random.key(0), (2,)).shape
      (2,)
    """
    eps = dtype.type(ml_dtypes.finfo(dtype).eps)
    u = uniform_of(key, shape, dtype, eps, dtype.type(1))
    return tan(mul(constant(math.pi, dtype), sub(u, dtype.type(0.5))))


@distribution()
def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw Laplace random numbers, with density :math:`e^{-|x|} / 2`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Example:
      >>> import minijax as mj
      >>> mj.random.laplace(mj.random.key(0), (2,)).shape
      (2,)
    """
    u = uniform_of(key, shape, dtype, above_minus_one(dtype), dtype.type(1))
    return mul(sign(u), log1p(neg(magnitude(u))))


@distribution()
def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw logistic random numbers, with density :math:`e^{-x} / (1 + e^{-x})^2`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Example:
      >>> import minijax as mj
      >>> mj.random.logistic(mj.random.key(0), (2,)).shape
      (2,)
    """
    tiny = dtype.type(ml_dtypes.finfo(dtype).tiny)
    u = uniform_of(key, shape, dtype, tiny, dtype.type(1))
    return sub(log(u), log1p(neg(u)))


# ---------------------------------------------------------------------------- lognormal


@distribution(of=inexact_dtype)
def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    r"""Draw log-normal random numbers: :math:`e^{\sigma z}` for standard normal :math:`z`.

    Args:
      key: a random key.
      sigma: the deviation of the logarithm; a number or an array.
      shape: the result's shape (default: the shape of `sigma`).
      dtype: a float or complex dtype, to which `sigma` promotes.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `sigma`; floats are positive.

    Raises:
      TypePromotionError: the dtype of `sigma` does not promote to `dtype`.
      ValueError: `sigma` does not broadcast to `shape`, or `dtype` is neither float nor
        complex.

    Example:
      >>> import minijax as mj
      >>> mj.random.lognormal(mj.random.key(0), 0.5, (2,)).shape
      (2,)
    """
    sigma = safely("lognormal", sigma, dtype)
    shape = shape_of_all("lognormal", shape, sigma)
    return exp(mul(normal_of(key, shape, dtype), align_to_shape(sigma, shape)))


# ------------------------------------------------- maxwell, double_sided_maxwell, rayleigh


def maxwell_of(key: Any, shape: Shape, dtype: Any) -> Any:
    x = normal_of(key, (*shape, 3), dtype)
    return sqrt(sum_of_last(mul(x, x)))


@distribution()
def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    r"""Draw Maxwell random numbers, with density :math:`\sqrt{2/\pi}\, x^2 e^{-x^2/2}`,
    x >= 0.

    They are lengths of standard normal vectors in three dimensions.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Example:
      >>> import minijax as mj
      >>> mj.random.maxwell(mj.random.key(0), (2,)).shape
      (2,)
    """
    return maxwell_of(key, shape, dtype)


def signs_of(key: Any, shape: Shape, dtype: Any) -> Any:
    """Draw 1 or -1 with equal probability."""
    half = dtypes.float_default()
    heads = lt(unit_of(key, shape, half), half.type(0.5))
    # For unsigned dtypes, -1 wraps to the largest number.
    both = np.array([1, -1]).astype(dtype)
    plus, minus = (repeated(x, shape) for x in both)
    return select_n(heads, minus, plus)


@distribution()
def double_sided_maxwell(
    key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None
) -> Any:
    r"""Draw double-sided Maxwell random numbers:
    :math:`\mathrm{loc} \pm \mathrm{scale}\, m`.

    Here m is a Maxwell number (see `maxwell`), and both signs have equal probability.

    Args:
      key: a random key.
      loc, scale: numbers or arrays.
      shape: leading axes of the result, before the axes of `loc` and `scale` (default: the
        axes of `loc` and `scale` once more).
      dtype: a float dtype (default: the dtype of Python floats).

    Returns:
      An array of shape `(*shape, *own)`, where `own` is what `loc` and `scale`
      broadcast to, of the dtype that `dtype`, `loc` and `scale` promote to.

    Raises:
      ValueError: `loc` and `scale` do not broadcast, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.double_sided_maxwell(mj.random.key(0), 0., 1., (2,)).shape
      (2,)
    """
    shapes = [aval_of(loc).shape, aval_of(scale).shape]
    own = broadcast_shapes("double_sided_maxwell", shapes)
    shape = (*(shape or own), *own)
    first, second = split_of(key)
    x = mul(signs_of(second, shape, dtype), maxwell_of(first, shape, dtype))
    x, scale = promote_dtypes_inexact(x, align_to_shape(scale, shape))
    x, loc = promote_dtypes_inexact(mul(x, scale), align_to_shape(loc, shape))
    return add(x, loc)


@distribution()
def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw Rayleigh random numbers, with density :math:`x e^{-x^2 / (2 s^2)} / s^2` on
    :math:`x \geq 0`.

    They are lengths of normal vectors in two dimensions; s is `scale`.

    Args:
      key: a random key.
      scale: the deviation of each component; a number or an array.
      shape: the result's shape (default: the shape of `scale`).
      dtype: a float dtype, to which `scale` promotes.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `scale`.

    Raises:
      TypePromotionError: the dtype of `scale` does not promote to `dtype`.
      ValueError: `scale` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.rayleigh(mj.random.key(0), 2., (2,)).shape
      (2,)
    """
    scale = safely("rayleigh", scale, dtype)
    shape = shape_of_all("rayleigh", shape, scale)
    square = mul(log(unit_of(key, shape, dtype)), dtype.type(-2))
    return mul(repeated(scale, shape), sqrt(square))


# ------------------------------------------------------------- pareto, weibull, triangular


@distribution()
def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw Pareto random numbers, with density :math:`b / x^{b+1}` on :math:`x \geq 1`.

    Args:
      key: a random key.
      b: the exponent, positive; a number or an array.
      shape: the result's shape (default: the shape of `b`).
      dtype: a float dtype, to which `b` promotes.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `b`.

    Raises:
      TypePromotionError: the dtype of `b` does not promote to `dtype`.
      ValueError: `b` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.pareto(mj.random.key(0), 2., (2,)).shape
      (2,)
    """
    b = safely("pareto", b, dtype)
    shape = shape_of_all("pareto", shape, b)
    return exp(div(exponential_of(key, shape, dtype), align_to_shape(b, shape)))


def reciprocal(x: Any) -> Any:
    """Return 1 / x in a float dtype."""
    (x,) = promote_dtypes_inexact(x)
    return div(const(x, 1), x)


def _side_by_side(x: Any, parameter: Any) -> Sequence[Any]:
    """Promote and broadcast a sample and a parameter to one dtype and shape."""
    x, parameter = promote_dtypes_inexact(x, parameter)
    shapes = [aval_of(x).shape, aval_of(parameter).shape]
    if not shapes[1]:
        return x, parameter
    shape = broadcast_shapes("weibull_min", shapes)
    return repeated(x, shape), repeated(parameter, shape)


@distribution()
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    r"""Draw Weibull random numbers: :math:`s\, x^{1/c}` for exponential :math:`x`.

    Here s is `scale` and c is `concentration`.

    Args:
      key: a random key.
      scale, concentration: positive numbers, or arrays that broadcast with `shape`.
      shape: the shape of the exponential numbers.
      dtype: a float dtype (default: the dtype of Python floats).

    Returns:
      An array of the shape that `shape` and the parameters broadcast to, of the dtype
      that `dtype` and they promote to.

    Raises:
      ValueError: the shapes do not broadcast, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.weibull_min(mj.random.key(0), 1., 2., (2,)).shape
      (2,)
    """
    x = exponential_of(key, shape, dtype)
    one, power = promote_dtypes_inexact(1.0, concentration)  # keeps integers weakly typed
    x = pow(*_side_by_side(x, div(one, power)))
    return mul(*_side_by_side(x, scale))


@distribution()
def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    r"""Draw triangular random numbers.

    The density rises linearly from `left` to `mode`, where it is
    :math:`2 / (\mathrm{right} - \mathrm{left})`, and falls linearly to `right`.

    Args:
      key: a random key.
      left, mode, right: numbers or arrays in ascending order.
      shape: the result's shape (default: what they broadcast to).
      dtype: a float dtype, to which they promote.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or what the parameters broadcast to.

    Raises:
      TypePromotionError: the dtype of a parameter does not promote to `dtype`.
      ValueError: a parameter does not broadcast to `shape`, or `dtype` is not a float
        dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.triangular(mj.random.key(0), 0., 1., 2., (2,)).shape
      (2,)
    """
    params = [safely("triangular", x, dtype) for x in (left, mode, right)]
    shape = shape_of_all("triangular", shape, *params)
    left, mode, right = (repeated(x, shape) for x in params)
    width = sub(right, left)
    peak = div(sub(mode, left), width)
    u = unit_of(key, shape, dtype)
    rising = add(left, sqrt(mul(mul(u, width), sub(mode, left))))
    falling_area = mul(sub(dtype.type(1), u), width)
    falling = sub(right, sqrt(mul(falling_area, sub(right, mode))))
    return select_n(lt(u, peak), falling, rising)


# --------------------------------------------------------------------- truncated_normal


@distribution()
def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw normal random numbers between two bounds, with density proportional to
    :math:`e^{-x^2/2}`.

    Args:
      key: a random key.
      lower, upper: the bounds; numbers or arrays.
      shape: the result's shape (default: what they broadcast to).
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or what the bounds broadcast to; it never
      contains a bound.

    Raises:
      ValueError: shapes do not fit, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.truncated_normal(mj.random.key(0), -2., 2., (2,)).shape
      (2,)
    """
    shape = shape_of_all("truncated_normal", shape, lower, upper)
    low, high = (align_to_shape(as_dtype(x, dtype), shape) for x in (lower, upper))
    root = constant(math.sqrt(2), dtype)
    u = uniform_of(key, shape, dtype, erf(div(low, root)), erf(div(high, root)))
    out = mul(root, erf_inv(u))
    # Rounding must not reach the bounds.
    inner = nextafter(stop_gradient(low), constant(math.inf, dtype))
    return min(nextafter(stop_gradient(high), constant(-math.inf, dtype)), max(inner, out))


# -------------------------------------------------------------------------------- wald


@distribution()
def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw Wald (inverse Gaussian) random numbers of scale 1.

    Args:
      key: a random key.
      mean: the mean, positive; a number or an array.
      shape: the result's shape (default: the shape of `mean`).
      dtype: a float dtype, to which `mean` promotes.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `mean`, with positive numbers.

    Raises:
      TypePromotionError: the dtype of `mean` does not promote to `dtype`.
      ValueError: `mean` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.wald(mj.random.key(0), 1., (2,)).shape
      (2,)

    Source: Michael, Schucany and Haas, The American Statistician 30 (1976).
    """
    mean = safely("wald", mean, dtype)
    shape = shape_of_all("wald", shape, mean)
    mean = repeated(mean, shape)
    normal_key, unit_key = split_of(key)
    y = integer_pow(normal_of(normal_key, shape, dtype), 2)
    u = unit_of(unit_key, shape, dtype)
    mean2 = integer_pow(mean, 2)
    four, two = dtype.type(4), dtype.type(2)
    root = sqrt(add(mul(mul(four, mean), y), mul(mean2, integer_pow(y, 2))))
    x = sub(add(mean, div(mul(mean2, y), two)), mul(div(mean, two), root))
    return select_n(le(u, div(mean, add(mean, x))), div(mean2, x), x)


# --------------------------------------------------------------- generalized_normal, ball


def generalized_normal_of(key: Any, p: Any, shape: Shape, dtype: Any) -> Any:
    """Draw numbers with density proportional to exp(-abs(x)**p)."""
    gamma_key, sign_key = split_of(key)
    exponent = reciprocal(p)
    wide = shape_of_all("gamma", shape, exponent)
    x = gamma_of(gamma_key, exponent, wide, dtype, False)
    x, exponent = promote_dtypes_inexact(x, align_to_shape(exponent, shape))
    x, signs = promote_dtypes_inexact(pow(x, exponent), signs_of(sign_key, shape, dtype))
    return mul(signs, x)


@distribution(error_name="gamma")
def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw generalized normal random numbers, with density proportional to
    :math:`e^{-|x|^p}`.

    Args:
      key: a random key.
      p: the exponent, positive, a number or an array that broadcasts to `shape`; 2 for
        normal numbers of variance 1/2.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape`, of the dtype that `dtype` and `p` promote to.

    Raises:
      ValueError: `p` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.generalized_normal(mj.random.key(0), 3., (2,)).shape
      (2,)
    """
    return generalized_normal_of(key, p, shape, dtype)


@composite(static=("d", "shape", "dtype"))
def _ball(key: Any, d: int, p: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("ball", key)
    first, second = split_of(typed)
    x = generalized_normal_of(first, p, (*shape, d), dtype)
    e = exponential_of(second, shape, dtype)
    size = magnitude(x)
    exponent = align_to_shape(p, (*shape, d))
    if not dtypes.is_integer(aval_of(exponent).dtype):
        size, exponent = promote_dtypes_inexact(size, exponent)
    norm_sum = sum_of_last(pow(size, exponent))
    norm_sum, e = promote_dtypes_inexact(norm_sum, e)
    norm_sum, exponent = promote_dtypes_inexact(
        add(norm_sum, e), align_to_shape(reciprocal(p), shape)
    )
    norm = pow(norm_sum, exponent)
    if aval_of(norm).shape != shape:
        raise type_problem(
            f"ball: p does not fit the shape {shape}.",
            p,
            why="p must be a scalar or have this shape.",
        )
    return div(x, repeated(_last(norm), aval_of(x).shape))


def _last(x: Any) -> Any:
    from_shape = aval_of(x).shape
    return expand_dims(x, (len(from_shape),))


def ball(
    key: Any,
    d: int,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw uniformly distributed points in the unit ball of the p-norm.

    Args:
      key: a random key.
      d: the number of dimensions.
      p: the norm's exponent, positive; a number.
      shape: the result's shape without its last axis, of size `d`.
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `(*shape, d)` and dtype `dtype`, whose vectors have a p-norm of
      at most 1.

    Raises:
      TypeError: `d` is not an integer.
      ValueError: `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.ball(mj.random.key(0), 3, shape=(2,)).shape
      (2, 3)

    Source: Barthe, Guédon, Mendelson and Naor, Annals of Probability 33 (2005).
    """
    dtype = float_dtype("gamma", dtype)
    d = operator.index(d)
    out = _ball(key, d, p, static_shape(shape, "ball"), dtype)
    return placed(out, out_sharding, "ball")
