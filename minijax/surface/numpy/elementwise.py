"""Elementwise functions composed of several primitives.

Division with remainder, divisors, powers, logarithms of sums, clipping, rounding. Each is a
`composite`: one compiled call when evaluated, inlined when traced.  Formulas are the
textbook ones; comments explain where floats need care.

Next: floating_point.py, for functions of the representation of floats.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...control.loop_functions.while_loop import while_loop
from ...control.rules.custom_jvp import custom_jvp
from ...prims import lax, promotion
from ...prims.elementwise import const
from ...runtime.arrays.array import ArrayImpl
from ...types import dtypes
from ._common import *
from ._function_tables import synonym
from .ufuncs import with_keywords

__all__ = (
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "divmod",
    "gcd",
    "lcm",
    "power",
    "pow",
    "float_power",
    "logaddexp",
    "logaddexp2",
    "fmax",
    "fmin",
    "clip",
    "round",
    "around",
    "rint",
    "trunc",
    "modf",
)

_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


def _dtype(x: Any) -> Any:
    return aval_of(x).dtype


# ---------------------------------------------------------------- division, remainder


@composite
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """Return the quotient rounded down, elementwise: `x1 // x2`.

    Args:
      x1, x2: real arrays or numbers that broadcast; bools become integers.

    Returns:
      Array of the broadcast shape and common dtype; for floats, the values are integers.

    Raises:
      TypeError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.floor_divide(jnp.array([7, -7]), 2)
      Array([ 3, -4], dtype=int32)
    """
    x, y = promote_args_numeric("floor_divide", x1, x2)
    if is_complex(x):
        raise TypeError("floor_divide does not support complex-valued inputs")
    if dtypes.is_unsigned(_dtype(x)):
        return lax.div(x, y)
    if dtypes.is_integer(_dtype(x)):
        return _floor_integers(x, y)
    return _divide_floats(x, y)[0]


def _floor_integers(x: Any, y: Any) -> Any:
    """Divide integers, rounding down: truncate, then subtract 1 where signs differ."""
    quotient = lax.div(x, y)
    differ = lax.ne(lax.sign(x), lax.sign(y))
    low = lax.bitwise_and(differ, lax.ne(lax.rem(x, y), const(x, 0)))
    return choose(low, lax.sub(quotient, const(quotient, 1)), quotient)


def _divide_floats(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the floored quotient and the remainder of floats, as Python's divmod does."""
    rest = lax.rem(x, y)
    # x - rest is a multiple of y: the quotient is an integer, except for rounding errors.
    multiple = choose(lax.eq(y, const(y, 0)), x, lax.sub(x, rest))
    quotient = lax.div(multiple, y)
    low = lax.bitwise_and(lax.ne(rest, const(rest, 0)), lax.ne(lax.sign(y), lax.sign(rest)))
    rest = choose(low, lax.add(rest, y), rest)
    quotient = choose(low, lax.sub(quotient, const(quotient, 1)), quotient)
    return lax.round(quotient), rest


@composite
def remainder(x1: Any, x2: Any, /) -> Any:
    """Return the remainder with the sign of the divisor, elementwise: `x1 % x2`.

    Args:
      x1, x2: real arrays or numbers that broadcast; bools become integers.  Integers modulo
        zero are 0, floats modulo zero nan.

    Returns:
      Array of the broadcast shape and common dtype.

    Raises:
      TypeError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.remainder(jnp.array([7, -7]), 3)
      Array([1, 2], dtype=int32)
    """
    x, y = promote_args_numeric("remainder", x1, x2)
    y = _divisor(y)
    rest = lax.rem(x, y)
    if dtypes.is_unsigned(_dtype(x)):
        return rest
    zero = const(rest, 0)
    differ = lax.ne(lax.lt(rest, zero), lax.lt(y, const(y, 0)))
    fix = lax.bitwise_and(differ, lax.ne(rest, zero))
    return choose(fix, lax.add(rest, y), rest)


