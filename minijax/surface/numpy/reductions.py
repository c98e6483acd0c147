"""Reductions over axes: sums, products, extrema and their positions, all, any.

All results are strongly typed.  Sums widen small integers to the default integers, and
float16 and bfloat16 are summed in float32 unless a dtype is requested.

Next: moments.py, for means and variances; running.py; nanreductions.py, which ignores nans;
quantiles.py, for order statistics.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE
from ...prims import dtype_arguments, lax
from ...prims.reduce.over_axes import highest, lowest
from ...types import dtypes
from ._common import *
from ._function_tables import row, synonym

__all__ = (
    "sum",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
    "ptp",
    "all",
    "any",
    "count_nonzero",
    "argmax",
    "argmin",
)

Reducer = Callable[..., Any]


def reduction(*static: str) -> Callable[[Any], Any]:
    """Declare a reduction: one compiled call, whose `axis` may be a list or an array.

    `static` names the arguments, besides `axis`, that are not arrays.
    """

    def declare(fun: Any) -> Any:
        compiled = composite(fun, static=("axis", *static))

        @functools.wraps(fun)
        def public(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
            if axis is not None and type(axis) is not int:
                axis = hashable_axis(axis)
            if STATE.trace is EVAL:  # a traced call would be inlined: skip the composite
                return compiled(a, axis, *args, **kwargs)
            return fun(a, axis, *args, **kwargs)

        return public

    return declare


def hashable_axis(axis: Any) -> Any:
    """Return an axis argument in hashable form; axis names are kept."""
    if isinstance(axis, str):
        return axis
    if has_items(axis):
        return tuple([a if isinstance(a, str) else static_axis(a) for a in axis])
    return static_axis(axis)


# --------------------------------------------------------------------- shared helpers


def reduce_axes(axis: Any, ndim: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the positional axes and the named ones of `axis`."""
    if axis is None or type(axis) is int:
        return canonical_axes(axis, ndim), ()
    items = axis if isinstance(axis, tuple) else (axis,)
    names = tuple([a for a in items if isinstance(a, str)])
    return canonical_axes(tuple([a for a in items if not isinstance(a, str)]), ndim), names


