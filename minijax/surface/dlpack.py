"""Arrays of other libraries, by dlpack: the functions of `minijax.dlpack`."""

from __future__ import annotations

from typing import Any

from ..types import dtypes
from .numpy import io


def to_dlpack(x: Any, stream: Any = None, **options: Any) -> Any:
    """A dlpack capsule of an array.

    `x.__dlpack__()` is the usual way.

    Args:
      x: an array, of this library or another.
      stream: the consumer's stream, where devices have them.
      options: what else `x.__dlpack__` takes.

    Returns:
      A capsule, which shares the array's memory and can be used once.

    Example:
      >>> import minijax as mj
      >>> type(to_dlpack(mj.numpy.ones(2))).__name__
      'PyCapsule'
    """
    return x.__dlpack__(stream=stream, **options)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library, through the DLPack protocol.

    Args:
      external_array: an object with `__dlpack__` and `__dlpack_device__`.
      device: where the result is to lie; None: where it is.
      copy: True to copy, None to copy where it must be, False to raise there.

    Returns:
      Array of that shape and dtype. Memory of an accelerator is shared; that of the
      host is copied, and narrowed to 32 bits unless x64 is on.

    Raises:
      TypeError: it does not speak DLPack.
      ValueError: `copy` is False, and it lies in host memory or on another device.

    Example:
      >>> import numpy as np
      >>> from_dlpack(np.ones(2, np.float32))
      Array([1., 1.], dtype=float32)
    """
    return io.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether dlpack can carry a dtype.

    Args:
      dtype: a dtype, or what stands for one.

    Returns:
      A bool; False for floats of 8 bits or less, and for integers of less.

    Raises:
      TypeError: it is no dtype.

    >>> is_supported_dtype('float32')
    True
    """
    kind = dtypes.as_dtype(dtype)
    return (
        kind not in dtypes.SMALL_FLOATS
        and kind.itemsize * 8 >= 8
        and kind not in (dtypes.int2, dtypes.uint2, dtypes.int4, dtypes.uint4)
    )