def _divisor(y: Any) -> Any:
    """Return integers with 1 in place of 0: the remainder after division by either is 0."""
    if not dtypes.is_integer(_dtype(y)):
        return y
    return choose(lax.eq(y, const(y, 0)), const(y, 1), y)


mod = synonym(remainder, "mod")


@composite
def fmod(x1: Any, x2: Any, /) -> Any:
    """Return the remainder with the sign of the dividend, elementwise (C's fmod).

    Args:
      x1, x2: real arrays or numbers that broadcast; bools become integers.  Integers modulo
        zero are 0, floats modulo zero nan.

    Returns:
      Array of the broadcast shape and common dtype.

    Raises:
      TypeError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fmod(jnp.array([7, -7]), 3)
      Array([ 1, -1], dtype=int32)
    """
    x, y = promote_args_numeric("fmod", x1, x2)
    return lax.rem(x, _divisor(y))


@composite
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """Return the floored quotient and the remainder, elementwise.

    Args:
      x1, x2: real arrays or numbers that broadcast; bools become integers.

    Returns:
      (floor_divide(x1, x2), remainder(x1, x2)), arrays of the broadcast shape and
      common dtype.

    Raises:
      TypeError: complex operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.divmod(jnp.array([7]), 3)
      (Array([2], dtype=int32), Array([1], dtype=int32))
    """
    x, y = promote_args_numeric("divmod", x1, x2)
    if dtypes.is_integer(_dtype(x)):
        return floor_divide(x, y), remainder(x, y)
    return _divide_floats(x, y)


# ---------------------------------------------------------------------- common divisors


@composite
def _gcd(x: Any, y: Any) -> Any:
    """Run Euclid's algorithm on all elements, until every remainder is zero."""

    def unfinished(pair: Any) -> Any:
        rest = pair[1]
        axes = tuple(range(len(shape_of(rest))))
        return lax.reduce_or(lax.ne(rest, const(rest, 0)), axes)

    def step(pair: Any) -> Any:
        a, b = pair
        done = lax.eq(b, const(b, 0))
        rest = lax.rem(a, choose(done, const(b, 1), b))
        return choose(done, a, b), choose(done, const(b, 0), rest)

    if dtypes.is_signed(_dtype(x)):
        x, y = lax.abs(x), lax.abs(y)
    return while_loop(unfinished, step, (x, y))[0]