def positional(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction that does not support axis names."""
    axes, names = reduce_axes(axis, ndim)
    if names:
        raise errors.error(
            NotImplementedError,
            f"Named reductions not implemented for jnp.{name}()",
            which=f"axis={axis!r}",
            why="only sums and extremes combine across mapped axes.",
            tries=[f"jnp.{name}(lax.all_gather(x, {names[0]!r}), axis=0)"],
        )
    return axes


def keep(x: Any, axes: Sequence[int], ndim: int) -> Any:
    """Restore the reduced axes of an array as axes of size 1."""
    if not axes:
        return x
    shape = core.aval_of(x).shape
    kept_axes = [i for i in range(ndim) if i not in axes]
    full = [1] * ndim
    for i, n in zip(kept_axes, shape, strict=True):
        full[i] = n
    return lax.broadcast_in_dim(x, tuple(full), tuple(kept_axes))


def check_where(name: str, where: Any) -> None:
    """Raise ValueError unless a reduction's `where` is None or boolean."""
    if where is None:
        return
    check_arraylike(f"jnp.{name}: where", where)
    dtype = core.aval_of(where).dtype
    if not dtypes.is_bool(dtype):
        raise errors.value_error(
            f"jnp.{name}: where must be None or a boolean array; got where.dtype={dtype!r}.",
            which=errors.type_text(where),
            tries=["where != 0"],
        )


def masked(a: Any, where: Any, otherwise: Any) -> Any:
    """Return `a` with the elements that `where` excludes replaced by a neutral value.

    A wider mask repeats the array; `axis` is still resolved with the array's own rank.
    """
    return choose(where, a, otherwise)


def with_initial(combine: Callable[[Any, Any], Any], initial: Any, x: Any) -> Any:
    """Combine a reduced array with the `initial` number."""
    shape = core.aval_of(initial).shape
    if shape:
        raise errors.value_error(
            f"initial value must be a scalar. Got array of shape {shape}",
            why="it is combined once with each result.",
            tries=["combine an array with the result after the reduction"],
        )
    return combine(convert(initial, core.aval_of(x).dtype), x)


def strong(a: Any, dtype: Any) -> Any:
    """Return `a` as a strongly typed operand of this dtype."""
    return convert(a, dtype)


def wide_int(dtype: Any) -> Any:
    """Return the dtype in which small integers and bools are summed."""
    if dtypes.is_bool(dtype):
        return dtypes.int_default()
    default = dtypes.int_default()
    if dtypes.is_unsigned(dtype) and dtype.itemsize < default.itemsize:
        return dtypes.canonical(np.dtype(f"uint{8 * default.itemsize}"))
    if dtypes.is_signed(dtype) and dtype.itemsize < default.itemsize:
        return default
    return dtype


HALVES = (dtypes.float16, dtypes.bfloat16)


def accumulate(
    name: str, a, axis, dtype, keepdims: bool, initial, where, promote_integers: bool
):
    """Return a sum or a product; with dtype bool, `any` or `all`."""
    check_arraylike(name, a)
    check_where(name, where)
    aval = core.aval_of(a)
    dtype = static_dtype(dtype, name)
    input_dtype = aval.dtype
    narrow = dtypes.int32 if dtypes.is_bool(input_dtype) else input_dtype
    result = dtype or (wide_int(input_dtype) if promote_integers else narrow)
    working = dtypes.float32 if dtype is None and input_dtype in HALVES else result
    reducer, combine, neutral = (_TRUTH if dtypes.is_bool(working) else _NUMBERS)[name]
    a = strong(a, working)
    axes, names = reduce_axes(axis, len(aval.shape))
    if dtype is None and dtypes.is_bool(input_dtype) and name == "sum":
        check_counts(name, aval.shape, axes, result)
    if names and name != "sum":
        positional(name, axis, len(aval.shape))
    if where is not None:
        a = masked(a, where, typed_constant(neutral, working))
    ndim = core.aval_of(a).ndim
    x = reducer(a, axes)
    if names:
        x = lax.psum(x, names)
    if initial is not None:
        x = with_initial(combine, initial, x)
    if keepdims:
        x = keep(x, axes, ndim)
    return x if working == result else convert(x, result)


def check_counts(name: str, shape: Sequence[Any], axes: Sequence[int], dtype: Any) -> None:
    """Raise OverflowError if the number of elements along axes may not fit a dtype."""
    dtype_arguments.check_holds(name, math.prod(shape[i] for i in axes), dtype)


def sum_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Sum over axes, in the dtype of `x`."""
    return lax.reduce_sum_p.bind(x, axes=axes, out_sharding=None)


def prod_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Multiply over axes, in the dtype of `x`."""
    return lax.reduce_prod_p.bind(x, axes=axes)


_NUMBERS = {"sum": (sum_axes, lax.add, 0), "prod": (prod_axes, lax.mul, 1)}
_TRUTH = {
    "sum": (lax.reduce_or, lax.bitwise_or, False),
    "prod": (lax.reduce_and, lax.bitwise_and, True),
}


# -------------------------------------------------------------------- sums and products


def _accumulation(name: str, summary: str, example: str) -> Any:
    @reduction("dtype", "keepdims", "promote_integers")
    @row(name, __name__, summary, SUMMED, example, raises=BAD_AXIS, dtype=WIDENED)
    def fun(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Any:
        no_out(name, out)
        options = keepdims, initial, where, promote_integers
        return accumulate(name, a, axis, dtype, *options)

    return fun


WIDENED = (
    "dtype to convert to and compute in; by default small integers widen to the\n"
    "    default integers, and 16-bit floats are summed in float32."
)
SUMMED = "A strongly typed array of `dtype` or its default, without the axes of `axis`."
BAD_AXIS = "ValueError: an axis is out of range or named twice, or `where` is not boolean."
sum = _accumulation(
    "sum", "Return the sum of the elements along axes.", "[[1, 2], [3, 4]], axis=0 -> [4, 6]"
)
prod = _accumulation(
    "prod", "Return the product of the elements along axes.", "[2., 3., 4.] -> 24."
)


# -------------------------------------------------------------------------- extrema


def extremum(name: str, a, axis, keepdims: bool, initial, where):
    """Return the maximum or minimum along axes."""
    check_arraylike(name, a)
    check_where(name, where)
    dtype = core.aval_of(a).dtype
    a = strong(a, dtype)
    prim, combine, neutral, across = _EXTREMA[name]
    shape = core.aval_of(a).shape
    axes, names = reduce_axes(axis, len(shape))
    if where is not None:
        if initial is None:
            raise errors.value_error(
                f"reduction operation {name} does not have an identity, so to use a"
                " where mask one has to specify 'initial'",
                which=errors.type_text(a),
                tries=[f"jnp.{name}(x, where=mask, initial=...)"],
            )
        a = masked(a, where, dtype.type(neutral(dtype)))
    if initial is None and 0 in [shape[i] for i in axes]:
        raise ValueError(
            f"zero-size array to reduction operation {name} which has no identity:"
            f" {errors.type_text(a)}"
        )
    x = prim.bind(a, axes=axes)
    if names:
        x = across(x, names)
    if initial is not None:
        x = with_initial(combine, initial, x)
    return keep(x, axes, core.aval_of(a).ndim) if keepdims else x


_EXTREMA = {
    "max": (lax.reduce_max_p, lax.max, lowest, lax.pmax),
    "min": (lax.reduce_min_p, lax.min, highest, lax.pmin),
}


def extremum_function(compute: Any, name: str, summary: str, example: str) -> Any:
    """Return a public reduction with the signature of `max`, computed by `compute`."""
    returns = "A strongly typed array of `a`'s dtype, without the axes of `axis`."
    raises = "ValueError: zero elements, or a mask, without `initial`; an invalid axis."

    @reduction("keepdims")
    @row(name, compute.__module__, summary, returns, example, raises=raises)
    def fun(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Any:
        no_out(name, out)
        return compute(name, a, axis, keepdims, initial, where)

    return fun


max = extremum_function(
    extremum,
    "max",
    "Return the largest element along axes; nan if any element is nan.",
    "[[1, 5], [4, 2]], axis=1 -> [5, 4]",
)
min = extremum_function(
    extremum,
    "min",
    "Return the smallest element along axes; nan if any element is nan.",
    "[[1, 5], [4, 2]], axis=1 -> [1, 2]",
)


amax, amin = synonym(max, "amax"), synonym(min, "amin")


@reduction("keepdims")
def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the range along axes: the largest element minus the smallest.

    Args:
      a: array or number, not of bools.
      axis: axes to reduce; None for all of them.
      out: not supported.
      keepdims: keep reduced axes with size 1.

    Returns:
      A strongly typed array of `a`'s dtype, without the axes of `axis`.

    Raises:
      ValueError: zero elements to reduce, or an axis that does not exist.
      TypeError: bools.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ptp(jnp.array([3, 9, 4]))
      Array(6, dtype=int32)
    """
    no_out("ptp", out)
    return lax.sub(
        extremum("max", a, axis, keepdims, None, None),
        extremum("min", a, axis, keepdims, None, None),
    )


# --------------------------------------------------------------------------- all, any


def truth(name: str, prim, neutral: bool, a, axis, keepdims: bool, where):
    """Return `all` or `any` along axes."""
    check_arraylike(name, a)
    check_where(name, where)
    a = convert(a, dtypes.bool_)
    axes = positional(name, axis, core.aval_of(a).ndim)
    if where is not None:
        a = masked(a, where, np.bool_(neutral))
    ndim = core.aval_of(a).ndim
    x = prim.bind(a, axes=axes)
    return keep(x, axes, ndim) if keepdims else x


def _truth(name: str, prim: Any, neutral: bool, summary: str, example: str) -> Any:
    returns = "A bool array without the axes of `axis`."

    @reduction("keepdims")
    @row(name, __name__, summary, returns, example, raises=BAD_AXIS)
    def fun(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Any:
        no_out(name, out)
        return truth(name, prim, neutral, a, axis, keepdims, where)

    return fun


all = _truth(
    "all",
    lax.reduce_and_p,
    True,
    "Whether all elements along axes are true (not zero).",
    "[1, 1, 0] -> False",
)
any = _truth(
    "any",
    lax.reduce_or_p,
    False,
    "Whether any element along axes is true (not zero).",
    "[0, 0, 1] -> True",
)


@reduction("keepdims")
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Count the elements along axes that are not zero.

    Args:
      a: array or number.
      axis: axes to count along; None for all of them.
      keepdims: keep reduced axes with size 1.

    Returns:
      An array of the default integer dtype, without the axes of `axis`.

    Raises:
      ValueError: an axis does not exist, or is named twice.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.count_nonzero(jnp.array([3, 0, 4]))
      Array(2, dtype=int32)
    """
    check_arraylike("count_nonzero", a)
    dtype = core.aval_of(a).dtype
    ones = convert(lax.ne(strong(a, dtype), dtype.type(0)), dtypes.int_default())
    axes = canonical_axes(axis, core.aval_of(a).ndim)
    check_counts("count_nonzero", core.aval_of(a).shape, axes, dtypes.int_default())
    x = sum_axes(ones, axes)
    return keep(x, axes, core.aval_of(a).ndim) if keepdims else x


# -------------------------------------------------------------------------- arg-extrema


def position(name: str, prim: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    """Return the position of the first extremum."""
    check_arraylike(name, a)
    shape = core.aval_of(a).shape
    if axis is None:
        x = lax.reshape(a, (core.aval_of(a).size,))
        at = 0
    else:
        x, at = a, canonical_axis(axis, len(shape))
    if core.aval_of(x).shape[at] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    out = prim.bind(as_array(x), axes=(at,), index_dtype=dtypes.int_default())
    if not keepdims:
        return out
    return keep(out, (at,) if axis is not None else tuple(range(len(shape))), len(shape))


def argextremum_function(compute: Any, name: str, prim: Any, summary: str, example: str) -> Any:
    """Return a public reduction with the signature of `argmax`, computed by `compute`."""
    axis_doc = "the axis; None for the position in the flattened array."
    returns = "An array of the default integer dtype: `a`'s shape without `axis`, or ()."
    raises = "ValueError: an axis of size 0, or an axis that does not exist."

    @composite_along("keepdims")
    @row(name, compute.__module__, summary, returns, example, raises=raises, axis=axis_doc)
    def fun(
        a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Any:
        no_out(name, out)
        return compute(name, prim, a, axis, keepdims)

    return fun


argmax = argextremum_function(
    position,
    "argmax",
    lax.argmax_p,
    "Return the position of the first largest element (or nan) along an axis.",
    "[[1, 9], [7, 2]], axis=1 -> [1, 0]",
)
argmin = argextremum_function(
    position,
    "argmin",
    lax.argmin_p,
    "Return the position of the first smallest element (or nan) along an axis.",
    "[[1, 9], [7, 2]], axis=1 -> [0, 1]",
)
