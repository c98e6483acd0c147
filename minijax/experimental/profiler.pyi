"""The public module `minijax.experimental.profiler`: profiles for the compiler."""

from ..api.profiler import get_profiled_instructions_proto as get_profiled_instructions_proto

__all__ = [
    "get_profiled_instructions_proto"
]