def _integer_pair(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    check_arraylike(name, x1, x2)
    x, y = promote_args(name, x1, x2)
    if not dtypes.is_integer(_dtype(x)):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
    shape = broadcast_sizes(shape_of(x), shape_of(y))
    return strong_unless_scalar(broadcast_to(x, shape)), strong_unless_scalar(
        broadcast_to(y, shape)
    )


@composite
def gcd(x1: Any, x2: Any) -> Any:
    """Return the greatest common divisor, elementwise.

    Args:
      x1, x2: arrays or numbers of integers that broadcast.

    Returns:
      Array of the broadcast shape and common integer dtype, never negative; 0 where both
      are 0.

    Raises:
      ValueError: operands are not integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.gcd(jnp.array([12, 7]), 18)
      Array([6, 1], dtype=int32)
    """
    return _gcd(*_integer_pair("gcd", *ranked(x1, x2)))


@composite
def lcm(x1: Any, x2: Any) -> Any:
    """Return the least common multiple, elementwise; 0 if either is 0.

    Args:
      x1, x2: arrays or numbers of integers that broadcast.

    Returns:
      Array of the broadcast shape and common integer dtype; it may overflow.

    Raises:
      ValueError: operands are not integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.lcm(jnp.array([4, 0]), 6)
      Array([12,  0], dtype=int32)
    """
    x, y = _integer_pair("lcm", x1, x2)
    if dtypes.is_signed(_dtype(x)):
        x, y = lax.abs(x), lax.abs(y)
    divisor = _gcd(x, y)
    none = lax.eq(divisor, const(divisor, 0))
    product = lax.mul(x, lax.div(y, choose(none, const(y, 1), divisor)))
    return choose(none, const(product, 0), product)


# ------------------------------------------------------------------------------ powers


def power(x1: Any, x2: Any, /) -> Any:
    """Return x1 to the power x2, elementwise: `x1 ** x2`.

    Args:
      x1, x2: arrays or numbers that broadcast.  A concrete integer scalar exponent
        multiplies (`integer_pow`); bools become integers.

    Returns:
      Array of the broadcast shape and common dtype: integers to integer powers stay
      integers, modulo the width of their dtype.

    Raises:
      TypeError: an integer base with a concrete negative integer exponent.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.power(jnp.array([1., 2.]), 3)
      Array([1., 8.], dtype=float32)
    """
    check_arraylike("power", x1, x2)
    exponent = _concrete_integer(x2)
    if exponent is not None:
        return _integer_power(x1, exponent)
    return _power(x1, x2)


def pow(x1: Any, x2: Any, /) -> Any:
    """Return x1 to the power x2, elementwise: the array API's name of `power`.

    Args:
      x1, x2: arrays or numbers that broadcast, as for `power`.

    Returns:
      Array of the broadcast shape and common dtype.

    Raises:
      TypeError: an integer base with a concrete negative integer exponent.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.pow(jnp.array([1., 2.]), 3)
      Array([1., 8.], dtype=float32)
    """
    check_arraylike("pow", x1, x2)
    return power(x1, x2)


def _concrete_integer(x: Any) -> int | None:
    """Return the value of a concrete integer scalar."""
    if isinstance(x, (int, np.integer)):
        return int(x)
    if isinstance(x, (np.ndarray, np.bool_)) and not x.shape and x.dtype.kind in "biu":
        return int(x)
    if type(x) is ArrayImpl and not x.shape and dtypes.is_integer(x.dtype):
        return int(x)
    return None


@composite(static="exponent")
def _integer_power(x: Any, exponent: int) -> Any:
    (x,) = promote_dtypes_numeric(x)
    if exponent < 0 and dtypes.is_integer(_dtype(x)):
        raise errors.type_error(
            "Integers cannot be raised to negative powers, got"
            f" integer_pow({aval_of(x).str_short(False)}, {exponent})",
            why="the result would not be an integer.",
            tries=[f"x ** {float(exponent)}", "x.astype(float)"],
        )
    return lax.integer_pow_p.bind(x, y=exponent)


@composite
def _power(x1: Any, x2: Any) -> Any:
    if dtypes.is_integer(_dtype(x2)) and dtypes.is_inexact(_dtype(x1)):
        # The exponent stays an integer: it is exact, and needs no derivative.
        a, b = aval_of(x1), aval_of(x2)
        dtype, weak = promotion.promote(((a.dtype, a.weak_type), (b.dtype, b.weak_type)))
        return lax.pow_p.bind(*promote_shapes("power", convert(x1, dtype, weak), x2))
    x, y = promote_args_numeric("power", x1, x2)
    if dtypes.is_integer(_dtype(x)):
        return _integers_power(convert(x, _dtype(x)), convert(y, _dtype(x)))
    return lax.pow_p.bind(x, y)


def _integers_power(base: Any, exponent: Any) -> Any:
    """Raise integers to integer powers by repeated squaring, modulo the dtype's width.

    Only six bits of the exponent are read: with more, every base except 0, 1 and -1
    overflows.
    """
    one, zero = const(base, 1), const(base, 0)
    vanish = lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, const(exponent, 0)))
    out = choose(vanish, zero, one)
    for bit in range(6):
        odd = lax.ne(lax.bitwise_and(exponent, const(exponent, 1)), const(exponent, 0))
        out = choose(odd, lax.mul(out, base), out)
        if bit < 5:
            base = lax.mul(base, base)
            exponent = lax.shift_right_logical(exponent, const(exponent, 1))
    return out


