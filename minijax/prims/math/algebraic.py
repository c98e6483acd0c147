"""Sums, products, powers and roots; order, sign and rounding; the parts of complex
numbers.

Each primitive is one block: type, jvp, transpose, batch, lowering, through
`define.nary`.  The function beside it (`mul_p`, `mul`) takes arrays and Python scalars
of one dtype; scalars and axes of size 1 repeat.

Source of the derivatives: any calculus text; complex ones are those of holomorphic
functions.  Next: elementary.py, exponentials to hyperbolic functions.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any

from ...base import errors
from ...ir import core
from ...ir.core import Primitive, unsupported
from ...passes import algebra
from ...passes.algebra import Zero, is_linear
from ...types import dtypes
from ...types.avals import shaped
from ..define import *
from .accuracy import accurate
from .cast import cast, emit_convert, user_dtype
from .logic import eq_p, ge_p, select

__all__ = (
    "neg_p", "neg", "add_p", "add", "sub_p", "sub", "mul_p", "mul", "div_p", "div",
    "rem_p", "rem", "mulhi_p", "mulhi", "square_p", "square", "integer_pow_p",
    "integer_pow", "reciprocal", "sqrt_p", "sqrt", "rsqrt_p", "rsqrt", "cbrt_p", "cbrt",
    "max_p", "min_p", "max", "min", "nextafter_p", "nextafter", "sign_p", "sign",
    "abs_p", "abs", "floor_p", "ceil_p", "floor", "ceil", "RoundingMethod", "round_p",
    "round", "real_p", "imag_p", "real", "imag", "complex_p", "complex", "conj_p",
    "conj",
)  # fmt: skip

# ---- negation


def _neg_transpose(ct: Any, x: Any) -> list[Any]:
    return [neg_p.bind(ct)]


neg_p = nary("neg", [NUMBER], lower="negate")
linear_in_first(neg_p, _neg_transpose)


def neg(x: Any) -> Any:
    r"""Negate elementwise, :math:`-x`.

    Args:
      x: an array of numbers.

    Returns:
      An array of `x`'s shape and dtype.  Unsigned integers wrap around.

    Example:
      >>> neg(2.0)
      Array(-2., dtype=float32, weak_type=True)
    """
    return neg_p.bind(x)


# ---- sums


def _sum_jvp(prim: Primitive, minus: bool) -> None:
    """Set the jvp of a sum or difference."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        ans = prim.bind(*primals)
        t, u = tangents
        if type(u) is Zero:
            return ans, t if type(t) is Zero else repeat_like(t, ans)
        if type(t) is Zero:
            return ans, repeat_like(neg_p.bind(u) if minus else u, ans)
        return ans, prim.bind(t, u)

    def jvp_typed(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        ans, t = jvp(primals, tangents)
        if type(t) is Zero:
            t = Zero(core.aval_of(ans).to_tangent())
        return ans, t

    prim.jvp = jvp_typed


def _add_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, a.aval) if is_linear(a) else None for a in (x, y)]


add_p = nary("add", [NUMBER, NUMBER], lower="add")
_sum_jvp(add_p, minus=False)
add_p.transpose = _add_transpose
add_p.sums = "together"


