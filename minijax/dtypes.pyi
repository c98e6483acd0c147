"""The public module `minijax.dtypes`."""

from .prims.promotion import TypePromotionError as TypePromotionError
from .surface.dtypes import bfloat16 as bfloat16
from .surface.dtypes import canonicalize_dtype as canonicalize_dtype
from .surface.dtypes import itemsize_bits as itemsize_bits
from .surface.dtypes import result_type as result_type
from .surface.dtypes import scalar_type_of as scalar_type_of
from .surface.numpy.dtype_info import finfo as finfo
from .surface.numpy.dtype_info import iinfo as iinfo
from .surface.numpy.dtype_kinds import issubdtype as issubdtype
from .types.dtypes import extended as extended
from .types.dtypes import float0 as float0
from .types.dtypes import prng_key as prng_key

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo",
    "float0", "iinfo", "issubdtype", "itemsize_bits", "prng_key", "result_type",
    "scalar_type_of"
]
