"""The precision of matrix products: `precision=` of dots and convolutions.

A precision is None (the platform's choice), a pair of `Precision` (one per operand), or a
dot algorithm: a `DotAlgorithmPreset` or a `DotAlgorithm`.  `canonical` converts a user's
argument to one of these, and replaces None by `config.MATMUL_PRECISION`.  `algorithm` and
`precision_attribute` return the form that StableHLO needs.  The types and passes of the
presets come from the StableHLO specification, section dot_general, and from the presets'
names (lhs, rhs, accumulation, passes).

This file contains no primitive.  Next: dot.py.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from ...base import config, errors
from ...types import dtypes

__all__ = ("Precision", "DotAlgorithm", "DotAlgorithmPreset", "PrecisionLike")


class Precision(enum.Enum):
    """The precision of matrix products on accelerators.

    DEFAULT is the fastest (bfloat16 on TPUs, TF32 on GPUs), HIGHEST the most exact.

    >>> Precision('high')
    Precision.HIGH
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return _NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_NAMES: dict[Any, Precision] = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}


class DotAlgorithm(NamedTuple):
    """A dot algorithm: the types of operands and accumulator, and how many products are
    computed for one.

    >>> DotAlgorithm('bfloat16', 'bfloat16', 'float32').num_primitive_operations
    1
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Dot algorithms that some hardware supports: LHS_RHS_ACCUMULATOR[_PASSES].

    >>> print(DotAlgorithmPreset.BF16_BF16_F32)
    BF16_BF16_F32
    """

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


# ------------------------------------------------------------------ user's arguments

PrecisionLike = (
    Precision
    | str
    | tuple[Precision, Precision]
    | tuple[str, str]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)


def canonical(precision: Any) -> Any:
    """Return a precision as None, a pair of `Precision`, a preset or a `DotAlgorithm`.

    >>> canonical('high')
    (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = config.MATMUL_PRECISION.value
        if precision is None:
            return None
    if isinstance(precision, (Precision, str)):
        if type(precision) is str and precision not in _NAMES:
            preset = DotAlgorithmPreset.__members__.get(precision)
            if preset is None:
                raise _invalid_precision(precision)
            return preset
        one = Precision(precision)
        return (one, one)
    if isinstance(precision, (DotAlgorithmPreset, DotAlgorithm)):
        return precision
    pair = isinstance(precision, (tuple, list)) and len(precision) == 2
    if pair and all(map(_is_name, precision)):
        return tuple(map(Precision, precision))
    raise _invalid_precision(precision)


def _is_name(p: Any) -> bool:
    return isinstance(p, Precision) or (isinstance(p, str) and p in _NAMES)


def _invalid_precision(precision: Any) -> ValueError:
    names = ", ".join(repr(n) for n in _NAMES if n)
    return errors.value_error(
        "Precision argument must be one of: None, a lax.Precision, a pair of them or"
        " of their names, a lax.DotAlgorithm, a lax.DotAlgorithmPreset or its name;"
        f" but got {precision}.",
        tries=[f"one of {names}"],
    )


# ------------------------------------------------------------------ attributes for XLA


class Algorithm(NamedTuple):
    """The requirements of an algorithm: the dtypes that each operand may have (others are
    converted to the first), the dtypes of the result, and the attribute's text."""

    lhs: tuple[Any, ...]
    rhs: tuple[Any, ...]
    out: Callable[[Any, Any], tuple[Any, ...]]
    text: Callable[[Any, Any], str]


_FAST_ON_CPU = frozenset(
    (
        DotAlgorithmPreset.DEFAULT,
        DotAlgorithmPreset.F16_F16_F16,
        DotAlgorithmPreset.BF16_BF16_F32,
        DotAlgorithmPreset.BF16_BF16_F32_X3,
        DotAlgorithmPreset.BF16_BF16_F32_X6,
        DotAlgorithmPreset.F32_F32_F32,
        DotAlgorithmPreset.F64_F64_F64,
    )
)
_NAMED = {
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F32": dtypes.float32,
    "TF32": dtypes.float32,
    "F64": dtypes.float64,
}
_F8_OUT = (
    dtypes.float32,
    dtypes.float16,
    dtypes.bfloat16,
    *(
        d
        for d in dtypes.FLOAT8
        if d.name not in ("float8_e3m4", "float8_e4m3", "float8_e8m0fnu")
    ),
)


