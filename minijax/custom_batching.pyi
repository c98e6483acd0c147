"""The public module `minijax.custom_batching`."""

from .control.loop_functions.map import sequential_vmap as sequential_vmap
from .control.rules.custom_vmap import custom_vmap as custom_vmap

__all__ = [
    "custom_vmap", "sequential_vmap"
]
