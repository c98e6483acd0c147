"""Elementwise functions that are one primitive after promotion.

Each is declared in one line or a few: the primitive, the promotion rule, the sentence
and the example of its docstring.  `unary` and `binary` make the public function: a
`composite`, that is one compiled call when evaluated and inlined when traced.
Functions with arithmetic of their own are in elementwise.py; `.reduce`, `.at` and the
other methods of ufuncs are added in ufunc.py.

Promotion: "float" functions turn integers to floats, "number" functions turn bools to
integers, the others keep the common dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..control.jit import composite
from ..core.core import Tracer
from ..ops import arithmetic, logic
from ..ops import convert as lax_convert
from ..types import dtypes
from ._common import (
    aval_of,
    check_arraylike,
    choose,
    convert,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_pair,
    settled,
)

__all__ = (
    "add", "subtract", "multiply", "divide", "true_divide", "negative", "positive",
    "absolute", "sign", "square", "reciprocal", "maximum", "minimum", "exp", "exp2",
    "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh",
    "arccosh", "arctanh", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh",
    "deg2rad", "rad2deg", "degrees", "radians", "floor", "ceil", "equal", "not_equal",
    "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_not", "bitwise_invert", "invert", "left_shift", "right_shift",
    "bitwise_left_shift", "bitwise_right_shift", "nextafter", "real", "imag",
    "conjugate", "conj",
)  # fmt: skip

Promotion = Callable[..., Sequence[Any]]
_EXAMPLE_LINE = "  >>> import minijax.numpy as jnp\n"


# ------------------------------------------------------------------------ declarations


def describe(
    sentence: str, args: Sequence[str], example: Sequence[str], returns: str = ""
) -> str:
    """A docstring in the house's form."""
    lines = "\n  ".join(args)
    shown = "\n  ".join(example)
    told = f"Returns:\n  {returns}\n\n" if returns else ""
    return (
        f"{sentence}\n\nArgs:\n  {lines}\n\n{told}Example:\n{_EXAMPLE_LINE}  {shown}\n"
    )


def publish(fun: Any, name: str, doc: str) -> Any:
    """Name, document and compile an elementwise function."""
    fun.__name__ = fun.__qualname__ = name
    fun.__module__ = "minijax.numpy"
    fun.__doc__ = doc
    return composite(fun)


def unary(
    name: str,
    op: Callable[[Any], Any],
    sentence: str,
    *example: str,
    promote: str = "float",
) -> Any:
    """A public function of one array: promote, then `op`."""
    if promote == "float":

        def fun(x: Any, /) -> Any:
            if not isinstance(x, Tracer):
                check_arraylike(name, x)
            if not dtypes.is_inexact(aval_of(x).dtype):
                (x,) = promote_dtypes_inexact(x)
            return op(x)

    else:

        def fun(x: Any, /) -> Any:
            if not isinstance(x, Tracer):
                check_arraylike(name, x)
            return op(x)

    doc = describe(sentence, [f"x: array or number, {_ACCEPTS[promote]}."], example)
    return publish(fun, name, doc)


_ACCEPTS = {
    "float": "any shape; integers and bools become floats",
    "number": "any shape; bools become integers",
    "same": "any shape",
}


def binary(
    name: str,
    op: Callable[[Any, Any], Any],
    sentence: str,
    *example: str,
    promote: str = "same",
) -> Any:
    """A public function of two arrays: promote and broadcast, then `op`."""
    if promote == "same":

        def fun(x1: Any, x2: Any, /) -> Any:
            return op(*promote_pair(name, x1, x2))

    else:
        rule = promote_args_inexact if promote == "float" else promote_args_numeric

        def fun(x1: Any, x2: Any, /) -> Any:
            return op(*rule(name, x1, x2))

    doc = describe(
        sentence,
        [f"x1, x2: arrays or numbers that broadcast; {_PAIRS[promote]}."],
        example,
    )
    return publish(fun, name, doc)


_PAIRS = {
    "float": "integers and bools become floats",
    "number": "bools become integers",
    "same": "the result has their common dtype",
}


