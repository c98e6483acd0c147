"""Dtypes: which exist, their kinds and their names.

A dtype is a `np.dtype` (NumPy's and ml_dtypes'), or an `ExtendedDType`: an opaque element
type, such as random keys, stored as a small array of numbers.

This module does not depend on arrays.  Next: avals.py, shapes and abstract values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ..base import config, errors

if TYPE_CHECKING:
    from .aliases import DType, DTypeLike, Reduced, Value

bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
bool_: np.dtype[Any] = np.dtype(np.bool_)
int4: np.dtype[Any] = np.dtype(ml_dtypes.int4)
uint4: np.dtype[Any] = np.dtype(ml_dtypes.uint4)
int2: np.dtype[Any] = np.dtype(ml_dtypes.int2)
uint2: np.dtype[Any] = np.dtype(ml_dtypes.uint2)
int8, int16, int32, int64 = map(np.dtype, (np.int8, np.int16, np.int32, np.int64))
uint8, uint16, uint32, uint64 = map(np.dtype, (np.uint8, np.uint16, np.uint32, np.uint64))
float16, float32, float64 = map(np.dtype, (np.float16, np.float32, np.float64))
complex64, complex128 = map(np.dtype, (np.complex64, np.complex128))
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])

FLOAT8: tuple[np.dtype[Any], ...] = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e3m4",
        "float8_e4m3",
        "float8_e8m0fnu",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    )
)
float4_e2m1fn: np.dtype[Any] = np.dtype(ml_dtypes.float4_e2m1fn)
SMALL_FLOATS = (*FLOAT8, float4_e2m1fn)
# Dtypes of stored data that no device computes with: no array has one of these.
STORED: dict[np.dtype[Any], str] = {
    np.dtype(getattr(ml_dtypes, name)): kind_
    for name, kind_ in (
        ("int1", "int"),
        ("uint1", "uint"),
        ("float6_e2m3fn", "float"),
        ("float6_e3m2fn", "float"),
    )
    if hasattr(ml_dtypes, name)
}

SIGNED = (int2, int4, int8, int16, int32, int64)
UNSIGNED = (uint2, uint4, uint8, uint16, uint32, uint64)
FLOATS = (*SMALL_FLOATS, bfloat16, float16, float32, float64)
COMPLEX = (complex64, complex128)


class ExtendedDType:
    """An opaque element type, stored as an array of `base_dtype`, `base_shape`.

    The `_rules` of a library's own dtype define its storage, its conversions, the dtype of
    its tangents, their sum, and zero.
    """

    _rules: Any
    name: str
    type: type[extended]

    @property
    def base_shape(self) -> tuple[int, ...]:
        return tuple(self._rules.physical_element_aval(self).shape)

    @property
    def base_dtype(self) -> np.dtype[Any]:
        return self._rules.physical_element_aval(self).dtype  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        return int(np.prod(self.base_shape)) * int(self.base_dtype.itemsize)


class extended(np.generic):
    """Abstract scalar type above all extended dtypes (`jax.dtypes.extended`)."""

    __module__ = "minijax.dtypes"


class prng_key(extended):
    """Abstract scalar type of random keys (`jax.dtypes.prng_key`)."""

    __module__ = "minijax.dtypes"


class KeyTy(ExtendedDType):
    """The dtype of random keys, `key<fry>`: one object per implementation."""

    type = prng_key
    base_shape: tuple[int, ...] = ()
    base_dtype: np.dtype[Any] = uint32
    itemsize: int = 0
    _instances: dict[Any, KeyTy] = {}

    def __new__(cls, impl: Any) -> KeyTy:
        instance = cls._instances.get(impl)
        return super().__new__(cls) if instance is None else instance

    def __init__(self, impl: Any) -> None:
        # Python calls this also for an instance that `__new__` found: it must be idempotent.
        self._instances[impl] = self
        self.impl = impl
        self.base_shape = impl.key_shape
        self.base_dtype = uint32
        self.name = f"key<{impl.tag}>"
        self.itemsize = 4 * int(np.prod(impl.key_shape))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Reduced:
        return KeyTy, (self.impl,)


def is_extended(dtype: DType) -> bool:
    return isinstance(dtype, ExtendedDType)


def rules_of(dtype: DType) -> Any:
    """Return the rules of a library's extended dtype; None for any other dtype."""
    return getattr(dtype, "_rules", None) if is_extended(dtype) else None


