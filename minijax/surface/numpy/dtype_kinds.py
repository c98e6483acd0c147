"""Kinds of dtypes: the scalar classes of NumPy, and the names of the array API."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...types.dtypes import KINDS, as_dtype, extended, float0, float64, is_extended

__all__ = ("isdtype", "issubdtype")


def _of_kinds(*kinds: str) -> frozenset[Any]:
    return frozenset(d for d, k in KINDS.items() if k in kinds)


_CATEGORIES = {
    np.number: _of_kinds("int", "uint", "float", "complex"),
    np.integer: _of_kinds("int", "uint"),
    np.signedinteger: _of_kinds("int"),
    np.unsignedinteger: _of_kinds("uint"),
    np.inexact: _of_kinds("float", "complex"),
    np.floating: _of_kinds("float"),
    np.complexfloating: _of_kinds("complex"),
    np.flexible: frozenset((float0,)),
    np.character: frozenset(),
}


def _is_category(x: Any) -> bool:
    """Whether `x` is a scalar class that represents many dtypes."""
    return isinstance(x, type) and (
        x is np.generic or x in _CATEGORIES or issubclass(x, extended)
    )


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype or category `a` is a subtype of dtype or category `b`.

    Args:
      a, b: dtypes, objects that convert to one, or categories such as `numpy.floating`.

    Returns:
      A bool.

    Raises:
      TypeError: one of them is not a dtype.

    >>> import numpy as np, ml_dtypes
    >>> issubdtype(ml_dtypes.bfloat16, np.floating)
    True
    """
    if _is_category(a):
        return _is_category(b) and issubclass(a, b)
    a, b = (x if _is_category(x) or is_extended(x) else _as_numpy_dtype(x) for x in (a, b))
    if is_extended(a):
        return issubclass(a.type, b) if _is_category(b) else a is b
    if not _is_category(b):
        return bool(a == b or (b == np.void and a.kind == "V" and a not in KINDS))
    return b is np.generic or a in _CATEGORIES.get(b, ())


def _as_numpy_dtype(x: Any) -> Any:
    """Return a dtype as NumPy reads it: None is the default float."""
    return float64 if x is None else as_dtype(x)


def isdtype(dtype: Any, kinds: Any) -> bool:
    """Whether `dtype` is of one of the array-API `kinds` (or equals one of them)."""
    dtype = _as_numpy_dtype(dtype)
    if not isinstance(kinds, tuple):
        kinds = (kinds,)
    return any([_is_of_kind(dtype, k) for k in kinds])


def _is_of_kind(dtype: Any, k: Any) -> bool:
    if isinstance(k, str):
        if k in _API_KINDS:
            return KINDS.get(dtype) in _API_KINDS[k]
        if k not in np.sctypeDict and not hasattr(ml_dtypes, k):
            raise ValueError(
                f"Unrecognized kind={k!r} expected one of {list(_API_KINDS)}, or a"
                " compatible input for jnp.dtype()"
            )
    elif isinstance(k, (int, float, complex)) or is_extended(k):
        raise TypeError(f"Expected kind to be a dtype, string, or tuple; got kind={k}")
    return bool(dtype == _as_numpy_dtype(k))


_API_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}