def add(x: Any, y: Any) -> Any:
    r"""Add elementwise, :math:`x + y`.

    Args:
      x, y: arrays of numbers of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> add(1.0, 2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return add_p.bind(x, y)


def _sub_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(ct, x.aval) if is_linear(x) else None,
        unbroadcast(neg_p.bind(ct), y.aval) if is_linear(y) else None,
    ]


sub_p = nary("sub", [NUMBER, NUMBER], lower="subtract")
_sum_jvp(sub_p, minus=True)
sub_p.transpose = _sub_transpose
sub_p.sums = "together"


def sub(x: Any, y: Any) -> Any:
    r"""Subtract elementwise, :math:`x - y`.

    Args:
      x, y: arrays of numbers of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> sub(3.0, 2.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return sub_p.bind(x, y)


# The sum of two cotangents, of any type.
add_any_p = nary("add_any", [ANY, ANY], lower="add")
linear_jvp(add_any_p)
add_any_p.transpose = _add_transpose


def add_any(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents of one type."""
    return add_any_p.bind(x, y)


# ---- products and quotients


def _mul_abstract(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    for i, a in enumerate((x, y)):
        check_kind("mul", a, NUMBER, i, 2)
    dtype = same_dtype("mul", (x, y)) if out_dtype is None else out_dtype
    shape = broadcast_shape("mul", (x, y))
    return shaped(shape, dtype, x.weak_type and y.weak_type)


def _mul_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x, y), (t, u) = primals, tangents
    ans = mul_p.bind(x, y, **params)
    out: Any = Zero(core.aval_of(ans).to_tangent())
    if dtypes.is_differentiable(out.aval.dtype):
        if type(t) is not Zero:
            out = mul_p.bind(t, y, **params)
        if type(u) is not Zero:
            out = algebra.add(out, mul_p.bind(x, u, **params))
    return ans, out


def _mul_transpose(ct: Any, x: Any, y: Any, *, out_dtype: Any = None) -> list[Any]:
    linear = x if is_linear(x) else y
    back = None if out_dtype is None else linear.aval.dtype
    if linear is x:
        return [unbroadcast(mul(ct, y, out_dtype=back), x.aval), None]
    return [None, unbroadcast(mul(x, ct, out_dtype=back), y.aval)]


_lower_product = lower_elementwise("multiply")


def _lower_mul(ctx: Any, x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    out = ctx.avals_out[0]
    if out_dtype is None:
        return _lower_product(ctx, x, y)
    operands: list[Any] = []
    avals = []
    for value, aval in zip((x, y), ctx.avals_in, strict=True):
        operands.append(emit_convert(ctx, value, aval, out.dtype))
        avals.append(shaped(aval.shape, out.dtype))
    ctx.avals_in = avals
    return ctx.op("multiply", out, *broadcast_operands(ctx, operands, out.shape))


mul_p = nary("mul", [NUMBER, NUMBER], lower=_lower_mul, transpose=_mul_transpose)
mul_p.abstract = _mul_abstract
mul_p.jvp = _mul_jvp
mul_p.sums = "product"


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    r"""Multiply elementwise, :math:`x y`.

    Args:
      x, y: arrays of one shape (scalars and axes of size 1 repeat); of one dtype,
        unless `out_dtype` is given.
      out_dtype: the dtype to convert both to beforehand, or None.

    Returns:
      An array of their joint shape, of their dtype or `out_dtype`.

    Raises:
      TypeError: dtypes or shapes do not fit.

    Example:
      >>> mul(3.0, 2.0)
      Array(6., dtype=float32, weak_type=True)
    """
    if out_dtype is None:
        return mul_p.bind(x, y)
    return mul_p.bind(x, y, out_dtype=user_dtype(out_dtype, "mul"))


def _div_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(div(ct, y), x.aval), None]


def _lower_division(op: str, of_zero: Rule) -> Rule:
    """Emit a division; of integers that are constants, one that goes around zeros.

    XLA computes these with the machine's own division, which ends the process.
    """
    plain = lower_elementwise(op)

    def lower(ctx: Any, x: Any, y: Any) -> Any:
        (out,) = ctx.avals_out
        whole = dtypes.is_integer(out.dtype)
        if not (whole and ctx.is_constant(x) and ctx.is_constant(y)):
            return plain(ctx, x, y)
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        zero = emit_compare(ctx, "EQ", y, ctx.constant(0, out), out)
        safe = ctx.op(op, out, x, ctx.op("select", out, zero, ctx.constant(1, out), y))
        return ctx.op("select", out, zero, of_zero(ctx, x, out), safe)

    return lower


div_p = nary(
    "div", [NUMBER, NUMBER],
    lower=_lower_division(
        "divide", lambda ctx, x, out: ctx.op("not", out, ctx.constant(0, out))
    ),
    jvp=[
        lambda t, ans, x, y: div(t, y),
        lambda t, ans, x, y: mul(mul(neg(t), x), integer_pow(y, -2)),
    ],
    transpose=_div_transpose,
)  # fmt: skip
div_p.divisor = 1


def div(x: Any, y: Any) -> Any:
    r"""Divide elementwise, :math:`x / y`.

    Integers are divided towards zero; by zero they give -1 (all bits set).

    Args:
      x, y: arrays of numbers of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> div(3.0, 2.0)
      Array(1.5, dtype=float32, weak_type=True)
      >>> div(-3, 2)
      Array(-1, dtype=int32, weak_type=True)
    """
    return div_p.bind(x, y)


def _truncated_quotient(x: Any, y: Any) -> Any:
    return mul(sign(div(x, y)), floor(abs(div(x, y))))


rem_p = nary(
    "rem", [INT | FLOAT, INT | FLOAT],
    lower=_lower_division("remainder", lambda ctx, x, out: x),
    jvp=[
        lambda t, ans, x, y: repeat_like(t, ans),
        lambda t, ans, x, y: mul(neg(t), _truncated_quotient(x, y)),
    ],
)  # fmt: skip


def rem(x: Any, y: Any) -> Any:
    r"""The remainder of truncated division, with the sign of `x`.

    By zero, integers give `x` and floats nan.

    Args:
      x, y: arrays of one real dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> rem(-7, 3)
      Array(-1, dtype=int32, weak_type=True)
    """
    return rem_p.bind(x, y)


mulhi_p = nary("mulhi", [INT, INT], lower="chlo.mulhi")


def mulhi(x: Any, y: Any) -> Any:
    """The upper half of the bits of the product of integers, elementwise.

    Args:
      x, y: arrays of one integer dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> mulhi(2**20, 2**20)
      Array(256, dtype=int32, weak_type=True)
    """
    return mulhi_p.bind(x, y)


# ---- powers


def _lower_square(ctx: Any, x: Any) -> Any:
    out = ctx.avals_out[0]
    if dtypes.is_complex(out.dtype):
        return ctx.chlo("square", out, x)
    return ctx.op("multiply", out, x, x)


square_p = nary(
    "square", [NUMBER], lower=_lower_square,
    jvp=[lambda t, ans, x: mul(t, mul(factor(x, 2), x))],
)  # fmt: skip


def square(x: Any) -> Any:
    r"""Square elementwise, :math:`x^2`.

    Args:
      x: an array of numbers.

    Returns:
      An array of `x`'s shape and dtype.  Integers wrap around.

    Example:
      >>> square(3.0)
      Array(9., dtype=float32, weak_type=True)
    """
    return square_p.bind(x)


def _integer_pow_abstract(x: Any, *, y: int) -> Any:
    check_kind("integer_pow", x, NUMBER, 0, 1)
    if y < 0 and dtypes.is_integer(x.dtype):
        raise errors.type_error(
            "Integers cannot be raised to negative powers, got"
            f" integer_pow({x.str_short(False)}, {y})",
            why="the result is no integer.",
            tries=["convert the base with .astype(float)"],
        )
    return x


def _integer_pow_tangent(t: Any, ans: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return Zero(core.aval_of(t))
    if y == 1:
        return t
    return mul(t, mul(factor(x, y), x if y == 2 else integer_pow(x, y - 1)))


def _lower_integer_pow(ctx: Any, x: Any, *, y: int) -> Any:
    """Multiply out the binary digits of the exponent."""
    out = ctx.avals_out[0]
    if y == 0:
        return ctx.constant(1, out)
    product, power, n = None, x, y if y >= 0 else -y
    while n:
        if n & 1:
            product = (
                power if product is None else ctx.op("multiply", out, product, power)
            )
        n >>= 1
        if n:
            power = ctx.op("multiply", out, power, power)
    return ctx.op("divide", out, ctx.constant(1, out), product) if y < 0 else product


integer_pow_p = nary(
    "integer_pow", [NUMBER], lower=_lower_integer_pow, jvp=[_integer_pow_tangent]
)
integer_pow_p.abstract = _integer_pow_abstract


def integer_pow(x: Any, y: int) -> Any:
    r"""Raise elementwise to a static integer power, :math:`x^y`.

    Args:
      x: an array of numbers.
      y: the exponent, a Python integer; negative ones need an inexact dtype.

    Returns:
      An array of `x`'s shape and dtype.  Integers wrap around.

    Raises:
      TypeError: integers to a negative power.

    Example:
      >>> integer_pow(2.0, 3)
      Array(8., dtype=float32, weak_type=True)
    """
    return integer_pow_p.bind(x, y=operator.index(y))


def reciprocal(x: Any) -> Any:
    r"""Invert elementwise, :math:`1 / x`.

    Args:
      x: an array of a float or complex dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> reciprocal(2.0)
      Array(0.5, dtype=float32, weak_type=True)
    """
    return integer_pow(x, -1)


# ---- roots

sqrt_p = accurate(
    "sqrt", "sqrt", lambda t, ans, x, accuracy=None: mul(t, div(factor(x, 0.5), ans))
)


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    r"""Square root elementwise, :math:`\sqrt{x}`.

    Args:
      x: an array of a float (nan for negative elements) or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> sqrt(4.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return sqrt_p.bind(x, accuracy=accuracy)


rsqrt_p = accurate(
    "rsqrt",
    "rsqrt",
    lambda t, ans, x, accuracy=None: mul(t, mul(factor(x, -0.5), div(ans, x))),
)


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    r"""Reciprocal square root elementwise, :math:`1 / \sqrt{x}`.

    Args:
      x: an array of a float (nan for negative elements) or complex dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> rsqrt(4.0)
      Array(0.5, dtype=float32, weak_type=True)
    """
    return rsqrt_p.bind(x, accuracy=accuracy)


cbrt_p = accurate(
    "cbrt",
    "cbrt",
    lambda t, ans, x, accuracy=None: mul(
        t, mul(factor(x, 1 / 3), integer_pow(ans, -2))
    ),
    FLOAT,
)


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    r"""Cube root elementwise, :math:`\sqrt[3]{x}`.

    Args:
      x: an array of a float dtype.
      accuracy: a `Tolerance`, an `AccuracyMode`, or None: the compiler's choice.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> cbrt(8.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return cbrt_p.bind(x, accuracy=accuracy)


# ---- order


def _lower_extremum(op: str, direction: str) -> Rule:
    """The lowering rule of max and min; complex numbers are ordered as pairs."""

    def lower(ctx: Any, x: Any, y: Any) -> Any:
        out = ctx.avals_out[0]
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        if not dtypes.is_complex(out.dtype):
            return ctx.op(op, out, x, y)
        first = emit_precedes(ctx, direction, x, y, out)
        return ctx.op("select", out, first, x, y)

    return lower


def _share(ans: Any, mine: Any, other: Any) -> Any:
    """1 where this operand is the answer, 1/2 where the other one equals it, 0 else."""
    chosen = select(eq_p.bind(mine, ans), filled(ans, 1), filled(ans, 0))
    return div(chosen, select(eq_p.bind(other, ans), filled(ans, 2), filled(ans, 1)))


_extremum_tangents = [
    lambda t, ans, x, y: mul(t, _share(ans, x, y)),
    lambda t, ans, x, y: mul(t, _share(ans, y, x)),
]
max_p = nary(
    "max", [ANY, ANY], lower=_lower_extremum("maximum", "GT"), jvp=_extremum_tangents
)
min_p = nary(
    "min", [ANY, ANY], lower=_lower_extremum("minimum", "LT"), jvp=_extremum_tangents
)


def max(x: Any, y: Any) -> Any:
    r"""The larger of two elements, :math:`\max(x, y)`.

    nan wins.  Complex numbers are compared by real part, then by imaginary part.

    Args:
      x, y: arrays of one shape and dtype, bool too; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> max(1.0, 2.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return max_p.bind(x, y)


def min(x: Any, y: Any) -> Any:
    r"""The smaller of two elements, :math:`\min(x, y)`.

    nan wins.  Complex numbers are compared by real part, then by imaginary part.

    Args:
      x, y: arrays of one shape and dtype, bool too; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> min(1.0, 2.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return min_p.bind(x, y)


nextafter_p = nary("nextafter", [FLOAT, FLOAT], lower="chlo.next_after")
nextafter_p.jvp = unsupported("nextafter has no derivative: its values are steps.")


def nextafter(x1: Any, x2: Any) -> Any:
    """The float that follows `x1` in the direction of `x2`, elementwise.

    It cannot be differentiated.

    Args:
      x1, x2: arrays of one float dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> nextafter(1.0, 2.0) > 1.0
      Array(True, dtype=bool, weak_type=True)
    """
    return nextafter_p.bind(x1, x2)


# ---- sign and magnitude


def _lower_sign(ctx: Any, x: Any) -> Any:
    out = ctx.avals_out[0]
    if not dtypes.is_unsigned(out.dtype):
        return ctx.op("sign", out, x)
    return ctx.op("minimum", out, x, ctx.constant(1, out))


sign_p = nary("sign", [NUMBER], lower=_lower_sign)


def sign(x: Any) -> Any:
    r"""The sign elementwise: -1, 0 or 1; :math:`x / |x|` for complex numbers.

    Args:
      x: an array of numbers.

    Returns:
      An array of `x`'s shape and dtype.  Zeros (with their sign) and nan stay.

    Example:
      >>> sign(-3.0)
      Array(-1., dtype=float32, weak_type=True)
    """
    return sign_p.bind(x)


def _abs_tangent(t: Any, ans: Any, x: Any) -> Any:
    aval = core.aval_of(x)
    if dtypes.is_complex(aval.dtype):
        turned = conj(x)
        size = cast(ans, aval.dtype)
        return real(mul(t, div(turned, replace_zero(size))))
    return select(ge_p.bind(x, const(x, 0)), t, neg(t))


abs_p = nary(
    "abs", [SIGNED | INEXACT], lower="abs", jvp=[_abs_tangent],
    out_dtype=lambda x: dtypes.real_of(x.dtype),
)  # fmt: skip


def abs(x: Any) -> Any:
    r"""Absolute value elementwise, :math:`|x|`.

    Args:
      x: an array of signed integers, floats or complex numbers.

    Returns:
      An array of `x`'s shape and dtype; of the real dtype for complex numbers.  The
      lowest integer stays as it is.

    Example:
      >>> abs(-3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return abs_p.bind(x)


def replace_zero(x: Any) -> Any:
    """`x` with 1 where it is 0."""
    return select(eq_p.bind(x, const(x, 0)), filled(x, 1), x)


# ---- rounding

floor_p = nary("floor", [FLOAT], lower="floor")
ceil_p = nary("ceil", [FLOAT], lower="ceil")


def floor(x: Any) -> Any:
    r"""Round elementwise towards minus infinity, :math:`\lfloor x \rfloor`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> floor(-1.5)
      Array(-2., dtype=float32, weak_type=True)
    """
    return floor_p.bind(x)


def ceil(x: Any) -> Any:
    r"""Round elementwise towards infinity, :math:`\lceil x \rceil`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> ceil(-1.5)
      Array(-1., dtype=float32, weak_type=True)
    """
    return ceil_p.bind(x)


class RoundingMethod(enum.IntEnum):
    """Where halves are rounded to."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _lower_round(ctx: Any, x: Any, *, rounding_method: RoundingMethod) -> Any:
    away = rounding_method is RoundingMethod.AWAY_FROM_ZERO
    op = "round_nearest_afz" if away else "round_nearest_even"
    return ctx.op(op, ctx.avals_out[0], x)


round_p = nary("round", [FLOAT], lower=_lower_round)


def round(
    x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO
) -> Any:
    """Round elementwise to the nearest integer.

    Args:
      x: an array of a float dtype.
      rounding_method: a `RoundingMethod`: halves go away from zero, or to the even
        neighbour (TO_NEAREST_EVEN).

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> round(2.5)
      Array(3., dtype=float32, weak_type=True)
      >>> round(2.5, RoundingMethod.TO_NEAREST_EVEN)
      Array(2., dtype=float32, weak_type=True)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


# ---- the parts of complex numbers
# Derivatives are holomorphic: a cotangent meets a tangent without conjugation.


def _real_of(x: Any, *_: Any) -> Any:
    return dtypes.real_of(x.dtype)


def _complex_of(x: Any, *_: Any) -> Any:
    return dtypes.complex_of(x.dtype)


def _real_transpose(ct: Any, x: Any) -> list[Any]:
    return [complex_p.bind(ct, core.aval_of(ct).dtype.type(0))]


def _imag_transpose(ct: Any, x: Any) -> list[Any]:
    return [complex_p.bind(core.aval_of(ct).dtype.type(0), neg(ct))]


real_p = nary("real", [COMPLEX], lower="real", out_dtype=_real_of)
linear_in_first(real_p, _real_transpose)
imag_p = nary("imag", [COMPLEX], lower="imag", out_dtype=_real_of)
linear_in_first(imag_p, _imag_transpose)


def real(x: Any) -> Any:
    r"""Real part elementwise, :math:`\mathrm{Re}(x)`.

    Args:
      x: an array of a complex dtype.

    Returns:
      An array of `x`'s shape; float32 of complex64, float64 of complex128.

    Example:
      >>> real(1 + 2j)
      Array(1., dtype=float32, weak_type=True)
    """
    return real_p.bind(x)


def imag(x: Any) -> Any:
    r"""Imaginary part elementwise, :math:`\mathrm{Im}(x)`.

    Args:
      x: an array of a complex dtype.

    Returns:
      An array of `x`'s shape; float32 of complex64, float64 of complex128.

    Example:
      >>> imag(1 + 2j)
      Array(2., dtype=float32, weak_type=True)
    """
    return imag_p.bind(x)


def _complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(real_p.bind(ct), x.aval) if is_linear(x) else None,
        unbroadcast(imag_p.bind(neg(ct)), y.aval) if is_linear(y) else None,
    ]


def _complex_abstract(x: Any, y: Any) -> Any:
    for i, a in enumerate((x, y)):
        _check_part("complex", a, i, 2)
    dtype = dtypes.complex_of(same_dtype("complex", (x, y)))
    weak = x.weak_type and y.weak_type
    return shaped(broadcast_shape("complex", (x, y)), dtype, weak)


def _check_part(name: str, aval: Any, position: int, n: int) -> None:
    """TypeError unless the aval can be a part of a complex number."""
    if aval.dtype not in (dtypes.float32, dtypes.float64):
        check_kind(name, aval, frozenset(("float32", "float64")), position, n)


complex_p = nary("complex", [FLOAT, FLOAT], lower="complex", out_dtype=_complex_of)
complex_p.abstract = _complex_abstract
linear_jvp(complex_p)
complex_p.transpose = _complex_transpose


def complex(x: Any, y: Any) -> Any:
    r"""Put real and imaginary parts together elementwise, :math:`x + i y`.

    Args:
      x, y: arrays of float32, or both of float64; of one shape, but scalars and axes of
        size 1 repeat.

    Returns:
      An array of their joint shape; complex64 of float32, complex128 of float64.

    Example:
      >>> complex(1.0, 2.0)
      Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return complex_p.bind(x, y)


def _conj_abstract(x: Any, *, input_dtype: Any = None) -> Any:
    if not dtypes.is_complex(x.dtype):
        _check_part("conj", x, 0, 1)
    return shaped(x.shape, dtypes.complex_of(x.dtype), x.weak_type)


def _conj_transpose(ct: Any, x: Any, *, input_dtype: Any = None) -> list[Any]:
    if input_dtype is None or dtypes.is_complex(input_dtype):
        return [conj(ct)]
    return [real(ct)]


def _lower_conj(ctx: Any, x: Any, *, input_dtype: Any = None) -> Any:
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    if dtypes.is_complex(aval.dtype):
        return ctx.chlo("conj", out, x)
    return ctx.op("complex", out, x, ctx.constant(0, aval))


conj_p = nary("conj", [INEXACT], lower=_lower_conj)
conj_p.abstract = _conj_abstract
linear_in_first(conj_p, _conj_transpose)


def conj(x: Any) -> Any:
    r"""Complex conjugate elementwise, :math:`\overline{x}`.

    Args:
      x: an array of a complex dtype, of float32 or float64.

    Returns:
      An array of `x`'s shape, complex for floats too.

    Example:
      >>> conj(1 + 2j)
      Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return conj_p.bind(x, input_dtype=core.aval_of(x).dtype)


hands_on_nans(
    neg_p,
    sign_p,
    abs_p,
    max_p,
    min_p,
    conj_p,
    real_p,
    imag_p,
    complex_p,
    nextafter_p,
    round_p,
    floor_p,
    ceil_p,
)
keep_nans(
    neg_p, add_p, sub_p, mul_p, add_any_p, square_p, sqrt_p, cbrt_p, abs_p, conj_p,
    complex_p, round_p, floor_p, ceil_p,
)  # fmt: skip
