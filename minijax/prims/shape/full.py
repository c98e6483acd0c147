"""Arrays filled with one value: `full`, `full_like`, zeros.

Next: ../reduce/over_axes.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import core
from ...passes.ad_util import core_ops
from ...runtime.arrays.array import ARRAYS
from ...runtime.arrays.transfers import put_numpy
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import NamedSharding, Sharding
from ...types import dtypes
from ...types.avals import TypeFlags, shaped
from ...types.manual_axes import ManualAxisKinds, ManualAxisType, to_axis_kinds
from ..explicit_sharding_rules import is_empty_sharding
from ..math.cast import HOST, cast, user_dtype
from .creation import zero_array
from .shapes import broadcast, shape_tuple, type_problem

__all__ = ("full", "full_like", "dtype")


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array of which every element is `fill_value`.

    Args:
      shape: the shape, a sequence of ints or an int.
      fill_value: a scalar.
      dtype: the dtype; by default that of `fill_value`.
      sharding: where to put the array, or None.

    Returns:
      An array of this shape and dtype; weakly typed if `fill_value` is and no `dtype`
      is given.

    Raises:
      TypeError: `fill_value` is no scalar, or the shape no sequence of ints.

    Example:
      >>> full((2,), 1.5)
      Array([1.5, 1.5], dtype=float32, weak_type=True)
    """
    shape = shape_tuple(shape)
    if dtype is not None and type(fill_value) is int:  # of any size
        return _filled(shape, fill_value, user_dtype(dtype, "full"), False, sharding)
    aval = core.aval_of(fill_value)
    if aval.shape:
        raise type_problem(
            f"full must be called with scalar fill_value, got fill_value.shape {aval.shape}.",
            aval,
            why="every element gets the same value.",
            tries=["lax.broadcast_in_dim", "minijax.numpy.full, which broadcasts"],
        )
    weak = dtype is None and aval.weak_type
    if dtype is None:
        dtype = aval.dtype
    else:
        dtype = user_dtype(dtype, "full")
    return _filled(shape, fill_value, dtype, weak, sharding)


def _filled(shape: tuple[int, ...], value, dtype, weak: bool, sharding):
    """`full`, with all of the type given."""
    if dtypes.is_extended(dtype) and (type(value) is int or core.aval_of(value).dtype != dtype):
        rules = dtypes.rules_of(dtype)
        if rules is not None:
            return rules.full(shape, value, dtype)
        # A number stands for keys of which it is every word.
        whole = (*shape, *dtype.base_shape)
        words = _filled(whole, value, dtype.base_dtype, False, None)
        out = core.registry["random_wrap"].bind(words, impl=dtype.impl)
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
    """Return an array like `x` of which every element is `fill_value`.

    Args:
      x: an array, or anything with a shape and a dtype.
      fill_value: a scalar.
      dtype, shape: those of the result; by default those of `x`.
      sharding: where to put the array; None for where `x` lies, if it is committed or
        a `ShapeDtypeStruct` with a sharding, and of this shape or whole on each device.

    Returns:
      An array of `x`'s shape and dtype, or those given; weakly typed as `x` is, unless
      `dtype` is given.

    Raises:
      TypeError: `fill_value` is no scalar.

    Example:
      >>> full_like(full((2,), 1.5), 2)
      Array([2., 2.], dtype=float32, weak_type=True)
    """
    if shape is None:
        shape = np.shape(x) if type(x) in dtypes.PYTHON_SCALARS else x.shape
    shape = shape_tuple(shape)
    if sharding is None:
        sharding = place_of_like(x, shape)
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
    """Return the type of a value; of anything else with a dtype, one without axes."""
    if core.is_value(x):
        return core.aval_of(x)
    return shaped((), dtypes.canonical(x.dtype)).update(manual_axis_kinds=manual_of_like(x))


def manual_of_like(x: Any) -> Any:
    """Along which axes of `shard_map` an array like a `ShapeDtypeStruct` varies."""
    kinds, known = getattr(x, "manual_axis_type", None), core.typed_axes()
    if not isinstance(kinds, ManualAxisType) or not known:
        return None
    in_scope = {k: getattr(kinds, k).intersection(known) for k in ManualAxisKinds._fields}
    return to_axis_kinds(ManualAxisType(**in_scope), known)


def place_of_like(x: Any, shape: tuple[int, ...]) -> Any:
    """Return where an array like `x`, of this shape, is to lie: the sharding of `x`.

    None if `x` has none of its own, or cuts axes that this shape may not have.
    """
    if type(x) in ARRAYS:
        if core.STATE.trace is not core.EVAL or not x.committed:
            return None
    elif core.is_value(x) or not isinstance(getattr(x, "sharding", None), Sharding):
        return None
    sharding = x.sharding
    if shape == x.shape or not isinstance(sharding, NamedSharding):
        return sharding
    whole = sharding.is_fully_replicated
    return sharding.with_spec(PartitionSpec()) if whole else None


def dtype(x: Any) -> Any:
    """Return the dtype of a value; of a type, that of arrays made of it.

    Args:
      x: an array or number; or a type of numbers: Python's, NumPy's, or a `np.dtype`.

    Returns:
      The dtype that an array of it has: with 64-bit types off, of 32 bits at most.

    Raises:
      TypeError: neither an array nor a type of numbers.
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
    """Zeros of the shape, dtype and weak type of `x`."""
    return zero_array(core.aval_of(x))
