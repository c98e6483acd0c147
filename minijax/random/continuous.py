"""Continuous distributions that a formula makes of uniform and normal numbers.

Mostly the inverse of the distribution function, applied to uniform numbers.

Next: discrete.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..control.custom_jvp import stop_gradient
from ..control.jit import composite
from ..core.core import aval_of
from ..numpy._common import promote_dtypes_inexact
from ..ops.arithmetic import abs as magnitude
from ..ops.arithmetic import (
    add,
    div,
    exp,
    integer_pow,
    log,
    log1p,
    max,
    min,
    mul,
    neg,
    nextafter,
    pow,
    sign,
    sqrt,
    sub,
    tan,
)
from ..ops.define import const
from ..ops.logic import le, lt, select_n
from ..ops.reductions import reduce_sum
from ..ops.special import erf, erf_inv
from ..ops.structural import expand_dims
from ..types import dtypes
from .common import (
    as_dtype,
    broadcast_shapes,
    checked_dtype,
    float_dtype,
    opaque,
    placed,
    problem,
    repeated,
    safely,
    shape_of_all,
    spread,
    static_shape,
)
from .gammas import gamma_of
from .sampling import (
    Shape,
    above_minus_one,
    normal_of,
    split_of,
    uniform_of,
    unit_of,
)


def constant(x: float, dtype: Any) -> Any:
    """A number in the dtype of a sample."""
    return np.asarray(x, np.float64).astype(dtype)[()]


def _or_none(shape: Any, name: str) -> Any:
    return None if shape is None else static_shape(shape, name)


# -------------------------------------------------------------------------- exponential


def exponential_of(key: Any, shape: Shape, dtype: Any) -> Any:
    return neg(log1p(neg(unit_of(key, shape, dtype))))


@composite(static=("shape", "dtype"))
def _exponential(key: Any, shape: Shape, dtype: Any) -> Any:
    return exponential_of(opaque("exponential", key)[0], shape, dtype)


def exponential(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Exponential random numbers: density exp(-x) on x >= 0.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: that of Python floats).
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.exponential(mj.random.key(0), (2,))
      Array([2.950128 , 3.8434246], dtype=float32)
    """
    dtype = float_dtype("exponential", dtype)
    out = _exponential(key, static_shape(shape, "exponential"), dtype)
    return placed(out, out_sharding, "exponential")


# ------------------------------------------------------------- cauchy, laplace, logistic


