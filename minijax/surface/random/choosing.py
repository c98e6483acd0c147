"""Bernoulli numbers, Gumbel numbers, categories, permutations and choices.

A Bernoulli number compares a uniform number with its probability.  A category is the
largest of the logits plus Gumbel noise (the Gumbel-max trick); several categories without
replacement are the largest few.  A permutation sorts by random bits, repeatedly, so that
equal bits do not matter.

Next: continuous.py.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import ml_dtypes
import numpy as np

from ...base import config
from ...base.util import canonical_axis
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims import dtype_arguments
from ...prims.math.algebraic import add, mul, neg, sub
from ...prims.math.cast import bitcast_convert_type, convert_element_type
from ...prims.math.elementary import log, log1p
from ...prims.math.logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    clz,
    eq,
    ge,
    lt,
    select_n,
    shift_left,
    shift_right_logical,
)
from ...prims.random.key_arrays import random_bits_p
from ...prims.reduce.cumulative import cumsum
from ...prims.reduce.over_axes import argmax
from ...prims.shape.creation import iota
from ...prims.shape.shapes import expand_dims, reshape, transpose
from ...prims.shape.slicing import index_in_dim, slice_in_dim
from ...prims.sort import sort_key_val, top_k
from ...types import dtypes
from ..numpy import indexing, searching
from .common import *
from .sampling import Shape, randint_of, split_of, uniform_of, unit_of

__all__ = ("bernoulli", "gumbel", "categorical", "permutation", "choice")

# --------------------------------------------------------------------------- bernoulli


def bernoulli_of(key: Any, p: Any, shape: Shape, mode: str = "low") -> Any:
    """Return random bools that are True with probability `p`."""
    dtype = aval_of(p).dtype
    if mode == "low":
        return lt(unit_of(key, shape, dtype), align_to_shape(p, shape))
    first, second = _two_units(key, shape, dtype)
    # True if first + eps * second < p: the precision of a draw with twice the bits.
    eps = ml_dtypes.finfo(dtype).eps
    return lt(mul(second, dtype.type(eps)), sub(align_to_shape(p, shape), first))


def _two_units(key: Any, shape: Shape, dtype: Any) -> list[Any]:
    both = unit_of(key, (2, *shape), dtype)
    return [index_in_dim(both, i, keepdims=False) for i in range(2)]


@composite(static=("shape", "mode"))
def _bernoulli(key: Any, p: Any, shape: Any, mode: str) -> Any:
    typed, _ = opaque("bernoulli", key)
    aval = aval_of(p)
    if not dtypes.is_float(aval.dtype):
        raise type_problem(
            f"bernoulli probability `p` must have a floating dtype, got {aval.dtype}.",
            p,
            why="a probability is a number between 0 and 1.",
            tries=["float(p)", "p.astype(float)"],
        )
    shape = shape_of_all("bernoulli", shape, p)
    return bernoulli_of(typed, as_dtype(p, aval.dtype), shape, mode)


def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """Draw random bools that are True with probability `p`.

    Args:
      key: a random key.
      p: a probability, or an array of them.
      shape: the result's shape (default: the shape of `p`).
      mode: 'high' draws twice the bits, so that tiny probabilities are precise.
      out_sharding: the sharding of the result.

    Returns:
      An array of bools, of shape `shape` or the shape of `p`.

    Raises:
      TypeError: `p` is not a float.
      ValueError: shapes do not fit, or the mode is unknown.

    Example:
      >>> import minijax as mj
      >>> mj.random.bernoulli(mj.random.key(0), 0.5, (3,))
      Array([False, False,  True], dtype=bool)
    """
    if mode not in ("low", "high"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    if shape is not None:
        shape = static_shape(shape, "bernoulli")
    out = _bernoulli(key, p, shape, mode)
    return out if out_sharding is None else placed(out, out_sharding, "bernoulli")


# ------------------------------------------------------------------------------ gumbel


def gumbel_mode(mode: str | None) -> str:
    """Return the mode of Gumbel noise: the argument, or the configured mode."""
    if mode is None:
        return "high" if config.WIDE_GUMBEL.value else "low"
    if mode not in ("low", "high", "highest"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return mode


def gumbel_of(key: Any, shape: Shape, dtype: Any, mode: str) -> Any:
    """Draw standard Gumbel numbers."""
    tiny = ml_dtypes.finfo(dtype).tiny
    if mode == "low":
        u = uniform_of(key, shape, dtype, dtype.type(tiny), dtype.type(1))
        return neg(log(neg(log(u))))
    if mode == "highest" and dtype == dtypes.float32:
        return _gumbel_of_64_bits(key, shape)
    # Draw the upper tail from numbers near 0, where floats are dense.
    u, low_digits = _two_units(key, shape, dtype)
    eps = dtype.type(ml_dtypes.finfo(dtype).eps)
    extended_u = add(add(u, mul(eps, low_digits)), dtype.type(tiny))
    u = select_n(ge(u, dtype.type(0.5)), extended_u, u)
    return neg(log(neg(log1p(neg(u)))))


def _gumbel_of_64_bits(key: Any, shape: Shape) -> Any:
    """Draw standard Gumbel numbers from uniform numbers with 64 fractional bits.

    Uniform numbers from 1/2 on are represented by their distance from 1, because floats are
    dense near 0.
    """
    both = random_bits_p.bind(key, bit_width=32, shape=(2, *shape))
    high, low = (index_in_dim(both, i, keepdims=False) for i in range(2))
    small = lt(high, np.uint32(1 << 31))
    borrow = convert_element_type(eq(low, np.uint32(0)), np.uint32)
    u = _fraction(
        select_n(small, add(bitwise_not(high), borrow), high),
        select_n(small, add(bitwise_not(low), np.uint32(1)), low),
    )
    return neg(log(neg(select_n(small, log(u), log1p(neg(u))))))


def _fraction(high: Any, low: Any) -> Any:
    """Return (high + low / 2^32) / 2^32 of uint32 numbers as nonzero float32,
    rounded down."""
    high_is_zero = eq(high, np.uint32(0))
    zeros, low_zeros = clz(high), clz(low)
    top = bitwise_or(
        shift_left(high, zeros), shift_right_logical(low, sub(np.uint32(32), zeros))
    )
    top = select_n(high_is_zero, top, shift_left(low, low_zeros))
    zeros = select_n(high_is_zero, zeros, add(low_zeros, np.uint32(32)))
    exponent = shift_left(sub(np.uint32(126), zeros), np.uint32(23))
    digits = shift_right_logical(top, np.uint32(8))
    digits = bitwise_and(digits, np.uint32((1 << 23) - 1))
    return bitcast_convert_type(bitwise_or(exponent, digits), np.float32)


@composite(static=("shape", "dtype", "mode"))
def _gumbel(key: Any, shape: Shape, dtype: Any, mode: str) -> Any:
    return gumbel_of(opaque("gumbel", key)[0], shape, dtype, mode)


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw standard Gumbel random numbers, with density :math:`e^{-(x + e^{-x})}`.

    Args:
      key: a random key.
      shape: the result's shape.
      dtype: a float dtype (default: the dtype of Python floats).
      mode: 'high' draws twice the bits, for the far upper tail; 'highest' also uses them
        for the far lower tail (only float32; otherwise 'high'); None means 'low', or 'high'
        under jax_high_dynamic_range_gumbel.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Raises:
      ValueError: the mode is unknown, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.random.gumbel(mj.random.key(0), (2,))
      Array([2.9233725, 3.8326178], dtype=float32)
    """
    dtype = float_dtype("gumbel", dtype)
    out = _gumbel(key, static_shape(shape, "gumbel"), dtype, gumbel_mode(mode))
    return placed(out, out_sharding, "gumbel")


