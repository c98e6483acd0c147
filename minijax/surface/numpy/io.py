"""Arrays from and to files, buffers and other libraries; text of arrays.

NumPy reads and writes: arrays pass through host memory.  Functions that consume a stream
(`fromfile`, `fromiter`) are not offered: a traced program would read it only once.
"""

from __future__ import annotations

from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ...base import errors
from ...prims.shape import shapes
from ...runtime.arrays.array import Array, ArrayImpl
from ...runtime.backends import client, guards
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.sharding import placement
from ...types import dtypes
from ...types.avals import shaped
from .creation import asarray, on_device

__all__ = (
    "get_printoptions",
    "set_printoptions",
    "printoptions",
    "iterable",
    "frombuffer",
    "fromstring",
    "fromfile",
    "fromiter",
    "load",
    "save",
    "savez",
    "from_dlpack",
    "array_repr",
    "array_str",
)

get_printoptions = np.get_printoptions
set_printoptions = np.set_printoptions
printoptions = np.printoptions
iterable = np.iterable


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """Return a vector from the bytes of a buffer.

    Args:
      buffer: bytes, or an object with Python's buffer interface.
      dtype: of the elements in the buffer; `float` and None are float64.
      count: number of elements; -1 for all.
      offset: where to start, in bytes.

    Returns:
      Array of one axis, of this dtype, narrowed to 32 bits unless x64 is enabled.

    Raises:
      ValueError: the buffer's size does not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.frombuffer(b'\\x01\\x02', jnp.uint8)
      Array([1, 2], dtype=uint8)
    """
    kind = dtypes.as_dtype(float if dtype is None else dtype)
    return asarray(np.frombuffer(buffer, kind, count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """Return a vector from the numbers in a text.

    Args:
      string: the text.
      dtype: of the elements.
      count: number of elements to read; -1 for all.
      sep: the separator of the numbers.

    Returns:
      Array of one axis, of this dtype, narrowed to 32 bits unless x64 is enabled.

    Raises:
      ValueError: the text contains something other than numbers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fromstring('1 2', sep=' ')
      Array([1., 2.], dtype=float32)
    """
    return asarray(np.fromstring(string, dtypes.as_dtype(dtype), count, sep=sep))


def _raise_impure(name: str) -> NoReturn:
    raise errors.error(
        NotImplementedError,
        f"jnp.{name}() is not implemented because it may be non-pure.",
        why="reading a stream changes it, and a traced program reads it only once.",
        tries=[f"jnp.asarray(np.{name}(...)), outside of traced functions"],
    )


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Raise an error: use `jnp.asarray(np.fromfile(...))`.

    Args:
      *args, **kwargs: the arguments of `numpy.fromfile`, which are ignored.

    Returns:
      Never: it always raises.

    Raises:
      NotImplementedError: always.

    Example:
      >>> import minijax.numpy as jnp, numpy as np
      >>> jnp.asarray(np.frombuffer(b'ab', np.uint8)).shape
      (2,)
    """
    _raise_impure("fromfile")


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Raise an error: use `jnp.asarray(np.fromiter(...))`.

    Args:
      *args, **kwargs: the arguments of `numpy.fromiter`, which are ignored.

    Returns:
      Never: it always raises.

    Raises:
      NotImplementedError: always.

    Example:
      >>> import minijax.numpy as jnp, numpy as np
      >>> jnp.asarray(np.fromiter(range(2), int))
      Array([0, 1], dtype=int32)
    """
    _raise_impure("fromiter")


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a file that `save` or `savez` wrote.

    Args:
      file: path or open file.
      args, kwargs: as for `numpy.load`.

    Returns:
      An array (from .npy), or NumPy's mapping of names to NumPy arrays (from .npz).

    Raises:
      TypeError: elements of a dtype that .npy files cannot name, except bfloat16.

    Example:
      >>> import io, minijax.numpy as jnp
      >>> f = io.BytesIO(); jnp.save(f, jnp.ones(2)); _ = f.seek(0)
      >>> jnp.load(f)
      Array([1., 1.], dtype=float32)
    """
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, np.ndarray):
        return out
    if out.dtype.kind == "V" and out.dtype.names is None:
        out = out.view(_narrow_dtype(out.dtype.itemsize))
    return asarray(out)


def _narrow_dtype(itemsize: int) -> Any:
    """Return the dtype of unnamed bytes of a .npy file: only bfloat16 is in use."""
    if itemsize != 2:
        raise errors.type_error(
            f"load: the file holds elements of {itemsize} unnamed bytes.",
            why=".npy files cannot name 8-bit and 4-bit float dtypes.",
            tries=["np.load(file).view(the_dtype)"],
        )
    return np.dtype(ml_dtypes.bfloat16)


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a .npy file.

    Args:
      file: path or open file.
      arr: the array.
      allow_pickle: as for `numpy.save`.

    Returns:
      None; bfloat16 is written as 2 unnamed bytes, which `load` reads back.

    Example:
      >>> import io, minijax.numpy as jnp
      >>> f = io.BytesIO()
      >>> jnp.save(f, jnp.ones(2))
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to a .npz file.

    Args:
      file: path or open file.
      args: arrays, named arr_0, arr_1, ...
      allow_pickle: as for `numpy.savez`.
      kwds: arrays by name.

    Returns:
      None.

    Example:
      >>> import io, minijax.numpy as jnp
      >>> f = io.BytesIO()
      >>> jnp.savez(f, a=jnp.ones(2))
    """
    host = {k: np.asarray(v) for k, v in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **host)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Import an array of another library through the DLPack protocol.

    Args:
      x: an object with `__dlpack__` and `__dlpack_device__`.
      device: device or sharding of the result.
      copy: True to copy, None to copy if necessary, False to raise in that case.

    Returns:
      Array of that shape and dtype. Memory of an accelerator is shared; host memory is
      copied, and narrowed to 32 bits unless x64 is enabled.

    Raises:
      TypeError: `x` does not implement DLPack.
      ValueError: `copy` is False, and `x` is in host memory or on another device.

    Example:
      >>> import minijax.numpy as jnp, numpy as np
      >>> jnp.from_dlpack(np.ones(2, np.float32))
      Array([1., 1.], dtype=float32)
    """
    if type(x) is ArrayImpl:
        out = asarray(x, copy=copy)
    elif not hasattr(x, "__dlpack__"):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__"
            f" methods.\nWhich: {type(x)}\nTry: jnp.asarray(x) if NumPy can convert it."
        )
    else:
        kind, number = x.__dlpack_device__()
        if int(kind) == _HOST:
            if copy is False:
                why = "arrays own their host memory, and never share another library's."
                raise _copy_needed("host memory", why)
            with guards.explicit_put():  # the call itself requests this transfer
                return on_device(asarray(_from_host(x)), device)
        out = _from_device(x, int(number))
        out = shapes.copy(out) if copy else out
    placed = on_device(out, device)
    if copy is False and placed.devices() != out.devices():
        raise _copy_needed(f"{device=}", f"the source is on {out.devices()}.")
    return placed


def _copy_needed(what: str, why: str) -> ValueError:
    return errors.value_error(
        f"from_dlpack: Specified {what}, which requires a copy, however copy=False."
        " Set copy=True or copy=None to perform the requested operation.",
        why=why,
    )


_HOST = 1  # kDLCPU


def _from_host(x: Any) -> np.ndarray[Any, Any]:
    """Return a tensor in host memory as a NumPy array."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError):  # dtypes that NumPy cannot import
        return compat.to_host(_imported(x, placement.default_placement().device))


def _from_device(x: Any, number: int) -> Any:
    """Import a tensor in the memory of an accelerator, without a copy."""
    # DLPack counts this host's devices, like `local_hardware_id`, but unlike `id`.
    device = next(d for d in client.local_devices() if d.local_hardware_id == number)
    return _imported(x, device)


def _imported(x: Any, device: Any) -> Any:
    """Return a tensor as an Array that shares its memory."""
    capsule = x.__dlpack__()
    aval = shaped(*compat.shape_and_dtype(capsule))  # before the import consumes the capsule
    buffer = compat.from_dlpack(capsule, device)
    return compat.with_aval(buffer, aval, placement.on_device(device).cpp_sharding)


def array_repr(
    arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """Return the text of an array, as `repr` does.

    Args:
      arr: array.
      max_line_width, precision, suppress_small: as for `numpy.array_repr`.

    Returns:
      A str.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.array_repr(jnp.ones(2))
      'Array([1., 1.], dtype=float32)'
    """
    if max_line_width is None and precision is None and suppress_small is None:
        return repr(arr) if isinstance(arr, Array) else np.array_repr(arr)
    text = np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)
    return "Array" + text[len("array") :]


def array_str(
    a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """Return the text of an array's values, as `str` does.

    Args:
      a: array.
      max_line_width, precision, suppress_small: as for `numpy.array_str`.

    Returns:
      A str.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.array_str(jnp.ones(2))
      '[1. 1.]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)
