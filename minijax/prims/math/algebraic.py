"""Sums, products, powers and roots.

Each primitive is one block: type, jvp, transpose, batch, lowering, through
`elementwise.nary`.  The function after it (`mul` for `mul_p`) takes arrays and Python
scalars of one dtype; scalars and axes of size 1 repeat.

Source of the derivatives: any calculus text; complex functions are holomorphic.
Next: order.py, then elementary.py, exponentials to hyperbolic functions.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...passes import ad_util
from ...passes.ad_util import Zero, is_linear
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import *
from .accuracy import accurate, attribute_text, lower_accurate
from .cast import emit_convert, user_dtype
from .signs import with_signs

__all__ = (
    "neg_p",
    "neg",
    "add_p",
    "add",
    "sub_p",
    "sub",
    "mul_p",
    "mul",
    "div_p",
    "div",
    "mulhi_p",
    "mulhi",
    "square_p",
    "square",
    "integer_pow_p",
    "integer_pow",
    "reciprocal",
    "sqrt_p",
    "sqrt",
    "rsqrt_p",
    "rsqrt",
    "cbrt_p",
    "cbrt",
)

# ---- negation


def _neg_transpose(ct: Any, x: Any) -> list[Any]:
    return [neg_p.bind(ct)]


neg_p = nary("neg", [NUMBER], lower="negate", keeps_nans=True, makes_no_nans=True)
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


add_p = nary("add", [NUMBER, NUMBER], lower="add", keeps_nans=True)
_sum_jvp(add_p, minus=False)
add_p.transpose = _add_transpose
add_p.def_sharding(linear_in="together")


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


sub_p = nary("sub", [NUMBER, NUMBER], lower="subtract", keeps_nans=True)
_sum_jvp(sub_p, minus=True)
sub_p.transpose = _sub_transpose
sub_p.def_sharding(linear_in="together")


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


# add_any: the sum of two cotangents, of any type.
def _add_any_lower(ctx: Any, x: Any, y: Any) -> Any:
    rules = dtypes.rules_of(ctx.avals_in[0].dtype)
    if rules is None:
        return _lower_add(ctx, x, y)
    return ctx.fun(lambda x, y: rules.add(ctx.avals_in[0].dtype, x, y), x, y)[0]


_lower_add = lower_elementwise("add")
add_any_p = nary(
    "add_any",
    [ANY | KEY, ANY | KEY],
    lower=_add_any_lower,
    keeps_nans=True,
    lowers_key_arrays=True,
)
linear_jvp(add_any_p)
add_any_p.transpose = _add_transpose


def add_any(x: Any, y: Any) -> Any:
    """Return the sum of two tangents or cotangents of one type."""
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
            out = ad_util.add(out, mul_p.bind(x, u, **params))
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


mul_p = nary(
    "mul", [NUMBER, NUMBER], lower=_lower_mul, transpose=_mul_transpose, keeps_nans=True
)
mul_p.abstract = _mul_abstract
mul_p.jvp = _mul_jvp
mul_p.def_sharding(linear_in="product")


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    r"""Multiply elementwise, :math:`x y`.

    Args:
      x, y: arrays of one shape (scalars and axes of size 1 repeat); of one dtype,
        unless `out_dtype` is set.
      out_dtype: the dtype to convert both to before, or None.

    Returns:
      An array of their joint shape, of their dtype or `out_dtype`.

    Raises:
      TypeError: dtypes or shapes are incompatible.

    Example:
      >>> mul(3.0, 2.0)
      Array(6., dtype=float32, weak_type=True)
    """
    if out_dtype is None:
        return mul_p.bind(x, y)
    return mul_p.bind(x, y, out_dtype=user_dtype(out_dtype, "mul"))


def _div_transpose(ct: Any, x: Any, y: Any, *, accuracy: Any = None) -> list[Any]:
    return [unbroadcast(div(ct, y, accuracy=accuracy), x.aval), None]


def lower_division(op: str, of_zero: Rule) -> Rule:
    """Return the lowering rule of a division, which for integers avoids zero divisors.

    If XLA finds that the operands are constants (an empty sum, a product with 0), it divides
    by the machine's instruction, which kills the process for a zero divisor.  The check costs
    nothing: XLA adds the same one to programs, and merges the two.
    """
    lower_plain = lower_elementwise(op)

    def lower(ctx: Any, x: Any, y: Any, *, accuracy: Any = None) -> Any:
        (out,) = ctx.avals_out
        if accuracy is not None and not dtypes.is_integer(out.dtype):
            # The barrier hides the operands from the compiler, which would multiply by the
            # reciprocal of a repeated number or a root, and merge two divisions.
            operands = broadcast_operands(ctx, (x, y), out.shape)
            kinds = [ctx.type(out)] * 2
            hidden = ctx.create("stablehlo.optimization_barrier", kinds, operands)
            return ctx.op(op, out, *hidden.results)
        if not dtypes.is_integer(out.dtype) or not ctx.may_be_zero(y):
            return lower_plain(ctx, x, y)
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        zero = emit_compare(ctx, "EQ", y, ctx.constant(0, out), out)
        safe = ctx.op(op, out, x, ctx.op("select", out, zero, ctx.constant(1, out), y))
        return ctx.op("select", out, zero, of_zero(ctx, x, out), safe)

    return lower


div_p = nary(
    "div",
    [NUMBER, NUMBER],
    lower=lower_division(
        "divide", lambda ctx, x, out: ctx.op("not", out, ctx.constant(0, out))
    ),
    jvp=[
        lambda t, ans, x, y, accuracy=None: div(t, y, accuracy=accuracy),
        # Not x / y^2, whose divisor may overflow or underflow; nor ans / y, because
        # compilers rewrite x / y / y to x / y^2.
        lambda t, ans, x, y, accuracy=None: mul(neg(t), mul(ans, reciprocal(y))),
    ],
    transpose=_div_transpose,
    divisor=1,
)


def div(x: Any, y: Any, *, accuracy: Any = None) -> Any:
    r"""Divide elementwise, :math:`x / y`.

    Integer division truncates towards zero; division by zero returns -1 (all bits set).
    The compiler multiplies by the rounded reciprocal if `y` is a scalar or a constant, and
    by `rsqrt` if `y` is a square root: a third of such quotients are off by one unit in the
    last place.

    Args:
      x, y: arrays of numbers of one dtype and shape; scalars and axes of size 1 repeat.
      accuracy: an `AccuracyMode`, a `Tolerance`, or None: the compiler's choice.  With
        `AccuracyMode.HIGHEST` or a tolerance, every quotient of real numbers is the nearest
        float, as IEEE 754 requires (on CPUs; other platforms have their own division).

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Raises:
      TypeError: dtypes or shapes are incompatible, or `accuracy` has another type.

    Example:
      >>> div(3.0, 2.0)
      Array(1.5, dtype=float32, weak_type=True)
      >>> div(-3, 2)
      Array(-1, dtype=int32, weak_type=True)
    """
    if attribute_text(accuracy) is None:
        return div_p.bind(x, y)
    return div_p.bind(x, y, accuracy=accuracy)


mulhi_p = nary("mulhi", [INT, INT], lower="chlo.mulhi")


def mulhi(x: Any, y: Any) -> Any:
    """Return the upper half of the bits of the product of integers, elementwise.

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
    "square",
    [NUMBER],
    lower=_lower_square,
    jvp=[lambda t, ans, x: mul(t, mul(derivative_constant(x, 2), x))],
    keeps_nans=True,
)


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
            why="The result is not an integer.",
            tries=["convert the base with .astype(float)"],
        )
    return x


