"""Arrays filled with one value: `full`, `full_like`, zeros.

Next: ../reduce/over_axes.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import core, hooks
from ...passes.ad_util import core_ops
from ...runtime.arrays.array import ARRAYS
from ...runtime.arrays.transfers import put_numpy
from ...runtime.sharding.manual_axis_type import ManualAxisType
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import NamedSharding, Sharding
from ...types import dtypes
from ...types.avals import shaped
from ...types.type_sharding import NO_MANUAL_AXES, ManualAxes, TypeFlags, to_manual_axes
from ..math.cast import HOST, cast, user_dtype
from ..sharding_specs import is_empty_sharding
from .creation import zero_array
from .shapes import broadcast, shape_tuple, type_problem

__all__ = ("full", "full_like", "dtype")


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array filled with `fill_value`.

    Args:
      shape: the shape, a sequence of ints or an int.
      fill_value: a scalar.
      dtype: the dtype (default: the dtype of `fill_value`).
      sharding: the sharding of the array, or None.

    Returns:
      An array of this shape and dtype, weakly typed if `fill_value` is and `dtype` is None.

    Raises:
      TypeError: `fill_value` is not a scalar, or the shape not a sequence of ints.

    Example:
      >>> full((2,), 1.5)
      Array([1.5, 1.5], dtype=float32, weak_type=True)
    """
    shape = shape_tuple(shape)
    if (
        dtype is not None and type(fill_value) is int
    ):  # also an int beyond the default int's range
        return _filled(shape, fill_value, user_dtype(dtype, "full"), False, sharding)
    aval = core.aval_of(fill_value)
    if aval.shape:
        raise type_problem(
            f"full must be called with scalar fill_value, got fill_value.shape {aval.shape}.",
            aval,
            why="Every element gets the same value.",
            tries=["lax.broadcast_in_dim", "minijax.numpy.full, which broadcasts"],
        )
    weak = dtype is None and aval.weak_type
    if dtype is None:
        dtype = aval.dtype
    else:
        dtype = user_dtype(dtype, "full")
    return _filled(shape, fill_value, dtype, weak, sharding)


def _filled(shape: tuple[int, ...], value, dtype, weak: bool, sharding):
    """Return `full` for an explicit dtype and weak type."""
    if dtypes.is_extended(dtype) and (type(value) is int or core.aval_of(value).dtype != dtype):
        rules = dtypes.rules_of(dtype)
        if rules is not None:
            return rules.full(shape, value, dtype)
        # A number fills every word of the keys.
        words_shape = (*shape, *dtype.base_shape)
        words = _filled(words_shape, value, dtype.base_dtype, False, None)
        out = hooks.wrap_key_words.call(words, dtype.impl)
    else:
        out = cast(value, dtype, weak)
        if shape:
            out = broadcast(out, shape)
        elif isinstance(out, HOST):
            out = put_numpy(np.asarray(out, dtype), shaped((), dtype, weak))
    return (
        out
        if sharding is None or is_empty_sharding(sharding)
        else core_ops.device_put(out, sharding)
    )


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """Return an array like `x`, filled with `fill_value`.

    Args:
      x: an array, or another object with a shape and a dtype.
      fill_value: a scalar.
      dtype, shape: the result's dtype and shape (default: those of `x`).
      sharding: the sharding of the result.  None: the sharding of `x`, if `x` is committed or
        a `ShapeDtypeStruct` with a sharding, and has this shape or is fully replicated.

    Returns:
      An array of `x`'s shape and dtype, unless overridden; weakly typed if `x` is and `dtype`
      is None.

    Raises:
      TypeError: `fill_value` is not a scalar.

    Example:
      >>> full_like(full((2,), 1.5), 2)
      Array([2., 2.], dtype=float32, weak_type=True)
    """
    if shape is None:
        shape = np.shape(x) if type(x) in dtypes.PYTHON_SCALARS else x.shape
    shape = shape_tuple(shape)
    if sharding is None:
        sharding = sharding_of_like(x, shape)
    if dtype is not None or (type(fill_value) is not int and core.aval_of(fill_value).shape):
        out = full(shape, fill_value, dtype, sharding=sharding)
        aval = _type_of_like(x)
    else:
        aval = _type_of_like(x)
        out = _filled(shape, fill_value, aval.dtype, aval.weak_type, sharding)
    return (
        core_ops.reshard_to_aval(out, aval)
        if TypeFlags.has_sharded_types and sharding is None
        else out
    )


def _type_of_like(x: Any) -> Any:
    """Return the type of a value, or a scalar type for another object with a dtype."""
    if core.is_value(x):
        return core.aval_of(x)
    return shaped((), dtypes.canonical(x.dtype)).update(manual=manual_axes_of_like(x))


def manual_axes_of_like(x: Any) -> Any:
    """Return the manual axes of an array like a `ShapeDtypeStruct`."""
    kinds, typed_axes = getattr(x, "manual_axis_type", None), core.typed_axes()
    if not isinstance(kinds, ManualAxisType) or not typed_axes:
        return NO_MANUAL_AXES
    in_scope = {k: getattr(kinds, k).intersection(typed_axes) for k in ManualAxes._fields}
    return to_manual_axes(ManualAxisType(**in_scope), typed_axes)


def sharding_of_like(x: Any, shape: tuple[int, ...]) -> Any:
    """Return the sharding of an array like `x` with this shape: the sharding of `x`.

    None if `x` has no sharding, or is sharded along axes that this shape may lack.
    """
    if type(x) in ARRAYS:
        if core.STATE.trace is not core.EVAL or not x.committed:
            return None
    elif core.is_value(x) or not isinstance(getattr(x, "sharding", None), Sharding):
        return None
    sharding = x.sharding
    if shape == x.shape or not isinstance(sharding, NamedSharding):
        return sharding
    is_replicated = sharding.is_fully_replicated
    return sharding.with_spec(PartitionSpec()) if is_replicated else None


def dtype(x: Any) -> Any:
    """Return the dtype of a value, or of arrays of a scalar type.

    Args:
      x: an array or number; or a scalar type of Python or NumPy, or a `np.dtype`.

    Returns:
      The dtype of an array of it; without 64-bit types, of 32 bits at most.

    Raises:
      TypeError: `x` is neither an array nor a scalar type.
      ValueError: `x` is None.

    Example:
      >>> dtype(1.0), dtype(int)
      (dtype('float32'), dtype('int32'))
    """
    if x is None:
        raise ValueError("Invalid argument to dtype: None.")
    if isinstance(x, (type, np.dtype, dtypes.ExtendedDType)):
        return dtypes.canonical(x)
    return core.aval_of(x).dtype


def zeros_like(x: Any) -> Any:
    """Return zeros of the shape, dtype and weak type of `x`."""
    return zero_array(core.aval_of(x))
