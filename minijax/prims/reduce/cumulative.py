"""Cumulative sums, products, extrema and log-sum-exps along an axis.

Each is lowered to a reduce_window whose windows extend back to the start; the compiler turns
it into a scan of logarithmic depth.  The derivative of a sum is the sum of tangents.  The
others differentiate a scan of elementwise operations (fold.py).

Next: ../shape/slicing.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...analysis.cost_model import copies
from ...base import errors
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...passes.ad_util import Zero
from ...passes.jvp import jvp_flat
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ...types.avals import shaped
from ..axis_dependence import backwards, onwards
from ..elementwise import (
    INEXACT,
    NUMBER,
    check_kind,
    filled,
    linear_in_first,
)
from ..math.algebraic import add, add_p, mul, mul_p, sub
from ..math.elementary import exp, log1p, logistic
from ..math.logic import bitwise_and, eq, ne, select
from ..math.order import max, max_p, min_p
from ..shape.shapes import problem, rev
from ..sharding_specs import replicated_axes_specs
from .fold import prefix_scan
from .over_axes import emit_monoid, highest, lowest

__all__ = (
    "cumsum_p",
    "cumsum",
    "cumprod_p",
    "cumprod",
    "cummax_p",
    "cummin_p",
    "cummax",
    "cummin",
    "cumlogsumexp_p",
    "cumlogsumexp",
)


def cumulative(
    name: str,
    accepts: frozenset[str],
    neutral: Callable[[Any], Any],
    emit: Callable[[Any, Any, Any], None],
    **facts: Any,
) -> Primitive:
    """Declare a cumulative primitive.

    emit(ctx, region, cell) fills the body of the window, on scalars of type `cell`.
    """
    out = Primitive(name)
    out.def_sharding(
        specs=replicated_axes_specs(
            lambda avals, params: [params["axis"]],
            "Input should be unsharded over the axis being reduced.",
        )
    )

    def abstract(x: Any, *, axis: int, reverse: bool) -> Any:
        check_kind(name, x, accepts, 0, 1)
        if not 0 <= axis < len(x.shape):
            raise problem(
                errors.AxisError,
                f"{name}: axis {axis} is out of bounds for array of shape {x.shape}."
                if axis >= 0
                else f"XLA operations do not allow negative axes: {name} got {axis}.",
                x,
                why="Axes count from 0, not from the end.",
                tries=[f"minijax.numpy.{name} counts negative axes from the end"],
            )
        return x

    def batch(axes: Any, args: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
        moved = axis + (dims[0] <= axis)
        return out.bind(args[0], axis=moved, reverse=reverse), dims[0]

    def lower(ctx: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        aval = ctx.avals_in[0]
        n, rank = aval.shape[axis], len(aval.shape)
        if n == 0:
            return x
        if isinstance(n, SymbolicDim):
            return _emit_steps(ctx, x, axis, reverse, neutral, emit)
        low, high = (0, n - 1) if reverse else (n - 1, 0)
        padding = [[low, high] if i == axis else [0, 0] for i in range(rank)]
        cell, ones = shaped((), aval.dtype), (1,) * rank
        window = tuple(n if i == axis else 1 for i in range(rank))
        op = ctx.region_op(
            "stablehlo.reduce_window",
            [ctx.type(ctx.avals_out[0])],
            [x, ctx.constant(neutral(aval.dtype), cell)],
            window_dimensions=ctx.i64s(window),
            window_strides=ctx.i64s(ones),
            base_dilations=ctx.i64s(ones),
            window_dilations=ctx.i64s(ones),
            padding=ctx.parse(f"dense<{padding}> : tensor<{rank}x2xi64>"),
        )
        emit(ctx, op.regions[0], cell)
        return op.results[0]

    out.abstract = abstract
    out.batch = batch
    out.lower = lower

    def axes_of(ins: Any, outs: Any, params: Any) -> list[Any]:
        axis, axes = params["axis"], list(range(ins[0].ndim))
        reach = backwards() if params["reverse"] else onwards(ins[0].shape[axis])
        return [[*axes[:axis], (axis, reach), *axes[axis + 1 :]]]

    out.facts = Facts(axes_of=axes_of, workspace=copies(1.5), **facts)
    return out


def _emit_steps(
    ctx: Any,
    x: Any,
    axis: int,
    reverse: bool,
    neutral: Callable[[Any], Any],
    emit: Callable[[Any, Any, Any], None],
) -> Any:
    """Emit the operation as a loop over elements, for a symbolic size."""
    aval = ctx.avals_in[0]
    shape, rank = aval.shape, len(aval.shape)
    resized = lambda n: shaped((*shape[:axis], n, *shape[axis + 1 :]), aval.dtype)
    row, pair, cell = resized(1), resized(2), shaped((), aval.dtype)
    reduced = shaped((*shape[:axis], *shape[axis + 1 :]), aval.dtype)
    i32, flag = shaped((), dtypes.int32), shaped((), dtypes.bool_)
    number = lambda n: ctx.constant(n, i32)
    start = [number(0), ctx.constant(neutral(aval.dtype), row), x]
    types = [ctx.type(i32), ctx.type(row), ctx.type(aval)]
    loop = ctx.region_op("stablehlo.while", types, start, regions=2)
    with ctx.block(loop.regions[0], *types) as (i, *_):
        ctx.return_(
            ctx.op(
                "compare",
                flag,
                i,
                number(shape[axis]),
                comparison_direction=ctx.parse("#stablehlo<comparison_direction LT>"),
            )
        )
    with ctx.block(loop.regions[1], *types) as (i, before, out):
        at = ctx.op("subtract", i32, number(shape[axis] - 1), i) if reverse else i
        starts = [at if d == axis else number(0) for d in range(rank)]
        sizes = ctx.i64s(row.shape)
        element = ctx.op("dynamic_slice", row, x, *starts, slice_sizes=sizes)
        both = ctx.op("concatenate", pair, before, element, dimension=ctx.i64(axis))
        fold = ctx.region_op(
            "stablehlo.reduce",
            [ctx.type(reduced)],
            [both, ctx.constant(neutral(aval.dtype), cell)],
            dimensions=ctx.i64s((axis,)),
        )
        emit(ctx, fold.regions[0], cell)
        new = ctx.op("reshape", row, fold.results[0])
        out = ctx.op("dynamic_update_slice", aval, out, new, *starts)
        ctx.return_(ctx.op("add", i32, i, number(1)), new, out)
    return loop.results[2]


def _emit_with(prim: Primitive) -> Callable[[Any, Any, Any], None]:
    """Return an `emit` function that fills the window's body with one primitive."""
    return lambda ctx, region, cell: emit_monoid(ctx, region, prim, cell)


