"""Dtypes: which exist, their names, their order and their promotion.

A dtype is a `np.dtype` (NumPy's and ml_dtypes'), or an `ExtendedDType`: an opaque element
type, such as random keys, stored as a small array of numbers.  Python scalars have *weak*
types: the type of the other operand wins (`int8(3) + 4` is int8).  Promotion is the least
upper bound in the lattice that JAX documents.

This module does not depend on arrays.  Next: avals.py, shapes and abstract values.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..base import config, errors, mixing
from ..base.source import stacklevel

bfloat16: Any = np.dtype(ml_dtypes.bfloat16)
bool_: Any = np.dtype(np.bool_)
int4: Any = np.dtype(ml_dtypes.int4)
uint4: Any = np.dtype(ml_dtypes.uint4)
int2: Any = np.dtype(ml_dtypes.int2)
uint2: Any = np.dtype(ml_dtypes.uint2)
int8, int16, int32, int64 = map(np.dtype, (np.int8, np.int16, np.int32, np.int64))
uint8, uint16, uint32, uint64 = map(np.dtype, (np.uint8, np.uint16, np.uint32, np.uint64))
float16, float32, float64 = map(np.dtype, (np.float16, np.float32, np.float64))
complex64, complex128 = map(np.dtype, (np.complex64, np.complex128))
float0: Any = np.dtype([("float0", np.void, 0)])

FLOAT8: tuple[Any, ...] = tuple(
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
float4_e2m1fn: Any = np.dtype(ml_dtypes.float4_e2m1fn)
SMALL_FLOATS = (*FLOAT8, float4_e2m1fn)
# Dtypes of stored data that no device computes with: no array has one of these.
STORED: dict[Any, str] = {
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
    type: Any

    @property
    def base_shape(self) -> tuple[int, ...]:
        return tuple(self._rules.physical_element_aval(self).shape)

    @property
    def base_dtype(self) -> Any:
        return self._rules.physical_element_aval(self).dtype

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
    base_dtype: Any = None
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

    def __reduce__(self) -> Any:
        return KeyTy, (self.impl,)


def is_extended(dtype: Any) -> bool:
    return isinstance(dtype, ExtendedDType)


def rules_of(dtype: Any) -> Any:
    """Return the rules of a library's extended dtype; None for any other dtype."""
    return getattr(dtype, "_rules", None) if is_extended(dtype) else None


# ------------------------------------------------------------- canonical dtypes

_TO_32 = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}
PYTHON_SCALARS = tuple(_PYTHON)


def canonical(dtype: Any) -> Any:
    """Return the dtype that `dtype` means now: 64-bit types narrow unless x64 is on."""
    if isinstance(dtype, ExtendedDType):
        return dtype
    if not isinstance(dtype, np.dtype):
        dtype = as_dtype(dtype)
    return dtype if config.X64.value else narrow(dtype)


