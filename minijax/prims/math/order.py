"""Extrema, sign and absolute value, rounding and remainders; parts of complex numbers.

As in algebraic.py, each primitive is one block.  Next: elementary.py.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...ir import core
from ...ir.core import unsupported
from ...passes.ad_util import is_linear
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import *
from .algebraic import add, div, lower_division, mul, neg, sqrt, square
from .cast import cast
from .logic import eq_p, ge_p, ne_p, select

__all__ = (
    "max_p",
    "min_p",
    "max",
    "min",
    "nextafter_p",
    "nextafter",
    "sign_p",
    "sign",
    "abs_p",
    "abs",
    "floor_p",
    "ceil_p",
    "floor",
    "ceil",
    "RoundingMethod",
    "round_p",
    "round",
    "rem_p",
    "rem",
    "real_p",
    "imag_p",
    "real",
    "imag",
    "complex_p",
    "complex",
    "conj_p",
    "conj",
)


# ---- order


def _lower_extremum(op: str, direction: str) -> Rule:
    """Return the lowering rule of max and min; complex numbers are ordered as pairs."""

    def lower(ctx: Any, x: Any, y: Any) -> Any:
        out = ctx.avals_out[0]
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        if not dtypes.is_complex(out.dtype):
            return ctx.op(op, out, x, y)
        first = emit_precedes(ctx, direction, x, y, out)
        return ctx.op("select", out, first, x, y)

    return lower


def _extremum_weight(ans: Any, operand: Any, other: Any) -> Any:
    """Return 1 where the operand is the result, 1/2 where both are, and 0 otherwise."""
    chosen = select(eq_p.bind(operand, ans), filled(ans, 1), filled(ans, 0))
    return div(chosen, select(eq_p.bind(other, ans), filled(ans, 2), filled(ans, 1)))


_extremum_tangents = [
    lambda t, ans, x, y: mul(t, _extremum_weight(ans, x, y)),
    lambda t, ans, x, y: mul(t, _extremum_weight(ans, y, x)),
]
max_p = nary(
    "max",
    [ANY, ANY],
    lower=_lower_extremum("maximum", "GT"),
    jvp=_extremum_tangents,
    makes_no_nans=True,
    keeps_finite=True,
)
min_p = nary(
    "min",
    [ANY, ANY],
    lower=_lower_extremum("minimum", "LT"),
    jvp=_extremum_tangents,
    makes_no_nans=True,
    keeps_finite=True,
)


def max(x: Any, y: Any) -> Any:
    r"""Return the larger of two elements, :math:`\max(x, y)`.

    If one is nan, the result is nan.  Complex numbers are compared by real part, then by
    imaginary part.

    Args:
      x, y: arrays of one shape and dtype (also bool); scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> max(1.0, 2.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return max_p.bind(x, y)


def min(x: Any, y: Any) -> Any:
    r"""Return the smaller of two elements, :math:`\min(x, y)`.

    If one is nan, the result is nan.  Complex numbers are compared by real part, then by
    imaginary part.

    Args:
      x, y: arrays of one shape and dtype (also bool); scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> min(1.0, 2.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return min_p.bind(x, y)


nextafter_p = nary("nextafter", [FLOAT, FLOAT], lower="chlo.next_after", makes_no_nans=True)
nextafter_p.jvp = unsupported("nextafter has no derivative: its values are steps.")


def nextafter(x1: Any, x2: Any) -> Any:
    """Return the float that follows `x1` in the direction of `x2`, elementwise.

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


sign_p = nary("sign", [NUMBER], lower=_lower_sign, makes_no_nans=True, keeps_finite=True)


def sign(x: Any) -> Any:
    r"""Return the sign elementwise: -1, 0 or 1; :math:`x / |x|` for complex numbers.

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
        # The direction of an infinite number is an axis or a diagonal.
        infinite = eq_p.bind(ans, const(ans, np.inf))
        a, b = (select(infinite, _infinite_part(y), y) for y in (real(x), imag(x)))
        size = select(infinite, sqrt(add(square(a), square(b))), ans)
        conjugate = complex(a, neg(b))
        return real(mul(t, div(conjugate, replace_zero(cast(size, aval.dtype)))))
    return select(ge_p.bind(x, const(x, 0)), t, neg(t))


def _infinite_part(x: Any) -> Any:
    """Return the sign of an infinity, and 0 for a finite number."""
    finite = ne_p.bind(abs(x), const(x, np.inf))
    return select(finite, mul(x, const(x, 0)), sign(x))


def _lower_abs(ctx: Any, x: Any) -> Any:
    """Emit the absolute value; a complex number is infinite if one part is infinite."""
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    size = ctx.op("abs", out, x)
    if not dtypes.is_complex(aval.dtype):
        return size
    infinity = ctx.constant(np.inf, out)
    for op in ("real", "imag"):
        component = ctx.op("abs", out, ctx.op(op, out, x))
        infinite = emit_compare(ctx, "EQ", component, infinity, out)
        size = ctx.op("select", out, infinite, infinity, size)
    return size


abs_p = nary(
    "abs",
    [SIGNED | INEXACT],
    lower=_lower_abs,
    jvp=[_abs_tangent],
    out_dtype=lambda x: dtypes.real_of(x.dtype),
    makes_no_nans=True,
    keeps_nans=True,
)


def abs(x: Any) -> Any:
    r"""Compute the absolute value elementwise, :math:`|x|`.

    Args:
      x: an array of signed integers, floats or complex numbers.

    Returns:
      An array of `x`'s shape and dtype; of the real dtype for complex numbers.  The lowest
      integer is unchanged.

    Example:
      >>> abs(-3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return abs_p.bind(x)


def replace_zero(x: Any) -> Any:
    """Return `x` with 1 in place of 0."""
    return select(eq_p.bind(x, const(x, 0)), filled(x, 1), x)


# ---- rounding

floor_p = nary("floor", [FLOAT], lower="floor", makes_no_nans=True, keeps_nans=True)
ceil_p = nary("ceil", [FLOAT], lower="ceil", makes_no_nans=True, keeps_nans=True)


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
    """The direction in which halves are rounded.

    >>> from minijax import lax
    >>> [lax.round(2.5, way).item() for way in lax.RoundingMethod]
    [3.0, 2.0]
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _lower_round(ctx: Any, x: Any, *, rounding_method: RoundingMethod) -> Any:
    away = rounding_method is RoundingMethod.AWAY_FROM_ZERO
    op = "round_nearest_afz" if away else "round_nearest_even"
    return ctx.op(op, ctx.avals_out[0], x)


round_p = nary("round", [FLOAT], lower=_lower_round, makes_no_nans=True, keeps_nans=True)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
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


def _truncated_quotient(x: Any, y: Any) -> Any:
    return mul(sign(div(x, y)), floor(abs(div(x, y))))


rem_p = nary(
    "rem",
    [INT | FLOAT, INT | FLOAT],
    lower=lower_division("remainder", lambda ctx, x, out: x),
    jvp=[
        lambda t, ans, x, y: repeat_like(t, ans),
        lambda t, ans, x, y: mul(neg(t), _truncated_quotient(x, y)),
    ],
)


def rem(x: Any, y: Any) -> Any:
    r"""Return the remainder of truncated division, with the sign of `x`.

    The remainder by zero is `x` for integers and nan for floats.

    Args:
      x, y: arrays of one real dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> rem(-7, 3)
      Array(-1, dtype=int32, weak_type=True)
    """
    return rem_p.bind(x, y)


# ---- the parts of complex numbers
# Derivatives are holomorphic: cotangents are paired with tangents without conjugation.


def _real_of(x: Any, *_: Any) -> Any:
    return dtypes.real_of(x.dtype)


def _complex_of(x: Any, *_: Any) -> Any:
    return dtypes.complex_of(x.dtype)


def _real_transpose(ct: Any, x: Any) -> list[Any]:
    return [complex_p.bind(ct, core.aval_of(ct).dtype.type(0))]


def _imag_transpose(ct: Any, x: Any) -> list[Any]:
    return [complex_p.bind(core.aval_of(ct).dtype.type(0), neg(ct))]


real_p = nary("real", [COMPLEX], lower="real", out_dtype=_real_of, makes_no_nans=True)
linear_in_first(real_p, _real_transpose)
imag_p = nary("imag", [COMPLEX], lower="imag", out_dtype=_real_of, makes_no_nans=True)
linear_in_first(imag_p, _imag_transpose)


def real(x: Any) -> Any:
    r"""Return the real part elementwise, :math:`\mathrm{Re}(x)`.

    Args:
      x: an array of a complex dtype.

    Returns:
      An array of `x`'s shape; float32 for complex64, float64 for complex128.

    Example:
      >>> real(1 + 2j)
      Array(1., dtype=float32, weak_type=True)
    """
    return real_p.bind(x)


def imag(x: Any) -> Any:
    r"""Return the imaginary part elementwise, :math:`\mathrm{Im}(x)`.

    Args:
      x: an array of a complex dtype.

    Returns:
      An array of `x`'s shape; float32 for complex64, float64 for complex128.

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
    """Raise TypeError unless the aval can be a part of a complex number."""
    if aval.dtype not in (dtypes.float32, dtypes.float64):
        check_kind(name, aval, frozenset(("float32", "float64")), position, n)


complex_p = nary(
    "complex",
    [FLOAT, FLOAT],
    lower="complex",
    out_dtype=_complex_of,
    makes_no_nans=True,
    keeps_nans=True,
)
complex_p.abstract = _complex_abstract
linear_jvp(complex_p)
complex_p.transpose = _complex_transpose


def complex(x: Any, y: Any) -> Any:
    r"""Combine real and imaginary parts elementwise, :math:`x + i y`.

    Args:
      x, y: arrays of float32, or both of float64, and of one shape; scalars and axes of
        size 1 repeat.

    Returns:
      An array of their joint shape; complex64 for float32, complex128 for float64.

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


conj_p = nary("conj", [INEXACT], lower=_lower_conj, makes_no_nans=True, keeps_nans=True)
conj_p.abstract = _conj_abstract
linear_in_first(conj_p, _conj_transpose)


def conj(x: Any) -> Any:
    r"""Compute the complex conjugate elementwise, :math:`\overline{x}`.

    Args:
      x: an array of a complex dtype, float32 or float64.

    Returns:
      An array of `x`'s shape, of a complex dtype even for floats.

    Example:
      >>> conj(1 + 2j)
      Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return conj_p.bind(x, input_dtype=core.aval_of(x).dtype)