def _maybe_reversed(scan: Callable[[Any], Any], xs: Any, axis: int, reverse: bool) -> list[Any]:
    """Scan arrays along an axis, from its end if `reverse`."""
    if not reverse:
        return list(scan(xs))
    return [rev(y, (axis,)) for y in scan([rev(x, (axis,)) for x in xs])]


def _set_scan_jvp(prim: Primitive, by: Primitive) -> None:
    """Set the jvp of a cumulative operation to that of a prefix scan."""

    def scan(x: Any, axis: int, reverse: bool) -> list[Any]:
        def one(xs: Any) -> list[Any]:
            return prefix_scan(lambda a, b: [by.bind(a[0], b[0])], xs, axis)

        return _maybe_reversed(one, [x], axis, reverse)

    def jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
        if type(tangents[0]) is Zero:
            return prim.bind(*primals, axis=axis, reverse=reverse), tangents[0]
        out, t = jvp_flat(lambda x: scan(x, axis, reverse), primals, tangents)
        return out[0], t[0]

    prim.jvp = jvp


# ------------------------------------------------------------------------------- sum


def _cumsum_transpose(ct: Any, x: Any, *, axis: int, reverse: bool) -> list[Any]:
    return [cumsum_p.bind(ct, axis=axis, reverse=not reverse)]


cumsum_p = cumulative("cumsum", NUMBER, lambda _: 0, _emit_with(add_p), keeps_nans=True)
linear_in_first(cumsum_p, _cumsum_transpose)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    r"""Compute the cumulative sum, :math:`y_i = \sum_{j \le i} x_j`, along an axis.

    Args:
      operand: an array of numbers.
      axis: the axis, non-negative.
      reverse: whether to sum from the end instead.

    Returns:
      An array of `operand`'s shape and dtype, in which integers wrap around.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> cumsum(jnp.arange(4))
      Array([0, 1, 3, 6], dtype=int32)
    """
    return cumsum_p.bind(operand, axis=int(axis), reverse=bool(reverse))


# --------------------------------------------------------------------------- product

