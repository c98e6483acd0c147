"""Elementary functions: exponential, logarithmic, power, circular and hyperbolic functions.

Each primitive is one block, as in algebraic.py; the function after it takes an array of an
inexact dtype.

Source of the derivatives: any calculus text; they also hold for complex numbers.  If the
usual expression of a real derivative cancels (1 - y^2 of tanh at 8), the slope is a primitive
with its own derivative.  Slopes of inverse functions are in slopes.py.
Next: ../special/error_function.py, ../special/log_gamma.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ...base import config
from ...ir import core
from ...passes.ad_util import Zero
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import *
from .accuracy import accurate, emit_accurate, lower_accurate
from .algebraic import add, div, integer_pow, mul, neg, rsqrt, square, sub
from .cast import cast
from .logic import eq_p, select
from .order import replace_zero
from .signs import emit_scaled, lower_atan, lower_atanh, lower_log1p, with_signs
from .slopes import asin_slope_p, asinh_slope_p, atan_slope_p, atanh_slope_p, over_squares_p

__all__ = (
    "exp_p", "exp", "exp2_p", "exp2", "expm1_p", "expm1", "logistic_p", "logistic",
    "log_p", "log", "log1p_p", "log1p", "pow_p", "pow", "sin_p", "sin", "cos_p", "cos",
    "tan_p", "tan", "asin_p", "asin", "acos_p", "acos", "atan_p", "atan", "atan2_p",
    "atan2", "sinh_p", "cosh_p", "sinh", "cosh", "tanh_p", "tanh", "asinh_p", "asinh",
    "acosh_p", "acosh", "atanh_p", "atanh",
)  # fmt: skip

# ---- exponentials

exp_p = accurate(
    "exp",
    with_signs(lower_accurate("exponential"), imag="imag or"),
    lambda t, ans, x, accuracy=None: mul(t, ans),
)


def exp(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the exponential elementwise, :math:`e^x`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> exp(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return exp_p.bind(x, accuracy=accuracy)


def _lower_exp2(ctx: Any, x: Any, *, accuracy: Any = None) -> Any:
    out = ctx.avals_out[0]
    scaled = emit_scaled(ctx, LOG_2, x, out)
    return lower_accurate("exponential")(ctx, scaled, accuracy=accuracy)


LOG_2 = 0.6931471805599453

exp2_p = accurate(
    "exp2",
    with_signs(_lower_exp2, imag="imag or"),
    lambda t, ans, x, accuracy=None: mul(log(derivative_constant(x, 2)), mul(t, ans)),
)


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the power of two elementwise, :math:`2^x`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> exp2(3.0)
      Array(8., dtype=float32, weak_type=True)
    """
    return exp2_p.bind(x, accuracy=accuracy)