@composite
def float_power(x: Any, y: Any, /) -> Any:
    """Return x to the power y in a float dtype, elementwise.

    Args:
      x, y: arrays or numbers that broadcast; integers and bools become floats.

    Returns:
      Array of the broadcast shape, of the common float or complex dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.float_power(2, -1)
      Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.pow_p.bind(*promote_args_inexact("float_power", x, y))


# ------------------------------------------------------------------ logarithms of sums


def _logaddexp(base2: bool, x: Any, y: Any) -> Any:
    """Return max(x, y) + log(1 + exp(-|x - y|)), which overflows only if the result does."""
    high, gap = lax.max(x, y), lax.sub(x, y)
    falling = lax.neg(lax.abs(gap))
    if base2:
        rest = lax.log1p(lax.exp2(falling))
        rest = lax.mul(rest, const(rest, 1 / np.log(2.0)))
    else:
        rest = lax.log1p(lax.exp(falling))
    # For equal infinities the difference is nan, but their sum is the result.
    return choose(lax.ne(gap, gap), lax.add(x, y), lax.add(high, rest))


def _logaddexp_complex(x: Any, y: Any) -> Any:
    """Return the same for complex numbers, with the imaginary part in (-pi, pi]."""
    high = lax.max(x, y)
    falling = lax.sub(lax.add(x, y), lax.mul(high, const(high, 2)))
    out = lax.add(high, lax.log1p(lax.exp(falling)))
    angle = lax.imag(out)
    turn = const(angle, 2 * np.pi)
    half = const(angle, np.pi)
    wrapped = lax.sub(remainder(lax.add(angle, half), turn), half)
    return lax.complex(lax.real(out), wrapped)


def _logistic_weights(base2: bool, x: Any, y: Any, ans: Any) -> tuple[Any, Any]:
    """Return the derivatives of logaddexp: logistic functions of the difference.

    At equal operands both are 1/2.  exp(x - ans) would be 1 where the other weight is below
    the last bit, and its derivative 0.
    """
    if is_complex(x):
        grow = lax.exp2 if base2 else lax.exp
        return grow(lax.sub(x, ans)), grow(lax.sub(y, ans))
    gap = lax.sub(x, y)
    infinite = lax.bitwise_and(lax.eq(x, y), lax.ne(gap, gap))
    gap = choose(infinite, const(x, 0), gap)
    if base2:
        gap = lax.mul(gap, const(gap, np.log(2.0)))
    return lax.logistic(gap), lax.logistic(lax.neg(gap))


@custom_jvp
def _log_sum(x: Any, y: Any) -> Any:
    return _logaddexp_complex(x, y) if is_complex(x) else _logaddexp(False, x, y)


@_log_sum.defjvp
def _log_sum_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    ans = _log_sum(x, y)
    p, q = _logistic_weights(False, x, y, ans)
    return ans, lax.add(lax.mul(tangents[0], p), lax.mul(tangents[1], q))


@custom_jvp
def _log2_sum(x: Any, y: Any) -> Any:
    if not is_complex(x):
        return _logaddexp(True, x, y)
    scale = const(x, np.log(2.0))
    out = _logaddexp_complex(lax.mul(x, scale), lax.mul(y, scale))
    return lax.div(out, scale)


@_log2_sum.defjvp
def _log2_sum_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    ans = _log2_sum(x, y)
    p, q = _logistic_weights(True, x, y, ans)
    return ans, lax.add(lax.mul(tangents[0], p), lax.mul(tangents[1], q))


def _same_shapes(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return inexact operands of one shape, for functions with custom derivatives."""
    x, y = promote_args_inexact(name, x1, x2)
    shape = joint_shape("max", shape_of(x), shape_of(y))
    return broadcast_to(x, shape), broadcast_to(y, shape)


