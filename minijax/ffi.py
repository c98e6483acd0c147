"""The public module `minijax.ffi`: calls of foreign compiled functions."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "control.callbacks.ffi_call": "build_ffi_lowering_function ffi_call ffi_lowering",
    "runtime.backends.ffi": """
        TypeRegistration include_dir pycapsule register_ffi_target
        register_ffi_target_as_batch_partitionable register_ffi_type register_ffi_type_id
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