# ------------------------------------------------------------- canonical dtypes

_TO_32 = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
PYTHON_SCALARS = {bool: bool_, int: int64, float: float64, complex: complex128}


def canonical(dtype: DTypeLike) -> DType:
    """Return the dtype that `dtype` means now: 64-bit types narrow unless x64 is on."""
    if isinstance(dtype, ExtendedDType):
        return dtype
    if not isinstance(dtype, np.dtype):
        dtype = as_dtype(dtype)
    return dtype if config.X64.value else narrow(dtype)


def narrow(dtype: DType) -> DType:
    """Return the 32-bit counterpart of a 64-bit dtype; others unchanged."""
    return _TO_32.get(dtype, dtype)


def as_dtype(dtype: DTypeLike) -> DType:
    """Return a NumPy or Python type, a name or a scalar function as an np.dtype."""
    if isinstance(dtype, (np.dtype, ExtendedDType)):
        return dtype
    try:
        if dtype in PYTHON_SCALARS:
            return PYTHON_SCALARS[dtype]
    except TypeError:  # it cannot be hashed
        check_dtype_argument(dtype, "dtype")
    if dtype is None:
        raise TypeError("Expected a dtype, got None.")
    inner = getattr(dtype, "dtype", None)
    if isinstance(inner, (np.dtype, ExtendedDType)):
        return inner
    if isinstance(dtype, str) and hasattr(ml_dtypes, dtype):
        return np.dtype(getattr(ml_dtypes, dtype))
    return np.dtype(dtype)


def check_dtype_argument(dtype: object, fun: str) -> None:
    """Raise if the dtype argument of `fun` is an array.

    The user mostly meant it as a second array operand.
    """
    if isinstance(dtype, np.generic) or not hasattr(type(dtype), "__array__"):
        return
    host = isinstance(dtype, np.ndarray)
    raise errors.error(
        TypeError if host else ValueError,
        "Cannot construct a dtype from an array."
        if host
        else "Passing an array as a dtype argument is no longer supported; instead of"
        " dtype=arr use dtype=arr.dtype.",
        where=fun,
        which=f"an array of {getattr(dtype, 'dtype', None)}",
        tries=["arr.dtype", "pass several arrays to join as one list"],
    )


_valid: dict[Any, bool] = {}


def is_valid(dtype: DType) -> bool:
    """Whether arrays of `dtype` exist."""
    valid = _valid.get(dtype)
    if valid is None:
        valid = is_extended(dtype) or dtype in _ALL
        _valid[dtype] = valid
    return valid


_ALL = frozenset((bool_, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX, float0))


def wide_types() -> bool:
    """Whether 64-bit types may exist: by default, or on explicit request."""
    return bool(config.X64.value) or config.EXPLICIT_X64.value == "allow"


def float_default() -> np.dtype[Any]:
    """Return the dtype of a Python float."""
    if config.DEFAULT_DTYPE_BITS.value == "32":
        return float32
    return float64 if config.X64.value else float32


def int_default() -> np.dtype[Any]:
    """Return the dtype of a Python int."""
    if config.DEFAULT_DTYPE_BITS.value == "32":
        return int32
    return int64 if config.X64.value else int32


def scalar_dtype(kind: type) -> np.dtype[Any]:
    """Return the dtype of a Python scalar of type `kind`."""
    if kind is bool:
        return bool_
    if kind is int:
        return int_default()
    if kind is float:
        return float_default()
    if config.DEFAULT_DTYPE_BITS.value == "32":
        return complex64
    return complex128 if config.X64.value else complex64


# ------------------------------------------------------------------- categories