@composite(static=("shape", "dtype"))
def _cauchy(key: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("cauchy", key)
    eps = dtype.type(ml_dtypes.finfo(dtype).eps)
    u = uniform_of(typed, shape, dtype, eps, dtype.type(1))
    return tan(mul(constant(math.pi, dtype), sub(u, dtype.type(0.5))))


def cauchy(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Cauchy random numbers: density 1 / (π (1 + x²)).

    Args: as those of `exponential`.

    Example:
      >>> import minijax as mj
      >>> mj.random.cauchy(mj.random.key(0), (2,)).shape
      (2,)
    """
    dtype = float_dtype("cauchy", dtype)
    out = _cauchy(key, static_shape(shape, "cauchy"), dtype)
    return placed(out, out_sharding, "cauchy")


@composite(static=("shape", "dtype"))
def _laplace(key: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("laplace", key)
    u = uniform_of(typed, shape, dtype, above_minus_one(dtype), dtype.type(1))
    return mul(sign(u), log1p(neg(magnitude(u))))


def laplace(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Laplace random numbers: density exp(-abs(x)) / 2.

    Args: as those of `exponential`.

    Example:
      >>> import minijax as mj
      >>> mj.random.laplace(mj.random.key(0), (2,)).shape
      (2,)
    """
    dtype = float_dtype("laplace", dtype)
    out = _laplace(key, static_shape(shape, "laplace"), dtype)
    return placed(out, out_sharding, "laplace")


@composite(static=("shape", "dtype"))
def _logistic(key: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("logistic", key)
    tiny = dtype.type(ml_dtypes.finfo(dtype).tiny)
    u = uniform_of(typed, shape, dtype, tiny, dtype.type(1))
    return sub(log(u), log1p(neg(u)))


def logistic(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Logistic random numbers: density exp(-x) / (1 + exp(-x))².

    Args: as those of `exponential`.

    Example:
      >>> import minijax as mj
      >>> mj.random.logistic(mj.random.key(0), (2,)).shape
      (2,)
    """
    dtype = float_dtype("logistic", dtype)
    out = _logistic(key, static_shape(shape, "logistic"), dtype)
    return placed(out, out_sharding, "logistic")


# ---------------------------------------------------------------------------- lognormal


@composite(static=("shape", "dtype"))
def _lognormal(key: Any, sigma: Any, shape: Any, dtype: Any) -> Any:
    typed, _ = opaque("lognormal", key)
    sigma = safely("lognormal", sigma, dtype)
    shape = shape_of_all("lognormal", shape, sigma)
    return exp(mul(normal_of(typed, shape, dtype), spread(sigma, shape)))


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Log-normal random numbers: exp of normal numbers of deviation `sigma`.

    Args:
      key: a random key.
      sigma: the deviation of the logarithm; a number or an array.
      shape: the result's shape (default: that of `sigma`).
      dtype: a float or complex dtype, to which `sigma` promotes.
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.lognormal(mj.random.key(0), 0.5, (2,)).shape
      (2,)
    """
    if dtype is None:
        dtype = dtypes.float_default()
    else:
        kind = "a float or complex dtype"
        dtype = checked_dtype("lognormal", dtype, dtypes.is_inexact, kind)
    out = _lognormal(key, sigma, _or_none(shape, "lognormal"), dtype)
    return placed(out, out_sharding, "lognormal")


# ------------------------------------------------- maxwell, double_sided_maxwell, rayleigh


def maxwell_of(key: Any, shape: Shape, dtype: Any) -> Any:
    x = normal_of(key, (*shape, 3), dtype)
    return sqrt(reduce_sum(mul(x, x), (len(shape),)))


@composite(static=("shape", "dtype"))
def _maxwell(key: Any, shape: Shape, dtype: Any) -> Any:
    return maxwell_of(opaque("maxwell", key)[0], shape, dtype)


def maxwell(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Maxwell random numbers: lengths of standard normal vectors in three dimensions.

    Args: as those of `exponential`.

    Example:
      >>> import minijax as mj
      >>> mj.random.maxwell(mj.random.key(0), (2,)).shape
      (2,)
    """
    dtype = float_dtype("maxwell", dtype)
    out = _maxwell(key, static_shape(shape, "maxwell"), dtype)
    return placed(out, out_sharding, "maxwell")


def signs_of(key: Any, shape: Shape, dtype: Any) -> Any:
    """1 or -1, equally likely."""
    half = dtypes.float_default()
    heads = lt(unit_of(key, shape, half), half.type(0.5))
    both = np.array([1, -1]).astype(dtype)  # unsigned numbers wrap
    plus, minus = (repeated(x, shape) for x in both)
    return select_n(heads, minus, plus)


@composite(static=("shape", "dtype"))
def _double_sided_maxwell(
    key: Any, loc: Any, scale: Any, shape: Shape, dtype: Any
) -> Any:
    typed, _ = opaque("double_sided_maxwell", key)
    shapes = [aval_of(loc).shape, aval_of(scale).shape]
    own = broadcast_shapes("double_sided_maxwell", shapes)
    shape = (*(shape or own), *own)
    first, second = split_of(typed)
    x = mul(signs_of(second, shape, dtype), maxwell_of(first, shape, dtype))
    x, scale = promote_dtypes_inexact(x, spread(scale, shape))
    x, loc = promote_dtypes_inexact(mul(x, scale), spread(loc, shape))
    return add(x, loc)


def double_sided_maxwell(
    key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Double-sided Maxwell random numbers: `loc` plus or minus `scale` times Maxwell ones.

    Args:
      key: a random key.
      loc, scale: numbers or arrays.
      shape: leading axes of the result, before those of `loc` and `scale` (by default
        these too, so that they come twice).
      dtype: a float dtype (default: that of Python floats).

    Example:
      >>> import minijax as mj
      >>> mj.random.double_sided_maxwell(mj.random.key(0), 0., 1., (2,)).shape
      (2,)
    """
    dtype = float_dtype("double_sided_maxwell", dtype)
    shape = static_shape(shape, "double_sided_maxwell")
    return _double_sided_maxwell(key, loc, scale, shape, dtype)


@composite(static=("shape", "dtype"))
def _rayleigh(key: Any, scale: Any, shape: Any, dtype: Any) -> Any:
    typed, _ = opaque("rayleigh", key)
    scale = safely("rayleigh", scale, dtype)
    shape = shape_of_all("rayleigh", shape, scale)
    square = mul(log(unit_of(typed, shape, dtype)), dtype.type(-2))
    return mul(repeated(scale, shape), sqrt(square))


def rayleigh(
    key: Any,
    scale: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Rayleigh random numbers: lengths of normal vectors in two dimensions.

    Args:
      key: a random key.
      scale: the deviation of each component; a number or an array.
      shape: the result's shape (default: that of `scale`).
      dtype: a float dtype, to which `scale` promotes.
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.rayleigh(mj.random.key(0), 2., (2,)).shape
      (2,)
    """
    dtype = float_dtype("rayleigh", dtype)
    out = _rayleigh(key, scale, _or_none(shape, "rayleigh"), dtype)
    return placed(out, out_sharding, "rayleigh")


# ------------------------------------------------------------- pareto, weibull, triangular


@composite(static=("shape", "dtype"))
def _pareto(key: Any, b: Any, shape: Any, dtype: Any) -> Any:
    typed, _ = opaque("pareto", key)
    b = safely("pareto", b, dtype)
    shape = shape_of_all("pareto", shape, b)
    return exp(div(exponential_of(typed, shape, dtype), spread(b, shape)))


def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Pareto random numbers: density b / x^(b+1) on x >= 1.

    Args:
      key: a random key.
      b: the exponent, positive; a number or an array.
      shape: the result's shape (default: that of `b`).
      dtype: a float dtype, to which `b` promotes.
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.pareto(mj.random.key(0), 2., (2,)).shape
      (2,)
    """
    dtype = float_dtype("pareto", dtype)
    out = _pareto(key, b, _or_none(shape, "pareto"), dtype)
    return placed(out, out_sharding, "pareto")


def reciprocal(x: Any) -> Any:
    """1 / x in a float dtype."""
    (x,) = promote_dtypes_inexact(x)
    return div(const(x, 1), x)


@composite(static=("shape", "dtype"))
def _weibull_min(key: Any, scale: Any, power: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("weibull_min", key)
    x = exponential_of(typed, shape, dtype)
    x = pow(*_side_by_side(x, reciprocal(power)))
    return mul(*_side_by_side(x, scale))


def _side_by_side(x: Any, parameter: Any) -> Sequence[Any]:
    """A sample and a parameter, which may repeat it, of one dtype and shape."""
    x, parameter = promote_dtypes_inexact(x, parameter)
    shapes = [aval_of(x).shape, aval_of(parameter).shape]
    if not shapes[1]:
        return x, parameter
    shape = broadcast_shapes("weibull_min", shapes)
    return repeated(x, shape), repeated(parameter, shape)


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Weibull random numbers: `scale` times powers 1 / concentration of exponential ones.

    Args:
      key: a random key.
      scale, concentration: positive numbers, or arrays that broadcast to `shape`.
      shape: the result's shape.
      dtype: a float dtype (default: that of Python floats).

    Example:
      >>> import minijax as mj
      >>> mj.random.weibull_min(mj.random.key(0), 1., 2., (2,)).shape
      (2,)
    """
    dtype = float_dtype("weibull_min", dtype)
    shape = static_shape(shape, "weibull_min")
    return _weibull_min(key, scale, concentration, shape, dtype)


@composite(static=("shape", "dtype"))
def _triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any, dtype: Any
) -> Any:
    typed, _ = opaque("triangular", key)
    given = [safely("triangular", x, dtype) for x in (left, mode, right)]
    shape = shape_of_all("triangular", shape, *given)
    left, mode, right = (repeated(x, shape) for x in given)
    width = sub(right, left)
    peak = div(sub(mode, left), width)
    u = unit_of(typed, shape, dtype)
    rising = add(left, sqrt(mul(mul(u, width), sub(mode, left))))
    rest = mul(sub(dtype.type(1), u), width)
    falling = sub(right, sqrt(mul(rest, sub(right, mode))))
    return select_n(lt(u, peak), falling, rising)


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
    """Triangular random numbers: the density rises from `left` to `mode`, falls to `right`.

    Args:
      key: a random key.
      left, mode, right: numbers or arrays, in this order of size.
      shape: the result's shape (default: what they broadcast to).
      dtype: a float dtype, to which they promote.
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.triangular(mj.random.key(0), 0., 1., 2., (2,)).shape
      (2,)
    """
    dtype = float_dtype("triangular", dtype)
    out = _triangular(key, left, mode, right, _or_none(shape, "triangular"), dtype)
    return placed(out, out_sharding, "triangular")


# --------------------------------------------------------------------- truncated_normal


@composite(static=("shape", "dtype"))
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: Any, dtype: Any) -> Any:
    typed, _ = opaque("truncated_normal", key)
    shape = shape_of_all("truncated_normal", shape, lower, upper)
    low, high = (spread(as_dtype(x, dtype), shape) for x in (lower, upper))
    root = constant(math.sqrt(2), dtype)
    u = uniform_of(typed, shape, dtype, erf(div(low, root)), erf(div(high, root)))
    out = mul(root, erf_inv(u))
    # Rounding must not lead onto the bounds, or beyond.
    inner = nextafter(stop_gradient(low), constant(math.inf, dtype))
    return min(
        nextafter(stop_gradient(high), constant(-math.inf, dtype)), max(inner, out)
    )


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal random numbers that fall between two bounds.

    Args:
      key: a random key.
      lower, upper: the bounds; numbers or arrays.
      shape: the result's shape (default: what they broadcast to).
      dtype: a float dtype (default: that of Python floats).
      out_sharding: how the result lies on devices.

    Raises:
      ValueError: shapes that do not fit, or no float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.truncated_normal(mj.random.key(0), -2., 2., (2,)).shape
      (2,)
    """
    dtype = float_dtype("truncated_normal", dtype)
    shape = _or_none(shape, "truncated_normal")
    out = _truncated_normal(key, lower, upper, shape, dtype)
    return placed(out, out_sharding, "truncated_normal")


# -------------------------------------------------------------------------------- wald


@composite(static=("shape", "dtype"))
def _wald(key: Any, mean: Any, shape: Any, dtype: Any) -> Any:
    typed, _ = opaque("wald", key)
    mean = safely("wald", mean, dtype)
    shape = shape_of_all("wald", shape, mean)
    mean = repeated(mean, shape)
    normal_key, unit_key = split_of(typed)
    y = integer_pow(normal_of(normal_key, shape, dtype), 2)
    u = unit_of(unit_key, shape, dtype)
    mean2 = integer_pow(mean, 2)
    four, two = dtype.type(4), dtype.type(2)
    root = sqrt(add(mul(mul(four, mean), y), mul(mean2, integer_pow(y, 2))))
    x = sub(add(mean, div(mul(mean2, y), two)), mul(div(mean, two), root))
    return select_n(le(u, div(mean, add(mean, x))), div(mean2, x), x)


def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Wald (inverse Gaussian) random numbers of scale 1.

    Args:
      key: a random key.
      mean: the mean, positive; a number or an array.
      shape: the result's shape (default: that of `mean`).
      dtype: a float dtype, to which `mean` promotes.
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.wald(mj.random.key(0), 1., (2,)).shape
      (2,)

    Source: Michael, Schucany and Haas, The American Statistician 30 (1976).
    """
    dtype = float_dtype("wald", dtype)
    out = _wald(key, mean, _or_none(shape, "wald"), dtype)
    return placed(out, out_sharding, "wald")


# --------------------------------------------------------------- generalized_normal, ball


def generalized_normal_of(key: Any, p: Any, shape: Shape, dtype: Any) -> Any:
    """Numbers of density proportional to exp(-abs(x)**p)."""
    gamma_key, sign_key = split_of(key)
    exponent = reciprocal(p)
    wide = shape_of_all("gamma", shape, exponent)
    x = gamma_of(gamma_key, exponent, wide, dtype, False)
    x, exponent = promote_dtypes_inexact(x, spread(exponent, shape))
    x, signs = promote_dtypes_inexact(
        pow(x, exponent), signs_of(sign_key, shape, dtype)
    )
    return mul(signs, x)


@composite(static=("shape", "dtype"))
def _generalized_normal(key: Any, p: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("generalized_normal", key)
    return generalized_normal_of(typed, p, shape, dtype)


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Generalized normal random numbers: density proportional to exp(-abs(x)**p).

    Args:
      key: a random key.
      p: the exponent, positive; 2 for normal numbers of variance 1/2.
      shape: the result's shape.
      dtype: a float dtype (default: that of Python floats).
      out_sharding: how the result lies on devices.

    Example:
      >>> import minijax as mj
      >>> mj.random.generalized_normal(mj.random.key(0), 3., (2,)).shape
      (2,)
    """
    dtype = float_dtype("gamma", dtype)
    shape = static_shape(shape, "generalized_normal")
    out = _generalized_normal(key, p, shape, dtype)
    return placed(out, out_sharding, "generalized_normal")


@composite(static=("d", "shape", "dtype"))
def _ball(key: Any, d: int, p: Any, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("ball", key)
    first, second = split_of(typed)
    x = generalized_normal_of(first, p, (*shape, d), dtype)
    e = exponential_of(second, shape, dtype)
    size = magnitude(x)
    exponent = spread(p, (*shape, d))
    if not dtypes.is_integer(aval_of(exponent).dtype):
        size, exponent = promote_dtypes_inexact(size, exponent)
    total = reduce_sum(pow(size, exponent), (len(shape),))
    total, e = promote_dtypes_inexact(total, e)
    total, exponent = promote_dtypes_inexact(
        add(total, e), spread(reciprocal(p), shape)
    )
    norm = pow(total, exponent)
    if aval_of(norm).shape != shape:
        raise problem(
            TypeError,
            f"ball: p does not fit the shape {shape}.",
            p,
            why="one p a ball.",
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
    """Points spread evenly in the unit ball of the p-norm.

    Args:
      key: a random key.
      d: the number of dimensions.
      p: the norm's exponent.
      shape: the result's shape without its last axis, of size `d`.
      dtype: a float dtype (default: that of Python floats).
      out_sharding: how the result lies on devices.

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
