"""The public module `minijax.debug`."""

from .control.callbacks.breakpoints import breakpoint as breakpoint
from .control.callbacks.debugging import debug_callback as callback
from .control.callbacks.debugging import debug_log as log
from .control.callbacks.debugging import debug_print as print
from .control.callbacks.inspect_sharding import inspect_array_sharding as inspect_array_sharding
from .control.callbacks.inspect_sharding import visualize_array_sharding as visualize_array_sharding
from .control.callbacks.inspect_sharding import visualize_sharding as visualize_sharding
from .control.effects.effects import DebugEffect as DebugEffect
from .control.effects.effects import OrderedDebugEffect as OrderedDebugEffect

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback",
    "inspect_array_sharding", "log", "print", "visualize_array_sharding",
    "visualize_sharding"
]
