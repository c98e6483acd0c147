"""The face `minijax.debug`."""

from .control.effects.breakpoints import breakpoint as breakpoint
from .control.effects.debugging import debug_callback as callback
from .control.effects.debugging import debug_log as log
from .control.effects.debugging import debug_print as print
from .control.effects.effects import DebugEffect, OrderedDebugEffect

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print",
]  # fmt: skip
