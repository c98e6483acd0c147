"""The face `minijax.experimental.buffer_callback`: callbacks on the program's buffers."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {
    "control.effects.buffer_callback": """Buffer ExecutionContext ExecutionStage
        buffer_callback"""
}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
