"""Signs of the parts of complex results.

The compiler's functions of complex numbers lose the sign of a zero part, which determines
the side of a branch cut.  By symmetry, a part of the result has the sign of a part of the
operand, or is a zero of that sign if the operand's part is 0 (W. Kahan, "Branch Cuts for
Complex Elementary Functions", 1987; C99, Annex G).

Next: elementary.py.
"""

from __future__ import annotations

import math
from typing import Any

from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import Rule, emit_compare, lower_elementwise


def with_signs(lower: str | Rule, **signs: str) -> Rule:
    """Wrap a lowering rule so that complex results have correct signs.

    `real="imag"`: the real part has the sign of the operand's imaginary part; "-imag": the
    opposite sign; "imag or": it is the operand's imaginary part where that is 0.
    """
    rule = lower_elementwise(lower) if isinstance(lower, str) else lower

    def lower_with_signs(ctx: Any, x: Any, **params: Any) -> Any:
        value = rule(ctx, x, **params)
        (out,) = ctx.avals_out
        if not dtypes.is_complex(out.dtype):
            return value
        part_aval = shaped(out.shape, dtypes.real_of(out.dtype))
        results = []
        for name in ("real", "imag"):
            y, how = ctx.op(name, part_aval, value), signs.get(name)
            if how is not None:
                source = ctx.op("real" if "real" in how else "imag", part_aval, x)
                if how.startswith("-"):
                    source = ctx.op("negate", part_aval, source)
                y = (_emit_where_zero if how.endswith(" or") else _emit_copy_sign)(
                    ctx, y, source, part_aval
                )
            results.append(y)
        return ctx.op("complex", out, *results)

    return lower_with_signs


def _emit_copy_sign(ctx: Any, x: Any, source: Any, aval: Any) -> Any:
    wide = aval.dtype == dtypes.float64
    bits = shaped(aval.shape, dtypes.int64 if wide else dtypes.int32)
    # Compare the bits as integers, because -0.0 < 0 is false.
    raw = ctx.op("bitcast_convert", bits, source)
    below = emit_compare(ctx, "LT", raw, ctx.constant(0, bits), bits)
    size = ctx.op("abs", aval, x)
    return ctx.op("select", aval, below, ctx.op("negate", aval, size), size)


def _emit_where_zero(ctx: Any, x: Any, source: Any, aval: Any) -> Any:
    zero = emit_compare(ctx, "EQ", source, ctx.constant(0, aval), aval)
    return ctx.op("select", aval, zero, source, x)


def emit_scaled(ctx: Any, factor: float, x: Any, aval: Any) -> Any:
    """Emit `x` times a real number, by parts: an infinity times 0i would be nan."""
    if not dtypes.is_complex(aval.dtype):
        return ctx.op("multiply", aval, ctx.constant(factor, aval), x)
    part_aval = shaped(aval.shape, dtypes.real_of(aval.dtype))
    by = ctx.constant(factor, part_aval)
    scaled = [
        ctx.op("multiply", part_aval, by, ctx.op(n, part_aval, x)) for n in ("real", "imag")
    ]
    return ctx.op("complex", aval, *scaled)


# ---- near branch points, where the squares of distances underflow


def _emit_log_abs(ctx: Any, a: Any, b: Any, part_aval: Any, complex_aval: Any) -> Any:
    """Emit the logarithm of |a + bi|."""
    return ctx.op(
        "log", part_aval, ctx.op("abs", part_aval, ctx.op("complex", complex_aval, a, b))
    )


def _is_small(ctx: Any, x: Any, border: float, part_aval: Any) -> Any:
    return emit_compare(
        ctx, "LT", ctx.op("abs", part_aval, x), ctx.constant(border, part_aval), part_aval
    )


def _emit_parts(ctx: Any, x: Any) -> tuple[Any, Any, Any]:
    part_aval = shaped(ctx.avals_out[0].shape, dtypes.real_of(ctx.avals_out[0].dtype))
    return ctx.op("real", part_aval, x), ctx.op("imag", part_aval, x), part_aval


