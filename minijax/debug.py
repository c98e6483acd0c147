"""The public module `minijax.debug`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "control.callbacks.breakpoints": "breakpoint",
    "control.callbacks.debugging": "callback=debug_callback log=debug_log print=debug_print",
    "control.effects.effects": "DebugEffect OrderedDebugEffect",
    "control.callbacks.inspect_sharding": """
        inspect_array_sharding visualize_array_sharding visualize_sharding
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
