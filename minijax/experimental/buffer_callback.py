"""The public module `minijax.experimental.buffer_callback`: callbacks on the program's buffers."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "control.callbacks.buffer_callback": """Buffer ExecutionContext ExecutionStage
        buffer_callback"""
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