# Not t (expm1(x) + 1), which is 0 below about -17 in float32.
expm1_p = accurate(
    "expm1",
    with_signs(lower_accurate("exponential_minus_one"), imag="imag or"),
    lambda t, ans, x, accuracy=None: mul(t, exp(x, accuracy=accuracy)),
)


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute :math:`e^x - 1` elementwise, without cancellation near 0.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> expm1(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return expm1_p.bind(x, accuracy=accuracy)


def _is_precise(x: Any) -> bool:
    """Whether the derivative uses a slope primitive instead of JAX's expression."""
    return config.PRECISE_SLOPES.value and dtypes.is_float(core.aval_of(x).dtype)


def _lower_logistic(ctx: Any, x: Any, *, accuracy: Any = None) -> Any:
    out = ctx.avals_out[0]
    one = ctx.constant(1, out)
    power = ctx.op("negate", out, x)
    power = lower_accurate("exponential")(ctx, power, accuracy=accuracy)
    return ctx.op("divide", out, one, ctx.op("add", out, one, power))


def _lower_logistic_slope(ctx: Any, x: Any) -> Any:
    """Lower to e / (1 + e)^2 with e = e^-|x|, which neither cancels nor overflows.

    It does not share e^-x with the value: a compiled gradient would keep that exponential as a
    residual.
    """
    out = ctx.avals_out[0]
    power = ctx.op("negate", out, ctx.op("abs", out, x))
    power = ctx.op("exponential", out, power)
    above = ctx.op("add", out, ctx.constant(1, out), power)
    return ctx.op("divide", out, power, ctx.op("multiply", out, above, above))


logistic_slope_p = nary(
    "logistic_slope",
    [FLOAT],
    lower=_lower_logistic_slope,
    jvp=[lambda t, ans, x: mul(t, mul(ans, tanh(mul(x, derivative_constant(x, -0.5)))))],
    keeps_finite=True,
)


def _logistic_tangent(t: Any, ans: Any, x: Any, *, accuracy: Any = None) -> Any:
    if accuracy is None and _is_precise(x):
        return mul(t, logistic_slope_p.bind(x))
    # 1 - logistic(x) cancels, but needs only the result, and does not overflow.
    rest = sub(const(x, 1), ans) if accuracy is None else logistic(neg(x))
    return mul(t, mul(ans, rest))


logistic_p = accurate("logistic", _lower_logistic, _logistic_tangent, keeps_finite=True)


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the logistic function elementwise, :math:`1 / (1 + e^{-x})`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> logistic(0.0)
      Array(0.5, dtype=float32, weak_type=True)
    """
    return logistic_p.bind(x, accuracy=accuracy)


# ---- logarithms

log_p = accurate("log", "log", lambda t, ans, x, accuracy=None: div(t, x), keeps_nans=True)


def log(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the natural logarithm elementwise, :math:`\ln x`.

    Args:
      x: an array of a float (nan for negative elements) or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> log(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return log_p.bind(x, accuracy=accuracy)


log1p_p = accurate(
    "log1p",
    lower_log1p(lower_accurate("log_plus_one")),
    lambda t, ans, x, accuracy=None: div(t, add(x, const(x, 1))),
    keeps_nans=True,
)


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute :math:`\ln(1 + x)` elementwise, without cancellation near 0.

    Args:
      x: an array of a float (nan below -1) or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> log1p(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return log1p_p.bind(x, accuracy=accuracy)


# ---- powers


def _pow_abstract(x: Any, y: Any) -> Any:
    check_kind("pow", x, INEXACT, 0, 2)
    check_kind("pow", y, NUMBER, 1, 2)
    if dtypes.is_inexact(y.dtype):
        same_dtype("pow", (x, y))
    return shaped(broadcast_shape("pow", (x, y)), x.dtype, x.weak_type and y.weak_type)


def _pow_base_tangent(t: Any, ans: Any, x: Any, y: Any) -> Any:
    # x^0 is constant, also at x = 0, where its derivative must not be 0 * 0^-1.
    aval = core.aval_of(y)
    if dtypes.is_inexact(aval.dtype):
        if isinstance(y, (float, np.generic)):
            if y == 0:
                return Zero(core.aval_of(ans).to_tangent())
            less: Any = y - 1  # type: ignore[operator]
            return mul(t, mul(const(x, y), pow(x, const(x, less))))
        y = cast(y, aval.dtype)
        if not config.PRECISE_SLOPES.value:
            return mul(t, _pow_slope(x, repeat_like(y, ans)))
        return mul(t, pow_slope_p.bind(x, y))
    if type(y) is int and y >= 0:
        return mul(t, mul(const(x, y), pow(x, max(y - 1, 0))))
    y = const(0, y) if type(y) is int else y
    constant = eq_p.bind(y, const(y, 0))
    y = repeat_like(select(constant, filled(y, 1), y), ans)
    slope = mul(cast(y, core.aval_of(x).dtype), pow(x, _one_less(y)))
    return mul(t, select(repeat_like(constant, ans), filled(ans, 0), slope))


def _pow_slope(x: Any, y: Any) -> Any:
    """Return y x^(y-1), and 0 for the exponent 0, also where 1/x is infinite."""
    constant = eq_p.bind(y, filled(y, 0))
    slope = mul(y, pow(x, sub(y, filled(y, 1))))
    return select(constant, filled(y, 0), slope)


def _lower_pow_slope(ctx: Any, x: Any, y: Any) -> Any:
    out = ctx.avals_out[0]
    x, y = broadcast_operands(ctx, (x, y), out.shape)
    return ctx.fun(_pow_slope, x, y, avals=[shaped(out.shape, out.dtype)] * 2)[0]


def _pow_slope_base_tangent(t: Any, ans: Any, x: Any, y: Any) -> Any:
    y = repeat_like(y, ans)
    bend = mul(y, pow_slope_p.bind(x, sub(y, filled(y, 1))))
    return mul(t, select(eq_p.bind(y, filled(y, 0)), filled(y, 0), bend))


def _pow_slope_exponent_tangent(t: Any, ans: Any, x: Any, y: Any) -> Any:
    power = pow(x, sub(y, const(y, 1)))
    return mul(t, add(power, mul(log(replace_zero(x)), ans)))


pow_slope_p = nary(
    "pow_slope",
    [INEXACT, INEXACT],
    lower=_lower_pow_slope,
    jvp=[_pow_slope_base_tangent, _pow_slope_exponent_tangent],
)


def _is_rounded(int_aval: Any, x: Any) -> bool:
    """Whether a float dtype cannot represent all integers of an integer dtype."""
    if dtypes.is_complex(x.dtype) or dtypes.is_bool(int_aval.dtype):
        return False
    bits = dtypes.bits_of(int_aval.dtype) - dtypes.is_signed(int_aval.dtype)
    return bits > ml_dtypes.finfo(x.dtype).nmant + 1


def _one_less(y: Any) -> Any:
    """Return y - 1 for integers, and for the least one its neighbour, which is also odd."""
    dtype = core.aval_of(y).dtype
    if dtypes.bits_of(dtype) < 32:
        y = cast(y, dtypes.int32)
    less = sub(y, const(y, 1))
    if dtypes.bits_of(dtype) < 32 or dtypes.is_unsigned(dtype):
        return less
    least = -(2 ** (dtypes.bits_of(dtype) - 1))
    return select(eq_p.bind(y, const(y, least)), filled(y, least + 1), less)


def _pow_exponent_tangent(t: Any, ans: Any, x: Any, y: Any) -> Any:
    return mul(t, mul(log(replace_zero(x)), ans))


def _lower_pow(ctx: Any, x: Any, y: Any) -> Any:
    out = ctx.avals_out[0]
    aval_x, aval_y = ctx.avals_in
    x, y = broadcast_operands(ctx, (x, y), out.shape)
    if dtypes.is_complex(aval_y.dtype):
        return _lower_complex_pow(ctx, x, y, out)
    if dtypes.is_inexact(aval_y.dtype):
        return ctx.op("power", out, x, y)
    if _is_rounded(aval_y, aval_x):
        return _lower_rounded_pow(ctx, x, y, out, shaped(out.shape, aval_y.dtype))
    return ctx.op("power", out, x, ctx.op("convert", out, y))


def _lower_complex_pow(ctx: Any, x: Any, y: Any, out: Any) -> Any:
    """Emit x^y, where 0^y is 0 for any y with a positive real part."""
    part_aval = shaped(out.shape, dtypes.real_of(out.dtype))
    flags = shaped(out.shape, dtypes.bool_)
    zero = ctx.constant(0, part_aval)
    grows = emit_compare(ctx, "GT", ctx.op("real", part_aval, y), zero, part_aval)
    is_not_real = emit_compare(ctx, "NE", ctx.op("imag", part_aval, y), zero, part_aval)
    is_zero = emit_compare(ctx, "EQ", x, ctx.constant(0, out), out)
    result_is_zero = ctx.op("and", flags, is_zero, ctx.op("and", flags, grows, is_not_real))
    power = ctx.op("power", out, x, y)
    return ctx.op("select", out, result_is_zero, ctx.constant(0, out), power)


def _lower_rounded_pow(ctx: Any, x: Any, y: Any, out: Any, int_aval: Any) -> Any:
    """Emit |x|^y, with the sign of x if the integer y is odd before it is rounded."""
    wide = shaped(out.shape, dtypes.float32) if dtypes.bits_of(out.dtype) < 32 else out
    bits = shaped(out.shape, dtypes.int32 if wide.dtype == dtypes.float32 else dtypes.int64)
    flags = shaped(out.shape, dtypes.bool_)
    x, one = ctx.op("convert", wide, x), ctx.constant(1, int_aval)
    size = ctx.op("power", wide, ctx.op("abs", wide, x), ctx.op("convert", wide, y))
    odd = emit_compare(ctx, "EQ", ctx.op("and", int_aval, y, one), one, int_aval)
    raw = ctx.op("bitcast_convert", bits, x)
    below = emit_compare(ctx, "LT", raw, ctx.constant(0, bits), bits)
    negative = ctx.op("and", flags, odd, below)
    power = ctx.op("select", wide, negative, ctx.op("negate", wide, size), size)
    return ctx.op("convert", out, power)


pow_p = nary(
    "pow",
    [INEXACT, NUMBER],
    lower=_lower_pow,
    same=False,
    jvp=[_pow_base_tangent, _pow_exponent_tangent],
)
pow_p.abstract = _pow_abstract


def pow(x: Any, y: Any) -> Any:
    r"""Raise elementwise to a power, :math:`x^y`.

    Args:
      x: an array of a float or complex dtype.
      y: an array of the same dtype, or of integers, and of the same shape; scalars and
        axes of size 1 repeat.

    Returns:
      An array of their joint shape and `x`'s dtype.

    Raises:
      TypeError: dtypes or shapes are incompatible.

    Example:
      >>> pow(2.0, 3)
      Array(8., dtype=float32, weak_type=True)
    """
    return pow_p.bind(x, y)


# ---- circular functions


def _lower_circular(ctx: Any, x: Any, *, accuracy: Any = None, cosine: bool) -> Any:
    """Emit sin(a + bi) = sin a cosh b + i cos a sinh b, or cos(a + bi); also for floats.

    If a is 0, one part of the result is 0, even if b is infinite or nan.
    """
    out = ctx.avals_out[0]
    if not dtypes.is_complex(out.dtype):
        op = "cosine" if cosine else "sine"
        return emit_accurate(ctx, op, out, x, accuracy)
    part_aval = shaped(out.shape, dtypes.real_of(out.dtype))
    a, b = ctx.op("real", part_aval, x), ctx.op("imag", part_aval, x)
    sin_a = emit_accurate(ctx, "sine", part_aval, a, accuracy)
    cos_a = emit_accurate(ctx, "cosine", part_aval, a, accuracy)
    up = ctx.op("exponential_minus_one", part_aval, b)
    down = ctx.op("exponential_minus_one", part_aval, ctx.op("negate", part_aval, b))
    two = ctx.constant(2, part_aval)
    sinh_b = ctx.op("divide", part_aval, ctx.op("subtract", part_aval, up, down), two)
    cosh_b = ctx.op("add", part_aval, ctx.op("add", part_aval, up, down), two)
    cosh_b = ctx.op("divide", part_aval, cosh_b, two)
    a_is_zero = emit_compare(ctx, "EQ", a, ctx.constant(0, part_aval), part_aval)
    if not cosine:
        re = ctx.op(
            "select", part_aval, a_is_zero, a, ctx.op("multiply", part_aval, sin_a, cosh_b)
        )
        return ctx.op("complex", out, re, ctx.op("multiply", part_aval, cos_a, sinh_b))
    im = ctx.op("multiply", part_aval, sin_a, sinh_b)
    im_is_nan = emit_compare(ctx, "NE", im, im, part_aval)
    below = emit_compare(ctx, "LT", b, ctx.constant(0, part_aval), part_aval)
    signed_zero = ctx.op("select", part_aval, below, ctx.op("negate", part_aval, a), a)
    both = ctx.op("and", shaped(out.shape, dtypes.bool_), a_is_zero, im_is_nan)
    im = ctx.op("negate", part_aval, ctx.op("select", part_aval, both, signed_zero, im))
    return ctx.op("complex", out, ctx.op("multiply", part_aval, cos_a, cosh_b), im)


sin_p = accurate(
    "sin",
    partial(_lower_circular, cosine=False),
    lambda t, ans, x, accuracy=None: mul(t, cos(x, accuracy=accuracy)),
    keeps_nans=True,
)


def sin(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the sine elementwise, :math:`\sin x`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> sin(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return sin_p.bind(x, accuracy=accuracy)


cos_p = accurate(
    "cos",
    partial(_lower_circular, cosine=True),
    lambda t, ans, x, accuracy=None: neg(mul(t, sin(x, accuracy=accuracy))),
    keeps_nans=True,
)


def cos(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the cosine elementwise, :math:`\cos x`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> cos(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return cos_p.bind(x, accuracy=accuracy)


tan_p = accurate(
    "tan",
    with_signs(lower_accurate("tan"), real="real or"),
    lambda t, ans, x, accuracy=None: mul(t, add(derivative_constant(x, 1), square(ans))),
    keeps_nans=True,
)


def tan(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the tangent elementwise, :math:`\tan x`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> tan(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return tan_p.bind(x, accuracy=accuracy)


def _inverse_circular(x: Any) -> Any:
    if _is_precise(x):
        return asin_slope_p.bind(x)
    return rsqrt(sub(derivative_constant(x, 1), square(x)))


asin_p = nary(
    "asin",
    [INEXACT],
    lower=with_signs("chlo.asin", real="real", imag="imag"),
    jvp=[lambda t, ans, x: mul(t, _inverse_circular(x))],
)


def asin(x: Any) -> Any:
    r"""Compute the inverse sine elementwise, :math:`\arcsin x`.

    Args:
      x: an array of a float (nan outside [-1, 1]) or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.  Floats are in :math:`[-\pi/2, \pi/2]`.

    Example:
      >>> asin(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return asin_p.bind(x)


acos_p = nary(
    "acos",
    [INEXACT],
    lower=with_signs("chlo.acos", imag="-imag"),
    jvp=[lambda t, ans, x: mul(t, neg(_inverse_circular(x)))],
)


def acos(x: Any) -> Any:
    r"""Compute the inverse cosine elementwise, :math:`\arccos x`.

    Args:
      x: an array of a float (nan outside [-1, 1]) or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.  Floats are in :math:`[0, \pi]`.

    Example:
      >>> acos(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return acos_p.bind(x)


def _atan_tangent(t: Any, ans: Any, x: Any) -> Any:
    if _is_precise(x):
        return mul(t, atan_slope_p.bind(x))
    return div(t, add(derivative_constant(x, 1), square(x)))


atan_p = nary("atan", [INEXACT], lower=lower_atan, jvp=[_atan_tangent], keeps_finite=True)


def atan(x: Any) -> Any:
    r"""Compute the inverse tangent elementwise, :math:`\arctan x`.

    Args:
      x: an array of a float or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.  Floats are in :math:`[-\pi/2, \pi/2]`.

    Example:
      >>> atan(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return atan_p.bind(x)


def _slope_of_angle(x: Any, y: Any, first: bool) -> Any:
    if _is_precise(x):
        return over_squares_p.bind(x, y, first=first)
    return div(x if first else y, add(square(x), square(y)))


atan2_p = nary(
    "atan2",
    [INEXACT, INEXACT],
    lower="atan2",
    jvp=[
        lambda t, ans, x, y: mul(t, _slope_of_angle(x, y, False)),
        lambda t, ans, x, y: mul(neg(t), _slope_of_angle(x, y, True)),
    ],
    keeps_finite=True,
)


def atan2(x: Any, y: Any) -> Any:
    r"""Compute the angle of the point (y, x) elementwise: :math:`\arctan(x / y)`.

    The result is in the quadrant of the point.

    Args:
      x, y: ordinate and abscissa, arrays of one float or complex dtype and shape;
        scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype; floats are in :math:`[-\pi, \pi]`.

    Example:
      >>> atan2(0.0, 1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return atan2_p.bind(x, y)


# ---- hyperbolic functions


def _lower_hyperbolic(ctx: Any, x: Any, *, cosine: bool) -> Any:
    """Emit sinh(a + bi) = sinh a cos b + i cosh a sin b, or cosh(a + bi); also for floats.

    If a or b is 0, one part of the result is 0, with the sign of the product.
    """
    out = ctx.avals_out[0]
    if not dtypes.is_complex(out.dtype):
        return lower_elementwise("chlo.cosh" if cosine else "chlo.sinh")(ctx, x)
    part_aval = shaped(out.shape, dtypes.real_of(out.dtype))
    a, b = ctx.op("real", part_aval, x), ctx.op("imag", part_aval, x)
    sinh_a, cosh_a = (
        ctx.create(f"chlo.{f}", [ctx.type(part_aval)], [a]).result for f in ("sinh", "cosh")
    )
    sin_b, cos_b = ctx.op("sine", part_aval, b), ctx.op("cosine", part_aval, b)
    a_is_zero = emit_compare(ctx, "EQ", a, ctx.constant(0, part_aval), part_aval)
    b_is_zero = emit_compare(ctx, "EQ", b, ctx.constant(0, part_aval), part_aval)
    pick = lambda mask, x, y: ctx.op("select", part_aval, mask, x, y)
    if not cosine:
        # A product with a zero factor is 0, even if the other factor is infinite or nan.
        not_finite = emit_compare(
            ctx,
            "NE",
            ctx.op("subtract", part_aval, b, b),
            ctx.constant(0, part_aval),
            part_aval,
        )
        re = ctx.op("multiply", part_aval, sinh_a, cos_b)
        re = pick(ctx.op("and", shaped(out.shape, dtypes.bool_), a_is_zero, not_finite), a, re)
        im = pick(b_is_zero, b, ctx.op("multiply", part_aval, cosh_a, sin_b))
        return ctx.op("complex", out, re, im)
    # sinh a may be infinite or nan.
    below = emit_compare(ctx, "LT", a, ctx.constant(0, part_aval), part_aval)
    signed = pick(below, ctx.op("negate", part_aval, b), b)
    re = pick(b_is_zero, cosh_a, ctx.op("multiply", part_aval, cosh_a, cos_b))
    im = ctx.op("multiply", part_aval, sinh_a, sin_b)
    not_finite = emit_compare(ctx, "NE", im, im, part_aval)
    zero = ctx.op("or", shaped(out.shape, dtypes.bool_), a_is_zero, b_is_zero)
    undefined = ctx.op("and", shaped(out.shape, dtypes.bool_), zero, not_finite)
    im = pick(undefined, pick(a_is_zero, a, signed), im)
    return ctx.op("complex", out, re, im)


sinh_p = nary(
    "sinh",
    [INEXACT],
    lower=partial(_lower_hyperbolic, cosine=False),
    jvp=[lambda t, ans, x: mul(t, cosh(x))],
    keeps_nans=True,
)
cosh_p = nary(
    "cosh",
    [INEXACT],
    lower=partial(_lower_hyperbolic, cosine=True),
    jvp=[lambda t, ans, x: mul(t, sinh(x))],
    keeps_nans=True,
)


def sinh(x: Any) -> Any:
    r"""Compute the hyperbolic sine elementwise, :math:`\sinh x`.

    Args:
      x: an array of a float or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> sinh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    r"""Compute the hyperbolic cosine elementwise, :math:`\cosh x`.

    Args:
      x: an array of a float or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> cosh(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return cosh_p.bind(x)


def _lower_tanh_slope(ctx: Any, x: Any) -> Any:
    """Lower to (1 + |y|)^2 e^(-2|x|): here 1 - |y| is (1 + |y|) e^(-2|x|), without
    cancellation.

    In one program, the compiler shares the hyperbolic tangent y with the value.
    """
    out = ctx.avals_out[0]
    size = ctx.op("abs", out, ctx.op("tanh", out, x))
    above = ctx.op("add", out, size, ctx.constant(1, out))
    twice = ctx.op("multiply", out, ctx.op("abs", out, x), ctx.constant(-2, out))
    power = ctx.op("exponential", out, twice)
    return ctx.op("multiply", out, ctx.op("multiply", out, above, above), power)


tanh_slope_p = nary(
    "tanh_slope",
    [FLOAT],
    lower=_lower_tanh_slope,
    jvp=[lambda t, ans, x: mul(t, mul(mul(derivative_constant(x, -2), tanh(x)), ans))],
    keeps_finite=True,
)


def _tanh_tangent(t: Any, ans: Any, x: Any, *, accuracy: Any = None) -> Any:
    if accuracy is None and _is_precise(x):
        return mul(t, tanh_slope_p.bind(x))
    if accuracy is None:  # t (1 - tanh^2) = (t + t tanh) (1 - tanh)
        return mul(add(t, mul(t, ans)), sub(const(x, 1), ans))
    # 1 - tanh(x)^2 = 4 logistic(2x) logistic(-2x), which does not cancel.
    up = logistic(mul(const(x, 2), x), accuracy=accuracy)
    down = logistic(mul(const(x, -2), x), accuracy=accuracy)
    return mul(t, mul(const(x, 4), mul(up, down)))


tanh_p = accurate(
    "tanh", with_signs(lower_accurate("tanh"), imag="imag or"), _tanh_tangent, keeps_finite=True
)


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the hyperbolic tangent elementwise, :math:`\tanh x`.

    Args:
      x: an array of a float or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> tanh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return tanh_p.bind(x, accuracy=accuracy)


def _asinh_tangent(t: Any, ans: Any, x: Any) -> Any:
    if _is_precise(x):
        return mul(t, asinh_slope_p.bind(x))
    return mul(t, rsqrt(add(square(x), const(x, 1))))


asinh_p = nary(
    "asinh",
    [INEXACT],
    lower=with_signs("chlo.asinh", real="real", imag="imag"),
    jvp=[_asinh_tangent],
    keeps_nans=True,
)


def asinh(x: Any) -> Any:
    r"""Compute the inverse hyperbolic sine elementwise, :math:`\mathrm{asinh}\, x`.

    Args:
      x: an array of a float or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> asinh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return asinh_p.bind(x)


def _acosh_tangent(t: Any, ans: Any, x: Any) -> Any:
    """Multiply by two roots: their product is correct on every branch, without overflow."""
    slope = mul(rsqrt(sub(x, const(x, 1))), rsqrt(add(x, const(x, 1))))
    return mul(t, slope)


acosh_p = nary(
    "acosh",
    [INEXACT],
    lower=with_signs("chlo.acosh", imag="imag"),
    jvp=[_acosh_tangent],
    keeps_nans=True,
)


def acosh(x: Any) -> Any:
    r"""Compute the inverse hyperbolic cosine elementwise, :math:`\mathrm{acosh}\, x`.

    Args:
      x: an array of a float (nan below 1) or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> acosh(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return acosh_p.bind(x)


def _atanh_tangent(t: Any, ans: Any, x: Any) -> Any:
    if _is_precise(x):
        return mul(t, atanh_slope_p.bind(x))
    above = integer_pow(add(const(x, 1), x), -1)
    return mul(above, div(t, sub(const(x, 1), x)))


atanh_p = nary("atanh", [INEXACT], lower=lower_atanh, jvp=[_atanh_tangent], keeps_nans=True)


def atanh(x: Any) -> Any:
    r"""Compute the inverse hyperbolic tangent elementwise, :math:`\mathrm{atanh}\, x`.

    Args:
      x: an array of a float (nan outside [-1, 1]) or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> atanh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return atanh_p.bind(x)
