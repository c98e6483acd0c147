"""The face `minijax.experimental.pjit`: what `jit` was called over meshes."""

from ..api.aot import jit as pjit

__all__ = [
    "pjit"
]
