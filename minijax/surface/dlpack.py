"""Exchange of arrays with other libraries: the functions of `minijax.dlpack`."""

from __future__ import annotations

from typing import Any

from ..types import dtypes
from .numpy import io


def to_dlpack(x: Any, stream: Any = None, **options: Any) -> Any:
    """Return a DLPack capsule of an array.

    Most consumers call `x.__dlpack__()` themselves.

    Args:
      x: an array, of this library or another.
      stream: the consumer's stream, on devices with streams.
      options: further arguments of `x.__dlpack__`.

    Returns:
      A capsule, which shares the array's memory and can be used once.

    Example:
      >>> import minijax as mj
      >>> type(to_dlpack(mj.numpy.ones(2))).__name__
      'PyCapsule'
    """
    return x.__dlpack__(stream=stream, **options)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Convert an array of another library through the DLPack protocol.

    Args:
      external_array: an object with `__dlpack__` and `__dlpack_device__`.
      device: the device of the result; None: the device of the array.
      copy: True to copy, None to copy if necessary, False to raise instead.

    Returns:
      Array of that shape and dtype.  Accelerator memory is shared; host memory is copied,
      and narrowed to 32 bits unless x64 is enabled.

    Raises:
      TypeError: the object does not support DLPack.
      ValueError: `copy` is False, and the array is in host memory or on another device.

    Example:
      >>> import numpy as np
      >>> from_dlpack(np.ones(2, np.float32))
      Array([1., 1.], dtype=float32)
    """
    return io.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether DLPack supports a dtype.

    Args:
      dtype: a dtype, or a value that converts to one.

    Returns:
      A bool; False for floats of at most 8 bits, and for integers of less than 8 bits.

    Raises:
      TypeError: `dtype` is not a dtype.

    >>> is_supported_dtype('float32')
    True
    """
    kind = dtypes.as_dtype(dtype)
    return (
        kind not in dtypes.SMALL_FLOATS
        and kind.itemsize * 8 >= 8
        and kind not in (dtypes.int2, dtypes.uint2, dtypes.int4, dtypes.uint4)
    )
