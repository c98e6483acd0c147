"""Reductions over axes: sums, products, extrema and their positions, bits.

A reduction removes its axes.  Windows are in reduce_window.py, and scans along an axis in
cumulative.py.
Next: generic.py, reductions by any computation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...analysis.cost_model import copies
from ...base import config, errors
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...passes.ad_util import Zero, core_ops
from ...passes.jvp import jvp_flat
from ...types import dtypes
from ...types.avals import shaped
from .. import dtype_arguments
from ..elementwise import *
from ..math.algebraic import add_p, div, mul, mul_p
from ..math.cast import cast, from_two_bits, user_dtype
from ..math.logic import and_p, eq, or_p, xor_p
from ..math.order import max_p, min_p
from ..shape.shapes import int_tuple, reshape, value_problem
from ..sharding_specs import canonicalize_out_sharding
from .fold import fold

__all__ = (
    "reduce_sum_p",
    "reduce_sum",
    "reduce_max_p",
    "reduce_min_p",
    "reduce_max",
    "reduce_min",
    "reduce_prod_p",
    "reduce_prod",
    "reduce_and_p",
    "reduce_or_p",
    "reduce_xor_p",
    "reduce_and",
    "reduce_or",
    "reduce_xor",
    "argmax_p",
    "argmin_p",
    "argmax",
    "argmin",
)

# ------------------------------------------------------------------ neutral elements


def highest(dtype: Any) -> Any:
    """Return the largest value of a dtype: infinity if there is one."""
    return _end(dtype, 1)


def lowest(dtype: Any) -> Any:
    """Return the smallest value of a dtype: minus infinity if there is one."""
    return _end(dtype, -1)


def _end(dtype: Any, sign: int) -> Any:
    if dtypes.is_bool(dtype):
        return sign > 0
    if dtypes.is_integer(dtype):
        info = ml_dtypes.iinfo(dtype)
        return info.max if sign > 0 else info.min
    part_dtype = dtypes.real_of(dtype)
    value: Any = np.asarray(sign * np.inf, part_dtype)[()]
    if not np.isinf(value):
        limits = ml_dtypes.finfo(part_dtype)
        value = limits.max if sign > 0 else limits.min
    return value if part_dtype == dtype else dtype.type(complex(value, value))


def all_ones(dtype: Any) -> Any:
    """Return the value with all bits set."""
    return highest(dtype) if dtypes.kind(dtype) in ("bool", "uint") else -1


# --------------------------------------------------------------------------- helpers


def check_axes(name: str, aval: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape without its reduced axes; raise ValueError for invalid axes."""
    if len(set(axes)) != len(axes):
        raise errors.value_error(
            f"duplicate value in 'axes' of reduction: {axes}",
            which=aval.str_short(True),
            why="An axis can be reduced only once.",
        )
    n = len(aval.shape)
    if not all(0 <= a < n for a in axes):
        raise errors.error(
            errors.AxisError,
            f"reduction axes {axes} contains out-of-bounds indices for"
            f" {aval.str_short(False)}.",
            why=f"{name} counts axes from 0 up to {n - 1}, not from the end.",
            tries=["minijax.numpy counts negative axes from the end"],
        )
    return tuple(size for i, size in enumerate(aval.shape) if i not in axes)


def emit_reduce(ctx, x, init, aval, axes: Sequence[int], prim: Primitive):
    """Emit `stablehlo.reduce` of one operand by a primitive of two scalars."""
    out, cell = ctx.avals_out[0], shaped((), aval.dtype)
    op = ctx.region_op(
        "stablehlo.reduce",
        [ctx.type(out)],
        [x, ctx.constant(init, cell)],
        dimensions=ctx.i64s(axes),
    )
    emit_monoid(ctx, op.regions[0], prim, cell)
    return op.results[0]


def emit_monoid(ctx: Any, region: Any, prim: Primitive, cell: Any) -> None:
    """Fill a region with a primitive of two scalars of type `cell`."""
    # A lowering rule reads the types of its operands and results from the context.
    saved = ctx.avals_in, ctx.avals_out
    ctx.avals_in, ctx.avals_out = (cell, cell), (cell,)
    kind = ctx.type(cell)
    with ctx.block(region, kind, kind) as (a, b):
        ctx.return_(prim.lower(ctx, a, b))
    ctx.avals_in, ctx.avals_out = saved