def by_kind(boolean: Any, other: Any) -> Callable[[Any, Any], Any]:
    """One primitive for bools, another for numbers."""
    bool_dtype = dtypes.bool_

    def op(x: Any, y: Any) -> Any:
        if aval_of(x).dtype is bool_dtype:
            return boolean.bind(x, y)
        return other.bind(x, y)

    return op


# ------------------------------------------------------------------------- arithmetic

add = binary(
    "add", by_kind(logic.or_p, arithmetic.add_p),
    "Sum, elementwise; of bools, `or`.",
    ">>> jnp.add(jnp.array([1, 2]), 10)",
    "Array([11, 12], dtype=int32)",
)  # fmt: skip
subtract = binary(
    "subtract", arithmetic.sub_p.bind,
    "Difference, elementwise (bools: TypeError).",
    ">>> jnp.subtract(jnp.array([1., 2.]), 0.5)",
    "Array([0.5, 1.5], dtype=float32)",
)  # fmt: skip
multiply = binary(
    "multiply", by_kind(logic.and_p, arithmetic.mul_p),
    "Product, elementwise; of bools, `and`.",
    ">>> jnp.multiply(jnp.array([1, 2]), 3)",
    "Array([3, 6], dtype=int32)",
)  # fmt: skip
divide = binary(
    "divide", arithmetic.div_p.bind,
    "Quotient, elementwise; always of float or complex dtype.",
    ">>> jnp.divide(jnp.array([1, 2]), 4)",
    "Array([0.25, 0.5 ], dtype=float32)",
    promote="float",
)  # fmt: skip
true_divide = divide
negative = unary(
    "negative", arithmetic.neg_p.bind,
    "Negation, elementwise (bools: TypeError).",
    ">>> jnp.negative(jnp.array([1, -2]))",
    "Array([-1,  2], dtype=int32)",
    promote="same",
)  # fmt: skip
positive = unary(
    "positive", lambda x: x,
    "The value itself, as an array.",
    ">>> jnp.positive(jnp.array([1, -2]))",
    "Array([ 1, -2], dtype=int32)",
    promote="same",
)  # fmt: skip


def _absolute(x: Any) -> Any:
    if dtypes.kind(aval_of(x).dtype) in ("bool", "uint"):
        return x
    return arithmetic.abs_p.bind(x)


absolute = unary(
    "absolute", _absolute,
    "Absolute value, elementwise; of complex numbers, the modulus.",
    ">>> jnp.absolute(jnp.array([-1, 2]))",
    "Array([1, 2], dtype=int32)",
    promote="same",
)  # fmt: skip
sign = unary(
    "sign", arithmetic.sign_p.bind,
    "-1, 0 or 1 with the argument's sign; of complex numbers, x / abs(x).",
    ">>> jnp.sign(jnp.array([-2., 0., 3.]))",
    "Array([-1.,  0.,  1.], dtype=float32)",
    promote="same",
)  # fmt: skip


def _square(x: Any) -> Any:
    return arithmetic.square_p.bind(*promote_dtypes_numeric(x))


square = unary(
    "square", _square,
    "x times x, elementwise.",
    ">>> jnp.square(jnp.array([-2, 3]))",
    "Array([4, 9], dtype=int32)",
    promote="number",
)  # fmt: skip
reciprocal = unary(
    "reciprocal", lambda x: arithmetic.integer_pow_p.bind(x, y=-1),
    "1 / x, elementwise.",
    ">>> jnp.reciprocal(jnp.array([2., 4.]))",
    "Array([0.5 , 0.25], dtype=float32)",
)  # fmt: skip


# ------------------------------------------------------------------------------ extrema

maximum = binary(
    "maximum", arithmetic.max_p.bind,
    "The larger one, elementwise; nan if either is nan.",
    ">>> jnp.maximum(jnp.array([1., 5.]), 3.)",
    "Array([3., 5.], dtype=float32)",
)  # fmt: skip
minimum = binary(
    "minimum", arithmetic.min_p.bind,
    "The smaller one, elementwise; nan if either is nan.",
    ">>> jnp.minimum(jnp.array([1., 5.]), 3.)",
    "Array([1., 3.], dtype=float32)",
)  # fmt: skip


# ----------------------------------------------------------- exponentials, logarithms

