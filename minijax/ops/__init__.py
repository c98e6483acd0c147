"""Floor 6: primitives by family.

`minijax.ops` is also the name of a public module of JAX (`segment_sum` ..).  Those
functions are written on the surface, far above; this face hands them on when asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ("segment_max", "segment_min", "segment_prod", "segment_sum")

_PUBLIC = ("segment_", "index")


def __getattr__(name: str) -> Any:
    if name.startswith(_PUBLIC):
        return getattr(import_module("minijax.numpy.segments"), name)
    raise AttributeError(f"module 'minijax.ops' has no attribute {name!r}")
