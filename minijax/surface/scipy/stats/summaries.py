"""Statistics of samples: the most frequent value, ranks, the standard error of the mean.

Next: density.py.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from ....base import errors
from ....control.calls.jit import composite
from ....prims import lax
from ....symbolic.dims import min_dim
from ....types import dtypes
from ... import jnp
from ...numpy._common import canonical_axes, check_arraylike, promote_dtypes_inexact
from ._common import *

__all__ = ("mode", "rankdata", "sem")

POLICIES = "{'propagate', 'omit', 'raise'}"


class ModeResult(NamedTuple):
    """The most frequent values and their counts."""

    mode: Any
    count: Any


def _check_policy(name: str, nan_policy: str) -> None:
    """Raise unless nan is to be propagated: a compiled function cannot inspect values."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise errors.value_error(
            f"Illegal nan_policy value '{nan_policy}'; expected one of {POLICIES}"
        )
    if nan_policy == "omit":
        raise NotImplementedError("Logic for `nan_policy` of omit is not implemented")
    if nan_policy == "raise":
        raise NotImplementedError(
            f"In order to best JIT compile `{name}`, we cannot know whether `x` contains"
            " nans. Please check if nans exist in `x` outside of the"
            f" `{name}` function."
        )


def _axis_last(a: Any, axis: int | None) -> tuple[Any, int]:
    """Move an axis last, or flatten the array if `axis` is None; return also the axis."""
    if axis is None:
        return a.reshape(-1), -1
    (axis,) = canonical_axes(operator.index(axis), a.ndim)
    return jnp.moveaxis(a, axis, -1), axis


def _sorted(a: Any) -> tuple[Any, Any, Any]:
    """Sort along the last axis; return sorted values, original positions, and whether each
    value differs from its predecessor.  Nans are equal."""
    last = a.ndim - 1
    at = lax.broadcasted_iota(dtypes.int_default(), a.shape, last)
    a, at = lax.sort((a, at), dimension=last, is_stable=True, num_keys=1)
    after, before = a[..., 1:], a[..., :-1]
    differ = (after != before) & ~((after != after) & (before != before))
    first = jnp.ones((*a.shape[:-1], min_dim(a.shape[-1], 1)), bool)
    return a, at, jnp.concatenate([first, differ], -1)


def _starts(first: Any) -> Any:
    """Return the start of the run of equal values that contains each element."""
    last = first.ndim - 1
    positions = lax.broadcasted_iota(dtypes.int_default(), first.shape, last)
    return lax.cummax(jnp.where(first, positions, 0), axis=last)


# --------------------------------------------------------------------------------- mode


