"""The public side of dtypes: scalar types, `finfo`, `result_type`, categories.

`jnp.float32` is a scalar type: a call makes an array (`jnp.float32(1)`), and where a dtype
is expected, it is accepted as `np.dtype('float32')`, which it equals.

types/dtypes.py defines the promotion lattice and the categories.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...prims import promotion
from ...runtime.arrays.array import Array
from ...types import dtypes
from . import dtype_kinds
from ._common import aval_of, is_arraylike, not_numeric
from .creation import asarray

__all__ = [
    "bool_", "int2", "int4", "int8", "int16", "int32", "int64", "uint2", "uint4",
    "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16",
    "complex64", "complex128", "float4_e2m1fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e8m0fnu", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "cdouble", "csingle", "double", "single",
    "complex_", "float_", "int_", "uint", "float6_e2m3fn", "float6_e3m2fn", "generic",
    "inexact", "number", "integer", "signedinteger", "unsignedinteger",
    "complexfloating", "floating", "character", "flexible", "object_", "dtype", "finfo",
    "iinfo", "result_type", "promote_types", "issubdtype", "isdtype", "can_cast",
    "iscomplexobj", "isrealobj", "isscalar",
]  # fmt: skip


class _ScalarMeta(type):
    """Class of `jnp.float32` and other scalar types: dtypes that can be called."""

    dtype: Any

    def __call__(cls, x: Any) -> Any:
        """Return `x` as an array of this dtype."""
        return asarray(cls.dtype.type(x) if isinstance(x, str) else x, dtype=cls.dtype)

    def __hash__(cls) -> int:
        # Equal to np.float32, and so the same key of a dictionary.
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or bool(cls.dtype.type == other)

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'jax.numpy.{cls.__name__}'>"


def scalar_type(dtype: Any, name: str | None = None) -> Any:
    """Return the public scalar type of a dtype."""
    name = name or dtype.name
    doc = (
        f"Scalar type and dtype {dtype.name}: a call makes an array.\n\n"
        "Args:\n  x: a number, nested sequence or array.\n\n"
        "Returns:\n  Array of the shape of `x`, converted.\n\n"
        "Example:\n  >>> import minijax.numpy as jnp\n"
        f"  >>> jnp.dtype(jnp.{name}).name\n  {dtype.name!r}\n"
    )
    space = {"dtype": dtype, "__doc__": doc, "__module__": "minijax.numpy"}
    return _ScalarMeta(name, (object,), space)


bool_ = scalar_type(dtypes.bool_)
int2, int4, int8, int16, int32, int64 = map(scalar_type, dtypes.SIGNED)
uint2, uint4, uint8, uint16, uint32, uint64 = map(scalar_type, dtypes.UNSIGNED)
float16, float32, float64 = map(scalar_type, (dtypes.float16, dtypes.float32, dtypes.float64))
bfloat16 = scalar_type(dtypes.bfloat16)
complex64, complex128 = map(scalar_type, dtypes.COMPLEX)
float4_e2m1fn = scalar_type(dtypes.float4_e2m1fn)
(
    float8_e3m4,
    float8_e4m3,
    float8_e8m0fnu,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
) = map(scalar_type, dtypes.FLOAT8)

single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128
# No device computes with these dtypes; they describe stored data.
if hasattr(ml_dtypes, "int1"):  # from ml_dtypes 0.6
    int1 = scalar_type(np.dtype(ml_dtypes.int1))
    uint1 = scalar_type(np.dtype(ml_dtypes.uint1))
    __all__ += ["int1", "uint1"]
float6_e2m3fn = scalar_type(np.dtype(ml_dtypes.float6_e2m3fn))
float6_e3m2fn = scalar_type(np.dtype(ml_dtypes.float6_e3m2fn))

generic, number, inexact = np.generic, np.number, np.inexact
integer, signedinteger, unsignedinteger = (np.integer, np.signedinteger, np.unsignedinteger)
floating, complexfloating = np.floating, np.complexfloating
flexible, character, object_ = np.flexible, np.character, np.object_
dtype = np.dtype


# ml_dtypes' functions support bfloat16, the narrow floats and the narrow integers.
finfo, iinfo = ml_dtypes.finfo, ml_dtypes.iinfo


# --------------------------------------------------------------------------- promotion


def result_type(*args: Any) -> Any:
    """Return the dtype that arrays, numbers and dtypes promote to together.

    Args:
      args: arrays, Python numbers (which are weakly typed) and dtypes.

    Returns:
      An np.dtype, of 32 bits at most unless x64 is enabled.

    Raises:
      TypePromotionError: the arguments lack a common dtype.
      ValueError: there are zero arguments.
      TypeError: an argument lacks a dtype (for example, a list).

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.result_type(jnp.int8, 1.)
      dtype('float32')
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    return dtypes.canonical(promotion.promote(tuple(map(_typed, args)))[0])


