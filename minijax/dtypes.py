"""The face `minijax.dtypes`."""

from typing import Any as _Any

import numpy as _np

from .numpy.dtype_info import finfo as finfo
from .numpy.dtype_info import iinfo as iinfo
from .numpy.dtype_info import result_type as _result_type
from .numpy.dtype_info import result_weak_type as _result_weak_type
from .types.dtypes import TypePromotionError as TypePromotionError
from .types.dtypes import as_dtype as _as_dtype
from .types.dtypes import bfloat16 as _bfloat16
from .types.dtypes import bits_of as _bits_of
from .types.dtypes import canonical as _canonical
from .types.dtypes import extended as extended
from .types.dtypes import float0 as float0
from .types.dtypes import is_extended as _is_extended
from .types.dtypes import issubdtype as issubdtype
from .types.dtypes import kind as _kind
from .types.dtypes import prng_key as prng_key

bfloat16 = _bfloat16.type


def scalar_type_of(x: _Any) -> type:
    """The Python scalar type (bool, int, float, complex) of a value's dtype.

    >>> scalar_type_of(_np.float32(1))
    <class 'float'>
    """
    kinds = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}
    dtype = x if isinstance(x, _np.dtype) else getattr(x, "dtype", type(x))
    try:
        return kinds[_kind(_as_dtype(dtype))]
    except (KeyError, TypeError):
        raise TypeError(f"Invalid scalar value {x}") from None


def canonicalize_dtype(dtype: _Any, allow_extended_dtype: bool = False) -> _Any:
    """The dtype that `dtype` means: 64-bit ones are narrowed where x64 is off.

    >>> canonicalize_dtype(None).kind
    'f'
    """
    if _is_extended(dtype) and not allow_extended_dtype:
        raise ValueError(
            f"canonicalize_dtype called on extended dtype {dtype} with"
            " allow_extended_dtype=False"
        )
    return _canonical(float if dtype is None else dtype)


def result_type(*args: _Any, return_weak_type_flag: bool = False) -> _Any:
    """The dtype that arrays, numbers and dtypes promote to; also whether it is weak.

    >>> result_type(_np.int8(1), 2, return_weak_type_flag=True)
    (dtype('int8'), False)
    """
    dtype = _result_type(*args)
    return (dtype, _result_weak_type(*args)) if return_weak_type_flag else dtype


def itemsize_bits(dtype: _Any) -> int:
    """The size of an element in bits.

    >>> itemsize_bits('int4')
    4
    """
    if dtype is None:
        raise ValueError("dtype cannot be None.")
    if _is_extended(dtype):
        raise ValueError(f"unexpected input: dtype={dtype}")
    return _bits_of(_as_dtype(dtype))