exp = unary(
    "exp", arithmetic.exp, "Exponential, elementwise.",
    ">>> jnp.exp(jnp.array([0., -jnp.inf]))",
    "Array([1., 0.], dtype=float32)",
)  # fmt: skip
exp2 = unary(
    "exp2", arithmetic.exp2, "2 to the power x, elementwise.",
    ">>> jnp.exp2(jnp.array([0., 3.]))",
    "Array([1., 8.], dtype=float32)",
)  # fmt: skip
expm1 = unary(
    "expm1", arithmetic.expm1, "exp(x) - 1, exact for small x, elementwise.",
    ">>> bool(jnp.expm1(1e-6) > 1e-6)",
    "True",
)  # fmt: skip
log = unary(
    "log", arithmetic.log, "Natural logarithm, elementwise.",
    ">>> jnp.log(jnp.array([1., 0.]))",
    "Array([  0., -inf], dtype=float32)",
)  # fmt: skip
log1p = unary(
    "log1p", arithmetic.log1p, "log(1 + x), exact for small x, elementwise.",
    ">>> bool(jnp.log1p(1e-6) < 1e-6)",
    "True",
)  # fmt: skip


def _log_in_base(base: float, inverse: bool) -> Callable[[Any], Any]:
    """log(x) over log(base), part by part: complex division spoils infinite parts."""

    def scaled(y: Any) -> Any:
        factor = np.asarray(1 / np.log(base) if inverse else np.log(base))
        factor = factor.astype(aval_of(y).dtype)[()]
        scale = arithmetic.mul_p if inverse else arithmetic.div_p
        return scale.bind(y, factor)

    def op(x: Any) -> Any:
        y = arithmetic.log(x)
        if not dtypes.is_complex(aval_of(y).dtype):
            return scaled(y)
        parts = arithmetic.real(y), arithmetic.imag(y)
        return arithmetic.complex(*map(scaled, parts))

    return op


log2 = unary(
    "log2", _log_in_base(2.0, inverse=False), "Logarithm to base 2, elementwise.",
    ">>> jnp.log2(jnp.array([1., 8.]))",
    "Array([0., 3.], dtype=float32)",
)  # fmt: skip
log10 = unary(
    "log10", _log_in_base(10.0, inverse=True), "Logarithm to base 10, elementwise.",
    ">>> jnp.log10(jnp.array([1., 100.]))",
    "Array([0., 2.], dtype=float32)",
)  # fmt: skip
sqrt = unary(
    "sqrt", arithmetic.sqrt, "Square root, elementwise; nan for negative floats.",
    ">>> jnp.sqrt(jnp.array([4, 9]))",
    "Array([2., 3.], dtype=float32)",
)  # fmt: skip
cbrt = unary(
    "cbrt", arithmetic.cbrt, "Real cube root, elementwise.",
    ">>> jnp.cbrt(jnp.array([-8., 27.]))",
    "Array([-2.,  3.], dtype=float32)",
)  # fmt: skip


# ------------------------------------------------------------ trigonometry, hyperbolic

