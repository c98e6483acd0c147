"""The face `minijax.debug`."""

from .control.debugging import debug_callback as callback
from .control.debugging import debug_log as log
from .control.debugging import debug_print as print

__all__ = ["callback", "log", "print"]
