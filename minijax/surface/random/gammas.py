"""Gamma numbers and the distributions derived from them.

A gamma number needs a variable number of draws: the method of Marsaglia and Tsang, "A
simple method for generating gamma variables" (ACM TOMS 26, 2000), transforms a normal
number and nearly always accepts it.  All elements are drawn together, each from its own
key, until the last one is accepted.  The derivative by the parameter is implicit: the
derivative of the distribution function divided by the density.

Next: continuous.py.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from ...analysis.cost_model import copies
from ...control.loop_functions.map import map as map_
from ...control.loop_functions.while_loop import while_loop
from ...control.rules.custom_jvp import custom_jvp
from ...ir.core import ByPlatform, Primitive, aval_of
from ...ir.facts import Facts
from ...passes.ad_util import Zero
from ...passes.batch import lane_to_front
from ...prims.math.algebraic import add, div, mul, neg, sqrt, sub
from ...prims.math.elementary import exp, log, log1p, pow
from ...prims.math.logic import bitwise_and, bitwise_or, eq, ge, le, select_n
from ...prims.math.order import max
from ...prims.random.key_arrays import (
    check_keys,
    evaluate_by_setting,
    lowering,
    map_keys,
    no_transpose,
    random_split_p,
    random_wrap_p,
)
from ...prims.reduce.over_axes import reduce_max
from ...prims.shape.shapes import expand_dims, reshape
from ...prims.sharding_specs import elementwise_specs
from ...prims.special.gamma import random_gamma_grad
from ...types.avals import shaped
from .common import *
from .sampling import Shape, normal_of, split_of, sum_of_last, unit_of

__all__ = ("random_gamma_p", "gamma", "loggamma", "beta", "chisquare", "f", "t", "dirichlet")

# ------------------------------------------------------------------------ random_gamma

random_gamma_p = Primitive("random_gamma")
random_gamma_p.def_sharding(specs=elementwise_specs("random_gamma"))


def _gamma_type(keys, a, *, log_space: bool, partitionable=None):
    check_keys("random_gamma", keys)
    if a.shape[: len(keys.shape)] != keys.shape:
        raise type_problem(
            f"random_gamma: keys {keys.str_short(True)} do not fit {a.str_short(True)}.",
            why="the leading axes of the parameters must be the axes of the keys.",
        )
    return shaped(a.shape, a.dtype)


def _gamma_jvp(primals: Any, tangents: Any, *, log_space: bool) -> Any:
    keys, a = primals
    out = random_gamma_p.bind(keys, a, log_space=log_space)
    t = tangents[1]
    if type(t) is Zero:
        return out, Zero(aval_of(out).to_tangent())
    return out, mul(t, _slope(a, out, log_space))


def _slope(a: Any, sample: Any, log_space: bool) -> Any:
    """Return the derivative of a sample by its parameter."""
    if not log_space:
        return random_gamma_grad(a, sample)
    dtype, shape = aval_of(sample).dtype, aval_of(sample).shape
    sample = exp(sample)
    tiny = repeated(dtype.type(ml_dtypes.finfo(dtype).tiny), shape)
    sample = select_n(eq(sample, dtype.type(0)), sample, tiny)
    return div(random_gamma_grad(a, sample), sample)


def _gamma_batch(axis: Any, args: Any, dims: Any, *, log_space: bool) -> Any:
    keys, a = (lane_to_front(x, axis, d) for x, d in zip(args, dims, strict=True))
    return random_gamma_p.bind(keys, a, log_space=log_space), 0


def _draw_all(impl: Any, key_shape: Shape, words: Any, a: Any, *, log_space: bool) -> Any:
    """Draw gamma numbers for parameters `a`; their leading axes are the keys' axes."""
    keys, flat = _flat_keys(impl, key_shape, words, a)
    one = partial(_draw_one, log_space=log_space)
    return reshape(map_keys(one, aval_of(flat).shape, keys, flat), aval_of(a).shape)


