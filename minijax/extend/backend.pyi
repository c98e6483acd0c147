"""The public module `minijax.extend.backend`."""

from ..api.devices import clear_backends as clear_backends
from ..runtime.backends.client import backend as get_backend
from ..runtime.backends.client import default_device as get_default_device
from ..runtime.backends.client import register_backend_factory as register_backend_factory
from ..views.backends import backend_xla_version as backend_xla_version
from ..views.backends import backends as backends
from ..views.backends import clear_in_memory_compilation_cache as clear_in_memory_compilation_cache
from ..views.backends import get_compile_options as get_compile_options
from ..views.backends import register_backend_cache as register_backend_cache

__all__ = [
    "backend_xla_version", "backends", "clear_backends",
    "clear_in_memory_compilation_cache", "get_backend", "get_compile_options",
    "get_default_device", "register_backend_cache", "register_backend_factory"
]
