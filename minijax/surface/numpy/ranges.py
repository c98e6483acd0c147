"""Ranges: arange, linspace, logspace and geomspace.

Sizes must be concrete when the program is traced.  Every range starts from `iota`; small
ones are made on the host.

Next: grids.py, for matrices and grids of indices.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import STATE, Tracer
from ...prims import dtype_arguments, lax, promotion
from ...runtime.arrays import transfers
from ...runtime.arrays.array import ArrayImpl
from ...symbolic.dims import SymbolicDim, max_dim
from ...types import dtypes
from ...types.avals import shaped
from . import elementwise
from ._common import *
from .creation import SMALL, on_device

__all__ = ("arange", "linspace", "logspace", "geomspace")

# ------------------------------------------------------------------------------ ranges


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return numbers from `start` up to, not including, `stop`, by `step`.

    Args:
      start, stop, step: concrete numbers; a single argument is `stop`.
      dtype: by default the common dtype of the arguments.
      device, out_sharding: device or sharding of the result.

    Returns:
      An array of `dtype`, shape (ceil((stop - start) / step),), empty if that is
      negative.

    Raises:
      ConcretizationTypeError: an argument is traced (sizes must be concrete).
      ValueError: an argument is complex or not a scalar.
      TypeError: `start` is None, or `dtype` bool.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.arange(2, 8, 3)
      Array([2, 5], dtype=int32)
    """
    if type(start) is int and step is dtype is device is out_sharding is None:
        first, last = (0, start) if stop is None else (start, stop)
        if type(last) is int and _LEAST <= first <= last <= -_LEAST:  # nearly all calls
            return _count(first, last)
    named_args = {"start": start, "stop": stop, "step": step}
    values = {
        k: known_number(v, k if stop is not None or k != "start" else "stop")
        for k, v in named_args.items()
        if v is not None
    }
    if start is None:
        raise TypeError("arange: start must be a number, got None.")
    requested_dtype = static_dtype(dtype, "arange")
    if requested_dtype is None:
        requested_dtype = promotion.promote(tuple(map(type_of_number, values.values())))[0]
    if dtypes.is_bool(requested_dtype):
        raise TypeError("arange does not make bools, but dtype bool was requested.")
    first, last, by = values["start"], values.get("stop"), values.get("step", 1)
    if last is None:
        first, last = 0, first
    if any(isinstance(x, SymbolicDim) for x in (first, last, by)):
        upper, lower, step_ = (last, first, by) if by > 0 else (first, last, -by)
        size = max_dim((upper - lower + step_ - 1) // step_, 0)
    else:
        size = max(0, math.ceil((last - first) / by))
    if dtypes.is_integer(requested_dtype) and isinstance(size, int) and size:
        dtype_arguments.check_holds("arange", int(first), requested_dtype)
        dtype_arguments.check_holds("arange", int(first + (size - 1) * by), requested_dtype)
    out = _range(size, first, by, requested_dtype, step is not None)
    return on_device(out, device, out_sharding)


_LEAST = -(1 << 31)


def _count(first: int, last: int) -> Any:
    """Return the integers from `first` up to `last`, which fit in 32 bits."""
    dtype, size = dtypes.int_default(), last - first
    if STATE.trace is not core.EVAL or type(size) is not int or size > SMALL:
        return _range(size, first, 1, dtype, False)
    return transfers.put_own(np.arange(first, last, dtype=dtype), shaped((size,), dtype))


def known_number(x: Any, name: str) -> Any:
    """Return an argument of arange as a concrete real scalar."""
    if isinstance(x, Tracer):
        x = concrete_or_error(None, x, f"It arose in the jnp.arange argument {name!r}.")
    if type(x) is ArrayImpl:
        x = x._value
    check_arraylike("arange", x)
    if np.ndim(x):
        raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={x!r}"[:200])
    if isinstance(x, complex) or getattr(x, "dtype", x) in dtypes.COMPLEX:
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported."
            f"\nWhich: {name}={x!r}"
            "\nWhy: complex numbers have no order."
        )
    return x[()] if isinstance(x, np.ndarray) else x


