"""The face `minijax.debug`."""

from .control.callbacks import debug_callback as callback
from .control.callbacks import debug_print as print

__all__ = ["callback", "print"]
