"""The face `minijax.dtypes`."""

from typing import Any as _Any

import numpy as _np

from .numpy.dtype_info import finfo as finfo
from .numpy.dtype_info import iinfo as iinfo
from .numpy.dtype_info import result_type as result_type
from .types.dtypes import TypePromotionError as TypePromotionError
from .types.dtypes import as_dtype as _as_dtype
from .types.dtypes import bfloat16 as _bfloat16
from .types.dtypes import canonical as _canonical
from .types.dtypes import extended as extended
from .types.dtypes import float0 as float0
from .types.dtypes import issubdtype as issubdtype
from .types.dtypes import kind as _kind
from .types.dtypes import prng_key as prng_key

bfloat16 = _bfloat16.type
canonicalize_dtype = _canonical


def scalar_type_of(x: _Any) -> type:
    """The Python scalar type (bool, int, float, complex) of a value's dtype.

    >>> scalar_type_of(_np.float32(1))
    <class 'float'>
    """
    kinds = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}
    dtype = x if isinstance(x, _np.dtype) else getattr(x, "dtype", type(x))
    found = kinds.get(_kind(_as_dtype(dtype)))
    if found is None:
        raise TypeError(f"Invalid scalar value {x}")
    return found


def itemsize_bits(dtype: _Any) -> int:
    """The size of an element in bits.

    >>> itemsize_bits('int4')
    4
    """
    dtype = _as_dtype(dtype)
    if dtype == _np.bool_:
        return 1
    for bits in (2, 4):
        if (
            dtype.name
            in (f"int{bits}", f"uint{bits}", "float4_e2m1fn")[: 2 + (bits == 4)]
        ):
            return bits
    return int(dtype.itemsize) * 8