def kind(dtype: DType) -> str:
    """Return 'bool', 'int', 'uint', 'float', 'complex', 'float0' or 'key'."""
    name = KINDS.get(dtype)
    if name is None:
        if is_extended(dtype):
            return "key"
        raise TypeError(f"no numeric kind for dtype {dtype}")
    return name


KINDS: dict[Any, str] = {bool_: "bool", float0: "float0"}
KINDS.update(dict.fromkeys(SIGNED, "int"))
KINDS.update(dict.fromkeys(UNSIGNED, "uint"))
KINDS.update(dict.fromkeys(FLOATS, "float"))
KINDS.update(dict.fromkeys(COMPLEX, "complex"))
KINDS.update(STORED)


def is_float(dtype: DType) -> bool:
    return KINDS.get(dtype) == "float"


def is_complex(dtype: DType) -> bool:
    return KINDS.get(dtype) == "complex"


def is_inexact(dtype: DType) -> bool:
    return KINDS.get(dtype) in ("float", "complex")


def is_integer(dtype: DType) -> bool:
    return KINDS.get(dtype) in ("int", "uint")


def is_signed(dtype: DType) -> bool:
    return KINDS.get(dtype) == "int"


def is_unsigned(dtype: DType) -> bool:
    return KINDS.get(dtype) == "uint"


def is_bool(dtype: DType) -> bool:
    return bool(dtype == bool_)


def is_differentiable(dtype: DType) -> bool:
    """Whether values of this dtype have tangents of the same dtype."""
    kind = KINDS.get(dtype)
    return kind in ("float", "complex") or (kind is None and tangent_of(dtype) == dtype)


def tangent_of(dtype: DType) -> DType:
    """Return the dtype of tangents of values of this dtype."""
    if KINDS.get(dtype) in ("float", "complex"):
        return dtype
    rules = rules_of(dtype)
    return float0 if rules is None else rules.tangent_dtype(dtype)


def to_inexact(dtype: DType) -> DType:
    """Return the inexact dtype to which float functions widen integers and bools."""
    if is_inexact(dtype):
        return dtype
    if is_extended(dtype):
        raise TypeError(f"Cannot interpret '{dtype.name}' as a data type.")
    return float64 if dtype in (int64, uint64) and wide_types() else float32


def real_of(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex dtype; otherwise `dtype` itself."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype whose parts can represent `dtype`."""
    if is_complex(dtype):
        return dtype
    return complex128 if dtype in (float64, int64, uint64) else complex64


def stored(x: Value, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a value as the array that is stored in memory.

    float0 has no bits: it is stored as zeros of a dtype that NumPy never reads from there.
    """
    if dtype == float0:
        return np.zeros(np.shape(x), ml_dtypes.float8_e5m2)
    return np.asarray(x, dtype)


# ------------------------------------------------------------------------ names

_SHORT: dict[Any, str] = {bool_: "bool", bfloat16: "bf16", float0: "float0"}
for _d in (*SIGNED, *UNSIGNED, float16, float32, float64, *COMPLEX):
    _bits = _d.name.lstrip("uintfloacmpex")
    _SHORT[_d] = {"i": "i", "u": "u", "f": "f", "c": "c"}[_d.name[0]] + _bits
for _d in (*SMALL_FLOATS, *STORED):
    _SHORT[_d] = _d.name.replace("float", "f").replace("uint", "u").replace("int", "i")


def short_name(dtype: DType) -> str:
    """Return the name in jaxprs and messages: `f32`, `i8`, `bf16`, `key<fry>`."""
    name = _SHORT.get(dtype)
    return name if name is not None else str(getattr(dtype, "name", dtype))


def bits_of(dtype: DType) -> int:
    """Return the size of an element in bits, also if a byte stores several elements."""
    name = dtype.name.partition("_")[0]
    digits = name.lstrip("uintfloa")
    narrow = name != digits and digits in ("1", "2", "4", "6")
    return int(digits) if narrow else 8 * int(dtype.itemsize)
