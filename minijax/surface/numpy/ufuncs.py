"""Elementwise functions that are one primitive after promotion.

A declaration holds the primitive, the promotion rule, and the summary and example of the
docstring.  `unary` and `binary` make the public function, a `composite`: one compiled call
when evaluated, inlined when traced. Functions that need more arithmetic are in
elementwise.py; `.reduce`, `.at` and the other methods of ufuncs are added in ufunc.py.

Promotion: "float" functions convert integers to floats, "number" functions convert bools to
integers, and the others keep the common dtype.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...control.calls.jit import composite
from ...ir.core import Tracer
from ...prims import lax
from ...types import dtypes
from ._common import *
from ._function_tables import describe, synonym

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
    "conjugate", "conj", "abs",
)  # fmt: skip

Promotion = Callable[..., Sequence[Any]]


# ------------------------------------------------------------------------ declarations


# Functions with methods, which ufunc.py adds.
UFUNCS = (
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
    "negative", "subtract",
)  # fmt: skip


def publish(fun: Any, name: str, doc: str) -> Any:
    """Name, document and compile an elementwise function."""
    fun.__name__ = fun.__qualname__ = name
    fun.__module__ = "minijax.numpy"
    fun.__doc__ = doc
    return composite(with_keywords(fun) if name in UFUNCS else fun)


def with_keywords(fun: Any) -> Any:
    """Return `fun` with the keywords of NumPy's ufuncs, which have to be None."""
    name = fun.__name__

    @functools.wraps(fun)
    def ufunc(*args: Any, out: None = None, where: None = None) -> Any:
        if out is not None:
            raise NotImplementedError(f"out argument of <jnp.ufunc '{name}'>")
        if where is not None:
            raise NotImplementedError(f"where argument of <jnp.ufunc '{name}'>")
        return fun(*args)

    keyword_doc = (
        "\n  out, where: must be None: arrays are immutable, and masks are not supported."
    )
    doc = inspect.cleandoc(fun.__doc__)
    ufunc.__doc__ = doc.replace("\n\nReturns:", f"{keyword_doc}\n\nReturns:", 1)
    signature = inspect.signature(fun)
    keywords = [
        inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=None)
        for k in ("out", "where")
    ]
    params = [*signature.parameters.values(), *keywords]
    ufunc.__signature__ = signature.replace(parameters=params)  # type: ignore[attr-defined]
    return ufunc


def unary(name: str, promote: str, op: Callable[[Any], Any], summary: str, example: str) -> Any:
    """Return a public function of one array: promote, then `op`."""
    if promote == "float":

        def fun(x: Any, /) -> Any:
            if not isinstance(x, Tracer):  # tracers are valid: the check would be wasted
                check_arraylike(name, x)
            if not dtypes.is_inexact(aval_of(x).dtype):
                (x,) = promote_dtypes_inexact(x)
            return op(x)

    else:

        def fun(x: Any, /) -> Any:
            if not isinstance(x, Tracer):
                check_arraylike(name, x)
            return op(x)

    args = f"x: array or number, {_ACCEPTS[promote]}."
    whether = summary.startswith("Whether")
    returns = f"An array of `x`'s shape{', of bools' if whether else _RETURNS[promote]}."
    raises = "TypeError: `x` is not an array or number, or its dtype is not supported."
    return publish(fun, name, describe(name, summary, args, returns, example, raises))


_ACCEPTS = {
    "float": "any shape; integers and bools become floats",
    "number": "any shape; bools become integers",
    "real": "any shape",
    "same": "any shape",
}
_RETURNS = {
    "float": " and dtype (integers become floats); weakly typed if `x` is",
    "number": " and dtype; weakly typed if `x` is",
    "real": " and dtype; for complex `x`, of the dtype of its parts",
    "same": " and dtype; weakly typed if `x` is",
}


def binary(
    name: str, promote: str, op: Callable[[Any, Any], Any], summary: str, example: str
) -> Any:
    """Return a public function of two arrays: promote and broadcast, then `op`."""
    if promote == "same":

        def fun(x1: Any, x2: Any, /) -> Any:
            return op(*promote_pair(name, x1, x2))

    else:
        rule = promote_args_inexact if promote == "float" else promote_args_numeric

        def fun(x1: Any, x2: Any, /) -> Any:
            return op(*rule(name, x1, x2))

    args = f"x1, x2: arrays or numbers that broadcast{_PAIRS[promote]}."
    whether = summary.startswith("Whether")
    returns = f"An array of their common shape{', of bools' if whether else ' and dtype'}."
    raises = "TypeError: shapes that do not broadcast, or a dtype that is not supported."
    return publish(fun, name, describe(name, summary, args, returns, example, raises))


