"""Signs of the parts of complex results.

The compiler's functions of complex numbers lose the sign of a zero part, which says on
which side of a branch cut a number is.  By symmetry a part of these functions has the
sign of a part of the operand, or is a zero of that sign where the operand's part is 0
(W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987; C99, Annex G).

Next: elementary.py.
"""

from __future__ import annotations

import math
from typing import Any

from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import Rule, emit_compare, lower_elementwise


def with_signs(lower: str | Rule, **signs: str) -> Rule:
    """Return the lowering rule `lower`, with the signs that complex results must have.

    `real="imag"` says that the real part has the sign of the operand's imaginary part,
    "-imag" the other one, and "imag or" that it is the operand's where that is 0.
    """
    rule = lower_elementwise(lower) if isinstance(lower, str) else lower

    def lower_with_signs(ctx: Any, x: Any, **params: Any) -> Any:
        value = rule(ctx, x, **params)
        (out,) = ctx.avals_out
        if not dtypes.is_complex(out.dtype):
            return value
        part = shaped(out.shape, dtypes.real_of(out.dtype))
        parts = []
        for name in ("real", "imag"):
            y, how = ctx.op(name, part, value), signs.get(name)
            if how is not None:
                source = ctx.op("real" if "real" in how else "imag", part, x)
                if how.startswith("-"):
                    source = ctx.op("negate", part, source)
                y = (_where_zero if how.endswith(" or") else _copy_sign)(ctx, y, source, part)
            parts.append(y)
        return ctx.op("complex", out, *parts)

    return lower_with_signs


def _copy_sign(ctx: Any, x: Any, source: Any, aval: Any) -> Any:
    wide = aval.dtype == dtypes.float64
    bits = shaped(aval.shape, dtypes.int64 if wide else dtypes.int32)
    raw = ctx.op("bitcast_convert", bits, source)
    below = emit_compare(ctx, "LT", raw, ctx.constant(0, bits), bits)
    size = ctx.op("abs", aval, x)
    return ctx.op("select", aval, below, ctx.op("negate", aval, size), size)


def _where_zero(ctx: Any, x: Any, source: Any, aval: Any) -> Any:
    zero = emit_compare(ctx, "EQ", source, ctx.constant(0, aval), aval)
    return ctx.op("select", aval, zero, source, x)


def emit_scaled(ctx: Any, factor: float, x: Any, aval: Any) -> Any:
    """Emit `x` times a real number, part by part: an infinity times 0i would be nan."""
    if not dtypes.is_complex(aval.dtype):
        return ctx.op("multiply", aval, ctx.constant(factor, aval), x)
    part = shaped(aval.shape, dtypes.real_of(aval.dtype))
    by = ctx.constant(factor, part)
    parts = [ctx.op("multiply", part, by, ctx.op(n, part, x)) for n in ("real", "imag")]
    return ctx.op("complex", aval, *parts)


# ---- next to branch points, where squares of what is left underflow


def _size(ctx: Any, a: Any, b: Any, part: Any, whole: Any) -> Any:
    """Return the logarithm of |a + bi|."""
    return ctx.op("log", part, ctx.op("abs", part, ctx.op("complex", whole, a, b)))


def _is_small(ctx: Any, x: Any, border: float, part: Any) -> Any:
    return emit_compare(ctx, "LT", ctx.op("abs", part, x), ctx.constant(border, part), part)


def _parts(ctx: Any, x: Any) -> tuple[Any, Any, Any]:
    part = shaped(ctx.avals_out[0].shape, dtypes.real_of(ctx.avals_out[0].dtype))
    return ctx.op("real", part, x), ctx.op("imag", part, x), part


def _atanh_of(ctx: Any, a: Any, b: Any, part: Any) -> tuple[Any, Any]:
    """Return the parts of atanh(a + bi)."""
    (whole,) = ctx.avals_out
    flags = shaped(part.shape, dtypes.bool_)
    one, half = ctx.constant(1, part), ctx.constant(0.5, part)
    z = ctx.op("complex", whole, a, b)
    value = ctx.create("chlo.atanh", [ctx.type(whole)], [z]).result
    re, im = ctx.op("real", part, value), ctx.op("imag", part, value)
    size = ctx.op("abs", part, a)
    gap = ctx.op("subtract", part, one, size)
    near = ctx.op("and", flags, _is_small(ctx, gap, 0.25, part), _is_small(ctx, b, 0.25, part))
    high = _size(ctx, ctx.op("add", part, one, size), b, part, whole)
    low = _size(ctx, gap, b, part, whole)
    ratio = ctx.op("multiply", part, half, ctx.op("subtract", part, high, low))
    re = ctx.op("select", part, near, ratio, re)
    # The imaginary part knows nothing of nan.
    total = ctx.op("add", part, a, b)
    wild = emit_compare(ctx, "NE", total, total, part)
    level = _is_small(ctx, b, math.inf, part)
    undefined = ctx.op("and", flags, wild, level)
    undefined = ctx.op("or", flags, undefined, emit_compare(ctx, "NE", b, b, part))
    im = ctx.op("select", part, undefined, ctx.constant(math.nan, part), im)
    return _copy_sign(ctx, re, a, part), _copy_sign(ctx, im, b, part)


def lower_atanh(ctx: Any, x: Any) -> Any:
    """Emit atanh; of complex numbers precise next to 1 and -1, too."""
    (out,) = ctx.avals_out
    if not dtypes.is_complex(out.dtype):
        return lower_elementwise("chlo.atanh")(ctx, x)
    a, b, part = _parts(ctx, x)
    return ctx.op("complex", out, *_atanh_of(ctx, a, b, part))


def lower_atan(ctx: Any, x: Any) -> Any:
    """Emit atan; of complex numbers z as -i atanh(iz)."""
    (out,) = ctx.avals_out
    if not dtypes.is_complex(out.dtype):
        return lower_elementwise("chlo.atan")(ctx, x)
    a, b, part = _parts(ctx, x)
    re, im = _atanh_of(ctx, ctx.op("negate", part, b), a, part)
    return ctx.op("complex", out, im, ctx.op("negate", part, re))


def lower_log1p(lower: Rule) -> Rule:
    """Return the rule of log1p, that of complex numbers next to -1 by their logarithm."""

    def rule(ctx: Any, x: Any, **params: Any) -> Any:
        value = lower(ctx, x, **params)
        (out,) = ctx.avals_out
        if not dtypes.is_complex(out.dtype):
            return value
        a, b, part = _parts(ctx, x)
        above = ctx.op("add", part, a, ctx.constant(1, part))
        near = ctx.op(
            "and",
            shaped(out.shape, dtypes.bool_),
            _is_small(ctx, above, 0.5, part),
            _is_small(ctx, b, 0.5, part),
        )
        low = _size(ctx, above, b, part, out)
        re = ctx.op("select", part, near, low, ctx.op("real", part, value))
        return ctx.op("complex", out, re, ctx.op("imag", part, value))

    return rule