def narrow(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the 32-bit counterpart of a 64-bit dtype; others unchanged."""
    return _TO_32.get(dtype, dtype)


def as_dtype(dtype: Any) -> Any:
    """Return a NumPy or Python type, a name or a scalar function as an np.dtype."""
    if isinstance(dtype, (np.dtype, ExtendedDType)):
        return dtype
    try:
        if dtype in _PYTHON:
            return _PYTHON[dtype]
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


def check_dtype_argument(dtype: Any, fun: str) -> None:
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


def is_valid(dtype: Any) -> bool:
    """Whether arrays of `dtype` exist."""
    valid = _valid.get(dtype)
    if valid is None:
        valid = is_extended(dtype) or dtype in _ALL
        _valid[dtype] = valid
    return valid


_ALL = frozenset((bool_, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX, float0))


def requested_dtype(dtype: Any, fun: str) -> Any:
    """Return the dtype that a user's `dtype` argument of `fun` means.

    If x64 is off, a 64-bit dtype is narrowed with a warning, refused, or used, according to
    `jax_explicit_x64_dtypes`.
    """
    if is_extended(dtype):
        return dtype
    check_dtype_argument(dtype, fun)
    requested = as_dtype(dtype)
    if not is_valid(requested):
        raise errors.type_error(
            f"JAX only supports number, bool, and string dtypes, got dtype {dtype} in {fun}",
            why=f"no array has elements of dtype {requested}.",
        )
    if requested not in _TO_32 or config.X64.value:
        return requested
    if isinstance(dtype, type) and dtype in _PYTHON:
        return _TO_32[requested]
    if config.EXPLICIT_X64.value == "allow":
        return requested
    what = f"Explicitly requested dtype {requested} requested in {fun} is not available"
    if config.EXPLICIT_X64.value == "error":
        raise errors.value_error(
            f"{what}. To enable more dtypes, set the jax_enable_x64 or"
            " allow_explicit_x64_dtypes configuration options.",
            why="jax_explicit_x64_dtypes='error' refuses dtypes that would be narrowed.",
            tries=[f"dtype={_TO_32[requested]}", "jax_explicit_x64_dtypes='allow'"],
        )
    warnings.warn(
        f"{what}, and will be truncated to dtype {_TO_32[requested]}. To enable more"
        " dtypes, set the jax_enable_x64 configuration option or the"
        " JAX_ENABLE_X64 shell environment variable. See"
        " https://github.com/jax-ml/jax#current-gotchas for more.",
        stacklevel=stacklevel(),
    )
    return _TO_32[requested]


def wide_types() -> bool:
    """Whether 64-bit types may exist: by default, or on explicit request."""
    return bool(config.X64.value) or config.EXPLICIT_X64.value == "allow"


def float_default() -> Any:
    """Return the dtype of a Python float."""
    if config.DEFAULT_DTYPE_BITS.value == "32":
        return float32
    return float64 if config.X64.value else float32


def int_default() -> Any:
    """Return the dtype of a Python int."""
    if config.DEFAULT_DTYPE_BITS.value == "32":
        return int32
    return int64 if config.X64.value else int32


def scalar_dtype(kind: type) -> Any:
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


def kind(dtype: Any) -> str:
    """Return 'bool', 'int', 'uint', 'float', 'complex', 'float0' or 'key'."""
    name = _KINDS.get(dtype)
    if name is None:
        if is_extended(dtype):
            return "key"
        raise TypeError(f"no numeric kind for dtype {dtype}")
    return name


_KINDS: dict[Any, str] = {bool_: "bool", float0: "float0"}
_KINDS.update(dict.fromkeys(SIGNED, "int"))
_KINDS.update(dict.fromkeys(UNSIGNED, "uint"))
_KINDS.update(dict.fromkeys(FLOATS, "float"))
_KINDS.update(dict.fromkeys(COMPLEX, "complex"))
_KINDS.update(STORED)


def is_float(dtype: Any) -> bool:
    return _KINDS.get(dtype) == "float"


def is_complex(dtype: Any) -> bool:
    return _KINDS.get(dtype) == "complex"


def is_inexact(dtype: Any) -> bool:
    return _KINDS.get(dtype) in ("float", "complex")


def is_integer(dtype: Any) -> bool:
    return _KINDS.get(dtype) in ("int", "uint")


def is_signed(dtype: Any) -> bool:
    return _KINDS.get(dtype) == "int"


def is_unsigned(dtype: Any) -> bool:
    return _KINDS.get(dtype) == "uint"


def is_bool(dtype: Any) -> bool:
    return bool(dtype == bool_)


def is_differentiable(dtype: Any) -> bool:
    """Whether values of this dtype have tangents of the same dtype."""
    kind = _KINDS.get(dtype)
    return kind in ("float", "complex") or (kind is None and tangent_of(dtype) == dtype)


def tangent_of(dtype: Any) -> Any:
    """Return the dtype of tangents of values of this dtype."""
    if _KINDS.get(dtype) in ("float", "complex"):
        return dtype
    rules = rules_of(dtype)
    return float0 if rules is None else rules.tangent_dtype(dtype)


def to_inexact(dtype: Any) -> Any:
    """Return the inexact dtype to which float functions widen integers and bools."""
    if is_inexact(dtype):
        return dtype
    if is_extended(dtype):
        raise TypeError(f"Cannot interpret '{dtype.name}' as a data type.")
    return float64 if dtype in (int64, uint64) and wide_types() else float32


def real_of(dtype: Any) -> Any:
    """Return the dtype of the parts of a complex dtype; otherwise `dtype` itself."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def complex_of(dtype: Any) -> Any:
    """Return the complex dtype whose parts can represent `dtype`."""
    if is_complex(dtype):
        return dtype
    return complex128 if dtype in (float64, int64, uint64) else complex64


def _of_kinds(*kinds: str) -> frozenset[Any]:
    return frozenset(d for d, k in _KINDS.items() if k in kinds)


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


def _category(x: Any) -> bool:
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
    if _category(a):
        return _category(b) and issubclass(a, b)
    a, b = (x if _category(x) or is_extended(x) else _as_numpy_dtype(x) for x in (a, b))
    if is_extended(a):
        return issubclass(a.type, b) if _category(b) else a is b
    if not _category(b):
        return bool(a == b or (b == np.void and a.kind == "V" and a not in _KINDS))
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
            return _KINDS.get(dtype) in _API_KINDS[k]
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


def stored(x: Any, dtype: Any) -> np.ndarray[Any, Any]:
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


def short_name(dtype: Any) -> str:
    """Return the name in jaxprs and messages: `f32`, `i8`, `bf16`, `key<fry>`."""
    name = _SHORT.get(dtype)
    return name if name is not None else str(getattr(dtype, "name", dtype))


def bits_of(dtype: Any) -> int:
    """Return the size of an element in bits, also if a byte stores several elements."""
    name = dtype.name.partition("_")[0]
    digits = name.lstrip("uintfloa")
    narrow = name != digits and digits in ("1", "2", "4", "6")
    return int(digits) if narrow else 8 * int(dtype.itemsize)


# -------------------------------------------------------------------- promotion
# The lattice of the type-promotion design: an edge leads to the next larger type.
# "i*", "f*", "c*" are the weak types of Python's int, float and complex.

_EDGES: dict[Any, tuple[Any, ...]] = {
    bool_: ("i*",),
    "i*": (uint2, int2, uint4, int4, uint8, int8),
    uint2: (),
    int2: (),
    uint4: (),
    int4: (),
    uint8: (int16, uint16),
    uint16: (int32, uint32),
    uint32: (int64, uint64),
    int8: (int16,),
    int16: (int32,),
    int32: (int64,),
    int64: ("f*",),
    uint64: ("f*",),
    "f*": (*SMALL_FLOATS, bfloat16, float16, "c*"),
    bfloat16: (float32,),
    float16: (float32,),
    float32: (float64, complex64),
    float64: (complex128,),
    "c*": (complex64,),
    complex64: (complex128,),
    complex128: (),
    **{f8: () for f8 in SMALL_FLOATS},
}
for _d, _k in STORED.items():
    _EDGES[_d] = ()
    _weak = "f*" if _k == "float" else "i*"
    _EDGES[_weak] = (*_EDGES[_weak], _d)
_STRICT_EDGES: dict[Any, tuple[Any, ...]] = {
    **{d: () for d in _EDGES},
    "i*": ("f*", *_of_kinds("int", "uint")),
    "f*": ("c*", *_of_kinds("float")),
    "c*": COMPLEX,
    bool_: (),
}


@functools.cache
def _above(strict: bool) -> dict[Any, frozenset[Any]]:
    edges = _STRICT_EDGES if strict else _EDGES
    up: dict[Any, frozenset[Any]] = {}

    def reach(node: Any) -> frozenset[Any]:
        if node not in up:
            up[node] = frozenset((node,)).union(*(reach(n) for n in edges[node]))
        return up[node]

    for node in edges:
        reach(node)
    return up


def check_holds(name: str, number: Any, dtype: np.dtype[Any]) -> None:
    """Raise OverflowError if a 32-bit dtype cannot represent a position or a count.

    Symbolic numbers are not checked, nor are other dtypes, which programs choose.
    """
    if type(number) is not int or -(2**31) <= number < 2**31:
        return
    if dtype == int32 or (dtype == uint32 and not 0 <= number < 2**32):
        raise errors.error(
            OverflowError,
            f"{name}: the number {number} is out of bounds for {dtype}.",
            why="an array has more elements than 32 bits can count.",
            tries=["jax.enable_x64(True)", "a dtype of 64 bits"],
        )


class TypePromotionError(ValueError):
    """No implicit promotion exists between these dtypes."""


class OpaqueDtypeError(TypePromotionError, TypeError):
    """Random keys and float0 do not promote with any other dtype."""


def _node(dtype: Any, weak: bool) -> Any:
    if not weak or dtype == bool_:
        return dtype
    return {"int": "i*", "uint": "i*", "float": "f*", "complex": "c*"}[kind(dtype)]


@functools.cache
def _join(nodes: tuple[Any, ...], strict: bool) -> Any:
    up = _above(strict)
    for n in nodes:
        if n not in up:
            raise errors.ElementError(
                f"dtype={n!r} is not a valid dtype for JAX type promotion."
            )
    common = frozenset.intersection(*(up[n] for n in nodes))
    best = [n for n in common if common == up[n]]
    if not best:
        raise TypePromotionError(_no_path(nodes, strict))
    return best[0]


def _no_path(nodes: tuple[Any, ...], strict: bool) -> str:
    """Return the message for dtypes without a common one."""
    names = tuple(str(_WEAK_DTYPE.get(n, n)) for n in nodes)
    what = f"Input dtypes {names} have no available implicit dtype promotion path"
    if strict:
        what += " when jax_numpy_dtype_promotion=strict."
    else:
        what += "."
        kinds = {(kind(n), bits_of(n)) for n in nodes if not isinstance(n, str)}
        floats = sorted({bits for k, bits in kinds if k == "float" and bits <= 8})
        families = [f"{bits}-bit floats" for bits in reversed(floats)]
        if any(k in ("int", "uint") and bits < 8 for k, bits in kinds):
            families.append("1-bit, 2-bit and 4-bit integers")
        if families:
            what += (
                f" To avoid unintended promotion, {families[0]} do not support"
                " implicit promotion."
            )
    return errors.message(
        what,
        why="implicit promotion never discards an explicitly chosen dtype.",
        tries=["x.astype(...), with the common dtype that you mean"],
    )


_WEAK_DTYPE: dict[Any, type] = {"i*": int, "f*": float, "c*": complex}


def promote(pairs: tuple[tuple[Any, bool], ...], wide: bool = False) -> tuple[Any, bool]:
    """Join (dtype, weak) pairs: return the common dtype, and whether it is weak.

    With `wide` the result may have 64 bits even if arrays may not.
    """
    strict = config.PROMOTION.value == "strict"
    x64 = wide or config.X64.value
    keeps_64 = not x64 and wide_types() and any(d in _TO_32 for d, _ in pairs)
    bits = config.DEFAULT_DTYPE_BITS.value
    try:
        return _promote(pairs, strict, x64, keeps_64, bits)
    except OpaqueDtypeError:
        raise
    except TypePromotionError:
        # Strict promotion concerns the user's operands; internal code may mix dtypes.
        if not strict or mixing.by_user(functools.partial(_mixes, pairs)):
            raise
        return _promote(pairs, False, x64, keeps_64, bits)


def _mixes(pairs: tuple[tuple[Any, bool], ...], leaves: Sequence[Any]) -> bool:
    """Whether any of the leaves have dtypes of `pairs` that do not promote strictly."""
    leaf_nodes = {_node(*pair) for pair in map(_pair_of, leaves) if pair is not None}
    nodes = tuple(dict.fromkeys(_node(d, w) for d, w in pairs))
    both = tuple(n for n in nodes if n in leaf_nodes)
    try:
        return bool(both) and _join(both, True) is None
    except TypePromotionError:
        return True


def _pair_of(x: Any) -> tuple[Any, bool] | None:
    """Return the dtype of an operand, and whether it is weak; None if it has none."""
    if type(x) in _PYTHON:
        return scalar_dtype(type(x)), True
    aval = getattr(x, "aval", x)
    dtype = getattr(aval, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype not in _EDGES:
        return None
    dtype = dtype if config.X64.value else narrow(dtype)
    return dtype, bool(getattr(aval, "weak_type", False))


@functools.lru_cache(maxsize=4096)
def _promote(
    pairs: tuple[tuple[Any, bool], ...], strict: bool, x64: bool, keeps_64: bool, bits: str
) -> tuple[Any, bool]:
    first = pairs[0][0]
    if all(d == first for d, _ in pairs):
        return first, all(w for _, w in pairs) and first != bool_
    if any(is_extended(d) or d == float0 for d, _ in pairs):
        names = ", ".join(short_name(d) for d, _ in pairs)
        opaque = next(d for d, _ in pairs if is_extended(d) or d == float0)
        raise OpaqueDtypeError(
            f"dtype={opaque} is not a valid dtype for JAX type promotion: dtypes {names}"
            " have no common dtype."
        )
    node = _join(tuple(dict.fromkeys(_node(d, w) for d, w in pairs)), strict)
    if isinstance(node, str):
        # All weak: the widest of the dtypes seen of that kind, otherwise the default.
        kind_of = _WEAK_DTYPE[node]
        wide = x64 and bits != "32"
        dtype = _PYTHON[kind_of] if wide else scalar_dtype(kind_of)
        same = [d for d, _ in pairs if _node(d, True) == node]
        if same and all(d == same[0] for d in same):
            dtype = same[0]
        return dtype, True
    return node if x64 or keeps_64 else narrow(node), False
