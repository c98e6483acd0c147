"""Comparisons of entire arrays: equal, equivalent, close.

Next: ufunc.py, the methods of ufuncs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import config
from ...control.calls.jit import composite
from ...prims import lax
from ...types import dtypes
from ._common import *
from .creation import asarray
from .floating_point import isfinite

__all__ = ("isclose", "allclose", "array_equal", "array_equiv")


@composite(static="equal_nan")
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether |a - b| <= atol + rtol * |b|, elementwise; equal infinities are close.

    Args:
      a, b: arrays or numbers that broadcast.
      rtol, atol: relative and absolute tolerance.
      equal_nan: whether nan is close to nan.

    Returns:
      Bool array of the broadcast shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isclose(jnp.array([1., 2.]), jnp.array([1.000001, 2.1]))
      Array([ True, False], dtype=bool)
    """
    check_arraylike("isclose", a, b, rtol, atol)
    x, y = promote_args("isclose", a, b)
    if dtypes.is_extended(aval_of(x).dtype):
        return lax.eq(x, y)  # keys cannot be subtracted
    if not dtypes.is_inexact(aval_of(x).dtype):
        x, y = promote_dtypes_inexact(x, y)
    real = dtypes.real_of(aval_of(x).dtype)
    margin = lax.mul(convert(rtol, real), lax.abs(y))
    margin = lax.add(convert(atol, real), margin)
    near = lax.le(lax.abs(lax.sub(x, y)), margin)
    out = lax.bitwise_or(lax.eq(x, y), lax.bitwise_and(isfinite(y), near))
    if equal_nan:
        out = lax.bitwise_or(out, lax.bitwise_and(lax.ne(x, x), lax.ne(y, y)))
    return out


def _every(x: Any) -> Any:
    axes = tuple(range(len(shape_of(x))))
    return lax.reduce_and(x, axes) if axes else convert(x, dtypes.bool_)


@composite(static="equal_nan")
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether all elements are close (see `isclose`).

    Args:
      a, b: arrays or numbers that broadcast.
      rtol, atol: relative and absolute tolerance.
      equal_nan: whether nan is close to nan.

    Returns:
      Bool array without axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.allclose(jnp.array([1., 2.]), jnp.array([1.000001, 2.]))
      Array(True, dtype=bool)
    """
    check_arraylike("allclose", a, b, rtol, atol)
    return _every(isclose(a, b, rtol, atol, equal_nan))


@composite(static="equal_nan")
def _all_equal(x: Any, y: Any, equal_nan: bool) -> Any:
    if aval_of(x).dtype == aval_of(y).dtype == dtypes.float0:  # which has only one value
        return asarray(np.bool_(True))
    x, y = promote_args("array_equal", x, y)
    same = lax.eq(x, y)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(lax.ne(x, x), lax.ne(y, y)))
    return _every(same)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements.

    Args:
      a1, a2: arrays, numbers or nested sequences.
      equal_nan: whether nan equals nan.

    Returns:
      Bool array without axes: False if the shapes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
      Array(True, dtype=bool)
    """
    x, y = asarray(a1), asarray(a2)
    if shape_of(x) != shape_of(y):
        return asarray(np.bool_(False))
    return _all_equal(x, y, bool(equal_nan))


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast to equal ones.

    Args:
      a1, a2: arrays, numbers or nested sequences.

    Returns:
      Bool array without axes: False if the shapes do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.array_equiv(jnp.array([1, 1]), 1)
      Array(True, dtype=bool)
    """
    x, y = asarray(a1), asarray(a2)
    try:
        np.broadcast_shapes(shape_of(x), shape_of(y))
    except ValueError:
        return asarray(np.bool_(False))
    if config.PROMOTION.value == "strict":  # comparison is allowed for any two dtypes
        with config.PROMOTION("standard"):
            return _all_equal(*ranked(x, y), False)
    return _all_equal(*ranked(x, y), False)
