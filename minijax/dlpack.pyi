"""The public module `minijax.dlpack`."""

from .surface.dlpack import from_dlpack as from_dlpack
from .surface.dlpack import is_supported_dtype as is_supported_dtype
from .surface.dlpack import to_dlpack as to_dlpack

__all__ = [
    "from_dlpack", "is_supported_dtype", "to_dlpack"
]