@composite
@with_keywords
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """Return log(exp(x1) + exp(x2)) without overflow, elementwise.

    Args:
      x1, x2: arrays or numbers that broadcast; integers and bools become floats.

    Returns:
      Array of the broadcast shape, of the common float or complex dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.logaddexp(1000., 1000.).round(2)
      Array(1000.69, dtype=float32, weak_type=True)
    """
    out = _log_sum(*_same_shapes("logaddexp", x1, x2))
    return strong_unless_scalar(out) if is_complex(out) else out


@composite
@with_keywords
def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """Return log2(2**x1 + 2**x2) without overflow, elementwise.

    Args:
      x1, x2: arrays or numbers that broadcast; integers and bools become floats.

    Returns:
      Array of the broadcast shape, of the common float or complex dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.logaddexp2(1000., 1000.)
      Array(1001., dtype=float32, weak_type=True)
    """
    return strong_unless_scalar(_log2_sum(*_same_shapes("logaddexp2", x1, x2)))


# ------------------------------------------------------------------- extrema, clipping


@composite
def fmax(x1: Any, x2: Any) -> Any:
    """Return the larger operand, elementwise; where one is nan, the other.

    Args:
      x1, x2: arrays or numbers that broadcast.

    Returns:
      Array of the broadcast shape and common dtype. Complex numbers are ordered by real
      part, then by imaginary part.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fmax(jnp.array([1., jnp.nan]), 2.)
      Array([2., 2.], dtype=float32)
    """
    x, y = promote_args("fmax", x1, x2)
    return choose(lax.bitwise_or(_greater(x, y), lax.ne(y, y)), x, y)


@composite
def fmin(x1: Any, x2: Any) -> Any:
    """Return the smaller operand, elementwise; where one is nan, the other.

    Args:
      x1, x2: arrays or numbers that broadcast.

    Returns:
      Array of the broadcast shape and common dtype. Complex numbers are ordered by real
      part, then by imaginary part.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fmin(jnp.array([1., jnp.nan]), 2.)
      Array([1., 2.], dtype=float32)
    """
    x, y = promote_args("fmin", x1, x2)
    return choose(lax.bitwise_or(_greater(y, x), lax.ne(y, y)), x, y)


def _greater(x: Any, y: Any) -> Any:
    if not is_complex(x):
        return lax.gt(x, y)
    same = lax.eq(lax.real(x), lax.real(y))
    return choose(same, lax.gt(lax.imag(x), lax.imag(y)), lax.gt(lax.real(x), lax.real(y)))


@composite
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Clip values to an interval, elementwise.

    Args:
      arr: real array or number.
      min, max: bounds that broadcast with it; None means unbounded.  Where min exceeds max
        the result is max.

    Returns:
      Array of the broadcast shape, of the dtype that `arr` and the bounds promote to:
      an integer array with a float bound becomes floats.

    Raises:
      ValueError: an operand is complex, or `arr` is missing.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.clip(jnp.array([-1., 0.5, 2.]), 0, 1)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    operands = [x for x in (arr, min, max) if x is not None]
    check_arraylike("clip", *operands)
    if any(is_complex(x) for x in operands):
        raise errors.value_error(
            "Clip received a complex value either through the input or the min/max keywords.",
            why="complex values have no ordering.",
            tries=["clip jnp.real(x) and jnp.imag(x)"],
        )
    x = arr
    if min is not None:
        x = lax.max_p.bind(*promote_pair("clip", min, x))
    if max is not None:
        x = lax.min_p.bind(*promote_pair("clip", max, x))
    return x


# ---------------------------------------------------------------------------- rounding


