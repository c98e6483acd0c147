"""The face `minijax.debug`."""

from .control.breakpoints import breakpoint as breakpoint
from .control.debugging import debug_callback as callback
from .control.debugging import debug_log as log
from .control.debugging import debug_print as print
from .control.effects import DebugEffect, OrderedDebugEffect

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print",
]  # fmt: skip
