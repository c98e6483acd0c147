"""Random integers: signs, waiting times, counts.

Small Poisson and binomial numbers are drawn by adding waiting times.  Larger ones use
rejection from an envelope that is easy to draw from: Hörmann's transformed rejection,
"The transformed rejection method for generating Poisson random variables" (Insurance:
Mathematics and Economics 12, 1993) and "The generation of binomial random variates"
(Journal of Statistical Computation and Simulation 46, 1993).  All elements are drawn
together until the last one is accepted.

Next: multivariate.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...control.calls.jit import composite
from ...control.loop_functions.scan import run_scan
from ...control.loop_functions.while_loop import while_loop
from ...ir.core import aval_of
from ...prims import dtype_arguments
from ...prims.math.algebraic import add, div, mul, neg, sqrt, sub
from ...prims.math.cast import convert_element_type
from ...prims.math.elementary import log, log1p
from ...prims.math.logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    clamp,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
    select_n,
)
from ...prims.math.order import abs as magnitude
from ...prims.math.order import ceil, floor, max, min
from ...prims.random.key_arrays import random_clone, random_split_p
from ...prims.reduce.cumulative import cumsum
from ...prims.reduce.over_axes import reduce_or
from ...prims.shape.shapes import move_axis
from ...prims.special.log_gamma import lgamma_of_xla_p
from ...types import dtypes
from ..numpy import indexing
from ..numpy._common import promote_dtypes_inexact
from .common import *
from .continuous import constant, signs_of
from .sampling import Shape, split_of, unit_of

__all__ = ("rademacher", "geometric", "poisson", "binomial", "multinomial")


def _any_dtype(name: str, dtype: Any) -> Any:
    return (
        dtypes.int_default() if dtype is None else dtype_arguments.requested_dtype(dtype, name)
    )


def _int_dtype(name: str, dtype: Any) -> Any:
    if dtype is None:
        return dtypes.int_default()
    return checked_dtype(name, dtype, dtypes.is_integer, "an int dtype")


def any_of(x: Any) -> Any:
    """Whether any element is true."""
    return reduce_or(x, tuple(range(len(aval_of(x).shape))))


def below_limit(i: Any, dtype: Any) -> Any:
    """Whether a loop's counter is below the largest number of a dtype."""
    limits = ml_dtypes.finfo if dtypes.is_float(dtype) else ml_dtypes.iinfo
    return lt(convert_element_type(i, dtype), dtype.type(limits(dtype).max))


# -------------------------------------------------------------------------- rademacher


