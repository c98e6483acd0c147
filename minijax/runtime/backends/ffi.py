"""Foreign functions: registration of user-compiled code with the compiler.

A foreign function has a name and a platform. jaxlib includes the C++ headers for writing
one.  Next: control/callbacks/ffi_call.py, which calls one.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import jaxlib
from jaxlib import xla_client as xc

from ...base import errors
from .plugins import watch_plugins

if TYPE_CHECKING:
    from .jaxlib_types import Capsule

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
    """A type of state that foreign functions keep between calls.

    Attributes:
      type_id: a capsule of the address of its `XLA_FFI_TypeId`.
      type_info: a capsule of the address of its `XLA_FFI_TypeInfo`; optional.
    """

    type_id: Capsule
    type_info: NotRequired[Any]


def register_ffi_target(
    name: str,
    fn: Capsule | Mapping[str, Capsule],
    platform: str = "cpu",
    api_version: int = 1,
    **kwargs: Any,
) -> None:
    """Register a foreign function with the compiler.

    Args:
      name: the name for `ffi_call`.
      fn: a capsule of its address, or a dict of capsules by stage of execution
        ('instantiate', 'prepare', 'initialize', 'execute').
      platform: the platform on which it runs: 'cpu', 'CUDA', ...
      api_version: 1 for functions that the headers' macros define; 0 for older ones.
      kwargs: passed to jaxlib: `traits`.

    Returns:
      None.

    Raises:
      JaxRuntimeError: another function has this name on the platform.

    Example:
      >>> import ctypes
      >>> library = ctypes.cdll.LoadLibrary("libmine.so")  # doctest: +SKIP
      >>> register_ffi_target("mine", pycapsule(library.Mine))  # doctest: +SKIP
    """
    xc.register_custom_call_target(name, fn, platform, api_version, **kwargs)


def register_ffi_type(
    name: str, type_registration: TypeRegistration, platform: str = "cpu"
) -> None:
    """Register a type of foreign functions' state with the compiler.

    Args:
      name: the type's name, unique in the process.
      type_registration: capsules, by name; see `TypeRegistration`.
      platform: the platform on which its functions run.

    Returns:
      None.

    Raises:
      JaxRuntimeError: another type has this name.

    Example:
      >>> register_ffi_type("state", {"type_id": capsule})  # doctest: +SKIP
    """
    xc.register_custom_type(name, type_registration, platform=platform)


def register_ffi_type_id(
    name: str, obj: Capsule | TypeRegistration, platform: str = "cpu"
) -> None:
    """Raise ValueError: the predecessor of `register_ffi_type`, which jaxlib has removed.

    Args:
      name: the type's name.
      obj: a capsule of its `XLA_FFI_TypeId`.
      platform: the platform on which its functions run.

    Returns:
      It never returns.

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
    """Declare that a foreign function treats each row independently.

    If operands and results are sharded along leading axes, each device then computes only
    its shard. Otherwise each device computes the full result.

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


def pycapsule(funcptr: Any) -> Capsule:
    """Return the capsule of a function's address, as jaxlib takes it.

    Args:
      funcptr: a function of a library loaded with `ctypes`.

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
    """Return the directory of the C++ headers that jaxlib includes.

    Returns:
      Its path, for a compiler's `-I`.

    Example:
      >>> import os
      >>> os.path.exists(os.path.join(include_dir(), "xla", "ffi", "api", "ffi.h"))
      True
    """
    return os.path.join(os.path.abspath(next(iter(jaxlib.__path__))), "include")