def _draw_each(impl: Any, key_shape: Shape, words: Any, a: Any, *, log_space: bool) -> Any:
    """Compute `_draw_all` in a loop over elements, each with its own number of draws."""
    xs = _flat_keys(impl, key_shape, words, a)
    flat = map_(lambda x: _draw_one(x[0], x[1], log_space), xs)
    return reshape(flat, aval_of(a).shape)


def _flat_keys(impl: Any, key_shape: Shape, words: Any, a: Any) -> tuple[Any, Any]:
    """Return a key for each parameter, and the parameters, both flattened."""
    shape = aval_of(a).shape
    keys = random_wrap_p.bind(words, impl=impl)
    keys = random_split_p.bind(keys, shape=(prod(shape[len(key_shape) :]),))
    return reshape(keys, (prod(shape),)), reshape(a, (prod(shape),))


def _draw_one(key: Any, alpha: Any, log_space: bool) -> Any:
    dtype = aval_of(alpha).dtype
    one, third = dtype.type(1), np.asarray(1 / 3, np.float64).astype(dtype)[()]
    # Below 1, draw for alpha + 1, then multiply by a power of a uniform number.
    large = ge(alpha, one)
    d = sub(select_n(large, add(alpha, one), alpha), third)
    c = div(third, sqrt(d))
    key, shrink_key = split_of(key)
    # x2 is the square of a normal number x, v the cube of 1 + c x; u is uniform.
    start = (key, dtype.type(0), dtype.type(1), dtype.type(2))
    v = while_loop(_is_rejected(d), _proposal(c, dtype), start)[2]
    if log_space:
        extra = log1p(neg(unit_of(shrink_key, (), dtype)))
        extra = mul(extra, div(one, alpha))
        no_shrink = bitwise_or(large, eq(extra, dtype.type(0)))
        return add(add(log(d), log(v)), select_n(no_shrink, extra, dtype.type(0)))
    shrink = pow(sub(one, unit_of(shrink_key, (), dtype)), div(one, alpha))
    return mul(mul(d, v), select_n(large, shrink, one))


def _is_rejected(d: Any) -> Any:
    """Return the loop's condition: whether the last proposal (x2, v, u) was rejected."""

    def cond(state: Any) -> Any:
        _, x2, v, u = state
        dtype = aval_of(v).dtype
        squeeze = np.asarray(0.0331, np.float64).astype(dtype)[()]
        fails_squeeze = ge(u, sub(dtype.type(1), mul(squeeze, mul(x2, x2))))
        bound = mul(d, add(sub(dtype.type(1), v), log(v)))
        return bitwise_and(fails_squeeze, ge(log(u), add(mul(x2, dtype.type(0.5)), bound)))

    return cond


def _proposal(c: Any, dtype: Any) -> Any:
    """Return the loop's body, which draws the next proposal."""

    def try_normal(state: Any) -> Any:
        key, sub_key = split_of(state[0])
        x = normal_of(sub_key, (), dtype)
        return key, x, add(dtype.type(1), mul(x, c))

    def body(state: Any) -> Any:
        key, x_key, u_key = split_of(state[0], 3)
        start = (x_key, dtype.type(0), dtype.type(-1))
        _, x, v = while_loop(lambda s: le(s[2], dtype.type(0)), try_normal, start)
        return key, mul(x, x), mul(mul(v, v), v), unit_of(u_key, (), dtype)

    return body


random_gamma_p.abstract = _gamma_type
random_gamma_p.jvp = _gamma_jvp
no_transpose(random_gamma_p)
random_gamma_p.batch = _gamma_batch
random_gamma_p.facts = Facts(workspace=copies(2), lowers_key_arrays=True)
_all_at_once = lowering(random_gamma_p, _draw_all, elementwise=False)
_one_by_one = lowering(random_gamma_p, _draw_each, elementwise=False)


