"""The public module `minijax.experimental.compilation_cache`."""

from . import compilation_cache as compilation_cache

__all__ = [
    "compilation_cache"
]