def _atanh_of(ctx: Any, a: Any, b: Any, part_aval: Any) -> tuple[Any, Any]:
    """Emit the parts of atanh(a + bi)."""
    (complex_aval,) = ctx.avals_out
    flags = shaped(part_aval.shape, dtypes.bool_)
    one, half = ctx.constant(1, part_aval), ctx.constant(0.5, part_aval)
    z = ctx.op("complex", complex_aval, a, b)
    value = ctx.create("chlo.atanh", [ctx.type(complex_aval)], [z]).result
    re, im = ctx.op("real", part_aval, value), ctx.op("imag", part_aval, value)
    size = ctx.op("abs", part_aval, a)
    gap = ctx.op("subtract", part_aval, one, size)
    near = ctx.op(
        "and", flags, _is_small(ctx, gap, 0.25, part_aval), _is_small(ctx, b, 0.25, part_aval)
    )
    high = _emit_log_abs(ctx, ctx.op("add", part_aval, one, size), b, part_aval, complex_aval)
    low = _emit_log_abs(ctx, gap, b, part_aval, complex_aval)
    ratio = ctx.op("multiply", part_aval, half, ctx.op("subtract", part_aval, high, low))
    re = ctx.op("select", part_aval, near, ratio, re)
    # chlo.atanh ignores nan in the imaginary part.
    total = ctx.op("add", part_aval, a, b)
    is_nan = emit_compare(ctx, "NE", total, total, part_aval)
    b_is_finite = _is_small(ctx, b, math.inf, part_aval)
    undefined = ctx.op("and", flags, is_nan, b_is_finite)
    undefined = ctx.op("or", flags, undefined, emit_compare(ctx, "NE", b, b, part_aval))
    im = ctx.op("select", part_aval, undefined, ctx.constant(math.nan, part_aval), im)
    return _emit_copy_sign(ctx, re, a, part_aval), _emit_copy_sign(ctx, im, b, part_aval)


def lower_atanh(ctx: Any, x: Any) -> Any:
    """Emit atanh, which for complex numbers is also precise near 1 and -1."""
    (out,) = ctx.avals_out
    if not dtypes.is_complex(out.dtype):
        return lower_elementwise("chlo.atanh")(ctx, x)
    a, b, part_aval = _emit_parts(ctx, x)
    return ctx.op("complex", out, *_atanh_of(ctx, a, b, part_aval))


def lower_atan(ctx: Any, x: Any) -> Any:
    """Emit atan, which for complex numbers z is -i atanh(iz)."""
    (out,) = ctx.avals_out
    if not dtypes.is_complex(out.dtype):
        return lower_elementwise("chlo.atan")(ctx, x)
    a, b, part_aval = _emit_parts(ctx, x)
    re, im = _atanh_of(ctx, ctx.op("negate", part_aval, b), a, part_aval)
    return ctx.op("complex", out, im, ctx.op("negate", part_aval, re))


def lower_log1p(lower: Rule) -> Rule:
    """Return the rule of log1p, which near -1 uses the logarithm of a complex number."""

    def rule(ctx: Any, x: Any, **params: Any) -> Any:
        value = lower(ctx, x, **params)
        (out,) = ctx.avals_out
        if not dtypes.is_complex(out.dtype):
            return value
        a, b, part_aval = _emit_parts(ctx, x)
        above = ctx.op("add", part_aval, a, ctx.constant(1, part_aval))
        near = ctx.op(
            "and",
            shaped(out.shape, dtypes.bool_),
            _is_small(ctx, above, 0.5, part_aval),
            _is_small(ctx, b, 0.5, part_aval),
        )
        low = _emit_log_abs(ctx, above, b, part_aval, out)
        re = ctx.op("select", part_aval, near, low, ctx.op("real", part_aval, value))
        return ctx.op("complex", out, re, ctx.op("imag", part_aval, value))

    return rule
