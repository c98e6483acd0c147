"""Queries about dtypes: the functions of `minijax.dtypes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import dtypes
from .numpy import dtype_info

__all__ = ("bfloat16", "canonicalize_dtype", "itemsize_bits", "result_type", "scalar_type_of")

bfloat16 = dtypes.bfloat16.type


def scalar_type_of(x: Any) -> type:
    """Return the Python scalar type (bool, int, float, complex) of a value's dtype.

    Args:
      x: an array, a number, a dtype, or a scalar class.

    Returns:
      `bool`, `int`, `float` or `complex`.

    Raises:
      TypeError: `x` has no such dtype.

    >>> scalar_type_of(np.float32(1))
    <class 'float'>
    """
    kinds = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}
    dtype = x if isinstance(x, np.dtype) else getattr(x, "dtype", type(x))
    try:
        return kinds[dtypes.kind(dtypes.as_dtype(dtype))]
    except (KeyError, TypeError):
        raise TypeError(f"Invalid scalar value {x}") from None


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return the canonical dtype: 64-bit dtypes are narrowed unless x64 is enabled.

    Args:
      dtype: a dtype, or a value that converts to one; None means float.
      allow_extended_dtype: whether a key dtype is returned unchanged.

    Returns:
      A NumPy dtype (or a key dtype).

    Raises:
      ValueError: a key dtype without `allow_extended_dtype`.
      TypeError: `dtype` is not a dtype.

    >>> canonicalize_dtype(None).kind
    'f'
    """
    if dtypes.is_extended(dtype) and not allow_extended_dtype:
        raise ValueError(
            f"canonicalize_dtype called on extended dtype {dtype} with"
            " allow_extended_dtype=False"
        )
    return dtypes.canonical(float if dtype is None else dtype)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that arrays, numbers and dtypes promote to.

    Args:
      args: arrays, numbers or dtypes, at least one.
      return_weak_type_flag: also return whether the result is weakly typed.

    Returns:
      A dtype, or the pair (dtype, bool).

    Raises:
      ValueError: no arguments are given.
      TypeError: an argument is not an array, number or dtype.
      TypePromotionError: they have no common dtype.

    >>> result_type(np.int8(1), 2, return_weak_type_flag=True)
    (dtype('int8'), False)
    """
    dtype = dtype_info.result_type(*args)
    return (dtype, dtype_info.result_weak_type(*args)) if return_weak_type_flag else dtype


def itemsize_bits(dtype: Any) -> int:
    """Return the size of an element in bits.

    Args:
      dtype: a dtype, or a value that converts to one.

    Returns:
      An int; 4 for int4, 8 for bool.

    Raises:
      ValueError: `dtype` is None or a key dtype.
      TypeError: `dtype` is not a dtype.

    >>> itemsize_bits('int4')
    4
    """
    if dtype is None:
        raise ValueError("dtype cannot be None.")
    if dtypes.is_extended(dtype):
        raise ValueError(f"unexpected input: dtype={dtype}")
    return dtypes.bits_of(dtypes.as_dtype(dtype))