@composite(static=("axis", "nan_policy", "keepdims"))
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    r"""Return the most frequent value along an axis, the smallest one of several:
    :math:`\arg\max_v \#\{i: a_i = v\}`.

    Args:
      a: array or number.
      axis: the axis; None for all elements.
      nan_policy: 'propagate': nan counts as a value.
      keepdims: keep the axis with size 1.

    Returns:
      ModeResult(mode, count): values of `a`'s dtype and their integer counts; nan and 0.
      for an empty axis.

    Raises:
      ValueError: the policy is unknown, or the axis is invalid.
      NotImplementedError: another policy.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import stats
      >>> stats.mode(jnp.array([3, 1, 3, 2]))
      ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    check_arraylike("mode", a)
    _check_policy("mode", nan_policy)
    a = jnp.atleast_1d(a) if jnp.ndim(a) == 0 else as_array(a)
    ndim = a.ndim
    rows, kept_axis = _axis_last(a, axis)
    shape, size = rows.shape[:-1], rows.shape[-1]
    if size:
        value, _, first = _sorted(rows)
        positions = lax.broadcasted_iota(dtypes.int_default(), value.shape, len(shape))
        counts = positions - _starts(first) + 1
        best = jnp.argmax(counts, axis=-1, keepdims=True)
        most = jnp.take_along_axis(value, best, -1)[..., 0]
        count = counts.max(-1)
    else:
        most = jnp.full(shape, NAN, dtypes.float_default())
        count = jnp.zeros(shape, dtypes.float_default())
    if keepdims:
        kept_shape = (
            (1,) * ndim
            if axis is None
            else tuple(1 if i == kept_axis else n for i, n in enumerate(a.shape))
        )
        most, count = most.reshape(kept_shape), count.reshape(kept_shape)
    return ModeResult(most, count)


# -------------------------------------------------------------------------------- ranks

METHODS = ("average", "min", "max", "dense", "ordinal")


@composite(static=("method", "axis", "nan_policy"))
def rankdata(
    a: ArrayLike,
    method: str = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Any:
    r"""Return ranks, from 1, along an axis: :math:`\#\{j: a_j \le a_i\}`, if all differ.

    Args:
      a: array or number.
      method: the rank of equal elements: the 'average', 'min' or 'max' of the ranks that
        they occupy; 'dense': the rank among distinct values; 'ordinal': distinct ranks, in
        order of position.
      axis: the axis; None for the flattened array.
      nan_policy: 'propagate': one nan makes all ranks along the axis nan.

    Returns:
      An array of the default float dtype and `a`'s shape; of shape (a.size,) for
      `axis=None`.

    Raises:
      ValueError: the method or policy is unknown, or the axis is invalid.
      NotImplementedError: another policy.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import stats
      >>> stats.rankdata(jnp.array([30, 10, 30, 20]))
      Array([3.5, 1. , 3.5, 2. ], dtype=float32)
    """
    check_arraylike("rankdata", a)
    _check_policy("rankdata", nan_policy)
    if method not in METHODS:
        raise errors.value_error(f"unknown method '{method}'", tries=[str(METHODS)])
    a = as_array(a)
    rows, at = _axis_last(a, axis)
    last = rows.ndim - 1
    _, sorted_indices, first = _sorted(rows)
    dtype = dtypes.float_default()
    if method == "dense":
        rank = jnp.cumsum(first, axis=-1).astype(dtype)
    elif method == "ordinal":
        rank = (
            lax.broadcasted_iota(sorted_indices.dtype, sorted_indices.shape, last) + 1
        ).astype(dtype)
    else:
        low = _starts(first)
        # In reverse, a run starts where the next run ends.
        final = jnp.concatenate([first[..., 1:], first[..., :1]], -1)
        high = rows.shape[-1] - 1 - lax.rev(_starts(lax.rev(final, (last,))), (last,))
        low, high = low.astype(dtype) + 1, high.astype(dtype) + 1
        rank = {"min": low, "max": high, "average": (low + high) / 2}[method]
    _, rank = lax.sort((sorted_indices, rank), dimension=last, num_keys=1)
    if dtypes.is_inexact(rows.dtype):
        rank = jnp.where(jnp.any(rows != rows, axis=-1, keepdims=True), NAN, rank)
    return rank if axis is None else jnp.moveaxis(rank, -1, at)


# ----------------------------------------------------------------------- standard error


@composite(static=("axis", "ddof", "nan_policy", "keepdims"))
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    r"""Return the standard error of the mean: :math:`s / \sqrt n`.

    Args:
      a: array.
      axis: the axis; None for all elements.
      ddof: the number subtracted from the number of elements in the variance.
      nan_policy: 'propagate', or 'omit' to ignore nans.
      keepdims: keep the axis with size 1.

    Returns:
      An array of `a`'s inexact dtype, without the axis; nan for at most `ddof` elements.

    Raises:
      ValueError: the policy is another, or the axis is invalid.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import stats
      >>> print(f"{stats.sem(jnp.array([1., 2., 3., 4.])):.4f}")
      0.6455
    """
    check_arraylike("sem", a)
    (a,) = promote_dtypes_inexact(as_array(a))
    if nan_policy not in ("propagate", "omit"):
        raise errors.value_error(
            f"{nan_policy} is not supported", tries=["'propagate' or 'omit'"]
        )
    if axis is not None:
        (axis,) = canonical_axes(operator.index(axis), a.ndim)
    if nan_policy == "omit":
        count: Any = jnp.sum(a == a, axis=axis, keepdims=keepdims)
        deviation = jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims)
        return (deviation / jnp.sqrt(count.astype(deviation.dtype))).astype(a.dtype)
    size = a.size if axis is None else a.shape[axis]
    deviation = jnp.std(a, axis, ddof=ddof, keepdims=keepdims)
    return (deviation / math.sqrt(size) if size else deviation * NAN).astype(a.dtype)
