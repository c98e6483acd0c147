"""NumPy's results for operations, at higher precision: a reference for `verify`.

`reference` returns the results of one equation for given operands, and the allowed
difference.  It covers primitives that are simple in NumPy: arithmetic, elementary
functions, comparisons, reductions, matrix products, sorting, and moving elements.  Floats
are computed in float64 (float64 in NumPy's long double).  Next:
verify_walk.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..ir.core import Primitive
from ..ir.jaxpr import Equation
from ..prims.dot.dot import dot_general_p
from ..prims.math import algebraic, elementary, logic, order
from ..prims.math.cast import convert_element_type_p
from ..prims.reduce import cumulative, over_axes
from ..prims.shape import concatenation, creation, diagonals, shapes, slicing
from ..prims.sort import sort_p
from ..types import dtypes

ULPS = 16.0  # the allowed error of an elementary function, in units of its precision

Result = tuple[Any, Any]  # values at higher precision; the size of the terms they sum


def eps_of(dtype: Any) -> float:
    """Return the relative precision of a float or complex dtype."""
    return float(ml_dtypes.finfo(real_of(dtype)).eps)


def tiny_of(dtype: Any) -> float:
    """Return the least normal number of a float or complex dtype."""
    return float(ml_dtypes.finfo(real_of(dtype)).smallest_normal)


def greatest_of(dtype: Any) -> float:
    """Return the greatest number of a float or complex dtype."""
    return float(ml_dtypes.finfo(real_of(dtype)).max)


def real_of(dtype: Any) -> Any:
    """Return the float dtype of the real and imaginary parts of a number."""
    return np.zeros(0, dtype).real.dtype if dtypes.is_complex(dtype) else dtype


def wide(x: Any) -> Any:
    """Convert a value to higher precision; integers and Booleans are unchanged."""
    x = np.asarray(x)
    if not dtypes.is_inexact(x.dtype):
        return x
    if dtypes.is_complex(x.dtype):
        return x.astype(np.clongdouble if x.dtype.itemsize > 8 else np.complex128)
    return x.astype(np.longdouble if x.dtype.itemsize > 4 else np.float64)


def growth(n: float) -> float:
    """Return the allowed error of a sum of n terms, in units of the precision."""
    return max(math.sqrt(n), n / 16)


def _ufunc_rule(fun: Callable[..., Any]) -> Callable[..., Result]:
    def rule(eqn: Equation, *xs: Any) -> Result:
        value = fun(*xs)
        return value, np.abs(value) if np.asarray(value).dtype != bool else 0

    return rule


def _rounded(eqn: Equation, x: Any) -> Result:
    to_even = int(eqn.params["rounding_method"]) == 1
    value = np.rint(x) if to_even else np.sign(x) * np.floor(np.abs(x) + 0.5)
    return value, np.abs(value)


def _power(eqn: Equation, x: Any) -> Result:
    n = eqn.params["y"]
    value = np.power(x, np.float64(n) if np.asarray(x).dtype.kind in "fc" else n)
    return value, (1 + abs(n) / 8) * np.abs(value)


def _any_power(eqn: Equation, x: Any, y: Any) -> Result:
    value = np.power(x, y)
    return value, (1 + np.abs(y * np.log(np.abs(x) + (x == 0))) / 8) * np.abs(value)


def _logistic(eqn: Equation, x: Any) -> Result:
    value = 1 / (1 + np.exp(-x))
    return value, np.abs(value)


def _select(eqn: Equation, which: Any, *cases: Any) -> Result:
    if len(cases) == 2:
        value = np.where(which, cases[1], cases[0])
    else:
        value = np.choose(np.broadcast_to(which, np.shape(cases[0])), cases)
    return value, 0


def _converted(eqn: Equation, x: Any) -> Result:
    new = eqn.outs[0].aval.dtype
    if not (dtypes.is_inexact(new) and np.asarray(x).dtype.kind in "fiub"):
        raise NotImplementedError
    return x, np.abs(wide(x).astype(np.float64)) if np.asarray(x).dtype != bool else x


def _reduced(fun: Callable[..., Any], sums: bool = False) -> Callable[..., Result]:
    def rule(eqn: Equation, x: Any) -> Result:
        axes = tuple(eqn.params["axes"])
        value = fun(x, axis=axes)
        terms = math.prod(np.shape(x)[a] for a in axes)
        if not sums:
            return value, 0
        return value, growth(terms) / ULPS * fun(np.abs(x), axis=axes) + np.abs(value)

    return rule


def _position(fun: Callable[..., Any]) -> Callable[..., Result]:
    def rule(eqn: Equation, x: Any) -> Result:
        (axis,) = eqn.params["axes"]
        return fun(x, axis=axis), 0

    return rule


def _cumulative(fun: Callable[..., Any], sums: bool = False) -> Callable[..., Result]:
    def rule(eqn: Equation, x: Any) -> Result:
        axis, back = eqn.params["axis"], eqn.params["reverse"]
        turn = (lambda a: np.flip(a, axis)) if back else lambda a: a
        value = turn(fun(turn(x), axis=axis))
        if not sums:
            return value, 0
        terms = turn(fun(turn(np.abs(x)), axis=axis))
        return value, growth(np.shape(x)[axis]) / ULPS * terms + np.abs(value)

    return rule


def _dot(eqn: Equation, x: Any, y: Any) -> Result:
    """Compute a product of tensors; the size of terms comes from absolute values."""
    (cx, cy), (bx, by) = eqn.params["dimension_numbers"]
    if eqn.params["precision"] is not None:
        raise NotImplementedError

    def product(x: Any, y: Any) -> Any:
        free = [
            [a for a in range(np.ndim(v)) if a not in c and a not in b]
            for v, c, b in ((x, cx, bx), (y, cy, by))
        ]
        left = np.transpose(x, (*bx, *free[0], *cx))
        right = np.transpose(y, (*by, *cy, *free[1]))
        batch = [np.shape(x)[a] for a in bx]
        rows = [np.shape(x)[a] for a in free[0]]
        columns = [np.shape(y)[a] for a in free[1]]
        inner = math.prod(np.shape(x)[a] for a in cx)
        outer = math.prod(batch)
        out = np.matmul(
            left.reshape(outer, math.prod(rows), inner),
            right.reshape(outer, inner, math.prod(columns)),
        )
        return out.reshape(*batch, *rows, *columns)

    value = product(x, y)
    if value.dtype.kind not in "fc":
        return value, 0
    terms = product(np.abs(x), np.abs(y))
    n = math.prod(np.shape(x)[a] for a in cx)
    return value, growth(n) / ULPS * terms + np.abs(value)


def _broadcast(eqn: Equation, x: Any, *more: Any) -> Result:
    if more:
        raise NotImplementedError
    shape, axes = eqn.outs[0].aval.shape, eqn.params["broadcast_dimensions"]
    new_shape = [1] * len(shape)
    for size, axis in zip(np.shape(x), axes, strict=True):
        new_shape[axis] = size
    return np.broadcast_to(np.reshape(x, new_shape), shape), 0


def _sliced(eqn: Equation, x: Any) -> Result:
    start, end = eqn.params["start_indices"], eqn.params["limit_indices"]
    step = eqn.params["strides"] or [1] * len(start)
    return x[tuple(map(slice, start, end, step))], 0


def _sorted(eqn: Equation, *xs: Any) -> Result:
    if len(xs) != 1 or np.asarray(xs[0]).dtype.kind == "c":
        raise NotImplementedError
    return np.sort(xs[0], axis=eqn.params["dimension"]), 0


def _moved(fun: Callable[[Equation, Any], Any]) -> Callable[..., Result]:
    return lambda eqn, x: (fun(eqn, x), 0)


_RULES: dict[Primitive, Callable[..., Result]] = {
    algebraic.neg_p: _ufunc_rule(np.negative),
    algebraic.add_p: _ufunc_rule(np.add),
    algebraic.add_any_p: _ufunc_rule(np.add),
    algebraic.sub_p: _ufunc_rule(np.subtract),
    algebraic.mul_p: _ufunc_rule(np.multiply),
    algebraic.square_p: _ufunc_rule(np.square),
    algebraic.integer_pow_p: _power,
    algebraic.sqrt_p: _ufunc_rule(np.sqrt),
    algebraic.rsqrt_p: _ufunc_rule(lambda x: 1 / np.sqrt(x)),
    algebraic.cbrt_p: _ufunc_rule(np.cbrt),
    elementary.exp_p: _ufunc_rule(np.exp),
    elementary.exp2_p: _ufunc_rule(np.exp2),
    elementary.expm1_p: _ufunc_rule(np.expm1),
    elementary.logistic_p: _logistic,
    elementary.log_p: _ufunc_rule(np.log),
    elementary.log1p_p: _ufunc_rule(np.log1p),
    elementary.pow_p: _any_power,
    elementary.sin_p: _ufunc_rule(np.sin),
    elementary.cos_p: _ufunc_rule(np.cos),
    elementary.tan_p: _ufunc_rule(np.tan),
    elementary.atan_p: _ufunc_rule(np.arctan),
    elementary.atan2_p: _ufunc_rule(np.arctan2),
    elementary.tanh_p: _ufunc_rule(np.tanh),
    logic.eq_p: _ufunc_rule(np.equal),
    logic.ne_p: _ufunc_rule(np.not_equal),
    logic.lt_p: _ufunc_rule(np.less),
    logic.le_p: _ufunc_rule(np.less_equal),
    logic.gt_p: _ufunc_rule(np.greater),
    logic.ge_p: _ufunc_rule(np.greater_equal),
    logic.is_finite_p: _ufunc_rule(np.isfinite),
    logic.and_p: _ufunc_rule(np.bitwise_and),
    logic.or_p: _ufunc_rule(np.bitwise_or),
    logic.xor_p: _ufunc_rule(np.bitwise_xor),
    logic.not_p: _ufunc_rule(np.bitwise_not),
    logic.select_n_p: _select,
    logic.clamp_p: lambda eqn, low, x, high: (np.minimum(np.maximum(x, low), high), 0),
    order.max_p: _ufunc_rule(np.maximum),
    order.min_p: _ufunc_rule(np.minimum),
    order.sign_p: _ufunc_rule(np.sign),
    order.abs_p: _ufunc_rule(np.abs),
    order.floor_p: _ufunc_rule(np.floor),
    order.ceil_p: _ufunc_rule(np.ceil),
    order.round_p: _rounded,
    order.real_p: _ufunc_rule(np.real),
    order.imag_p: _ufunc_rule(np.imag),
    convert_element_type_p: _converted,
    over_axes.reduce_sum_p: _reduced(np.sum, sums=True),
    over_axes.reduce_max_p: _reduced(np.max),
    over_axes.reduce_min_p: _reduced(np.min),
    over_axes.reduce_and_p: _reduced(np.bitwise_and.reduce),
    over_axes.reduce_or_p: _reduced(np.bitwise_or.reduce),
    over_axes.argmax_p: _position(np.argmax),
    over_axes.argmin_p: _position(np.argmin),
    cumulative.cumsum_p: _cumulative(np.cumsum, sums=True),
    cumulative.cummax_p: _cumulative(np.maximum.accumulate),
    cumulative.cummin_p: _cumulative(np.minimum.accumulate),
    dot_general_p: _dot,
    sort_p: _sorted,
    shapes.broadcast_in_dim_p: _broadcast,
    shapes.reshape_p: _moved(lambda eqn, x: np.reshape(x, eqn.outs[0].aval.shape)),
    shapes.squeeze_p: _moved(lambda eqn, x: np.reshape(x, eqn.outs[0].aval.shape)),
    shapes.transpose_p: _moved(lambda eqn, x: np.transpose(x, eqn.params["permutation"])),
    slicing.slice_p: _sliced,
    diagonals.diagonal_p: _moved(lambda eqn, x: np.diagonal(x, eqn.params["offset"], -2, -1)),
    concatenation.concatenate_p: lambda eqn, *xs: (
        np.concatenate(xs, eqn.params["dimension"]),
        0,
    ),
    creation.iota_p: lambda eqn, *xs: (_iota(eqn), 0),
}


def _iota(eqn: Equation) -> Any:
    aval, axis = eqn.outs[0].aval, eqn.params["dimension"]
    new_shape = [1] * len(aval.shape)
    new_shape[axis] = aval.shape[axis]
    return np.broadcast_to(np.arange(aval.shape[axis]).reshape(new_shape), aval.shape)


def _div(eqn: Equation, x: Any, y: Any) -> Result:
    if np.asarray(x).dtype.kind not in "fc":
        raise NotImplementedError
    return _ufunc_rule(np.divide)(eqn, x, y)


_RULES[algebraic.div_p] = _div


def _subnormal(x: Any) -> bool:
    size = np.abs(wide(x))
    return bool(((size > 0) & (size < tiny_of(np.asarray(x).dtype))).any())


def reference(eqn: Equation, args: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return an equation's only result at higher precision, and the allowed error; or None.

    For complex numbers only linear operations and data movement are compared: elementary
    functions differ between libraries on branch cuts and at infinities.
    """
    rule = _RULES.get(eqn.primitive)
    if rule is None or len(eqn.outs) != 1:
        return None
    aval = eqn.outs[0].aval
    kinds = [np.asarray(x).dtype for x in args]
    if any(map(dtypes.is_complex, [*kinds, aval.dtype])) and not (
        eqn.primitive.sharding.linear_in or eqn.primitive.facts.data_movement
    ):
        return None
    if any(dtypes.is_float(d) and d.itemsize < 2 for d in [*kinds, aval.dtype]):
        return None
    if any(dtypes.is_float(d) and _subnormal(x) for d, x in zip(kinds, args, strict=True)):
        return None  # compilers may flush these to 0
    try:
        with np.errstate(all="ignore"):
            value, terms = rule(eqn, *map(wide, args))
            value = np.asarray(value)
            if not dtypes.is_inexact(aval.dtype):
                return value.astype(aval.dtype), 0.0
            value = value.astype(wide(np.zeros(0, aval.dtype)).dtype)
            miss = ULPS * eps_of(aval.dtype) * np.asarray(terms, np.float64)
            return value, miss + 4 * tiny_of(aval.dtype)
    except (NotImplementedError, TypeError, ValueError):
        return None