_PAIRS = {
    "float": "; integers and bools become floats",
    "number": "; bools become integers",
    "same": "",
}


def by_kind(boolean: Any, other: Any) -> Callable[[Any, Any], Any]:
    """Return a function that binds one primitive for bools and another for numbers."""
    bool_dtype = dtypes.bool_

    def op(x: Any, y: Any) -> Any:
        if aval_of(x).dtype is bool_dtype:
            return boolean.bind(x, y)
        return other.bind(x, y)

    return op


# ------------------------------------------------------------------------- arithmetic

add = binary(
    "add",
    "same",
    by_kind(lax.or_p, lax.add_p),
    "Return the sum, elementwise; for bools, `or`.",
    "[1, 2], 10 -> [11, 12]",
)
subtract = binary(
    "subtract",
    "same",
    lax.sub_p.bind,
    "Return the difference, elementwise (bools: TypeError).",
    "[1., 2.], 0.5 -> [0.5, 1.5]",
)
multiply = binary(
    "multiply",
    "same",
    by_kind(lax.and_p, lax.mul_p),
    "Return the product, elementwise; for bools, `and`.",
    "[1, 2], 3 -> [3, 6]",
)
divide = binary(
    "divide",
    "float",
    lax.div_p.bind,
    "Return the quotient, elementwise; always of float or complex dtype.",
    "[1, 2], 4 -> [0.25, 0.5 ]",
)
true_divide = synonym(divide, "true_divide")
negative = unary(
    "negative",
    "same",
    lax.neg_p.bind,
    "Return the negation, elementwise (bools: TypeError).",
    "[1, -2] -> [-1,  2]",
)
positive = unary(
    "positive",
    "same",
    lambda x: x,
    "Return the value itself, as an array.",
    "[1, -2] -> [ 1, -2]",
)


def _absolute(x: Any) -> Any:
    if dtypes.kind(aval_of(x).dtype) in ("bool", "uint"):
        return x
    return lax.abs_p.bind(x)


absolute = unary(
    "absolute",
    "real",
    _absolute,
    "Return the absolute value, elementwise; for complex numbers, the modulus.",
    "[-1, 2] -> [1, 2]",
)
abs = synonym(absolute, "abs")
sign = unary(
    "sign",
    "same",
    lax.sign_p.bind,
    "Return the sign, -1, 0 or 1, elementwise; for complex numbers, x / abs(x).",
    "[-2., 0., 3.] -> [-1.,  0.,  1.]",
)


def _square(x: Any) -> Any:
    return lax.square_p.bind(*promote_dtypes_numeric(x))


square = unary(
    "square", "number", _square, "Return x times x, elementwise.", "[-2, 3] -> [4, 9]"
)
reciprocal = unary(
    "reciprocal",
    "float",
    lambda x: lax.integer_pow_p.bind(x, y=-1),
    "Return 1 / x, elementwise.",
    "[2., 4.] -> [0.5 , 0.25]",
)


# ------------------------------------------------------------------------------ extrema

maximum = binary(
    "maximum",
    "same",
    lax.max_p.bind,
    "Return the larger operand, elementwise; nan if either is nan.",
    "[1., 5.], 3. -> [3., 5.]",
)
minimum = binary(
    "minimum",
    "same",
    lax.min_p.bind,
    "Return the smaller operand, elementwise; nan if either is nan.",
    "[1., 5.], 3. -> [1., 3.]",
)


# ----------------------------------------------------------- exponentials, logarithms

exp = unary(
    "exp",
    "float",
    lax.exp,
    "Return the exponential, elementwise.",
    "[0., -jnp.inf] -> [1., 0.]",
)
exp2 = unary(
    "exp2", "float", lax.exp2, "Return 2 to the power x, elementwise.", "[0., 3.] -> [1., 8.]"
)
expm1 = unary(
    "expm1",
    "float",
    lax.expm1,
    "Return exp(x) - 1, accurate for small x, elementwise.",
    "bool(jnp.expm1(1e-6) > 1e-6) -> True",
)
log = unary(
    "log",
    "float",
    lax.log,
    "Return the natural logarithm, elementwise.",
    "[1., 0.] -> [  0., -inf]",
)
log1p = unary(
    "log1p",
    "float",
    lax.log1p,
    "Return log(1 + x), accurate for small x, elementwise.",
    "bool(jnp.log1p(1e-6) < 1e-6) -> True",
)