def result_weak_type(*args: Any) -> bool:
    """Whether the type that arrays, numbers and dtypes promote to is weak."""
    return promotion.promote(tuple(map(_typed, args)))[1]


def _typed(x: Any) -> tuple[Any, bool]:
    """Return (dtype, weak) of an array, number or dtype."""
    if x is None:
        return dtypes.float_default(), False
    if isinstance(x, type) and x in dtypes.PYTHON_SCALARS:
        return dtypes.scalar_dtype(x), x is not bool
    if is_arraylike(x):
        aval = aval_of(x)
        return aval.dtype, aval.weak_type
    if not isinstance(x, type) and hasattr(x, "shape") and hasattr(x, "dtype"):
        return dtypes.canonical(x.dtype), bool(getattr(x, "weak_type", False))
    if isinstance(x, (list, tuple, dict, set)):
        raise TypeError(f"Cannot determine dtype of {x!r}"[:160])
    np_dtype = dtypes.canonical(x)
    if not (dtypes.is_valid(np_dtype) or np_dtype in dtypes.STORED):
        raise TypeError(not_numeric(x, np_dtype))
    return np_dtype, False


def _dtype_argument(x: Any) -> Any:
    """Return the dtype of a dtype argument: None means float, an array its own dtype."""
    if x is None:
        return dtypes.float64
    return x.dtype if isinstance(x, Array) else x


def promote_types(a: Any, b: Any) -> Any:
    """Return the dtype that two dtypes promote to; Python's `int`, `float`, ... are weak.

    Args:
      a, b: dtypes, arrays (their dtypes), scalar types or Python types.

    Returns:
      An np.dtype; it has 64 bits if an argument does, even if x64 is disabled.

    Raises:
      TypePromotionError: the arguments lack a common dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.promote_types('int32', 'bfloat16')
      dtype(bfloat16)
    """
    pairs = []
    for x in (a, b):
        if isinstance(x, type) and x in dtypes.PYTHON_SCALARS:
            pairs.append((dtypes.as_dtype(x), x is not bool))  # bool is never weak
        else:
            pairs.append((dtypes.as_dtype(_dtype_argument(x)), False))
    wide = any(dtypes.canonical(d) != d for d, _ in pairs)
    return promotion.promote(tuple(pairs), wide)[0]


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is a subtype of another dtype or of a category.

    Args:
      arg1: a dtype or category.
      arg2: a dtype, or a category such as `jnp.floating`.

    Returns:
      A Python bool.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
      True
    """
    return dtype_kinds.issubdtype(_dtype_argument(arg1), _dtype_argument(arg2))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of one of the array-API kinds.

    Args:
      dtype: a dtype.
      kind: 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
        'complex floating', 'numeric', a dtype, or a tuple of these.

    Returns:
      A Python bool.

    Raises:
      ValueError: the kind is unknown.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isdtype(jnp.float16, 'real floating')
      True
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    np_kinds = tuple([k.dtype if isinstance(k, Array) else k for k in kinds])
    return dtype_kinds.isdtype(_dtype_argument(dtype), np_kinds)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether NumPy's casting rule allows a conversion between dtypes.

    Args:
      from_, to: dtypes.
      casting: 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'.

    Returns:
      A Python bool.

    Raises:
      TypeError: a Python number in place of a dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.can_cast('int32', 'int64')
      True
    """
    source, target = _unwrap_scalar_type(from_), _unwrap_scalar_type(to)
    return bool(np.can_cast(source, target, casting=casting))  # type: ignore


def _unwrap_scalar_type(x: Any) -> Any:
    return x.dtype if isinstance(x, _ScalarMeta) else x


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of `x` is complex.

    Args:
      x: array, number, or nested sequence of numbers.

    Returns:
      A Python bool; False for None.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.iscomplexobj(jnp.array([1j]))
      True
    """
    if x is None:
        return False
    if isinstance(x, (bool, int, float, complex)):  # ints of any length
        return isinstance(x, complex)
    if is_arraylike(x):
        return dtypes.is_complex(aval_of(x).dtype)
    np_dtype = getattr(x, "dtype", None)
    return np.iscomplexobj(x) if np_dtype is None else dtypes.is_complex(dtypes.as_dtype(x))


def isrealobj(x: Any) -> bool:
    """Whether the dtype of `x` is not complex.

    Args:
      x: array, number, or nested sequence of numbers.

    Returns:
      A Python bool; True for None.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isrealobj(jnp.array([1.]))
      True
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether `element` is a number or an array without axes.

    Args:
      element: any object.

    Returns:
      A Python bool, also True for strings, as in NumPy.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.isscalar(jnp.float32(1)), jnp.isscalar([1])
      (True, False)
    """
    if np.isscalar(element):
        return True
    return is_arraylike(element) and aval_of(element).shape == ()
