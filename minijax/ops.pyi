"""The public module `minijax.ops`: reductions over segments."""

from .surface.numpy.segments import index as index
from .surface.numpy.segments import index_add as index_add
from .surface.numpy.segments import index_max as index_max
from .surface.numpy.segments import index_min as index_min
from .surface.numpy.segments import index_mul as index_mul
from .surface.numpy.segments import index_update as index_update
from .surface.numpy.segments import segment_max as segment_max
from .surface.numpy.segments import segment_min as segment_min
from .surface.numpy.segments import segment_prod as segment_prod
from .surface.numpy.segments import segment_sum as segment_sum

__all__ = [
    "index", "index_add", "index_max", "index_min", "index_mul", "index_update",
    "segment_max", "segment_min", "segment_prod", "segment_sum"
]
