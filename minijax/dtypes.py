"""The public module `minijax.dtypes`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "surface.dtypes": "bfloat16 canonicalize_dtype itemsize_bits result_type scalar_type_of",
    "surface.numpy.dtype_info": "finfo iinfo",
    "prims.promotion": "TypePromotionError",
    "surface.numpy.dtype_kinds": "issubdtype",
    "types.dtypes": "extended float0 prng_key",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