def type_of_number(x: Any) -> tuple[Any, bool]:
    """Return (dtype, weak) of a scalar argument."""
    if isinstance(x, SymbolicDim):
        return dtypes.scalar_dtype(int), True
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        kind = next(k for k in (bool, int, float) if isinstance(x, k))
        return dtypes.scalar_dtype(kind), kind is not bool
    return dtypes.canonical(np.asarray(x).dtype), False


def _number(x: Any, dtype: Any) -> Any:
    if isinstance(x, SymbolicDim):
        return x.of_dtype(dtype)
    return np.asarray(x).astype(dtype)[()]


def _range(size: int, start: Any, step: Any, dtype: Any, stepped: bool) -> Any:
    """Return start + step * [0, 1, ..., size - 1]; narrow floats are computed in float32."""
    if dtypes.is_float(dtype) and dtype.itemsize < 4:
        wide = _range(size, start, step, dtypes.float32, stepped)
        return convert(wide, dtype)
    first, by = _number(start, dtype), _number(step, dtype)
    small = STATE.trace is core.EVAL and type(size) is int and size <= SMALL
    if small and dtype.kind in "iuf":
        with np.errstate(over="ignore"):  # XLA overflows without a warning
            ramp = np.arange(size).astype(dtype)
            if stepped:
                ramp *= by
            if start:
                ramp += first
        return transfers.put_own(ramp, shaped((size,), dtype))
    ramp = lax.iota(dtype, size)
    if stepped:
        ramp = lax.mul_p.bind(by, ramp)
    if start:
        ramp = lax.add_p.bind(first, ramp)
    return ramp


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Args:
      start, stop: numbers or arrays that broadcast.
      num: number of samples (static).
      endpoint: whether `stop` is the last one.
      retstep: also return the spacing.
      dtype: by default the common float dtype; integers round down.
      axis: the new axis of the result.
      device: device or sharding of the result.

    Returns:
      An array of `dtype`, of the shape that `start` and `stop` broadcast to with a new axis
      of size `num`; with `retstep`, a pair of that array and the spacing.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num, axis = _counts("linspace", num, axis)
    check_arraylike("linspace", start, stop)
    requested_dtype = static_dtype(dtype, "linspace")
    out, step = _linspace(start, stop, num, bool(endpoint), requested_dtype, axis)
    if device is not None:
        out = on_device(out, device)
    return (out, step) if retstep else out


def _counts(name: str, num: Any, axis: Any) -> tuple[int, int]:
    """Return the number of samples and the axis as ints."""
    if type(num) is not int:
        num = concrete_or_error(operator.index, num, f"It is the `num` of jnp.{name}.")
    if type(axis) is not int:
        axis = concrete_or_error(operator.index, axis, f"It is the `axis` of jnp.{name}.")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return num, axis


@composite(static=("num", "endpoint", "dtype", "axis"))
def _linspace(start, stop, num: int, endpoint: bool, dtype, axis: int):
    start, stop = promote_dtypes_inexact(start, stop)
    compute = aval_of(start).dtype
    if dtype is None:
        dtype = compute
    shapes = aval_of(start).shape, aval_of(stop).shape
    if all(shapes):
        check_ranks("linspace", shapes, shapes)
    shape = broadcast_sizes(*shapes)
    rank = len(shape)
    start, stop = convert(start, compute), convert(stop, compute)
    low, high = broadcast_to(start, shape), broadcast_to(stop, shape)
    div = num - 1 if endpoint else num
    if div > 0:
        step = lax.div_p.bind(lax.sub_p.bind(high, low), np.asarray(div).astype(compute)[()])
        out = _blend(low, high, num, div, endpoint, compute, rank)
    else:
        step = broadcast_to(as_array(typed_constant(np.nan, compute)), shape)
        out = lax.reshape(low, (1, *shape)) if num == 1 else None
        if out is None:
            out = lax.broadcast_in_dim(np.zeros((), compute)[()], (0, *shape), ())
    axis = canonical_axis(axis, rank + 1)
    if axis:
        out = lax.transpose(out, to_axis(rank + 1, axis))
    if dtypes.is_integer(dtype) and not dtypes.is_integer(compute):
        out = lax.floor(out)
    return convert(out, dtype), convert(step, dtypes.to_inexact(dtype))