sin = unary(
    "sin", arithmetic.sin, "Sine of an angle in radians, elementwise.",
    ">>> jnp.sin(jnp.array([0., jnp.pi / 2]))",
    "Array([0., 1.], dtype=float32)",
)  # fmt: skip
cos = unary(
    "cos", arithmetic.cos, "Cosine of an angle in radians, elementwise.",
    ">>> jnp.cos(jnp.array([0., jnp.pi]))",
    "Array([ 1., -1.], dtype=float32)",
)  # fmt: skip
tan = unary(
    "tan", arithmetic.tan, "Tangent of an angle in radians, elementwise.",
    ">>> jnp.tan(0.)",
    "Array(0., dtype=float32, weak_type=True)",
)  # fmt: skip
arcsin = unary(
    "arcsin", arithmetic.asin, "Angle in [-pi/2, pi/2] whose sine is x, elementwise.",
    ">>> bool(jnp.isclose(jnp.arcsin(1.), jnp.pi / 2))",
    "True",
)  # fmt: skip
arccos = unary(
    "arccos", arithmetic.acos, "Angle in [0, pi] whose cosine is x, elementwise.",
    ">>> bool(jnp.isclose(jnp.arccos(-1.), jnp.pi))",
    "True",
)  # fmt: skip
arctan = unary(
    "arctan", arithmetic.atan,
    "Angle in [-pi/2, pi/2] whose tangent is x, elementwise.",
    ">>> bool(jnp.isclose(jnp.arctan(1.), jnp.pi / 4))",
    "True",
)  # fmt: skip
arctan2 = binary(
    "arctan2", arithmetic.atan2_p.bind,
    "Angle of the point (x2, x1) in [-pi, pi], elementwise.",
    ">>> bool(jnp.isclose(jnp.arctan2(1., 0.), jnp.pi / 2))",
    "True",
    promote="float",
)  # fmt: skip
sinh = unary(
    "sinh", arithmetic.sinh, "Hyperbolic sine, elementwise.",
    ">>> jnp.sinh(jnp.array([0., -jnp.inf]))",
    "Array([  0., -inf], dtype=float32)",
)  # fmt: skip
cosh = unary(
    "cosh", arithmetic.cosh, "Hyperbolic cosine, elementwise.",
    ">>> jnp.cosh(jnp.array([0., -jnp.inf]))",
    "Array([ 1., inf], dtype=float32)",
)  # fmt: skip
tanh = unary(
    "tanh", arithmetic.tanh, "Hyperbolic tangent, elementwise.",
    ">>> jnp.tanh(jnp.array([0., -jnp.inf]))",
    "Array([ 0., -1.], dtype=float32)",
)  # fmt: skip
arcsinh = unary(
    "arcsinh", arithmetic.asinh, "Inverse hyperbolic sine, elementwise.",
    ">>> jnp.arcsinh(jnp.array([0., -jnp.inf]))",
    "Array([  0., -inf], dtype=float32)",
)  # fmt: skip
arccosh = unary(
    "arccosh", arithmetic.acosh, "Inverse hyperbolic cosine, elementwise; nan below 1.",
    ">>> jnp.arccosh(jnp.array([1., jnp.inf]))",
    "Array([ 0., inf], dtype=float32)",
)  # fmt: skip
arctanh = unary(
    "arctanh", arithmetic.atanh,
    "Inverse hyperbolic tangent, elementwise; nan outside [-1, 1].",
    ">>> jnp.arctanh(jnp.array([0., 1.]))",
    "Array([ 0., inf], dtype=float32)",
)  # fmt: skip
acos, acosh, asin, asinh, atan, atanh, atan2 = (
    arccos, arccosh, arcsin, arcsinh, arctan, arctanh, arctan2,
)  # fmt: skip


def scaled(ratio: float) -> Callable[[Any], Any]:
    """x times a constant, in the dtype of x."""

    def op(x: Any) -> Any:
        factor = np.asarray(ratio).astype(aval_of(x).dtype)[()]
        if aval_of(x).weak_type:
            factor = factor.item()
        return settled(arithmetic.mul_p.bind(x, factor))

    return op


deg2rad = unary(
    "deg2rad", scaled(np.pi / 180), "Degrees to radians, elementwise.",
    ">>> bool(jnp.isclose(jnp.deg2rad(180.), jnp.pi))",
    "True",
)  # fmt: skip
rad2deg = unary(
    "rad2deg", scaled(180 / np.pi), "Radians to degrees, elementwise.",
    ">>> jnp.rad2deg(jnp.array([0., jnp.pi]))",
    "Array([  0., 180.], dtype=float32)",
)  # fmt: skip
radians, degrees = deg2rad, rad2deg


# ----------------------------------------------------------------- rounding to integers


