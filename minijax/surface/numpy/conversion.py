"""Conversion of arrays: by value (`astype`), by bits (`view`), and copies.

Next: manipulation.py, which rearranges elements.
"""

from __future__ import annotations

import warnings
from typing import Any

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.shape import shapes
from ...types import dtypes
from ._common import ArrayLike, DTypeLike, as_array, check_arraylike, static_dtype

__all__ = ("astype", "copy")


def astype(
    x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: Any = None
) -> Any:
    """Convert the elements to a dtype.

    Args:
      x: array or number.
      dtype: a dtype, its name, or a Python type; None for the default float.
      copy: make a copy even if the type stays the same.
      device: device or sharding of the result.

    Returns:
      Array of the shape of `x` and of this dtype, never weakly typed; complex numbers
      converted to a real dtype lose their imaginary parts, with a warning.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.astype(jnp.array([1.7, 0.]), int)
      Array([1, 0], dtype=int32)
    """
    if dtype is None:
        dtype = float
    if not isinstance(dtype, dtypes.ExtendedDType):
        dtype = static_dtype(dtype, "astype")
    out = _astype(x, dtype)
    if copy and out is x:
        out = shapes.copy(out)
    if device is not None:
        from ...api.devices import device_put

        return device_put(out, device)
    return out


@composite(static=("dtype",))
def _convert(x: Any, dtype: Any) -> Any:
    source_dtype = x.dtype
    if dtypes.is_complex(source_dtype) and not dtypes.is_complex(dtype):
        if dtypes.is_bool(dtype):
            return lax.ne(x, source_dtype.type(0))
        return lax.convert_element_type(lax.real(x), dtype)
    return lax.convert_element_type(x, dtype)


def _astype(x: Any, dtype: Any) -> Any:
    aval = core.aval_of(x)
    if aval.dtype is dtype and not aval.weak_type and hasattr(x, "aval"):
        return x
    check_arraylike("astype", x)
    if dtypes.is_complex(aval.dtype) and not (
        dtypes.is_complex(dtype) or dtypes.is_bool(dtype)
    ):
        warnings.warn(
            "Casting from complex to real dtypes will soon raise a ValueError. Please"
            " first use jnp.real or jnp.imag to take the real/imaginary component of your"
            " input.",
            DeprecationWarning,
            stacklevel=3,
        )
    return _convert(as_array(x), dtype)


def copy(a: ArrayLike, order: str | None = None) -> Any:
    """Return a copy of an array.

    Args:
      a: array or number.
      order: 'K' or 'C' (or None).

    Returns:
      Array of the same shape, dtype and weak type, in new memory.

    Raises:
      NotImplementedError: any other `order`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.copy(jnp.array([1, 2]))
      Array([1, 2], dtype=int32)
    """
    if order not in (None, "K", "C"):
        raise NotImplementedError("Only implemented for order='K' or 'C'.")
    check_arraylike("copy", a)
    return shapes.copy(as_array(a))


def view(x: Any, dtype: Any) -> Any:
    """Reinterpret the bits of `x` as elements of another dtype; the last axis is resized."""
    if dtype is None:
        return x
    dtype = static_dtype(dtype, "view")
    if x.dtype == dtype:
        return x
    return _view(x, dtype)


@composite(static=("dtype",))
def _view(x: Any, dtype: Any) -> Any:
    source_dtype = x.dtype
    old, new = source_dtype.itemsize, dtype.itemsize
    if not x.shape and old != new:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if x.shape and (x.shape[-1] * old) % new:
        raise errors.value_error(
            "When changing to a larger dtype, its size must be a divisor of the"
            " total size in bytes of the last axis of the array.",
            which=f"{errors.type_text(x)} viewed as {dtype}",
        )
    x = _bitcastable(x)
    target = _bitcastable_dtype(dtype)
    old, new = x.dtype.itemsize, target.itemsize
    if old < new:
        ratio = new // old
        x = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // ratio, ratio))
    x = lax.bitcast_convert_type(x, target)
    if old > new:
        x = lax.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))
    if dtypes.is_bool(dtype):
        return lax.ne(x, target.type(0))
    if dtypes.is_complex(dtype):
        pairs = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        rank = pairs.ndim - 1
        parts = [lax.index_in_dim(pairs, i, rank, keepdims=False) for i in (0, 1)]
        return lax.complex(*parts)
    return x


def byteswap(self: Any) -> Any:
    """Return the elements with their bytes in reverse order."""
    if dtypes.is_extended(self.dtype):
        raise errors.error(
            NotImplementedError,
            f"byteswap of an array of {self.dtype}.",
            tries=["jax.random.key_data(keys).byteswap()"],
        )
    return _byteswap(self)


@composite
def _byteswap(x: Any) -> Any:
    if x.dtype.itemsize == 1:
        return lax.copy_p.bind(x)
    if dtypes.is_complex(x.dtype):
        return lax.complex(_byteswap(lax.real(x)), _byteswap(lax.imag(x)))
    pieces = lax.bitcast_convert_type(x, dtypes.uint8)
    return lax.bitcast_convert_type(lax.rev(pieces, (x.ndim,)), x.dtype)


def _bitcastable(x: Any) -> Any:
    """Return bools as bytes and complex numbers as pairs of reals, for bit casts."""
    if dtypes.is_bool(x.dtype):
        return lax.convert_element_type(x, dtypes.uint8)
    if not dtypes.is_complex(x.dtype):
        return x
    rank = x.ndim
    pairs = [lax.expand_dims(part(x), (rank,)) for part in (lax.real, lax.imag)]
    joint = lax.concatenate(pairs, rank)
    return lax.reshape(joint, (*x.shape[:-1], 2 * x.shape[-1])) if x.shape else joint


def _bitcastable_dtype(dtype: Any) -> Any:
    if dtypes.is_bool(dtype):
        return dtypes.uint8
    return dtypes.real_of(dtype)
