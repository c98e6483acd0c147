"""Foreign functions: where compiled code of one's own is made known to the compiler.

Such a function has a name, and is known on a platform.  jaxlib brings the C++ headers by
which it is written.  Next: control/effects/ffi_call.py, which calls one.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, NotRequired, TypedDict

import jaxlib
from jaxlib import xla_client as xc

from ...base import errors
from .plugins import watch_plugins

__all__ = (
    "TypeRegistration",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
)


class TypeRegistration(TypedDict):
    """A type of values that foreign functions keep from one call to another.

    Attributes:
      type_id: a capsule of the address of its `XLA_FFI_TypeId`.
      type_info: one of its `XLA_FFI_TypeInfo`; may be missing.
    """

    type_id: Any
    type_info: NotRequired[Any]


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a foreign function known to the compiler.

    Args:
      name: what `ffi_call` calls it by.
      fn: a capsule of its address, or a dict of such by stage of execution ('instantiate',
        'prepare', 'initialize', 'execute').
      platform: where it can run: 'cpu', 'CUDA', ...
      api_version: 1 for functions that the headers' macros define; 0 for older ones.
      kwargs: handed to jaxlib: `traits`.

    Returns:
      None.

    Raises:
      JaxRuntimeError: another function has this name there.

    Example:
      >>> import ctypes
      >>> library = ctypes.cdll.LoadLibrary("libmine.so")  # doctest: +SKIP
      >>> register_ffi_target("mine", pycapsule(library.Mine))  # doctest: +SKIP
    """
    xc.register_custom_call_target(name, fn, platform, api_version, **kwargs)


def register_ffi_type(
    name: str, type_registration: TypeRegistration, platform: str = "cpu"
) -> None:
    """Make a type of the state of foreign functions known to the compiler.

    Args:
      name: the type's name, one in the process.
      type_registration: capsules, by name; see `TypeRegistration`.
      platform: where its functions run.

    Returns:
      None.

    Raises:
      JaxRuntimeError: there is another type of this name.

    Example:
      >>> register_ffi_type("state", {"type_id": capsule})  # doctest: +SKIP
    """
    xc.register_custom_type(name, type_registration, platform=platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """What `register_ffi_type` was once: jaxlib has no such function today.

    Args:
      name: the type's name.
      obj: a capsule of its `XLA_FFI_TypeId`.
      platform: where its functions run.

    Returns:
      Nothing: it does not return.

    Raises:
      ValueError: always.

    Example:
      >>> register_ffi_type("state", {"type_id": capsule})  # doctest: +SKIP
    """
    raise errors.value_error(
        "register_ffi_type_id is not supported after jaxlib version 381.",
        which=f"{name!r} on {platform}, {type(obj).__name__}",
        tries=[f"register_ffi_type({name!r}, dict(type_id=...))"],
    )


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say of a foreign function that it works on each row by itself.

    Of operands and results that are cut along leading axes, each device then computes its
    own part, where else it would compute the whole.

    Args:
      name: the function's name.

    Returns:
      None.

    Example:
      >>> register_ffi_target_as_batch_partitionable("mine")
    """
    register = xc.register_custom_call_as_batch_partitionable
    register(name)
    watch_plugins(lambda api: register(name, api))


def pycapsule(funcptr: Any) -> Any:
    """The capsule that jaxlib takes, of the address of a function.

    Args:
      funcptr: a function of a library that `ctypes` has loaded.

    Returns:
      A `PyCapsule`.

    Example:
      >>> import ctypes
      >>> type(pycapsule(ctypes.pythonapi.Py_IsInitialized)).__name__
      'PyCapsule'
    """
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
    )(("PyCapsule_New", ctypes.pythonapi))
    return make(ctypes.cast(funcptr, ctypes.c_void_p), None, None)


def include_dir() -> str:
    """The directory of the C++ headers that jaxlib brings.

    Returns:
      Its path, for a compiler's `-I`.

    Example:
      >>> import os
      >>> os.path.exists(os.path.join(include_dir(), "xla", "ffi", "api", "ffi.h"))
      True
    """
    return os.path.join(os.path.abspath(next(iter(jaxlib.__path__))), "include")