# ------------------------------------------------------------------------- categorical


@composite(static=("axis", "shape", "replace", "mode"))
def _categorical(key, logits, axis: int, shape, replace: bool, mode: str):
    typed, _ = opaque("categorical", key)
    aval = aval_of(logits)
    if not dtypes.is_float(aval.dtype):
        raise value_problem(
            f"dtype argument to `gumbel` must be a float dtype, got {aval.dtype}",
            logits,
            why="logits are unnormalized log probabilities.",
            tries=["logits.astype(float)"],
        )
    if not -aval.ndim <= axis < aval.ndim:
        raise IndexError(f"index {axis} is out of bounds for axis 0 with size {aval.ndim}")
    axis %= aval.ndim
    batch = aval.shape[:axis] + aval.shape[axis + 1 :]
    shape = batch if shape is None else shape
    if broadcast_shapes("categorical", [shape, batch]) != shape:
        raise value_problem(
            f"categorical: shape {shape} does not fit logits {aval.str_short(True)}.",
            logits,
            why=f"it must end with {batch}, the shape of the logits without the axis.",
        )
    prefix = shape[: len(shape) - len(batch)]
    index = dtypes.int_default()
    if replace:
        noise_shape = list(shape[len(prefix) :])
        noise_shape.insert(axis, aval.shape[axis])
        noise = gumbel_of(typed, (*prefix, *noise_shape), aval.dtype, mode)
        if prefix:
            logits = expand_dims(logits, range(len(prefix)))
        return argmax(add(noise, logits), axis + len(prefix), index)
    return _top_k_categories(typed, logits, axis, shape, prefix, mode)


