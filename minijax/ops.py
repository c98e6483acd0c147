"""The public module `minijax.ops`: reductions over segments."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "surface.numpy.segments": """
        segment_max segment_min segment_prod segment_sum index index_add index_max index_min
        index_mul index_update
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
