"""The public module `minijax.extend.ifrt_programs`: programs in jaxlib's own forms."""

from ..runtime.backends.jaxlib_compat import ifrt_programs as ifrt_programs

__all__ = [
    "ifrt_programs"
]
