"""Promotion: the common dtype of operands.

Promotion is the least upper bound in the lattice that JAX documents.  Python scalars have
*weak* types: the type of the other operand wins (`int8(3) + 4` is int8).  Primitives need
operands of equal dtypes; the functions that bind them promote.

Next: dtype_arguments.py.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import config, errors, mixing, util
from ..types.dtypes import (
    COMPLEX,
    KINDS,
    PYTHON_SCALARS,
    SMALL_FLOATS,
    STORED,
    bfloat16,
    bits_of,
    bool_,
    complex64,
    complex128,
    float0,
    float16,
    float32,
    float64,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    is_extended,
    kind,
    narrow,
    scalar_dtype,
    short_name,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
    wide_types,
)

# An edge leads to the next larger type.
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
    "i*": ("f*", *(d for d, k in KINDS.items() if k in ("int", "uint"))),
    "f*": ("c*", *(d for d, k in KINDS.items() if k == "float")),
    "c*": COMPLEX,
    bool_: (),
}


@util.cached(1024)
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


class TypePromotionError(ValueError):
    """No implicit promotion exists between these dtypes."""


class OpaqueDtypeError(TypePromotionError, TypeError):
    """Random keys and float0 do not promote with any other dtype."""


def _node(dtype: Any, weak: bool) -> Any:
    if not weak or dtype == bool_:
        return dtype
    return {"int": "i*", "uint": "i*", "float": "f*", "complex": "c*"}[kind(dtype)]


@util.cached(1024)
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
    keeps_64 = not x64 and wide_types() and any(narrow(d) is not d for d, _ in pairs)
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
    if type(x) in PYTHON_SCALARS:
        return scalar_dtype(type(x)), True
    aval = getattr(x, "aval", x)
    dtype = getattr(aval, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype not in _EDGES:
        return None
    dtype = dtype if config.X64.value else narrow(dtype)
    return dtype, bool(getattr(aval, "weak_type", False))


@util.cached(4096)
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
        dtype = PYTHON_SCALARS[kind_of]
        if not x64 or bits == "32":
            dtype = narrow(dtype)
        same = [d for d, _ in pairs if _node(d, True) == node]
        if same and all(d == same[0] for d in same):
            dtype = same[0]
        return dtype, True
    return node if x64 or keeps_64 else narrow(node), False
