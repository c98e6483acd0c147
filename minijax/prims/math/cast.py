"""Conversions between dtypes: by value, by bits, and by rounding to fewer bits.

A conversion to the dtype and weak type that a value already has is the identity.  Between
inexact dtypes a conversion is linear, and its transpose is a conversion.  Conversions to or
from integers have zero derivatives.

This file contains no arithmetic.  Next: algebraic.py.
"""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np

from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import FORWARDS, Facts
from ...passes.ad_util import Zero, core_ops
from ...runtime.arrays.transfers import put_numpy, typed_constant
from ...runtime.lowering.context import physical
from ...types import dtypes
from ...types.avals import shaped
from .. import dtype_arguments
from ..elementwise import *
from ..sharding_specs import first_operand_specs

__all__ = (
    "convert_element_type_p",
    "convert_element_type",
    "bitcast_convert_type_p",
    "bitcast_convert_type",
    "reduce_precision_p",
    "reduce_precision",
)

# ---- conversion by value

convert_element_type_p = Primitive("convert_element_type")


def convert_abstract(x: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    opaque = dtypes.is_extended(x.dtype) or dtypes.is_extended(new_dtype)
    if opaque and x.dtype != new_dtype and not _may_convert(x.dtype, new_dtype):
        raise errors.value_error(
            f"Cannot convert_element_type from {x.dtype} to {new_dtype}",
            which=x.str_short(True),
            why="An opaque element has no numeric value.",
            tries=["random.key_data and random.wrap_key_data for keys"],
        )
    return shaped(x.shape, new_dtype, weak_type)


def _may_convert(old: Any, new: Any) -> bool:
    """Whether the rules of a library's extended dtype allow this conversion."""
    rules, back = dtypes.rules_of(old), dtypes.rules_of(new)
    if rules is not None and not rules.convert_from(old, new):
        return False
    if back is not None and not back.convert_to(old, new):
        return False
    return rules is not None or back is not None


def convert_jvp(primals: Any, tangents: Any, *, new_dtype: Any, **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    ans = convert_element_type_p.bind(x, new_dtype=new_dtype, **params)
    tangent_dtype = dtypes.tangent_of(new_dtype)
    if type(t) is Zero or tangent_dtype == dtypes.float0:
        return ans, Zero(core.aval_of(ans).to_tangent())
    return ans, convert_element_type_p.bind(t, new_dtype=tangent_dtype, **params)


def convert_transpose(ct: Any, x: Any, **_: Any) -> list[Any]:
    return [cast(ct, x.aval.dtype, x.aval.weak_type)]


def emit_convert(ctx: Any, x: Any, aval: Any, dtype: Any) -> Any:
    """Emit the conversion of a value of type `aval` to another dtype."""
    if aval.dtype == dtype:
        return x
    if dtypes.is_bool(dtype):
        return emit_compare(ctx, "NE", x, ctx.constant(0, aval), aval)
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(dtype):
        x = ctx.op("real", shaped(aval.shape, dtypes.real_of(aval.dtype)), x)
    return ctx.op("convert", shaped(aval.shape, dtype), x)


def from_two_bits(ctx: Any, x: Any, aval: Any) -> tuple[Any, Any]:
    """Return a value and its type, with two-bit integers converted to eight bits.

    The compiler uses one layout for arrays that are sorted or reduced together, but computes
    the bytes of two-bit elements in two ways.  So sorts are wrong or rejected.
    """
    if aval.dtype not in (dtypes.int2, dtypes.uint2):
        return x, aval
    signed = dtypes.is_signed(aval.dtype)
    wide = shaped(aval.shape, dtypes.int8 if signed else dtypes.uint8)
    return ctx.op("convert", wide, x), wide


def lower_convert(ctx: Any, x: Any, *, new_dtype: Any, **_: Any) -> Any:
    aval, new = physical(ctx.avals_in[0]), physical(ctx.avals_out[0])
    return emit_convert(ctx, x, aval, new.dtype)


convert_element_type_p.abstract = convert_abstract
convert_element_type_p.jvp = convert_jvp
convert_element_type_p.transpose = convert_transpose
batch_elementwise(convert_element_type_p)
convert_element_type_p.lower = lower_convert
convert_element_type_p.def_sharding(specs=first_operand_specs, linear_in="first")
convert_element_type_p.facts = Facts(
    elementwise=True,
    makes_no_nans=True,
    keeps_nans=True,
    uses_keys=FORWARDS,
    lowers_key_arrays=True,
    pretty={"sharding": None},
)


def cast(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Return `x` with exactly this dtype and weak type; `x` itself if it has them."""
    if type(x) is int and not dtypes.is_extended(dtype):
        return scalar(x, dtype, weak_type)  # also an int beyond the default int's range
    aval = core.aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if isinstance(x, HOST) and not aval.shape and not dtypes.is_extended(dtype):
        return scalar(x, dtype, weak_type)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


HOST = (*dtypes.PYTHON_SCALARS, np.ndarray, np.generic)
_PYTHON_KIND: dict[str, Any] = {"int": int, "float": float, "complex": complex}


def scalar(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Return a number on the host as a scalar of `dtype`, converted as on a device.

    Integers wrap.  Floats that become integers saturate, and nan becomes 0.  A weakly typed
    scalar is a Python number, or an array if no Python number has the dtype.  Converting a
    Python complex number to a real dtype raises TypeError.
    """
    if type(x) is complex and not (dtypes.is_complex(dtype) or dtypes.is_bool(dtype)):
        # Raises Python's own TypeError.
        int(x) if dtypes.is_integer(dtype) else float(x)  # type: ignore[call-overload,arg-type]
    value = np.asarray(x)
    if value.dtype.kind in "fc" and dtypes.is_integer(dtype):
        value = _saturated(float(value.real), ml_dtypes.iinfo(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = value.astype(dtype)
    if not weak_type:
        return typed_constant(value[()], dtype)
    kind = _PYTHON_KIND.get(dtypes.kind(dtype))
    if kind is not None and dtypes.scalar_dtype(kind) == dtype:
        return kind(value)
    return put_numpy(value, shaped((), dtype, True))


def _saturated(x: float, info: Any) -> Any:
    """Truncate `x` towards zero, and clip it to the range of an integer dtype."""
    low, high = int(info.min), int(info.max)
    if x != x:
        return np.asarray(0)
    return np.asarray(low if x < low else high if x > high else int(x))


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Convert elementwise to the nearest value of another dtype.

    Floats are truncated towards zero when they become integers.  A complex number that
    becomes real loses its imaginary part.

    Args:
      operand: an array of any shape, or a Python scalar.
      new_dtype: the dtype of the result.

    Returns:
      An array of `operand`'s shape and the new dtype (of 32 bits at most, unless 64-bit
      types are on), not weakly typed.

    Raises:
      TypeError: `new_dtype` is not a dtype.
      ValueError: `new_dtype` is None, or keys would be converted to or from numbers.

    Example:
      >>> convert_element_type(2.7, int)
      Array(2, dtype=int32)
    """
    dtype = user_dtype(new_dtype, "convert_element_type")
    if type(operand) in dtypes.PYTHON_SCALARS:
        if type(operand) is complex:
            warn_if_complex_to_real(dtypes.complex64, dtype)
        return put_numpy(scalar(operand, dtype))
    aval = core.aval_of(operand)
    if aval.dtype == dtype and not aval.weak_type:
        if isinstance(operand, HOST):
            return put_numpy(operand)
        if is_array(operand):
            return operand
    warn_if_complex_to_real(aval.dtype, dtype)
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=False, sharding=None)


# Common dtype arguments.  64-bit ones are not here: they may have to be narrowed.
_COMMON_DTYPES: dict[Any, Any] = {
    name: dtype
    for dtype in (
        dtypes.bool_,
        *dtypes.SIGNED[:-1],
        *dtypes.UNSIGNED[:-1],
        *dtypes.FLOATS[:-1],
        dtypes.complex64,
    )
    for name in (dtype, dtype.type)
}


def user_dtype(dtype: Any, fun: str) -> Any:
    """Return the dtype of a user's argument; warn if 64 bits are requested but disabled."""
    try:
        known_dtype = _COMMON_DTYPES.get(dtype)
    except TypeError:  # unhashable
        known_dtype = None
    if known_dtype is not None:
        return known_dtype
    if dtype is None:
        raise ValueError(f"{fun}: dtype must be specified, got None.")
    return dtype_arguments.requested_dtype(dtype, fun)


def warn_if_complex_to_real(old: Any, new: Any) -> None:
    """Warn about a conversion that discards imaginary parts."""
    if dtypes.is_complex(old) and (dtypes.is_float(new) or dtypes.is_integer(new)):
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=3,
        )


# ---- conversion by bits

bitcast_convert_type_p = Primitive("bitcast_convert_type")
bitcast_convert_type_p.def_sharding(specs=first_operand_specs)


def bitcast_abstract(x: Any, *, new_dtype: Any) -> Any:
    old = x.dtype
    old_bits, new_bits = dtypes.bits_of(old), dtypes.bits_of(new_dtype)
    if old_bits < new_bits and (not x.shape or x.shape[-1] * old_bits != new_bits):
        last = x.shape[-1] if x.shape else 1
        raise errors.value_error(
            f"Attempting to convert array of shape {x.shape} from {old} of size"
            f" {old_bits} bits to {new_dtype} of size {new_bits}, bits but {last} * {old_bits}"
            f" != {new_bits}",
            why=f"The last axis must contain the {new_bits} bits of one element, so its"
            f" size must be {new_bits // old_bits}.",
            tries=[f"reshape the operand to (..., n, {new_bits // old_bits})"],
        )
    for dtype in (old, new_dtype) if old != new_dtype else ():
        if dtypes.kind(dtype) not in ("int", "uint", "float"):
            raise errors.type_error(
                "lax.bitcast_convert_type does not support bool or complex values"
                f" unless the operand and destination types match: got {old.name}"
                f" to {new_dtype.name}.",
                which=x.str_short(True),
                why="The compiler chooses their representation in memory.",
                tries=["x.view(dtype)", "lax.real and lax.imag", "x.astype(dtype)"],
            )
    if old_bits > new_bits:
        return shaped((*x.shape, old_bits // new_bits), new_dtype)
    return shaped(x.shape[:-1] if old_bits < new_bits else x.shape, new_dtype)


def lower_bitcast(ctx: Any, x: Any, *, new_dtype: Any) -> Any:
    return ctx.op("bitcast_convert", ctx.avals_out[0], x)


def bitcast_batch(axis: Any, args: Any, dims: Any, *, new_dtype: Any) -> Any:
    (x,), (d,) = args, dims
    aval = core.aval_of(x)
    if dtypes.bits_of(new_dtype) > dtypes.bits_of(aval.dtype) and d == aval.ndim - 1:
        x, d = core_ops.move_axis(x, d, 0), 0  # the last axis will disappear
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), d


bitcast_convert_type_p.abstract = bitcast_abstract
zero_jvp(bitcast_convert_type_p)
bitcast_convert_type_p.batch = bitcast_batch
bitcast_convert_type_p.lower = lower_bitcast
bitcast_convert_type_p.facts = Facts(makes_no_nans=True)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """Read the bits of each element as another dtype.

    For a dtype with fewer bits, the result has a new last axis.  For a dtype with more bits,
    the last axis disappears; it must contain exactly the bits of one element.

    Args:
      operand: an array of any shape.
      new_dtype: the dtype of the result; neither bool nor complex.

    Returns:
      An array of the new dtype, of `operand`'s shape except for an axis added or removed at
      the end.

    Raises:
      TypeError: one of the dtypes is bool or complex.
      ValueError: the last axis does not contain exactly one element.

    Example:
      >>> import numpy as np
      >>> bitcast_convert_type(np.float32(1.0), 'int32')
      Array(1065353216, dtype=int32)
    """
    dtype = user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


# ---- fewer bits


def reduce_precision_transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
    return [reduce_precision_p.bind(ct, **params)]


def lower_reduce_precision(ctx, x, *, exponent_bits: int, mantissa_bits: int):
    return ctx.op(
        "reduce_precision",
        ctx.avals_out[0],
        x,
        exponent_bits=ctx.i32(exponent_bits),
        mantissa_bits=ctx.i32(mantissa_bits),
    )


reduce_precision_p = nary(
    "reduce_precision",
    [FLOAT],
    lower=lower_reduce_precision,
    makes_no_nans=True,
    keeps_nans=True,
)
linear_in_first(reduce_precision_p, reduce_precision_transpose)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round elementwise to a float with these numbers of bits; keep the dtype.

    Args:
      operand: an array of a float dtype.
      exponent_bits: bits of the exponent, at least 1.
      mantissa_bits: bits of the mantissa, at least 0.

    Returns:
      An array of `operand`'s shape and dtype.

    Raises:
      TypeError: the dtype is not a float dtype.
      ValueError: the numbers of bits are too small.

    Example:
      >>> reduce_precision(1.001, exponent_bits=8, mantissa_bits=7)
      Array(1., dtype=float32, weak_type=True)
    """
    import operator

    exponent, mantissa = operator.index(exponent_bits), operator.index(mantissa_bits)
    if exponent < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent}")
    if mantissa < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa}"
        )
    return reduce_precision_p.bind(operand, exponent_bits=exponent, mantissa_bits=mantissa)
