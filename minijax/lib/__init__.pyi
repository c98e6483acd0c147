"""The public module `minijax.lib`: the compiler library."""

from ..views.backends import jaxlib_version as __version__

__all__ = [
    "__version__"
]