@composite(static="decimals")
def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Round values to a number of decimals, halves to the even neighbour.

    Args:
      a: array or number.
      decimals: number of decimals (static); negative ones round to tens, hundreds, ...
      out: not supported.

    Returns:
      Array of the shape and dtype of `a`; complex numbers have both parts rounded.

    Raises:
      NotImplementedError: integers with negative decimals.
      ValueError: bools.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.round(jnp.array([1.25, 2.5]), 1)
      Array([1.2, 2.5], dtype=float32)
    """
    no_out("round", out)
    check_arraylike("round", a)
    decimals = operator.index(decimals)
    dtype = aval_of(a).dtype
    if dtypes.is_bool(dtype):
        raise ValueError("jnp.round: bools are not numbers to be rounded.")
    if dtypes.is_integer(dtype):
        if decimals < 0:
            raise NotImplementedError(
                "integer np.round not implemented for decimals < 0\n"
                "Try: jnp.round(x.astype(float), decimals)"
            )
        return a
    return _round(a, decimals)


def _round(x: Any, decimals: int) -> Any:
    if is_complex(x):
        return lax.complex(
            _round_real(lax.real(x), decimals), _round_real(lax.imag(x), decimals)
        )
    return _round_real(x, decimals)


def _round_real(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return lax.round(x, _EVEN)
    aval = aval_of(x)
    half = aval.dtype == dtypes.float16  # which cannot represent 10**5
    wide = convert(x, dtypes.float32) if half else x
    factor = const(wide, 10.0**decimals)
    out = lax.div(lax.round(lax.mul(wide, factor), _EVEN), factor)
    return strong_unless_scalar(convert(out, aval.dtype, aval.weak_type))


def around(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Round values to a number of decimals: another name for `round`.

    Args:
      a: array or number.
      decimals: number of decimals (static); negative ones round to tens, hundreds, ...
      out: not supported.

    Returns:
      Array of the shape and dtype of `a`.

    Raises:
      NotImplementedError: integers with negative decimals.
      ValueError: bools.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.around(jnp.array([1.5, 2.5]))
      Array([2., 2.], dtype=float32)
    """
    return round(a, decimals, out)


@composite
def rint(x: Any, /) -> Any:
    """Return the nearest integer, halves to the even one, elementwise.

    Args:
      x: array or number; integers and bools become floats.

    Returns:
      Array of the shape of x, of its float or complex dtype; complex numbers have both
      parts rounded.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.rint(jnp.array([0.5, 1.5]))
      Array([0., 2.], dtype=float32)
    """
    check_arraylike("rint", x)
    if not dtypes.is_inexact(_dtype(x)):
        return convert(x, dtypes.float_default())
    return _round(x, 0)


@composite
def trunc(x: Any) -> Any:
    """Truncate toward zero, elementwise; integers are returned unchanged.

    Args:
      x: real array or number.

    Returns:
      Array of the shape and dtype of x; bools are also returned unchanged.

    Raises:
      TypeError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.trunc(jnp.array([-1.5, 1.5]))
      Array([-1.,  1.], dtype=float32)
    """
    check_arraylike("trunc", x)
    if dtypes.kind(_dtype(x)) in ("int", "uint", "bool"):
        return x
    return choose(lax.lt(x, const(x, 0)), lax.ceil(x), lax.floor(x))


@composite
def _modf(x: Any) -> tuple[Any, Any]:
    (x,) = promote_dtypes_inexact(x)
    integer_part = choose(lax.ge(x, const(x, 0)), lax.floor(x), lax.ceil(x))
    return lax.sub(x, integer_part), integer_part


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """Return the fraction and the integer part, elementwise, both with the sign of x.

    Args:
      x: real array or number; integers and bools become floats.
      out: not supported.

    Returns:
      (fraction, integer part), two arrays of the shape of x and its float dtype.

    Raises:
      TypeError: x is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.modf(jnp.array([1.5]))
      (Array([0.5], dtype=float32), Array([1.], dtype=float32))
    """
    no_out("modf", out)
    check_arraylike("modf", x)
    return _modf(x)
