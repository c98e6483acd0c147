"""Arrays without operands: numbers along an axis, uninitialized memory, zeros.

Next: full.py, concatenation.py.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...ir.core import ByPlatform
from ...runtime.arrays.transfers import typed_constant
from ...types import dtypes
from ...types.avals import shaped
from .. import dtype_arguments
from ..elementwise import zero_jvp
from ..sharding_specs import canonicalize_out_sharding
from .shapes import broadcast, check_sizes, primitive, shape_tuple, type_problem, value_problem

__all__ = ("iota_p", "iota", "broadcasted_iota", "empty")


def _no_operand(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    raise TypeError("minijax bug: a primitive without operands has no lanes")


def _iota_type(*, dtype: Any, shape: Any, dimension: Any, sharding: Any) -> Any:
    check_sizes("iota", "shape", shape)
    if dtypes.kind(dtype) not in ("int", "uint", "float", "complex"):
        raise type_problem(
            f"iota does not accept dtype {dtype}. Accepted dtypes are subtypes of"
            " integer, floating, complexfloating.",
            why="Positions are numbers.",
        )
    if not 0 <= dimension < len(shape):
        raise value_problem(
            "iota dimension must be between 0 and len(shape), got"
            f" dimension={dimension} for shape={shape}.",
            why="The numbers increase along an existing axis.",
        )
    dtype_arguments.check_holds("iota", shape[dimension] - 1, dtype)
    return shaped(shape, dtype)


def _iota_lower(ctx, *, dtype, shape, dimension, sharding):
    return ctx.op("iota", ctx.avals_out[0], iota_dimension=ctx.i64(dimension))


iota_p = primitive("iota", type=_iota_type, batch=_no_operand, lower=_iota_lower)
iota_p.def_sharding(request="sharding")
zero_jvp(iota_p)


def iota(dtype: Any, size: int) -> Any:
    """Return the numbers 0, 1, ... `size` - 1.

    Args:
      dtype: a numeric dtype.
      size: how many.

    Returns:
      An array of shape (size,) and this dtype.

    Example:
      >>> import numpy as np
      >>> iota(np.float32, 3)
      Array([0., 1., 2.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None
) -> Any:
    """Return each element's index along axis `dimension`.

    Args:
      dtype: a numeric dtype.
      shape: the shape of the result.
      dimension: the axis along which to count, non-negative.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of this shape and dtype.

    Raises:
      TypeError: `dtype` is bool.
      ValueError: the axis does not exist.

    Example:
      >>> import numpy as np
      >>> broadcasted_iota(np.int32, (2, 2), 1)
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return iota_p.bind(
        dtype=dtype_arguments.requested_dtype(dtype, "broadcasted_iota"),
        shape=shape_tuple(shape),
        dimension=operator.index(dimension),
        sharding=canonicalize_out_sharding("broadcasted_iota", out_sharding),
    )


def _empty_type(*, shape: Any, dtype: Any, out_sharding: Any) -> Any:
    check_sizes("empty", "shape", shape)
    return shaped(shape, dtype)


def _empty_lower(ctx: Any, *, shape: Any, dtype: Any, out_sharding: Any) -> Any:
    return ctx.constant(0, ctx.avals_out[0])


def _empty_lower_device(ctx: Any, *, shape: Any, dtype: Any, out_sharding: Any) -> Any:
    """Lower to uninitialized memory, on platforms whose compiler supports it."""
    aval = ctx.avals_out[0]
    if dtypes.is_extended(dtype):
        return ctx.constant(0, aval)
    return ctx.op("custom_call", aval, call_target_name=ctx.string("AllocateBuffer"))


empty_p = primitive(
    "empty",
    type=_empty_type,
    batch=_no_operand,
    lower=ByPlatform(_empty_lower, cuda=_empty_lower_device, tpu=_empty_lower_device),
    makes_no_nans=True,
    lowers_key_arrays=True,
)
empty_p.def_sharding(request="out_sharding")
zero_jvp(empty_p)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """Return an array whose elements should not be read before they are written.

    Args:
      shape: the shape, a sequence of ints or an int.
      dtype: the dtype.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of this shape and dtype.

    Example:
      >>> empty((2, 3), 'float32').shape
      (2, 3)

    Differs from NumPy: on CPUs the elements are zeros.
    """
    return empty_p.bind(
        shape=shape_tuple(shape),
        dtype=dtype_arguments.requested_dtype(dtype, "empty"),
        out_sharding=canonicalize_out_sharding("empty", out_sharding),
    )


def zero_array(aval: Any) -> Any:
    """Return zeros of a type; a scalar becomes a literal when it is staged.

    Key arrays have zero words.
    """
    if dtypes.is_extended(aval.dtype):
        rules = dtypes.rules_of(aval.dtype)
        if rules is not None:
            return broadcast(rules.zero(aval.dtype), aval.shape)
        return empty(aval.shape, aval.dtype)
    zero = np.zeros((), aval.dtype)[()]
    if aval.weak_type and aval.dtype == dtypes.scalar_dtype(type(zero.item())):
        zero = zero.item()
    else:
        zero = typed_constant(zero, aval.dtype)
    return broadcast(zero, aval.shape) if aval.shape else zero
