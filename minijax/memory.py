"""Memory spaces of values: `device_put(x, minijax.memory.Space.Host)`."""

from .types.avals import MemorySpace as Space

__all__ = ["Space"]
