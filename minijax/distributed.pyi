"""The public module `minijax.distributed`: one program in many processes."""

from .api.distributed import initialize as initialize
from .api.distributed import is_initialized as is_initialized
from .api.distributed import shutdown as shutdown

__all__ = [
    "initialize", "is_initialized", "shutdown"
]
