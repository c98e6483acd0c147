"""The disk cache of compiled programs: `set_cache_dir`, `reset_cache`."""

from ...runtime.running.compile import reset_cache as reset_cache
from ...runtime.running.compile import set_cache_dir as set_cache_dir

__all__ = [
    "reset_cache", "set_cache_dir"
]