def _log_in_base(base: float, inverse: bool) -> Callable[[Any], Any]:
    """Return log(x) / log(base); complex division would spoil infinite parts."""

    def scaled(y: Any) -> Any:
        factor = np.asarray(1 / np.log(base) if inverse else np.log(base))
        factor = factor.astype(aval_of(y).dtype)[()]
        scale = lax.mul_p if inverse else lax.div_p
        return scale.bind(y, factor)

    def op(x: Any) -> Any:
        y = lax.log(x)
        if not dtypes.is_complex(aval_of(y).dtype):
            return scaled(y)
        parts = lax.real(y), lax.imag(y)
        return lax.complex(*map(scaled, parts))

    return op


log2 = unary(
    "log2",
    "float",
    _log_in_base(2.0, inverse=False),
    "Return the logarithm to base 2, elementwise.",
    "[1., 8.] -> [0., 3.]",
)
log10 = unary(
    "log10",
    "float",
    _log_in_base(10.0, inverse=True),
    "Return the logarithm to base 10, elementwise.",
    "[1., 100.] -> [0., 2.]",
)
sqrt = unary(
    "sqrt",
    "float",
    lax.sqrt,
    "Return the square root, elementwise; nan for negative floats.",
    "[4, 9] -> [2., 3.]",
)
cbrt = unary(
    "cbrt",
    "float",
    lax.cbrt,
    "Return the real cube root, elementwise.",
    "[-8., 27.] -> [-2.,  3.]",
)


# ------------------------------------------------------------ trigonometry, hyperbolic

sin = unary(
    "sin",
    "float",
    lax.sin,
    "Return the sine of an angle in radians, elementwise.",
    "[0., jnp.pi / 2] -> [0., 1.]",
)
cos = unary(
    "cos",
    "float",
    lax.cos,
    "Return the cosine of an angle in radians, elementwise.",
    "[0., jnp.pi] -> [ 1., -1.]",
)
tan = unary(
    "tan",
    "float",
    lax.tan,
    "Return the tangent of an angle in radians, elementwise.",
    "jnp.tan(0.) -> Array(0., dtype=float32, weak_type=True)",
)
arcsin = unary(
    "arcsin",
    "float",
    lax.asin,
    "Return the angle in [-pi/2, pi/2] whose sine is x, elementwise.",
    "bool(jnp.isclose(jnp.arcsin(1.), jnp.pi / 2)) -> True",
)
arccos = unary(
    "arccos",
    "float",
    lax.acos,
    "Return the angle in [0, pi] whose cosine is x, elementwise.",
    "bool(jnp.isclose(jnp.arccos(-1.), jnp.pi)) -> True",
)
arctan = unary(
    "arctan",
    "float",
    lax.atan,
    "Return the angle in [-pi/2, pi/2] whose tangent is x, elementwise.",
    "bool(jnp.isclose(jnp.arctan(1.), jnp.pi / 4)) -> True",
)
arctan2 = binary(
    "arctan2",
    "float",
    lax.atan2_p.bind,
    "Return the angle of the point (x2, x1) in [-pi, pi], elementwise.",
    "bool(jnp.isclose(jnp.arctan2(1., 0.), jnp.pi / 2)) -> True",
)
sinh = unary(
    "sinh",
    "float",
    lax.sinh,
    "Return the hyperbolic sine, elementwise.",
    "[0., -jnp.inf] -> [  0., -inf]",
)
cosh = unary(
    "cosh",
    "float",
    lax.cosh,
    "Return the hyperbolic cosine, elementwise.",
    "[0., -jnp.inf] -> [ 1., inf]",
)
tanh = unary(
    "tanh",
    "float",
    lax.tanh,
    "Return the hyperbolic tangent, elementwise.",
    "[0., -jnp.inf] -> [ 0., -1.]",
)
arcsinh = unary(
    "arcsinh",
    "float",
    lax.asinh,
    "Return the inverse hyperbolic sine, elementwise.",
    "[0., -jnp.inf] -> [  0., -inf]",
)
arccosh = unary(
    "arccosh",
    "float",
    lax.acosh,
    "Return the inverse hyperbolic cosine, elementwise; nan below 1.",
    "[1., jnp.inf] -> [ 0., inf]",
)
arctanh = unary(
    "arctanh",
    "float",
    lax.atanh,
    "Return the inverse hyperbolic tangent, elementwise; nan outside [-1, 1].",
    "[0., 1.] -> [ 0., inf]",
)
acos, acosh = synonym(arccos, "acos"), synonym(arccosh, "acosh")
asin, asinh = synonym(arcsin, "asin"), synonym(arcsinh, "asinh")
atan, atanh = synonym(arctan, "atan"), synonym(arctanh, "atanh")
atan2 = synonym(arctan2, "atan2")