def _blend(low, high, num: int, div: int, endpoint: bool, dtype, rank: int):
    """Return low * (1 - t) + high * t for t = 0, 1/div, ...; the last one is `high`."""
    real = dtypes.real_of(dtype)
    shape = aval_of(low).shape
    count = div if endpoint else num
    t = lax.iota(real, count)
    if rank:
        t = lax.reshape(t, (count, *(1,) * rank))
    t = lax.div_p.bind(t, np.asarray(div).astype(real)[()])
    s = lax.sub_p.bind(np.ones((), real)[()], t)
    s, t = convert(s, dtype), convert(t, dtype)
    low = lax.reshape(low, (1, *shape))
    wide = lax.reshape(high, (1, *shape))
    out = lax.add_p.bind(lax.mul_p.bind(low, s), lax.mul_p.bind(wide, t))
    return lax.concatenate([out, wide], 0) if endpoint else out


def to_axis(rank: int, axis: int) -> tuple[int, ...]:
    """Return the permutation that moves axis 0 to `axis`."""
    permutation = list(range(1, rank))
    permutation.insert(axis, 0)
    return tuple(permutation)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return `num` powers of `base`, with evenly spaced exponents.

    Args:
      start, stop: numbers or arrays that broadcast.
      num, endpoint, axis: as in `linspace`.
      base: the base of the powers.
      dtype: by default the common float dtype.

    Returns:
      An array of `dtype`, of the shape that `start` and `stop` broadcast to with a new axis
      of size `num`.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    num, axis = _counts("logspace", num, axis)
    check_arraylike("logspace", start, stop, base)
    requested_dtype = static_dtype(dtype, "logspace")
    return _logspace(start, stop, base, num, bool(endpoint), requested_dtype, axis)


@composite(static=("num", "endpoint", "dtype", "axis"))
def _logspace(start, stop, base, num: int, endpoint: bool, dtype, axis: int):
    if dtype is None:
        dtype = aval_of(promote_dtypes_inexact(start, stop)[0]).dtype
    compute = dtypes.to_inexact(dtype)
    start, stop = convert(start, compute), convert(stop, compute)
    powers, _ = _linspace(start, stop, num, endpoint, None, axis)
    return convert(elementwise.power(base, powers), dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return `num` numbers from `start` to `stop` in a geometric progression.

    Args:
      start, stop: numbers or arrays of one sign that broadcast.
      num, endpoint, axis: as in `linspace`.
      dtype: by default the common float dtype.

    Returns:
      An array of `dtype`, of the shape that `start` and `stop` broadcast to with a new axis
      of size `num`; nan where the signs differ.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.geomspace(1, 8, 4).round(3)
      Array([1., 2., 4., 8.], dtype=float32)
    """
    num, axis = _counts("geomspace", num, axis)
    check_arraylike("geomspace", start, stop)
    requested_dtype = static_dtype(dtype, "geomspace")
    return _geomspace(start, stop, num, bool(endpoint), requested_dtype, axis)


@composite(static=("num", "endpoint", "dtype", "axis"))
def _geomspace(start, stop, num: int, endpoint: bool, dtype, axis: int):
    if dtype is None:
        dtype = aval_of(promote_dtypes_inexact(start, stop)[0]).dtype
    compute = dtypes.to_inexact(dtype)
    start, stop = convert(start, compute), convert(stop, compute)
    sign = lax.sign_p.bind(start)
    ten = np.asarray(10.0).astype(compute)[()]
    log10 = np.asarray(1 / np.log(10.0)).astype(compute)[()]

    def log(x: Any) -> Any:
        ratio = lax.div_p.bind(x, sign)
        return lax.mul_p.bind(lax.log(ratio), log10)

    shape = broadcast_sizes(aval_of(start).shape, aval_of(stop).shape)
    start, stop, sign = (broadcast_to(x, shape) for x in (start, stop, sign))
    powers, _ = _linspace(log(start), log(stop), num, endpoint, None, 0)
    out = lax.pow_p.bind(ten, powers)
    sign = lax.broadcast_in_dim(sign, aval_of(out).shape, tuple(range(1, 1 + len(shape))))
    out = lax.mul_p.bind(sign, out)
    axis = canonical_axis(axis, len(shape) + 1)
    if axis:
        out = lax.transpose(out, to_axis(len(shape) + 1, axis))
    return convert(out, dtype)