def _integer_pow_tangent(t: Any, ans: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return Zero(core.aval_of(t))
    if y == 1:
        return t
    if y == -1:
        return mul(t, mul(derivative_constant(x, -1), square(ans)))
    if y < 0:  # x^(1-y) overflows before its inverse underflows
        return mul(t, mul(derivative_constant(x, y), mul(ans, reciprocal(x))))
    return mul(t, mul(derivative_constant(x, y), x if y == 2 else integer_pow(x, y - 1)))


def _lower_integer_pow(ctx: Any, x: Any, *, y: int) -> Any:
    """Lower to multiplications by repeated squares, one per bit of the exponent."""
    out = ctx.avals_out[0]
    if y == 0:
        return ctx.constant(1, out)
    product, power, n = None, x, y if y >= 0 else -y
    while n:
        if n & 1:
            product = power if product is None else ctx.op("multiply", out, product, power)
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
      y: the exponent, an integer; negative ones need an inexact dtype.

    Returns:
      An array of `x`'s shape and dtype.  Integers wrap around.

    Raises:
      TypeError: integers to a negative power, or a power that is not an integer.

    Example:
      >>> integer_pow(2.0, 3)
      Array(8., dtype=float32, weak_type=True)
    """
    if isinstance(y, np.bool_) or (
        isinstance(y, (float, np.floating)) and float(y).is_integer()
    ):
        y = int(y)
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
    "sqrt",
    with_signs(lower_accurate("sqrt"), imag="imag"),
    lambda t, ans, x, accuracy=None: mul(t, div(derivative_constant(x, 0.5), ans)),
    keeps_nans=True,
)


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the square root elementwise, :math:`\sqrt{x}`.

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
    lambda t, ans, x, accuracy=None: mul(t, mul(derivative_constant(x, -0.5), div(ans, x))),
)


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the reciprocal square root elementwise, :math:`1 / \sqrt{x}`.

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


def _cbrt_tangent(t: Any, ans: Any, x: Any, *, accuracy: Any = None) -> Any:
    inverse = reciprocal(ans)  # its square may overflow
    return mul(t, mul(mul(derivative_constant(x, 1 / 3), inverse), inverse))


cbrt_p = accurate("cbrt", "cbrt", _cbrt_tangent, FLOAT, keeps_nans=True)


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    r"""Compute the cube root elementwise, :math:`\sqrt[3]{x}`.

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