@distribution(of=_any_dtype)
def rademacher(
    key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw random signs: :math:`P(1) = P(-1) = 1/2`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: any numeric dtype (default: the dtype of Python ints).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype` of 1 and -1 (for unsigned dtypes, the
      largest integer instead of -1).

    Raises:
      ValueError: `dtype` is not numeric.

    Example:
      >>> import minijax as mj
      >>> mj.random.rademacher(mj.random.key(0), (3,))
      Array([-1, -1,  1], dtype=int32)
    """
    return signs_of(key, shape, dtype)


# --------------------------------------------------------------------------- geometric


@distribution(of=_int_dtype)
def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    r"""Draw geometric random numbers: :math:`P(k) = (1-p)^{k-1} p`, for k from 1 on.

    They are the numbers of trials up to the first success.

    Args:
      key: a random key.
      p: the probability of success; a number or an array.
      shape: the result's shape (default: the shape of `p`).
      dtype: an integer dtype (default: the dtype of Python ints).
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `p`.

    Raises:
      ValueError: `p` does not broadcast to `shape`, or `dtype` is not an integer dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.geometric(mj.random.key(0), 0.2, (3,)).shape
      (3,)
    """
    (p,) = promote_dtypes_inexact(p)
    shape = shape_of_all("geometric", shape, p)
    kind = aval_of(p).dtype
    u = unit_of(key, shape, kind)
    u = select_n(eq(u, kind.type(0)), u, repeated(kind.type(1), shape))
    trials = floor(div(log(u), repeated(log1p(neg(p)), shape)))
    return convert_element_type(add(trials, kind.type(1)), dtype)


# ----------------------------------------------------------------------------- poisson


def _poisson_by_waiting(key: Any, rate: Any, dtype: Any) -> Any:
    """Count the exponential waiting times that fit into `rate`, for small rates."""
    shape, kind = aval_of(rate).shape, aval_of(rate).dtype
    limit = neg(rate)

    def cond(state: Any) -> Any:
        i, _, _, log_product = state
        return bitwise_and(any_of(gt(log_product, limit)), below_limit(i, dtype))

    def body(state: Any) -> Any:
        i, count, key, log_product = state
        key, sub_key = split_of(key)
        count = select_n(gt(log_product, limit), count, add(count, dtype.type(1)))
        u = unit_of(sub_key, shape, kind)
        return add(i, np.int32(1)), count, key, add(log_product, log(u))

    start = (np.int32(0), repeated(dtype.type(0), shape), key, repeated(kind.type(0), shape))
    return sub(while_loop(cond, body, start)[1], dtype.type(1))


def sample_by_rejection(
    key, propose: Callable[[Any, Any], tuple[Any, Any]], shape: Shape, kind, limit_dtype
):
    """Return the first accepted proposal of each element.

    `propose(u, v)` maps two uniform arrays to proposals and the mask of accepted ones.
    """

    def cond(state: Any) -> Any:
        i, _, accepted, _ = state
        return bitwise_and(any_of(bitwise_not(accepted)), below_limit(i, limit_dtype))

    def body(state: Any) -> Any:
        i, out, accepted, key = state
        key, u_key, v_key = split_of(key, 3)
        u = sub(unit_of(u_key, shape, kind), kind.type(0.5))
        k, accept = propose(u, unit_of(v_key, shape, kind))
        out = select_n(accept, out, k)
        return add(i, np.int32(1)), out, bitwise_or(accepted, accept), key

    start = (np.int32(0), repeated(kind.type(-1), shape), repeated(np.bool_(False), shape), key)
    return while_loop(cond, body, start)[1]


def _poisson_by_rejection(key: Any, rate: Any, dtype: Any) -> Any:
    """Draw by transformed rejection with squeeze (PTRS), for rates from 10."""
    shape, kind = aval_of(rate).shape, aval_of(rate).dtype

    def c(x: float) -> Any:
        return constant(x, kind)

    log_rate = log(rate)
    b = add(c(0.931), mul(c(2.53), sqrt(rate)))
    a = add(c(-0.059), mul(c(0.02483), b))
    inverse_alpha = add(c(1.1239), div(c(1.1328), sub(b, c(3.4))))
    v_r = sub(c(0.9277), div(c(3.6224), sub(b, c(2))))

    def propose(u: Any, v: Any) -> tuple[Any, Any]:
        edge = sub(c(0.5), magnitude(u))
        spread_u = mul(add(div(mul(c(2), a), edge), b), u)
        k = floor(add(add(spread_u, rate), c(0.43)))
        hat = add(div(a, mul(edge, edge)), b)
        s = log(div(mul(v, inverse_alpha), hat))
        t = sub(add(neg(rate), mul(k, log_rate)), lgamma_of_xla_p.bind(add(k, c(1))))
        accepts_early = bitwise_and(ge(edge, c(0.07)), le(v, v_r))
        near_edge = bitwise_and(lt(edge, c(0.013)), gt(v, edge))
        is_rejected = bitwise_or(lt(k, c(0)), near_edge)
        accepts_late = bitwise_and(bitwise_not(is_rejected), le(s, t))
        return k, bitwise_or(accepts_early, accepts_late)

    return convert_element_type(sample_by_rejection(key, propose, shape, kind, dtype), dtype)


@distribution(of=_int_dtype)
def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw Poisson random numbers: numbers of events with the mean `lam`.

    Args:
      key: a random key.
      lam: the rate, nonnegative; a number or an array.
      shape: the result's shape (default: the shape of `lam`).
      dtype: an integer dtype (default: the dtype of Python ints).
      out_sharding: the sharding of the result.

    Returns:
      An array of `dtype`, of shape `shape` or the shape of `lam`.

    Raises:
      ValueError: shapes do not fit, or `dtype` is not an integer dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.poisson(mj.random.key(0), 3., (4,)).shape
      (4,)

    Source: Knuth, The Art of Computer Programming 2; Hörmann (1993).
    """
    shape = shape_of_all("poisson", shape, lam)
    kind = dtypes.float32
    rate = repeated(as_dtype(lam, kind), shape)
    is_small = bitwise_or(ne(rate, rate), lt(rate, kind.type(10)))
    # In lanes of the other algorithm, each loop gets a rate with which it ends soon.
    waiting_counts = _poisson_by_waiting(
        key, select_n(is_small, repeated(kind.type(0), shape), rate), dtype
    )
    # Each element uses only one of the loops, so both may consume the key: `random_clone`
    # informs the key reuse checker.
    rejection_counts = _poisson_by_rejection(
        random_clone(key), select_n(is_small, rate, repeated(kind.type(1e5), shape)), dtype
    )
    is_zero = eq(rate, kind.type(0))
    return select_n(
        is_zero,
        select_n(is_small, rejection_counts, waiting_counts),
        repeated(dtype.type(0), shape),
    )


# ---------------------------------------------------------------------------- binomial

# log(k!) minus its Stirling approximation without the tail of the series, for k = 0 .. 9.
STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: Any) -> Any:
    """Return the tail of Stirling's series; beyond 9 its value at 9, as in JAX."""
    kind = aval_of(k).dtype

    def c(x: float) -> Any:
        return constant(x, kind)

    near = clamp(c(0), k, c(9))
    next_k = add(near, c(1))
    square = mul(next_k, next_k)
    series = sub(c(1 / 360), div(c(1 / 1260), square))
    series = div(sub(c(1 / 12), div(series, square)), next_k)
    table = np.asarray(STIRLING_TAILS, np.float64).astype(kind)
    index = convert_element_type(floor(near), np.int32)
    return select_n(le(k, c(9)), series, indexing.take(table, index, 0, mode="clip"))


def _binomial_by_waiting(key: Any, count: Any, log_failure: Any, dtype: Any) -> Any:
    """Count the geometric waiting times that fit into `count`,
    for few expected successes."""
    shape, kind = aval_of(count).shape, aval_of(count).dtype

    def cond(state: Any) -> Any:
        i, _, total, _ = state
        return bitwise_and(any_of(le(total, count)), below_limit(i, dtype))

    def body(state: Any) -> Any:
        i, successes, total, key = state
        sub_key, key = split_of(key)
        incremented = add(successes, kind.type(1))
        successes = select_n(le(total, count), successes, incremented)
        wait = ceil(div(log(unit_of(sub_key, shape, kind)), log_failure))
        return add(i, np.int32(1)), successes, add(total, wait), key

    zeros = repeated(kind.type(0), shape)
    state = while_loop(cond, body, (np.int32(0), zeros, zeros, key))
    return sub(state[1], kind.type(1))


def _binomial_by_rejection(key: Any, count: Any, p: Any, dtype: Any) -> Any:
    """Draw by transformed rejection with squeeze (BTRS), for at least ten successes."""
    shape, kind = aval_of(count).shape, aval_of(count).dtype

    def c(x: float) -> Any:
        return constant(x, kind)

    one, half = c(1), c(0.5)
    deviation = sqrt(mul(mul(count, p), sub(one, p)))
    b = add(c(1.15), mul(c(2.53), deviation))
    a = add(add(c(-0.0873), mul(c(0.0248), b)), mul(c(0.01), p))
    centre = add(mul(count, p), half)
    v_r = sub(c(0.92), div(c(4.2), b))
    odds = div(p, sub(one, p))
    alpha = mul(add(c(2.83), div(c(5.1), b)), deviation)
    mode = floor(mul(add(count, one), p))

    def above(x: Any) -> Any:
        return add(sub(count, x), one)  # count - x + 1

    def propose(u: Any, v: Any) -> tuple[Any, Any]:
        edge = sub(half, magnitude(u))
        accepts_early = bitwise_and(ge(edge, c(0.07)), le(v, v_r))
        k = floor(add(mul(add(div(mul(c(2), a), edge), b), u), centre))
        is_rejected = bitwise_or(lt(k, c(0)), gt(k, count))
        v = log(div(mul(v, alpha), add(div(a, mul(edge, edge)), b)))
        bound = mul(add(mode, half), log(div(add(mode, one), mul(odds, above(mode)))))
        bound = add(bound, mul(add(count, one), log(div(above(mode), above(k)))))
        last = log(div(mul(odds, above(k)), add(k, one)))
        bound = add(bound, mul(add(k, half), last))
        bound = add(bound, _stirling_tail(mode))
        bound = add(bound, _stirling_tail(sub(count, mode)))
        bound = sub(bound, _stirling_tail(k))
        bound = sub(bound, _stirling_tail(sub(count, k)))
        accepts_late = bitwise_and(bitwise_not(is_rejected), le(v, bound))
        return k, bitwise_or(accepts_early, accepts_late)

    return sample_by_rejection(key, propose, shape, kind, dtype)


def binomial_of(key: Any, n: Any, p: Any, dtype: Any) -> Any:
    """Draw binomial numbers of a dtype, in the common float dtype of n and p."""
    shape, kind = aval_of(n).shape, aval_of(n).dtype

    def full(x: float, kind: Any = kind) -> Any:
        return repeated(constant(x, kind), shape)

    one = kind.type(1)
    small_p = lt(p, kind.type(0.5))
    q = select_n(small_p, sub(one, p), p)  # the probability of the rarer outcome
    bad_n = bitwise_or(ne(n, n), lt(n, kind.type(0)))
    is_infinite = eq(magnitude(n), kind.type(math.inf))
    bad_q = bitwise_or(ne(q, q), lt(q, kind.type(0)))
    q_is_nan = ne(q, q)
    q = select_n(bad_q, q, full(0.01))
    by_waiting_mask = bitwise_or(bad_n, le(mul(n, q), kind.type(10)))
    n = floor(n)
    # In lanes of the other algorithm, each loop gets numbers with which it ends soon.
    by_waiting = _binomial_by_waiting(
        key, select_n(by_waiting_mask, full(0), n), log1p(neg(q)), dtype
    )
    by_rejection = _binomial_by_rejection(
        random_clone(key),
        select_n(by_waiting_mask, n, full(1e4)),
        select_n(by_waiting_mask, q, full(0.5)),
        dtype,
    )
    out = convert_element_type(select_n(by_waiting_mask, by_rejection, by_waiting), dtype)
    invalid = bitwise_or(bad_q, bad_n)
    out = select_n(invalid, out, full(math.nan, dtype))
    is_valid_infinite = bitwise_and(is_infinite, bitwise_not(invalid))
    out = select_n(is_valid_infinite, out, full(math.inf, dtype))
    keeps_count = bitwise_or(bitwise_or(bitwise_or(small_p, bad_n), q_is_nan), is_infinite)
    return select_n(keeps_count, sub(convert_element_type(n, dtype), out), out)


@distribution()
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw binomial random numbers: the numbers of successes in `n` trials.

    Args:
      key: a random key.
      n: the number of trials; a number or an array.
      p: the probability of success; a number or an array.
      shape: the result's shape (default: what `n` and `p` broadcast to).
      dtype: a float dtype (default: the dtype of Python floats).

    Returns:
      Floats: nan for an invalid `n` or `p`, inf for infinitely many trials.

    Raises:
      ValueError: shapes do not fit, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.binomial(mj.random.key(0), 10, 0.5, (4,)).shape
      (4,)

    Source: Kachitvichyanukul and Schmeiser (1988); Hörmann (1993).
    """
    shape = shape_of_all("binomial", shape, n, p)
    (p,) = promote_dtypes_inexact(p)
    n, p = (repeated(as_dtype(x, aval_of(p).dtype), shape) for x in (n, p))
    return binomial_of(key, n, p, dtype)


# --------------------------------------------------------------------------- multinomial


@composite(static=("shape", "dtype", "unroll"))
def _multinomial(key: Any, n: Any, p: Any, shape: Any, dtype: Any, unroll: Any) -> Any:
    typed, _ = opaque("multinomial", key)
    n, p = promote_dtypes_inexact(n, p)
    kind, categories = aval_of(p).dtype, aval_of(p).shape[-1:]
    if not categories:
        raise value_problem(
            "multinomial requires p.ndim >= 1.",
            p,
            why="its last axis holds the categories' probabilities.",
        )
    batch = [aval_of(n).shape, aval_of(p).shape[:-1]]
    param_shape = (*broadcast_shapes("multinomial", batch), *categories)
    if shape is None:
        shape = param_shape
    elif broadcast_shapes("multinomial", [shape, param_shape]) != shape:
        raise value_problem(
            f"multinomial: shape {shape} does not fit parameters of shape {param_shape}.",
            p,
            why="it must end with the categories, and the parameters must broadcast to it.",
        )
    p = move_axis(repeated(p, shape), len(shape) - 1, 0)
    # For each category draw a binomial number with its probability among the remaining
    # ones.
    remaining = cumsum(p, 0, reverse=True)
    is_zero = eq(remaining, kind.type(0))
    conditional_p = div(
        p, select_n(is_zero, remaining, repeated(kind.type(1), aval_of(remaining).shape))
    )
    keys = random_split_p.bind(typed, shape=categories)

    def step(trials: Any, x: Any) -> tuple[Any, Any]:
        conditional_p, key = x
        conditional_p = min(kind.type(1), max(kind.type(0), conditional_p))
        count = binomial_of(key, trials, conditional_p, kind)
        return sub(trials, count), count

    _, counts = run_scan(step, repeated(n, shape[:-1]), (conditional_p, keys), unroll=unroll)
    return convert_element_type(move_axis(counts, 0, len(shape) - 1), dtype)


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1
) -> Any:
    r"""Draw multinomial random counts: :math:`P(k) = n! \prod_i p_i^{k_i} / k_i!`.

    They are the counts of each category in `n` trials.

    Args:
      key: a random key.
      n: the number of trials; a number or an array.
      p: the categories' probabilities, along the last axis.
      shape: the result's shape, including the categories (default: what `n` and `p`
        broadcast to).
      dtype: a numeric dtype (default: the dtype of Python floats).
      unroll: the number of categories per iteration of the loop.

    Returns:
      An array of `dtype`, of shape `shape` or `(*batch, categories)`, where `batch` is
      what `n` and the leading axes of `p` broadcast to; it sums to `n` along the last
      axis.

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> import minijax as mj
      >>> p = mj.numpy.array([.2, .3, .5])
      >>> mj.random.multinomial(mj.random.key(0), 10, p).sum()
      Array(10., dtype=float32)
    """
    if dtype is None:
        dtype = dtypes.float_default()
    else:
        dtype = dtype_arguments.requested_dtype(dtype, "multinomial")
    shape = None if shape is None else static_shape(shape, "multinomial")
    return _multinomial(key, n, p, shape, dtype, unroll)