def _top_k_categories(key, logits, axis: int, shape: Shape, prefix: Shape, mode: str):
    """Draw categories without replacement, one per element of the shape `prefix`."""
    aval = aval_of(logits)
    num_samples = math.prod(prefix)
    if num_samples > aval.shape[axis]:
        raise value_problem(
            f"Number of samples without replacement ({num_samples}) cannot exceed number of"
            f" categories ({aval.shape[axis]}).",
            logits,
            why="each category is drawn at most once.",
            tries=["replace=True"],
        )
    noise = gumbel_of(key, aval.shape, aval.dtype, mode)
    _, index = top_k(add(logits, noise), num_samples, axis=axis)
    axis_order = (axis, *(i for i in range(aval.ndim) if i != axis))
    return reshape(transpose(index, axis_order), shape)


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw random categories with probabilities softmax(logits).

    Args:
      key: a random key.
      logits: float array of unnormalized log probabilities along `axis`.
      axis: the axis of categories.
      shape: the result's shape, which ends with the shape of `logits` without `axis`
        (default: that shape); the axes before it are independent draws.
      replace: whether draws may repeat a category.
      mode: 'high' or 'highest' draws twice the bits, for very unlikely categories.
      out_sharding: the sharding of the result.

    Returns:
      Integers.

    Raises:
      ValueError: the shape does not fit, or needs more categories than exist; `logits` are
        not floats.
      IndexError: the axis is out of range.

    Example:
      >>> import minijax as mj
      >>> mj.random.categorical(mj.random.key(0), mj.numpy.zeros((3, 4)))
      Array([1, 3, 2], dtype=int32)
    """
    check_arrays("categorical", logits)
    if shape is not None:
        shape = static_shape(shape, "categorical")
    mode = gumbel_mode(mode)
    out = _categorical(key, logits, operator.index(axis), shape, bool(replace), mode)
    return placed(out, out_sharding, "categorical")


# ------------------------------------------------------------------------- permutation


def shuffled(key: Any, x: Any, axis: int) -> Any:
    """Shuffle the elements of `x` along `axis`, independently for each lane."""
    # Sorting n elements by 32 random bits leaves ties.  After r rounds ties remain with
    # probability n**2 / 2**(32 r), which must be below 1 / n.
    size = max(1, aval_of(x).size)
    rounds = math.ceil(3 * math.log(size) / math.log(2**32 - 1))
    shape = aval_of(x).shape
    for _ in range(rounds):
        key, sub = split_of(key)
        sort_keys = random_bits_p.bind(sub, bit_width=32, shape=shape)
        _, x = sort_key_val(sort_keys, x, axis)
    return x


def _shuffled_range(key: Any, n: int) -> Any:
    return shuffled(key, iota(dtypes.int_default(), n), 0)


def permutation_of(key: Any, x: Any, axis: int, independent: bool) -> Any:
    """Shuffle the slices of an array, or its elements, along an axis."""
    aval = aval_of(x)
    if independent or (aval.ndim == 1 and not dtypes.is_extended(aval.dtype)):
        return shuffled(key, x, axis)
    sampled_order = _shuffled_range(key, aval.shape[axis])
    return indexing.take(x, sampled_order, axis, unique_indices=True, mode="promise_in_bounds")


@composite(static=("n",))
def _permutation_of_range(key: Any, n: int) -> Any:
    return _shuffled_range(opaque("permutation", key)[0], n)


@composite(static=("axis", "independent"))
def _permutation(key: Any, x: Any, axis: int, independent: bool) -> Any:
    return permutation_of(opaque("permutation", key)[0], x, axis, independent)


def _population(x: Any, name: str) -> int | None:
    """Return the number n that a scalar represents as arange(n), or None for an array."""
    shape = aval_of(x).shape
    if shape:
        return None
    return int(concrete_or_error(int, x, f"It is the population of {name}."))


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """Return a random permutation of range(x), or of an array's slices.

    Args:
      key: a random key.
      x: an int, or an array.
      axis: the axis of an array along which to permute.
      independent: whether each lane along `axis` is permuted independently.
      out_sharding: the sharding of the result.

    Returns:
      An array of the shape and dtype of `x`; for an int `x`, of shape `(x,)` and the
      dtype of Python ints.

    Raises:
      TypeError: `x` is a float, or not an array.
      ValueError: the axis is out of range.

    Example:
      >>> import minijax as mj
      >>> mj.random.permutation(mj.random.key(0), 5)
      Array([0, 1, 4, 3, 2], dtype=int32)
    """
    check_arrays("permutation", x)
    aval = aval_of(x)
    if not aval.shape and not dtypes.is_integer(aval.dtype):
        raise type_problem(
            "x must be an integer or at least 1-dimensional",
            x,
            why="permutation needs an integer n, for range(n), or an array with slices.",
        )
    n = _population(x, "permutation")
    if n is not None:
        out = _permutation_of_range(key, max(n, 0))
    else:
        axis = canonical_axis(axis, aval.ndim)
        out = _permutation(key, x, axis, bool(independent))
    return placed(out, out_sharding, "permutation")


# ------------------------------------------------------------------------------ choice


def _positions(key: Any, n: int, shape: Shape, replace: bool, p: Any, mode: str) -> Any:
    """Draw indices below `n` with probabilities `p` (None: equal probabilities)."""
    num_samples = math.prod(shape)
    if p is None:
        if replace:
            return randint_of(key, shape, 0, n, dtypes.int_default())
        return reshape(slice_in_dim(_shuffled_range(key, n), 0, num_samples), shape)
    dtype = aval_of(p).dtype
    if not dtypes.is_float(dtype):
        dtype = dtypes.to_inexact(dtype)
        p = convert_element_type(p, dtype)
    if replace:
        total = cumsum(p)
        total_weight = index_in_dim(total, -1, keepdims=False)
        point = mul(total_weight, sub(dtype.type(1), unit_of(key, shape, dtype)))
        drawn = searching.searchsorted(total, point)
        return convert_element_type(drawn, dtypes.int_default())
    noise = gumbel_of(key, (n,), dtype, mode)
    _, index = top_k(add(noise, log(p)), num_samples)
    return reshape(convert_element_type(index, dtypes.int_default()), shape)


@composite(static=("n", "shape", "replace", "axis", "mode"))
def _choice(key, a, p, n: int, shape: Shape, replace: bool, axis: int, mode: str):
    typed, _ = opaque("choice", key)
    if a is not None and p is None and not replace:
        permuted = permutation_of(typed, a, axis, False)
        out = slice_in_dim(permuted, 0, math.prod(shape), axis=axis)
        full_shape = aval_of(a).shape
        return reshape(out, (*full_shape[:axis], *shape, *full_shape[axis + 1 :]))
    index = _positions(typed, n, shape, replace, p, mode)
    if a is None:
        return index
    return indexing.take(a, index, axis, mode="promise_in_bounds")


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Draw random elements of an array, or numbers below an int.

    Args:
      key: a random key.
      a: an array, or an int that means arange(a).
      shape: the shape of the draws.
      replace: whether an element may be drawn more than once.
      p: the elements' probabilities (default: equal).
      axis: the axis of `a` along which to choose.
      mode: 'high' or 'highest' draws twice the bits, for draws by `p` without
        replacement.

    Returns:
      An array of the dtype of `a` (for an int, the dtype of Python ints), of shape
      `(*a.shape[:axis], *shape, *a.shape[axis + 1:])`; for an int, of shape `shape`.

    Raises:
      ValueError: `a` is empty, it has too few elements to draw without replacement, or the
        number of probabilities is not the number of elements.
      TypeError: an argument is a list.

    Example:
      >>> import minijax as mj
      >>> mj.random.choice(mj.random.key(0), 5, (3,), replace=False)
      Array([0, 1, 4], dtype=int32)
    """
    if not hasattr(shape, "__iter__"):
        raise type_problem(
            f"shape argument of jax.random.choice must be a sequence, got {shape}",
            why="the third argument is a shape, not a number.",
            tries=[f"({shape},)"],
        )
    shape = static_shape(shape, "choice")
    check_arrays("choice", a, *(() if p is None else (p,)))
    n = _population(a, "choice")
    if n is None:
        axis = canonical_axis(axis, aval_of(a).ndim)
        n = aval_of(a).shape[axis]
    else:
        a = None
    dtype_arguments.check_holds("choice", n - 1, dtypes.int_default())
    num_samples = math.prod(shape)
    if n < 1 and num_samples > 0:
        raise value_problem(
            "a must be greater than 0 unless no samples are taken",
            a,
            why="there are no elements to choose from.",
        )
    if not replace and num_samples > n:
        raise value_problem(
            f"Cannot take a larger sample (size {num_samples}) than population (size {n})"
            " when 'replace=False'",
            a,
            why="each element is drawn at most once.",
            tries=["replace=True"],
        )
    if p is not None and aval_of(p).shape != (n,):
        raise value_problem(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has"
            f" shape {aval_of(p).shape} and a.shape[axis] is {n}.",
            p,
            why="each element needs a probability.",
        )
    if p is not None and dtypes.is_complex(aval_of(p).dtype):
        raise value_problem(
            "choice: p must be of a float dtype.", p, why="probabilities are real."
        )
    return _choice(key, a, p, n, shape, bool(replace), axis, gumbel_mode(mode))