def algorithm(precision: Any, platform: str, lhs: Any, rhs: Any) -> Algorithm | None:
    """Return the algorithm of `precision`, or None; raise ValueError if unsupported."""
    if precision is None or type(precision) is tuple:
        return None
    if platform == "cpu" and precision not in _FAST_ON_CPU:
        raise errors.value_error(
            f"The precision {str(precision)!r} is not supported by dot_general on CPU.",
            why="CPUs have no such instructions.",
            tries=[f"one of {', '.join(sorted(map(str, _FAST_ON_CPU)))}"],
        )
    if isinstance(precision, DotAlgorithm):
        return _explicit(precision)
    if precision is DotAlgorithmPreset.DEFAULT:
        return None
    if precision.name.startswith("ANY_F8"):
        return _any_f8(precision, lhs, rhs)
    return _preset(precision)


def _explicit(a: DotAlgorithm) -> Algorithm:
    lhs, rhs, total = (dtypes.as_dtype(d) for d in a[:3])
    text = _text(
        mlir_name(lhs),
        mlir_name(rhs),
        mlir_name(total),
        *a[3:6],
        fast=a.allow_imprecise_accumulation,
    )
    return Algorithm((lhs,), (rhs,), lambda x, y: (total,), lambda x, y: text)


def _preset(preset: DotAlgorithmPreset) -> Algorithm:
    left, right, total, *passes = preset.name.split("_")
    count = int(passes[0][1:]) if passes else 1
    text = _text(left.lower(), right.lower(), total.lower(), 1, 1, count)
    operand = _NAMED[left]
    accepted: tuple[Any, ...] = (operand,)
    if left == "BF16":  # hardware rounds f32 operands; several passes need all their bits
        f32 = dtypes.float32
        accepted = (f32,) if passes else (operand, f32)
    result = _NAMED[total]

    def out(x: Any, y: Any) -> tuple[Any, ...]:
        narrow = left == "BF16" and not passes and x == y == dtypes.bfloat16
        return (result, dtypes.bfloat16) if narrow else (result,)

    return Algorithm(accepted, accepted, out, lambda x, y: text)


def _any_f8(preset: DotAlgorithmPreset, lhs: Any, rhs: Any) -> Algorithm:
    if lhs not in dtypes.FLOAT8 or rhs not in dtypes.FLOAT8:
        raise errors.value_error(
            f"The dot algorithm {preset.name!r} requires both inputs to have float8"
            f" dtypes. Got {lhs} and {rhs} instead.",
            tries=["x.astype(jnp.float8_e4m3fn)", "another precision"],
        )
    free = "F8_ANY" in preset.name.removeprefix("ANY_F8_ANY_")
    fast = preset is DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM

    def text(x: Any, y: Any) -> str:
        return _text(mlir_name(x), mlir_name(y), "f32", 1, 1, 1, fast=fast)

    def out(x: Any, y: Any) -> tuple[Any, ...]:
        return () if free else _F8_OUT

    return Algorithm((), (), out, text)


def mlir_name(dtype: Any) -> str:
    """Return the name of a float dtype in MLIR: `f32`, `bf16`, `f8E4M3FN`."""
    name = str(dtype.name)
    if name.startswith("float8_"):
        return "f8" + name[len("float8_") :].upper()
    return dtypes.short_name(dtype)


def _text(
    lhs: str, rhs: str, total: str, n_lhs: int, n_rhs: int, n: int, fast: bool = False
) -> str:
    return (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {lhs}, rhs_precision_type ="
        f" {rhs}, accumulation_type = {total}, lhs_component_count = {n_lhs},"
        f" rhs_component_count = {n_rhs}, num_primitive_operations = {n},"
        f" allow_imprecise_accumulation = {str(fast).lower()}>"
    )


def precision_attribute(ctx: Any, precision: Any) -> Any:
    """Return the `precision_config` attribute of a dot or a convolution."""
    pair = ("DEFAULT", "DEFAULT")
    if type(precision) is tuple:
        pair = (precision[0].name, precision[1].name)
    left, right = pair
    return ctx.parse(f"[#stablehlo<precision {left}>, #stablehlo<precision {right}>]")
