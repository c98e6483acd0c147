"""The public module `minijax.experimental.buffer_callback`: callbacks on the program's buffers."""

from ..control.callbacks.buffer_callback import Buffer as Buffer
from ..control.callbacks.buffer_callback import ExecutionContext as ExecutionContext
from ..control.callbacks.buffer_callback import ExecutionStage as ExecutionStage
from ..control.callbacks.buffer_callback import buffer_callback as buffer_callback

__all__ = [
    "Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"
]
