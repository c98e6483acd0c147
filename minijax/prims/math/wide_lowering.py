"""Lowering of elementwise functions in a wider dtype than that of their operands.

`lower_wide` lowers a function written in the primitives of this layer; dtypes narrower than
float32 are computed in float32.

Next: ../special/bessel.py, ../special/gamma.py, ../special/beta.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import Rule, broadcast_operands

WIDE = frozenset((dtypes.float32, dtypes.float64))


def widen(ctx, operands: Sequence[Any], narrow: frozenset[Any] | None = None):
    """Emit operands in one shape and a wide dtype; return them and their aval.

    narrow: the dtypes to be widened, by default all except float32 and float64.
    """
    out = ctx.avals_out[0]
    operands = broadcast_operands(ctx, operands, out.shape)
    is_narrow = out.dtype in narrow if narrow is not None else out.dtype not in WIDE
    if not is_narrow:
        return operands, shaped(out.shape, out.dtype)
    aval = shaped(out.shape, dtypes.float32)
    return [ctx.op("convert", aval, x) for x in operands], aval


def narrow(ctx: Any, value: Any, aval: Any) -> Any:
    """Emit the conversion of a value of type `aval` to the result's dtype."""
    out = ctx.avals_out[0]
    return value if aval.dtype == out.dtype else ctx.op("convert", out, value)


def lower_wide(fun: Callable[..., Any]) -> Rule:
    """Return the lowering rule of an elementwise function written in primitives."""

    def lower(ctx: Any, *operands: Any) -> Any:
        values, aval = widen(ctx, operands)
        (out,) = ctx.fun(fun, *values, avals=[aval] * len(values))
        return narrow(ctx, out, aval)

    return lower


_TINY = frozenset(dtypes.SMALL_FLOATS)


def lower_chlo(op: str) -> Rule:
    """Return the lowering rule that emits `chlo.<op>`; 8-bit floats are widened."""

    def lower(ctx: Any, *operands: Any) -> Any:
        values, aval = widen(ctx, operands, _TINY)
        return narrow(ctx, ctx.chlo(op, aval, *values), aval)

    return lower