def _on_floats(op: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`op` for inexact dtypes; integers and bools are whole already."""
    return lambda x: op(x) if dtypes.is_inexact(aval_of(x).dtype) else x


floor = unary(
    "floor", _on_floats(arithmetic.floor_p.bind),
    "Largest integer not above x, elementwise; integers stay as they are.",
    ">>> jnp.floor(jnp.array([-1.5, 1.5]))",
    "Array([-2.,  1.], dtype=float32)",
    promote="same",
)  # fmt: skip
ceil = unary(
    "ceil", _on_floats(arithmetic.ceil_p.bind),
    "Smallest integer not below x, elementwise; integers stay as they are.",
    ">>> jnp.ceil(jnp.array([-1.5, 1.5]))",
    "Array([-1.,  2.], dtype=float32)",
    promote="same",
)  # fmt: skip


# ------------------------------------------------------------------------- comparisons


def _ordered(prim: Any) -> Callable[[Any, Any], Any]:
    """Comparison; complex numbers by real part, then by imaginary part."""

    def op(x: Any, y: Any) -> Any:
        if not dtypes.is_complex(aval_of(x).dtype):
            return prim.bind(x, y)
        xr, yr = lax_convert.real(x), lax_convert.real(y)
        xi, yi = lax_convert.imag(x), lax_convert.imag(y)
        strict = {"le": logic.lt_p, "ge": logic.gt_p}.get(prim.name, prim)
        same = logic.eq_p.bind(xr, yr)
        out = choose(same, prim.bind(xi, yi), strict.bind(xr, yr))
        return convert(out, dtypes.bool_, aval_of(x).weak_type)

    return op


equal = binary(
    "equal", logic.eq_p.bind, "Whether x1 == x2, elementwise.",
    ">>> jnp.equal(jnp.array([1, 2]), 2)",
    "Array([False,  True], dtype=bool)",
)  # fmt: skip
not_equal = binary(
    "not_equal", logic.ne_p.bind, "Whether x1 != x2, elementwise.",
    ">>> jnp.not_equal(jnp.array([1, 2]), 2)",
    "Array([ True, False], dtype=bool)",
)  # fmt: skip
less = binary(
    "less", _ordered(logic.lt_p),
    "Whether x1 < x2, elementwise; complex numbers by real part, then imaginary.",
    ">>> jnp.less(jnp.array([1, 2]), 2)",
    "Array([ True, False], dtype=bool)",
)  # fmt: skip
less_equal = binary(
    "less_equal", _ordered(logic.le_p),
    "Whether x1 <= x2, elementwise; complex numbers by real part, then imaginary.",
    ">>> jnp.less_equal(jnp.array([1, 2]), 1)",
    "Array([ True, False], dtype=bool)",
)  # fmt: skip
greater = binary(
    "greater", _ordered(logic.gt_p),
    "Whether x1 > x2, elementwise; complex numbers by real part, then imaginary.",
    ">>> jnp.greater(jnp.array([1, 2]), 1)",
    "Array([False,  True], dtype=bool)",
)  # fmt: skip
greater_equal = binary(
    "greater_equal", _ordered(logic.ge_p),
    "Whether x1 >= x2, elementwise; complex numbers by real part, then imaginary.",
    ">>> jnp.greater_equal(jnp.array([1, 2]), 2)",
    "Array([False,  True], dtype=bool)",
)  # fmt: skip


# ---------------------------------------------------------------------- bits and truth


def truth(x: Any) -> Any:
    """Whether x differs from zero."""
    aval = aval_of(x)
    if aval.dtype is dtypes.bool_:
        return x
    zero = np.zeros((), aval.dtype)[()]
    return settled(logic.ne_p.bind(x, zero.item() if aval.weak_type else zero))


def _logical(prim: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: prim.bind(truth(x), truth(y))


logical_and = binary(
    "logical_and", _logical(logic.and_p), "Whether both differ from zero, elementwise.",
    ">>> jnp.logical_and(jnp.array([0, 1]), True)",
    "Array([False,  True], dtype=bool)",
)  # fmt: skip
logical_or = binary(
    "logical_or", _logical(logic.or_p),
    "Whether either differs from zero, elementwise.",
    ">>> jnp.logical_or(jnp.array([0, 1]), False)",
    "Array([False,  True], dtype=bool)",
)  # fmt: skip
logical_xor = binary(
    "logical_xor", _logical(logic.xor_p),
    "Whether exactly one differs from zero, elementwise.",
    ">>> jnp.logical_xor(jnp.array([0, 1]), True)",
    "Array([ True, False], dtype=bool)",
)  # fmt: skip
logical_not = unary(
    "logical_not", lambda x: logic.not_p.bind(truth(x)),
    "Whether x equals zero, elementwise.",
    ">>> jnp.logical_not(jnp.array([0, 1]))",
    "Array([ True, False], dtype=bool)",
    promote="same",
)  # fmt: skip
bitwise_and = binary(
    "bitwise_and", logic.and_p.bind, "Bits set in both, elementwise (integers, bools).",
    ">>> jnp.bitwise_and(jnp.array([6, 5]), 4)",
    "Array([4, 4], dtype=int32)",
)  # fmt: skip
bitwise_or = binary(
    "bitwise_or", logic.or_p.bind, "Bits set in either, elementwise (integers, bools).",
    ">>> jnp.bitwise_or(jnp.array([6, 5]), 1)",
    "Array([7, 5], dtype=int32)",
)  # fmt: skip
bitwise_xor = binary(
    "bitwise_xor", logic.xor_p.bind,
    "Bits set in exactly one, elementwise (integers, bools).",
    ">>> jnp.bitwise_xor(jnp.array([6, 5]), 1)",
    "Array([7, 4], dtype=int32)",
)  # fmt: skip
bitwise_not = unary(
    "bitwise_not", logic.not_p.bind,
    "Every bit inverted, elementwise (integers, bools).",
    ">>> jnp.bitwise_not(jnp.array([0, 5]))",
    "Array([-1, -6], dtype=int32)",
    promote="same",
)  # fmt: skip
invert = bitwise_invert = bitwise_not
left_shift = binary(
    "left_shift", logic.shift_left_p.bind,
    "x1 times 2 to the power x2, by shifting bits (integers).",
    ">>> jnp.left_shift(jnp.array([1, 2]), 3)",
    "Array([ 8, 16], dtype=int32)",
    promote="number",
)  # fmt: skip


def _right_shift(x: Any, y: Any) -> Any:
    if dtypes.is_unsigned(aval_of(x).dtype):
        return logic.shift_right_logical_p.bind(x, y)
    return logic.shift_right_arithmetic_p.bind(x, y)


right_shift = binary(
    "right_shift", _right_shift,
    "x1 divided by 2 to the power x2, rounded down, by shifting bits (integers).",
    ">>> jnp.right_shift(jnp.array([8, -8]), 2)",
    "Array([ 2, -2], dtype=int32)",
    promote="number",
)  # fmt: skip
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
nextafter = binary(
    "nextafter", arithmetic.nextafter_p.bind,
    "The float next to x1 on the way to x2, elementwise.",
    ">>> float(jnp.nextafter(1., 2.))",
    "1.0000001192092896",
    promote="float",
)  # fmt: skip


# ------------------------------------------------------------------- parts of a number


def _real(x: Any) -> Any:
    return lax_convert.real(x) if dtypes.is_complex(aval_of(x).dtype) else x


def _imag(x: Any) -> Any:
    if dtypes.is_complex(aval_of(x).dtype):
        return lax_convert.imag(x)
    return lax_convert.full_like(x, 0)


def _conj(x: Any) -> Any:
    return lax_convert.conj(x) if dtypes.is_complex(aval_of(x).dtype) else x


real = unary(
    "real", _real, "Real part, elementwise; a real array itself.",
    ">>> jnp.real(jnp.array([1 + 2j]))",
    "Array([1.], dtype=float32)",
    promote="same",
)  # fmt: skip
imag = unary(
    "imag", _imag, "Imaginary part, elementwise; zeros for a real array.",
    ">>> jnp.imag(jnp.array([1 + 2j]))",
    "Array([2.], dtype=float32)",
    promote="same",
)  # fmt: skip
conjugate = unary(
    "conjugate", _conj, "Complex conjugate, elementwise; a real array itself.",
    ">>> jnp.conjugate(jnp.array([1 + 2j]))",
    "Array([1.-2.j], dtype=complex64)",
    promote="same",
)  # fmt: skip
conj = conjugate


def float_args(name: str, *xs: Any) -> Sequence[Any]:
    """Operands in one float dtype; TypeError for complex ones."""
    xs = tuple(promote_args_inexact(name, *xs))
    if dtypes.is_complex(aval_of(xs[0]).dtype):
        raise TypeError(f"{name} does not support complex-valued inputs")
    return xs
