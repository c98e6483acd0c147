"""The public module `minijax.ffi`: calls of foreign compiled functions."""

from .control.callbacks.ffi_call import build_ffi_lowering_function as build_ffi_lowering_function
from .control.callbacks.ffi_call import ffi_call as ffi_call
from .control.callbacks.ffi_call import ffi_lowering as ffi_lowering
from .runtime.backends.ffi import TypeRegistration as TypeRegistration
from .runtime.backends.ffi import include_dir as include_dir
from .runtime.backends.ffi import pycapsule as pycapsule
from .runtime.backends.ffi import register_ffi_target as register_ffi_target
from .runtime.backends.ffi import register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable
from .runtime.backends.ffi import register_ffi_type as register_ffi_type
from .runtime.backends.ffi import register_ffi_type_id as register_ffi_type_id

__all__ = [
    "TypeRegistration", "build_ffi_lowering_function", "ffi_call", "ffi_lowering",
    "include_dir", "pycapsule", "register_ffi_target",
    "register_ffi_target_as_batch_partitionable", "register_ffi_type",
    "register_ffi_type_id"
]