cumprod_p = cumulative("cumprod", NUMBER, lambda _: 1, _emit_with(mul_p))
_set_scan_jvp(cumprod_p, mul_p)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    r"""Compute the cumulative product, :math:`y_i = \prod_{j \le i} x_j`, along an axis.

    Args:
      operand: an array of numbers.
      axis: the axis, non-negative.
      reverse: whether to multiply from the end instead.

    Returns:
      An array of `operand`'s shape and dtype, in which integers wrap around.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> cumprod(jnp.arange(1, 5))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    return cumprod_p.bind(operand, axis=int(axis), reverse=bool(reverse))


# --------------------------------------------------------------------------- extrema

cummax_p = cumulative(
    "cummax", NUMBER, lowest, _emit_with(max_p), makes_no_nans=True, keeps_finite=True
)
_set_scan_jvp(cummax_p, max_p)
cummin_p = cumulative(
    "cummin", NUMBER, highest, _emit_with(min_p), makes_no_nans=True, keeps_finite=True
)
_set_scan_jvp(cummin_p, min_p)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    r"""Return the largest element so far, :math:`y_i = \max_{j \le i} x_j`, along an axis.

    Args:
      operand: an array of numbers.
      axis: the axis, non-negative.
      reverse: whether to start from the end instead.

    Returns:
      An array of `operand`'s shape and dtype, nan after the first nan.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> cummax(jnp.array([1, 3, 2]))
      Array([1, 3, 3], dtype=int32)
    """
    return cummax_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    r"""Return the smallest element so far, :math:`y_i = \min_{j \le i} x_j`, along an axis.

    Args:
      operand: an array of numbers.
      axis: the axis, non-negative.
      reverse: whether to start from the end instead.

    Returns:
      An array of `operand`'s shape and dtype, nan after the first nan.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> cummin(jnp.array([2, 1, 3]))
      Array([2, 1, 1], dtype=int32)
    """
    return cummin_p.bind(operand, axis=int(axis), reverse=bool(reverse))


# ----------------------------------------------------------------------- log-sum-exp


def _difference(x: Any, y: Any) -> Any:
    """Return x - y, and 0 where both are the same infinity."""
    gap = sub(x, y)
    same = bitwise_and(ne(gap, gap), eq(x, y))
    return select(same, filled(gap, 0), gap)


def log_add_exp(x: Any, y: Any) -> Any:
    """Return ln(e^x + e^y) without overflow.

    Both choices of the larger operand are smooth, so derivatives of any order are also correct
    at ties.
    """
    first = eq(max(x, y), x)
    top, low = select(first, x, y), select(first, y, x)
    return add(top, log1p(exp(_difference(low, top))))


def _emit_log_add_exp(ctx: Any, region: Any, cell: Any) -> None:
    kind = ctx.type(cell)
    with ctx.block(region, kind, kind) as (a, b):
        ctx.return_(*ctx.fun(log_add_exp, a, b, avals=(cell, cell)))


def _log_add_exp_weight(operand: Any, other: Any) -> Any:
    """Return d ln(e^a + e^b) / da, and a half where both are the same infinity."""
    return logistic(_difference(operand, other))


def _combine_pairs(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Combine (value, tangent) with (value, tangent)."""
    tangent = add(
        mul(a[1], _log_add_exp_weight(a[0], b[0])), mul(b[1], _log_add_exp_weight(b[0], a[0]))
    )
    return [log_add_exp(a[0], b[0]), tangent]


def _cumlogsumexp_jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    (x,), (t,) = primals, tangents
    if type(t) is Zero:
        return cumlogsumexp_p.bind(x, axis=axis, reverse=reverse), t
    out, out_t = _maybe_reversed(
        lambda pair: prefix_scan(_combine_pairs, pair, axis), [x, t], axis, reverse
    )
    return out, out_t


cumlogsumexp_p = cumulative("cumlogsumexp", INEXACT, lambda _: -math.inf, _emit_log_add_exp)
cumlogsumexp_p.jvp = _cumlogsumexp_jvp


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    r"""Compute the cumulative log-sum-exp, :math:`y_i = \ln \sum_{j \le i} e^{x_j}`.

    Args:
      operand: an array of a float or complex dtype.
      axis: the axis, non-negative.
      reverse: whether to start from the end instead.

    Returns:
      An array of `operand`'s shape and dtype.

    Raises:
      TypeError: the dtype is not inexact.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> cumlogsumexp(jnp.zeros(2))
      Array([0.       , 0.6931472], dtype=float32)
    """
    return cumlogsumexp_p.bind(operand, axis=int(axis), reverse=bool(reverse))