def drop_axes(dim: int, axes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Return the reduced axes of operands with a lane axis at `dim`, and the result's."""
    moved = tuple(a + (a >= dim) for a in axes)
    return moved, dim - sum(a < dim for a in moved)


def reduction_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give results the operands' specs without the reduced axes."""
    axes = params["axes"]
    n = len(outs)
    return [tuple(s for i, s in enumerate(spec) if i not in axes) for spec in specs[:n]]


def reduction(
    name: str,
    accepts: frozenset[str],
    neutral: Callable[[Any], Any],
    prim: Primitive,
    **facts: Any,
) -> Primitive:
    """Declare the reduction by a primitive of two operands."""
    out = Primitive(name)

    def abstract(x: Any, *, axes: tuple[int, ...], **_: Any) -> Any:
        check_kind(name, x, accepts, 0, 1)
        shape = check_axes(name, x, axes)
        return shaped(shape, x.dtype, x.weak_type and accepts is not BITS)

    def batch(axis: Any, args: Any, dims: Any, *, axes: Any, **params: Any) -> Any:
        moved, lane = drop_axes(dims[0], axes)
        return out.bind(args[0], axes=moved, **params), lane

    def lower(ctx: Any, x: Any, *, axes: Any, **_: Any) -> Any:
        aval = ctx.avals_in[0]
        if not axes:
            return x
        return emit_reduce(ctx, x, neutral(aval.dtype), aval, axes, prim)

    out.abstract = abstract
    out.def_sharding(specs=reduction_specs)
    out.batch = batch
    out.lower = lower
    out.facts = Facts(
        axes_of=lambda ins, outs, params: [
            [i for i in range(ins[0].ndim) if i not in params["axes"]]
        ],
        flops=lambda ins, outs, params: ins[0].size,
        **facts,
    )
    return out


# ------------------------------------------------------------------------------- sum


def _sum_transpose(ct: Any, x: Any, *, axes: Any, out_sharding: Any) -> list[Any]:
    shape = x.aval.shape
    remaining_axes = tuple(i for i in range(len(shape)) if i not in axes)
    return [core_ops.broadcast_in_dim(ct, shape, remaining_axes) if axes else ct]


_HALF = (dtypes.float16, dtypes.bfloat16)
reduce_sum_p = reduction("reduce_sum", NUMBER, lambda _: 0, add_p, keeps_nans=True)
_sum_type = reduce_sum_p.abstract


def _checked_sum_type(x: Any, **params: Any) -> Any:
    if x.dtype in _HALF and not config.F16_REDUCTIONS.value:
        raise errors.value_error(
            f"reduce_sum on operand {x.str_short(True)} is not allowed when"
            " jax_allow_f16_reductions=False.",
            why="A half-precision sum of many numbers loses most of their digits.",
            tries=["x.astype('float32')", "dtype='float32'"],
        )
    return _sum_type(x, **params)


reduce_sum_p.abstract = _checked_sum_type
linear_in_first(reduce_sum_p, _sum_transpose)
reduce_sum_p.def_sharding(request="out_sharding")


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Return the sum over axes.

    Args:
      operand: an array of numbers.
      axes: the axes; non-negative, each once.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of `operand`'s dtype (integers wrap around) without `axes`; 0 if there are no
      elements.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: an axis does not exist or is repeated.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_sum(jnp.arange(4), (0,))
      Array(6, dtype=int32)
    """
    return reduce_sum_p.bind(
        operand,
        axes=int_tuple(axes, "axes"),
        out_sharding=canonicalize_out_sharding("reduce_sum", out_sharding, operand),
    )


# --------------------------------------------------------------------------- extrema


def _extremum_tangent(t: Any, ans: Any, x: Any, *, axes: Any, **_: Any) -> Any:
    """Return the mean of the tangents of those elements that equal the result."""
    shape = core.aval_of(x).shape
    if any(shape[i] == 0 for i in axes):
        return reduce_sum(t, axes)  # the extremum of no elements is a constant
    keepdims_shape = tuple(1 if i in axes else n for i, n in enumerate(shape))
    is_extremum = cast(eq(x, reshape(ans, keepdims_shape)), core.aval_of(t).dtype)
    count = reduce_sum(is_extremum, axes)
    return div(reduce_sum(mul(t, is_extremum), axes), count)


_extremum_facts: Any = {"makes_no_nans": True, "pretty": {"out_sharding": None}}
reduce_max_p = reduction("reduce_max", ANY, lowest, max_p, **_extremum_facts)
defjvp(reduce_max_p, [_extremum_tangent])
reduce_min_p = reduction("reduce_min", ANY, highest, min_p, **_extremum_facts)
defjvp(reduce_min_p, [_extremum_tangent])


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """Return the largest element along axes.

    Args:
      operand: an array of any dtype; nan is larger than anything.
      axes: the axes; non-negative, each once.

    Returns:
      An array of `operand`'s dtype without `axes`; the lowest value of the dtype if there
      are no elements.

    Raises:
      ValueError: an axis does not exist or is repeated.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_max(jnp.arange(4), (0,))
      Array(3, dtype=int32)
    """
    return reduce_max_p.bind(operand, axes=int_tuple(axes, "axes"), out_sharding=None)


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """Return the smallest element along axes.

    Args:
      operand: an array of any dtype; nan is smaller than anything.
      axes: the axes; non-negative, each once.

    Returns:
      An array of `operand`'s dtype without `axes`; the highest value of the dtype if there
      are no elements.

    Raises:
      ValueError: an axis does not exist or is repeated.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_min(jnp.arange(4), (0,))
      Array(0, dtype=int32)
    """
    return reduce_min_p.bind(operand, axes=int_tuple(axes, "axes"), out_sharding=None)


# -------------------------------------------------------------------------- products


def _prod_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Any) -> Any:
    # Dividing the product by each factor would fail if one is zero.
    (x,), (t,) = primals, tangents
    if type(t) is Zero:
        ans = reduce_prod_p.bind(x, axes=axes)
        return ans, Zero(core.aval_of(ans).to_tangent())

    def product(x: Any) -> list[Any]:
        one = [const(x, 1)]
        return fold([x], lambda a, b: [mul(a[0], b[0])], one, axes, ordered=False)

    out, out_t = jvp_flat(product, primals, tangents)
    return out[0], out_t[0]


reduce_prod_p = reduction("reduce_prod", NUMBER, lambda _: 1, mul_p)
reduce_prod_p.jvp = _prod_jvp


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Return the product over axes.

    Args:
      operand: an array of numbers.
      axes: the axes; non-negative, each once.

    Returns:
      An array of `operand`'s dtype (integers wrap around) without `axes`; 1 if there are no
      elements.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: an axis does not exist or is repeated.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_prod(jnp.arange(1, 5), (0,))
      Array(24, dtype=int32)
    """
    return reduce_prod_p.bind(operand, axes=int_tuple(axes, "axes"))


# ------------------------------------------------------------------------------ bits

reduce_and_p = reduction("reduce_and", BITS, all_ones, and_p)
zero_jvp(reduce_and_p)
reduce_or_p = reduction("reduce_or", BITS, lambda _: 0, or_p)
zero_jvp(reduce_or_p)
reduce_xor_p = reduction("reduce_xor", BITS, lambda _: 0, xor_p)
zero_jvp(reduce_xor_p)


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Compute the bitwise and over axes.

    Args:
      operand: an array of an integer dtype or bool.
      axes: the axes; non-negative, each once.

    Returns:
      An array of `operand`'s dtype without `axes`; all bits set if there are no elements.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_and(jnp.array([6, 3]), (0,))
      Array(2, dtype=int32)
    """
    return reduce_and_p.bind(operand, axes=int_tuple(axes, "axes"))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Compute the bitwise or over axes.

    Args:
      operand: an array of an integer dtype or bool.
      axes: the axes; non-negative, each once.

    Returns:
      An array of `operand`'s dtype without `axes`; 0 if there are no elements.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_or(jnp.array([6, 3]), (0,))
      Array(7, dtype=int32)
    """
    return reduce_or_p.bind(operand, axes=int_tuple(axes, "axes"))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Compute the bitwise exclusive or over axes.

    Args:
      operand: an array of an integer dtype or bool.
      axes: the axes; non-negative, each once.

    Returns:
      An array of `operand`'s dtype without `axes`; 0 if there are no elements.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_xor(jnp.array([6, 3]), (0,))
      Array(5, dtype=int32)
    """
    return reduce_xor_p.bind(operand, axes=int_tuple(axes, "axes"))


# -------------------------------------------------------------- positions of extrema


def position(name: str, direction: str, worst: Callable[[Any], Any]) -> Primitive:
    """Declare argmax or argmin."""
    out = Primitive(name)

    def abstract(x: Any, *, axes: tuple[int, ...], index_dtype: Any) -> Any:
        check_kind(name, x, ANY, 0, 1)
        (axis,) = axes
        if not 0 <= axis < len(x.shape):
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape} of {name}.")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(
                f"{name}: index_dtype must be an integer type, but got {index_dtype}."
            )
        if x.shape[axis] == 0:
            raise value_problem(
                "argmin and argmax require non-empty reduced dimension."
                f" operand.shape={x.shape} {axis=}",
                x,
                why="An empty axis has no positions.",
            )
        dtype_arguments.check_holds(name, x.shape[axis] - 1, index_dtype)
        return shaped(x.shape[:axis] + x.shape[axis + 1 :], index_dtype)

    def batch(axis: Any, args: Any, dims: Any, *, axes: Any, index_dtype: Any) -> Any:
        moved, lane = drop_axes(dims[0], axes)
        return out.bind(args[0], axes=moved, index_dtype=index_dtype), lane

    def lower(ctx: Any, x: Any, *, axes: Any, index_dtype: Any) -> Any:
        x, aval = from_two_bits(ctx, x, ctx.avals_in[0])
        return _emit_position(ctx, x, aval, axes[0], index_dtype, direction, worst(aval.dtype))

    out.abstract = abstract
    out.def_sharding(specs=reduction_specs)
    zero_jvp(out)
    out.batch = batch
    out.lower = lower
    out.facts = Facts(workspace=copies(0))
    return out


def _emit_position(ctx, x, aval, axis: int, index_dtype, direction: str, worst):
    """Emit a reduction of (value, position) pairs; nan wins, and ties go to the first."""
    out = ctx.avals_out[0]
    positions = ctx.op("iota", shaped(aval.shape, index_dtype), iota_dimension=ctx.i64(axis))
    cell, index_aval, flag = (shaped((), d) for d in (aval.dtype, index_dtype, dtypes.bool_))
    op = ctx.region_op(
        "stablehlo.reduce",
        [ctx.type(shaped(out.shape, aval.dtype)), ctx.type(out)],
        [x, positions, ctx.constant(worst, cell), ctx.constant(0, index_aval)],
        dimensions=ctx.i64s((axis,)),
    )
    kinds = [ctx.type(cell), ctx.type(index_aval)] * 2
    with ctx.block(op.regions[0], *kinds) as (a, i, b, j):
        nan_a = emit_compare(ctx, "NE", a, a, cell)
        beats = emit_precedes(ctx, direction, a, b, cell)
        tie = emit_compare(ctx, "EQ", a, b, cell)
        if (
            ctx.platform != "cpu"
        ):  # CPUs reduce in order, so that `a` precedes `b` if both are nan
            nan_b = emit_compare(ctx, "NE", b, b, cell)
            tie = ctx.op("or", flag, tie, ctx.op("and", flag, nan_a, nan_b))
            nan_a = ctx.op("and", flag, nan_a, ctx.op("not", flag, nan_b))
        wins = ctx.op("or", flag, beats, nan_a)
        earlier = emit_compare(ctx, "LT", i, j, index_aval)
        first = ctx.op("or", flag, wins, ctx.op("and", flag, tie, earlier))
        ctx.return_(
            ctx.op("select", cell, first, a, b), ctx.op("select", index_aval, first, i, j)
        )
    return op.results[1]


argmax_p = position("argmax", "GT", lowest)
argmin_p = position("argmin", "LT", highest)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the largest element along an axis: the first, or a nan's.

    Args:
      operand: an array with at least one element along `axis`.
      axis: the axis, non-negative; it disappears.
      index_dtype: the integer dtype of the result.

    Returns:
      Positions counted from 0, an array of `index_dtype` without `axis`.

    Raises:
      TypeError: `index_dtype` is not an integer dtype.
      ValueError: the axis does not exist or is empty.

    Example:
      >>> import minijax.numpy as jnp
      >>> argmax(jnp.array([1, 5, 5]), 0, 'int32')
      Array(1, dtype=int32)
    """
    dtype = user_dtype(index_dtype, "argmax")
    return argmax_p.bind(operand, axes=int_tuple((axis,), "axis"), index_dtype=dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the smallest element along an axis: the first, or a nan's.

    Args:
      operand: an array with at least one element along `axis`.
      axis: the axis, non-negative; it disappears.
      index_dtype: the integer dtype of the result.

    Returns:
      Positions counted from 0, an array of `index_dtype` without `axis`.

    Raises:
      TypeError: `index_dtype` is not an integer dtype.
      ValueError: the axis does not exist or is empty.

    Example:
      >>> import minijax.numpy as jnp
      >>> argmin(jnp.array([5, 1, 1]), 0, 'int32')
      Array(1, dtype=int32)
    """
    dtype = user_dtype(index_dtype, "argmin")
    return argmin_p.bind(operand, axes=int_tuple((axis,), "axis"), index_dtype=dtype)
