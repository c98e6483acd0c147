"""The public module `minijax.experimental.pjit`: `jit` over the mesh of a block."""

from ..api.aot import pjit as pjit

__all__ = [
    "pjit"
]