def scaled(ratio: float) -> Callable[[Any], Any]:
    """Return a function that multiplies x by a constant, in the dtype of x."""

    def op(x: Any) -> Any:
        factor = np.asarray(ratio).astype(aval_of(x).dtype)[()]
        if aval_of(x).weak_type:
            factor = factor.item()
        return strong_unless_scalar(lax.mul_p.bind(x, factor))

    return op


deg2rad = unary(
    "deg2rad",
    "float",
    scaled(np.pi / 180),
    "Convert degrees to radians, elementwise.",
    "bool(jnp.isclose(jnp.deg2rad(180.), jnp.pi)) -> True",
)
rad2deg = unary(
    "rad2deg",
    "float",
    scaled(180 / np.pi),
    "Convert radians to degrees, elementwise.",
    "[0., jnp.pi] -> [  0., 180.]",
)
radians, degrees = synonym(deg2rad, "radians"), synonym(rad2deg, "degrees")


# ----------------------------------------------------------------- rounding to integers


def _on_floats(op: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `op` for inexact dtypes; integers and bools need no rounding."""

    def rounded(x: Any) -> Any:
        is_integer = dtypes.kind(aval_of(x).dtype) in ("int", "uint", "bool")
        return x if is_integer else op(x)

    return rounded


floor = unary(
    "floor",
    "same",
    _on_floats(lax.floor_p.bind),
    "Return the largest integer not above x, elementwise; integers are unchanged.",
    "[-1.5, 1.5] -> [-2.,  1.]",
)
ceil = unary(
    "ceil",
    "same",
    _on_floats(lax.ceil_p.bind),
    "Return the smallest integer not below x, elementwise; integers are unchanged.",
    "[-1.5, 1.5] -> [-1.,  2.]",
)


# ------------------------------------------------------------------------- comparisons


def _ordered(prim: Any) -> Callable[[Any, Any], Any]:
    """Return a comparison; complex numbers compare by real part, then by imaginary part."""

    def op(x: Any, y: Any) -> Any:
        if not dtypes.is_complex(aval_of(x).dtype):
            return prim.bind(x, y)
        xr, yr = lax.real(x), lax.real(y)
        xi, yi = lax.imag(x), lax.imag(y)
        strict = {"le": lax.lt_p, "ge": lax.gt_p}.get(prim.name, prim)
        same = lax.eq_p.bind(xr, yr)
        out = choose(same, prim.bind(xi, yi), strict.bind(xr, yr))
        return convert(out, dtypes.bool_, aval_of(x).weak_type)

    return op


equal = binary(
    "equal",
    "same",
    lax.eq_p.bind,
    "Whether x1 == x2, elementwise.",
    "[1, 2], 2 -> [False,  True]",
)
not_equal = binary(
    "not_equal",
    "same",
    lax.ne_p.bind,
    "Whether x1 != x2, elementwise.",
    "[1, 2], 2 -> [ True, False]",
)
less = binary(
    "less",
    "same",
    _ordered(lax.lt_p),
    "Whether x1 < x2, elementwise; complex numbers by real part, then imaginary.",
    "[1, 2], 2 -> [ True, False]",
)
less_equal = binary(
    "less_equal",
    "same",
    _ordered(lax.le_p),
    "Whether x1 <= x2, elementwise; complex numbers by real part, then imaginary.",
    "[1, 2], 1 -> [ True, False]",
)
greater = binary(
    "greater",
    "same",
    _ordered(lax.gt_p),
    "Whether x1 > x2, elementwise; complex numbers by real part, then imaginary.",
    "[1, 2], 1 -> [False,  True]",
)
greater_equal = binary(
    "greater_equal",
    "same",
    _ordered(lax.ge_p),
    "Whether x1 >= x2, elementwise; complex numbers by real part, then imaginary.",
    "[1, 2], 2 -> [False,  True]",
)


# ---------------------------------------------------------------------- bits and truth


def truth(x: Any) -> Any:
    """Whether x differs from zero."""
    aval = aval_of(x)
    if aval.dtype is dtypes.bool_:
        return x
    zero = np.zeros((), aval.dtype)[()]
    return strong_unless_scalar(lax.ne_p.bind(x, zero.item() if aval.weak_type else zero))


def _logical(prim: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: prim.bind(truth(x), truth(y))


logical_and = binary(
    "logical_and",
    "same",
    _logical(lax.and_p),
    "Whether both differ from zero, elementwise.",
    "[0, 1], True -> [False,  True]",
)
logical_or = binary(
    "logical_or",
    "same",
    _logical(lax.or_p),
    "Whether either differs from zero, elementwise.",
    "[0, 1], False -> [False,  True]",
)
logical_xor = binary(
    "logical_xor",
    "same",
    _logical(lax.xor_p),
    "Whether exactly one differs from zero, elementwise.",
    "[0, 1], True -> [ True, False]",
)
logical_not = unary(
    "logical_not",
    "same",
    lambda x: lax.not_p.bind(truth(x)),
    "Whether x equals zero, elementwise.",
    "[0, 1] -> [ True, False]",
)
bitwise_and = binary(
    "bitwise_and",
    "same",
    lax.and_p.bind,
    "Return the bits set in both operands, elementwise (integers, bools).",
    "[6, 5], 4 -> [4, 4]",
)
bitwise_or = binary(
    "bitwise_or",
    "same",
    lax.or_p.bind,
    "Return the bits set in either operand, elementwise (integers, bools).",
    "[6, 5], 1 -> [7, 5]",
)
bitwise_xor = binary(
    "bitwise_xor",
    "same",
    lax.xor_p.bind,
    "Return the bits set in exactly one operand, elementwise (integers, bools).",
    "[6, 5], 1 -> [7, 4]",
)
bitwise_not = unary(
    "bitwise_not",
    "same",
    lax.not_p.bind,
    "Invert every bit, elementwise (integers, bools).",
    "[0, 5] -> [-1, -6]",
)
invert = synonym(bitwise_not, "invert")
bitwise_invert = synonym(bitwise_not, "bitwise_invert")
left_shift = binary(
    "left_shift",
    "number",
    lax.shift_left_p.bind,
    "Multiply x1 by 2 to the power x2, by shifting bits (integers).",
    "[1, 2], 3 -> [ 8, 16]",
)


def _right_shift(x: Any, y: Any) -> Any:
    if dtypes.is_unsigned(aval_of(x).dtype):
        return lax.shift_right_logical_p.bind(x, y)
    return lax.shift_right_arithmetic_p.bind(x, y)


right_shift = binary(
    "right_shift",
    "number",
    _right_shift,
    "Divide x1 by 2 to the power x2, rounding down, by shifting bits (integers).",
    "[8, -8], 2 -> [ 2, -2]",
)
bitwise_left_shift = synonym(left_shift, "bitwise_left_shift")
bitwise_right_shift = synonym(right_shift, "bitwise_right_shift")
nextafter = binary(
    "nextafter",
    "float",
    lax.nextafter_p.bind,
    "Return the next float after x1 towards x2, elementwise.",
    "float(jnp.nextafter(1., 2.)) -> 1.0000001192092896",
)


# ------------------------------------------------------------------- parts of a number


def _real(x: Any) -> Any:
    return lax.real(x) if dtypes.is_complex(aval_of(x).dtype) else x


def _imag(x: Any) -> Any:
    if dtypes.is_complex(aval_of(x).dtype):
        return lax.imag(x)
    return lax.full_like(x, 0)


def _conj(x: Any) -> Any:
    return lax.conj(x) if dtypes.is_complex(aval_of(x).dtype) else x


real = unary(
    "real",
    "real",
    _real,
    "Return the real part, elementwise; a real array itself.",
    "[1 + 2j] -> [1.]",
)
imag = unary(
    "imag",
    "real",
    _imag,
    "Return the imaginary part, elementwise; zeros for a real array.",
    "[1 + 2j] -> [2.]",
)
conjugate = unary(
    "conjugate",
    "same",
    _conj,
    "Return the complex conjugate, elementwise; a real array itself.",
    "[1 + 2j] -> [1.-2.j]",
)
conj = synonym(conjugate, "conj")


def float_args(name: str, *xs: Any) -> Sequence[Any]:
    """Return operands in one float dtype; TypeError for complex ones."""
    xs = tuple(promote_args_inexact(name, *xs))
    if dtypes.is_complex(aval_of(xs[0]).dtype):
        raise TypeError(f"{name} does not support complex-valued inputs")
    return xs