def _lower_cpu(ctx: Any, *operands: Any, **params: Any) -> Any:
    """Draw one element after the other, unless the compiler shards the elements."""
    is_batched = ctx.is_sharded_by_compiler
    emit = _all_at_once if is_batched else _one_by_one
    return emit(ctx, *operands, **params)


random_gamma_p.lower = ByPlatform(_all_at_once, cpu=_lower_cpu)
evaluate_by_setting(random_gamma_p)


# --------------------------------------------------------------------- gamma, loggamma


def gamma_of(key: Any, a: Any, shape: Shape, dtype: Any, log_space: bool) -> Any:
    """Draw gamma numbers, or their logarithms."""
    a = repeated(as_dtype(a, dtype), shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


@distribution()
def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw gamma random numbers, with density :math:`x^{a-1} e^{-x} / \Gamma(a)` on
    :math:`x > 0`.

    Args:
      key: a random key.
      a: the shape parameter, positive; a number or an array.
      shape: the result's shape (default: the shape of `a`).
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `a`.

    Raises:
      ValueError: shapes do not fit, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.gamma(mj.random.key(0), 2., (3,)).shape
      (3,)

    Source: Marsaglia and Tsang, ACM TOMS 26 (2000).
    """
    return gamma_of(key, a, shape_of_all("gamma", shape, a), dtype, False)


@distribution(error_name="gamma")
def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw logarithms of gamma numbers, with density :math:`e^{a x - e^x} / \Gamma(a)`.

    They are precise where `gamma` would underflow.

    Args:
      key: a random key.
      a: the shape parameter, positive; a number or an array.
      shape: the result's shape (default: the shape of `a`).
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `a`.

    Raises:
      ValueError: `a` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> bool(mj.numpy.isfinite(mj.random.loggamma(mj.random.key(0), 1e-6)))
      True

    Source: Marsaglia and Tsang, ACM TOMS 26 (2000).
    """
    return gamma_of(key, a, shape_of_all("gamma", shape, a), dtype, True)


# ------------------------------------------------------- beta, chisquare, f, t, dirichlet


@distribution()
def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw beta random numbers, with density :math:`x^{a-1} (1-x)^{b-1} / B(a, b)` on
    (0, 1).

    Args:
      key: a random key.
      a, b: the parameters, positive; numbers or arrays.
      shape: the result's shape (default: what `a` and `b` broadcast to).
      dtype: a float dtype, to which `a` and `b` promote.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or what `a` and `b` broadcast to.

    Raises:
      TypePromotionError: the dtype of a parameter does not promote to `dtype`.
      ValueError: a parameter does not broadcast to `shape`, or `dtype` is not a float
        dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.beta(mj.random.key(0), 2., 3., (4,)).shape
      (4,)
    """
    a, b = (safely("beta", x, dtype) for x in (a, b))
    shape = shape_of_all("beta", shape, a, b)
    first, second = split_of(key)
    x = gamma_of(first, a, shape, dtype, True)
    y = gamma_of(second, b, shape, dtype, True)
    top = max(x, y)
    x, y = exp(sub(x, top)), exp(sub(y, top))
    return div(x, add(x, y))


def chisquare_of(key: Any, df: Any, shape: Shape, dtype: Any) -> Any:
    half = div(df, dtype.type(2))
    return mul(exp(gamma_of(key, half, shape, dtype, True)), dtype.type(2))


@distribution()
def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw chi-square random numbers, with density proportional to
    :math:`x^{k/2-1} e^{-x/2}`.

    They are sums of squares of k normal numbers; k is `df`.

    Args:
      key: a random key.
      df: the degrees of freedom, positive; a number or an array.
      shape: the result's shape (default: the shape of `df`).
      dtype: a float dtype, to which `df` promotes.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `df`.

    Raises:
      TypePromotionError: the dtype of `df` does not promote to `dtype`.
      ValueError: `df` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.chisquare(mj.random.key(0), 3., (4,)).shape
      (4,)
    """
    df = safely("chisquare", df, dtype)
    return chisquare_of(key, df, shape_of_all("chisquare", shape, df), dtype)


@distribution()
def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw F-distributed random numbers: :math:`(x / m) / (y / n)` for chi-square x and y.

    Here m is `dfnum`, n is `dfden`, and both are the degrees of freedom of x and y.

    Args:
      key: a random key.
      dfnum, dfden: degrees of freedom of numerator and denominator; numbers or arrays.
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
      >>> mj.random.f(mj.random.key(0), 3., 4., (2,)).shape
      (2,)
    """
    above, below = (safely("f", x, dtype) for x in (dfnum, dfden))
    shape = shape_of_all("f", shape, above, below)
    below_key, above_key = split_of(key)
    above, below = repeated(above, shape), repeated(below, shape)
    x = div(chisquare_of(above_key, above, shape, dtype), above)
    y = div(chisquare_of(below_key, below, shape, dtype), below)
    return div(x, y)


@distribution()
def t(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw Student's t random numbers, with density proportional to
    :math:`(1 + x^2/n)^{-(n+1)/2}`.

    Here n is `df`.

    Args:
      key: a random key.
      df: the degrees of freedom, positive; a number or an array.
      shape: the result's shape (default: the shape of `df`).
      dtype: a float dtype, to which `df` promotes.
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `df`.

    Raises:
      TypePromotionError: the dtype of `df` does not promote to `dtype`.
      ValueError: `df` does not broadcast to `shape`, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.t(mj.random.key(0), 5., (2,)).shape
      (2,)
    """
    df = safely("t", df, dtype)
    shape = shape_of_all("t", shape, df)
    normal_key, gamma_key = split_of(key)
    x = normal_of(normal_key, shape, dtype)
    half = repeated(div(df, dtype.type(2)), shape)
    return mul(x, sqrt(div(half, gamma_of(gamma_key, half, shape, dtype, False))))


@distribution()
def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw Dirichlet random vectors, with density proportional to
    :math:`\prod_i x_i^{\alpha_i - 1}`.

    Args:
      key: a random key.
      alpha: positive parameters, of shape (..., n).
      shape: the result's shape without the last axis (default: the shape of `alpha`).
      dtype: a float dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype` and shape `(*shape, n)`: vectors of positive numbers with sum
      1.

    Raises:
      ValueError: `alpha` is a scalar, or shapes do not fit.

    Example:
      >>> import minijax as mj
      >>> mj.random.dirichlet(mj.random.key(0), mj.numpy.ones(3), (4,)).shape
      (4, 3)
    """
    old = aval_of(alpha).shape
    if not old:
        raise value_problem(
            "dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0",
            alpha,
            why="its last axis holds the parameters of one vector.",
        )
    if shape is None:
        shape = old[:-1]
    elif broadcast_shapes("dirichlet", [shape, old[:-1]]) != shape:
        raise value_problem(
            "dirichlet parameter shapes must be broadcast-compatible with shape"
            f" argument, got alpha.shape {old} for shape argument {shape}.",
            alpha,
            why="shape does not include the axis of the vector.",
        )
    return _shares(gamma_of(key, alpha, (*shape, old[-1]), dtype, True))


@custom_jvp
def _shares(x: Any) -> Any:
    """Return e^x divided by its sum along the last axis."""
    last = aval_of(x).ndim - 1
    top = expand_dims(reduce_max(x, (last,)), (last,))
    x = exp(sub(x, top))
    return div(x, expand_dims(sum_of_last(x), (last,)))


@_shares.defjvp
def _shares_jvp(primals: Any, tangents: Any) -> Any:
    """Return y (t - sum(y t)), whose only residual is the result y.

    The weighted mean is subtracted twice: if one element of y is nearly 1, the first
    subtraction leaves a rounding error.
    """
    y, (t,) = _shares(*primals), tangents
    last = aval_of(y).ndim - 1
    for _ in range(2):
        t = sub(t, expand_dims(sum_of_last(mul(y, t)), (last,)))
    return y, mul(y, t)
