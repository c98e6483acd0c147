"""Sorting, and finding the largest elements.

The order of floats is total: -inf ... inf, NaN.  All NaNs are equal, and so are both zeros.
Complex numbers are ordered by real, then imaginary part.  The derivative of a sort moves
tangents as the sort moved the values: it sorts an index along with them, and gathers.

On the CPU, a sort by one key of up to 32 bits sorts (key, index) packed into one integer.
The compiler has native code for that, several times faster than a comparison program.
Programs over several devices do not use it.

Next: dot/dot.py.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib import _jax

from ..analysis.cost_model import copies
from ..base import util
from ..base.util import canonical_axis
from ..ir import core
from ..ir.core import ByPlatform
from ..ir.jaxpr import ClosedJaxpr
from ..passes.ad_util import Zero, core_ops
from ..passes.batch import move_lane
from ..passes.stage import stage_closed
from ..runtime.lowering.context import typed_call
from ..symbolic.dims import SymbolicDim, exceeds
from ..types import dtypes
from ..types.avals import shaped
from . import dtype_arguments
from .gather.dimension_numbers import GatherDimensionNumbers
from .gather.gather import gather
from .math.cast import from_two_bits
from .math.logic import gt, lt
from .shape.creation import broadcasted_iota, zero_array
from .shape.shapes import expand_dims, primitive, size_of, type_problem, value_problem
from .sharding_specs import (
    check_replicated,
    elementwise_specs,
    replicated_axes_specs,
)

__all__ = (
    "sort_p",
    "sort",
    "sort_key_val",
    "top_k_p",
    "top_k",
    "approx_top_k_p",
    "approx_max_k",
    "approx_min_k",
)

# ------------------------------------------------------------------------------- sort


def _sort_type(*xs: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    shapes = [x.shape for x in xs]
    if len(set(shapes)) > 1:
        raise type_problem(
            f"Arguments to sort must have equal shapes, got: {' '.join(map(str, shapes))}",
            *xs,
            why="The arrays are permuted together, element by element.",
        )
    for i, x in enumerate(xs[:num_keys]):
        if dtypes.is_extended(x.dtype):
            raise type_problem(
                f"sort does not accept dtype {x.dtype} at position {i}.",
                x,
                why="Opaque elements have no order.",
                tries=["random.key_data(keys)"],
            )
    return list(xs)


def _sort_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, **params: Any
) -> Any:
    shape = core.aval_of(primals[0]).shape
    kind = dtypes.uint64 if exceeds(shape[dimension], 2**32 - 1) else dtypes.uint32
    positions = broadcasted_iota(kind, shape, dimension)
    *outs, permutation = sort_p.bind(*primals, positions, dimension=dimension, **params)
    index = expand_dims(permutation, (len(shape),))
    return outs, [
        Zero(core.aval_of(out).to_tangent())
        if type(t) is Zero
        else _take_along(t, index, dimension)
        for out, t in zip(outs, tangents, strict=True)
    ]


def _take_along(x: Any, index: Any, axis: int) -> Any:
    """Return `x` at positions `index[..., 0]` along one axis; other axes are batch axes."""
    aval, ndim = core.aval_of(x), len(core.aval_of(x).shape)
    if not aval.size:
        return zero_array(shaped(core.aval_of(index).shape[:-1], aval.dtype))
    others = tuple(d for d in range(ndim) if d != axis)
    dims = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(x, index, dims, (1,) * ndim)


def _sort_batch(axis, args, dims, *, dimension: int, **params):
    lane = next(d for d in dims if d is not None)
    xs = [move_lane(x, axis, d, lane) for x, d in zip(args, dims, strict=True)]
    outs = sort_p.bind(*xs, dimension=dimension + (dimension >= lane), **params)
    return outs, [lane] * len(outs)


def _sort_lower(ctx, *xs, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    xs, avals = zip(*[from_two_bits(ctx, x, a) for x, a in zip(xs, ctx.avals_in)])
    op = ctx.region_op(
        "stablehlo.sort",
        [x.type for x in xs],
        xs,
        dimension=ctx.i64(dimension),
        is_stable=ctx.bool(is_stable),
    )
    scalars = [shaped((), a.dtype) for a in avals]
    with ctx.block(op.regions[0], *(ctx.type(s) for s in scalars for _ in "xy")) as args:
        pairs = [(args[2 * i], args[2 * i + 1], scalars[i]) for i in range(num_keys)]
        ctx.return_(_emit_less(ctx, pairs))
    return [
        y if a.dtype == out.dtype else ctx.op("convert", out, y)
        for y, a, out in zip(op.results, avals, ctx.avals_out, strict=True)
    ]


def _emit_less(ctx: Any, pairs: Sequence[tuple[Any, Any, Any]]) -> Any:
    """Emit whether the first keys precede the second keys, compared lexicographically."""
    flag = shaped((), dtypes.bool_)
    key_parts = [key_part for pair in pairs for key_part in _emit_key_parts(ctx, *pair)]
    less = None
    for x, y, kind in reversed(key_parts):
        before = _compare(ctx, x, y, flag, "LT", kind)
        if less is not None:  # where equal, the later keys decide
            equal = _compare(ctx, x, y, flag, "EQ", kind)
            before = ctx.op("or", flag, before, ctx.op("and", flag, equal, less))
        less = before
    return less


def _emit_key_parts(ctx: Any, x: Any, y: Any, aval: Any) -> list[tuple[Any, Any, str]]:
    """Return the comparisons of a key: (x, y, StableHLO's kind of comparison)."""
    if dtypes.is_complex(aval.dtype):
        part_aval = shaped((), dtypes.real_of(aval.dtype))
        return [
            _emit_key_parts(ctx, ctx.op(op, part_aval, x), ctx.op(op, part_aval, y), part_aval)[
                0
            ]
            for op in ("real", "imag")
        ]
    if dtypes.is_float(aval.dtype):
        x, y = _emit_canonical(ctx, x, aval), _emit_canonical(ctx, y, aval)
        return [(x, y, "TOTALORDER")]
    signed = dtypes.is_signed(aval.dtype)
    return [(x, y, "SIGNED" if signed else "UNSIGNED")]


def _emit_canonical(ctx: Any, x: Any, aval: Any) -> Any:
    """Emit `x` with one zero and one NaN, in the form that the GPU's radix sort matches."""
    flag = shaped(aval.shape, dtypes.bool_)
    zero, nan = ctx.constant(0, aval), ctx.constant(np.nan, aval)
    is_zero = _compare(ctx, x, zero, flag, "EQ", "FLOAT")
    is_nan = _compare(ctx, x, x, flag, "NE", "FLOAT")
    return ctx.op("select", aval, is_nan, nan, ctx.op("select", aval, is_zero, zero, x))


def _compare(ctx: Any, x: Any, y: Any, flag: Any, direction: str, kind: str) -> Any:
    return ctx.op(
        "compare",
        flag,
        x,
        y,
        comparison_direction=ctx.parse(f"#stablehlo<comparison_direction {direction}>"),
        compare_type=ctx.parse(f"#stablehlo<comparison_type {kind}>"),
    )


def _sort_lower_cpu(
    ctx: Any, *xs: Any, dimension: int, is_stable: bool, num_keys: int
) -> list[Any]:
    """Sort a 32-bit key and its index packed into 64 bits; then gather each operand.

    Values that the compiler shards use the general sort: the gathers would need all-gathers
    of their operands, and the packed key three times the memory.
    """
    key = ctx.avals_in[0]
    alone = len(xs) == 1 and not dtypes.is_float(key.dtype)
    if num_keys > 1 or alone or not _is_short(key, dimension) or ctx.is_sharded_by_compiler:
        return _sort_lower(
            ctx, *xs, dimension=dimension, is_stable=is_stable, num_keys=num_keys
        )
    wide = shaped(key.shape, dtypes.int64)
    high = ctx.op("convert", wide, _emit_ordinal(ctx, xs[0], key))
    high = ctx.op("shift_left", wide, high, ctx.constant(32, wide))
    positions = ctx.op("iota", wide, iota_dimension=ctx.i64(dimension))
    op = ctx.region_op(
        "stablehlo.sort",
        [ctx.type(wide)],
        [ctx.op("or", wide, high, positions)],
        dimension=ctx.i64(dimension),
        is_stable=ctx.bool(False),  # with its index, each key is unique
    )
    scalar = shaped((), dtypes.int64)
    with ctx.block(op.regions[0], ctx.type(scalar), ctx.type(scalar)) as (x, y):
        ctx.return_(_compare(ctx, x, y, shaped((), dtypes.bool_), "LT", "SIGNED"))
    low = ctx.op("convert", shaped(key.shape, dtypes.int32), op.result)
    index_aval = shaped((*key.shape, 1), dtypes.int32)
    index = ctx.op("reshape", index_aval, low)
    avals = [shaped(a.shape, a.dtype) for a in ctx.avals_in]
    return [
        ctx.fun(
            functools.partial(_take_along, axis=dimension), x, index, avals=[aval, index_aval]
        )[0]
        for x, aval in zip(xs, avals, strict=True)
    ]


def _is_short(key: Any, dimension: int) -> bool:
    """Whether key and index fit into 64 bits together."""
    if dtypes.is_complex(key.dtype) or dtypes.is_extended(key.dtype):
        return False
    n = key.shape[dimension]
    is_concrete = not isinstance(n, SymbolicDim)
    return key.dtype.itemsize <= 4 and is_concrete and 1 < n < 2**31


def _emit_ordinal(ctx: Any, x: Any, aval: Any) -> Any:
    """Emit a 32-bit integer that is ordered as the key is."""
    number = shaped(aval.shape, dtypes.int32)
    if dtypes.is_float(aval.dtype):
        single = shaped(aval.shape, dtypes.float32)
        if aval.dtype != dtypes.float32:
            x = ctx.op("convert", single, x)
        bits = ctx.op("bitcast_convert", number, _emit_canonical(ctx, x, single))
        # Larger bits mean smaller negative floats: flip all bits except the sign.
        sign = ctx.op("shift_right_arithmetic", number, bits, ctx.constant(31, number))
        turn = ctx.op("and", number, sign, ctx.constant(2**31 - 1, number))
        return ctx.op("xor", number, bits, turn)
    if aval.dtype == dtypes.uint32:
        flipped = ctx.op("xor", aval, x, ctx.constant(2**31, aval))
        return ctx.op("bitcast_convert", number, flipped)
    return ctx.op("convert", number, x)


sort_p = primitive(
    "sort",
    type=_sort_type,
    jvp=_sort_jvp,
    batch=_sort_batch,
    lower=ByPlatform(_sort_lower, cpu=_sort_lower_cpu),
    many=True,
    makes_no_nans=True,
    keeps_finite=True,
    workspace=copies(1),
)


def _sort_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    for spec, aval in zip(specs, avals, strict=True):
        check_replicated(
            spec,
            [aval],
            [params["dimension"]],
            "Arguments to sort must be unsharded over the sorting dimension.",
        )
    return elementwise_specs("sort")(specs, avals, outs, params)


sort_p.def_sharding(specs=_sort_specs)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort an array along an axis, or several arrays together.

    Args:
      operand: an array, or a sequence of arrays of one shape, all permuted as the keys.
      dimension: the axis.
      is_stable: whether elements with equal keys keep their order.
      num_keys: how many of the arrays, from the first, are keys.

    Returns:
      The sorted array, or a tuple of arrays.

    Raises:
      TypeError: shapes differ.
      ValueError: the axis does not exist, or there are fewer than `num_keys` arrays.

    Example:
      >>> import minijax.numpy as jnp
      >>> sort((jnp.array([3, 1, 2]), jnp.array([0, 1, 2])))[1]
      Array([1, 2, 0], dtype=int32)
    """
    several = isinstance(operand, (tuple, list))
    xs = tuple(operand) if several else (operand,)
    if not xs:
        raise type_problem("Sort requires at least one operand", why="A sort needs a key.")
    if not 1 <= num_keys <= len(xs):
        what = f"{num_keys=} must be between 1 and len(operand)={len(xs)}"
        if not several:
            what = f"num_keys={num_keys} must equal 1 for a single operand."
        raise value_problem(what, why="The keys are the first operands.")
    outs = sort_p.bind(
        *xs,
        dimension=canonical_axis(dimension, len(core.aval_of(xs[0]).shape)),
        is_stable=bool(is_stable),
        num_keys=num_keys,
    )
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """Sort `keys` along an axis, and move `values` along with them.

    Args:
      keys: an array of any dtype; nan comes last.
      values: an array of the same shape and any dtype.
      dimension: the axis; a negative one counts from the end.
      is_stable: whether equal keys keep their order.

    Returns:
      (keys, values), of their shapes and dtypes.

    Example:
      >>> import minijax.numpy as jnp
      >>> sort_key_val(jnp.array([3, 1, 2]), jnp.array([0, 1, 2]))[1]
      Array([1, 2, 0], dtype=int32)
    """
    keys, values = sort((keys, values), dimension, is_stable)
    return keys, values


# ------------------------------------------------------------------------------ top_k


def _top_k_type(x: Any, *, k: int, axis: int) -> list[Any]:
    if k < 0:
        raise value_problem(
            f"k argument to top_k must be nonnegative, got {k}",
            x,
            why="`k` is a number of elements.",
        )
    if dtypes.is_complex(x.dtype):
        raise value_problem(
            "top_k is not compatible with complex inputs.",
            x,
            why="Complex numbers are not ordered.",
            tries=["top_k of jnp.abs(x)"],
        )
    if x.shape[axis] < k:
        raise value_problem(
            "k argument to top_k must be no larger than size along axis; got"
            f" k={k} with shape={list(x.shape)} and axis={axis}",
            x,
            why="`k` exceeds the number of elements.",
        )
    dtype_arguments.check_holds("top_k", x.shape[axis] - 1, dtypes.int32)
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    weak = x.weak_type
    return [shaped(shape, x.dtype, weak), shaped(shape, dtypes.int32, weak)]


def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    out, index = top_k_p.bind(*primals, **params)
    return _selected_jvp(out, index, tangents[0], params["axis"])


def _selected_jvp(out: Any, index: Any, t: Any, axis: int) -> Any:
    """Return results and tangents of elements that `index` selects along an axis."""
    index_tangent = Zero(core.aval_of(index).to_tangent())
    if type(t) is Zero:
        return [out, index], [Zero(core.aval_of(out).to_tangent()), index_tangent]
    indices = core_ops.reshape(index, (*core.aval_of(index).shape, 1))
    return [out, index], [_take_along(t, indices, axis), index_tangent]


def _top_k_batch(lanes: Any, args: Any, dims: Any, *, k: int, axis: int) -> Any:
    lane = dims[0]
    return top_k_p.bind(args[0], k=k, axis=axis + (axis >= lane)), [lane, lane]


_NARROW = {
    dtypes.int2: dtypes.int8,
    dtypes.int4: dtypes.int8,
    dtypes.uint2: dtypes.uint8,
    dtypes.uint4: dtypes.uint8,
}


def _top_k_lower(ctx: Any, x: Any, *, k: int, axis: int) -> list[Any]:
    """Emit `chlo.top_k`, which needs the last axis and dtypes of at least 8 bits."""
    aval, outs = ctx.avals_in[0], ctx.avals_out
    permutation = [*(d for d in range(aval.ndim) if d != axis), axis]
    inverse = np.argsort(permutation).tolist()
    if aval.dtype in _NARROW:
        aval = shaped(aval.shape, _NARROW[aval.dtype])
        x = ctx.op("convert", aval, x)
    if axis != aval.ndim - 1:
        aval = shaped(tuple(aval.shape[d] for d in permutation), aval.dtype)
        x = ctx.op("transpose", aval, x, permutation=ctx.i64s(permutation))
    shape = (*aval.shape[:-1], k)
    out_avals = [shaped(shape, aval.dtype), shaped(shape, dtypes.int32)]
    op = ctx.create("chlo.top_k", [ctx.type(a) for a in out_avals], [x], k=ctx.i64(k))
    results = list(op.results)
    if axis != aval.ndim - 1:
        for i, a in enumerate(out_avals):
            out_avals[i] = shaped(tuple(a.shape[d] for d in inverse), a.dtype)
            results[i] = ctx.op(
                "transpose", out_avals[i], results[i], permutation=ctx.i64s(inverse)
            )
    if out_avals[0].dtype != outs[0].dtype:
        results[0] = ctx.op("convert", outs[0], results[0])
    return results


top_k_p = primitive(
    "top_k",
    type=_top_k_type,
    jvp=_top_k_jvp,
    batch=_top_k_batch,
    lower=_top_k_lower,
    many=True,
    makes_no_nans=True,
    workspace=copies(1),
)
top_k_p.def_sharding(
    specs=replicated_axes_specs(
        lambda avals, params: [params["axis"]],
        "top_k operand must be unsharded over the axis that is searched.",
    )
)


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """Return the `k` largest elements along an axis, in descending order, and their indices.

    Args:
      operand: an array of any dtype that is not complex.
      k: how many; among equal elements the first ones are taken.
      axis: the axis.

    Returns:
      [values, indices], with size `k` along the axis.

    Raises:
      ValueError: `k` exceeds the number of elements, or the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> top_k(jnp.array([1.0, 3.0, 2.0]), 2)
      [Array([3., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis(axis, len(core.aval_of(operand).shape))
    return list(top_k_p.bind(operand, k=size_of(k, "top_k: k"), axis=axis))


# ----------------------------------------------------------------------- approx_top_k


def _approx_type(
    x: Any,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[Any]:
    if not dtypes.is_float(x.dtype):
        raise value_problem("operand must be a floating type", x, why="XLA accepts no other.")
    shape = list(x.shape)
    axis = canonical_axis(reduction_dimension, len(shape))
    n = shape[axis]
    dtype_arguments.check_holds("approx_top_k", n - 1, dtypes.int32)
    if k <= 0 or n < k:
        raise value_problem(
            f"k must be smaller than the size of reduction_dim {n}, got {k}"
            if k > 0
            else f"k must be positive, got {k}",
            x,
            why="`k` exceeds the number of elements.",
        )
    shape[axis] = k
    if not aggregate_to_topk:
        shape[axis] = _jax.approx_top_k_reduction_output_size(
            n, len(shape), k, recall_target, aggregate_to_topk, reduction_input_size_override
        )[0]
    weak = x.weak_type
    return [shaped(tuple(shape), d, weak) for d in (x.dtype, dtypes.int32)]


def _approx_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    out, index = approx_top_k_p.bind(*primals, **params)
    ndim = len(core.aval_of(out).shape)
    axis = canonical_axis(params["reduction_dimension"], ndim)
    return _selected_jvp(out, index, tangents[0], axis)


def _approx_batch(lanes, args, dims, *, reduction_dimension: int, **params):
    lane, ndim = dims[0], len(core.aval_of(args[0]).shape) - 1
    axis = canonical_axis(reduction_dimension, ndim)
    outs = approx_top_k_p.bind(args[0], reduction_dimension=axis + (axis >= lane), **params)
    return outs, [lane, lane]


def _approx_lower(
    ctx: Any,
    x: Any,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[Any]:
    """Emit XLA's ApproxTopK: a partial reduction on TPUs, a sort on other platforms."""
    aval = ctx.avals_in[0]
    axis = canonical_axis(reduction_dimension, aval.ndim)
    worst = -np.inf if is_max_k else np.inf
    index = shaped(aval.shape, dtypes.int32)
    operands = [
        x,
        ctx.op("iota", index, iota_dimension=ctx.i64(axis)),
        ctx.constant(worst, shaped((), aval.dtype)),
        ctx.constant(-1, shaped((), dtypes.int32)),
    ]
    name, closed = _approx_comparator(aval.dtype, is_max_k)
    config = (
        f"top_k = {k} : i64, reduction_dim = {axis} : i64,"
        f" recall_target = {recall_target:.9e} : f32,"
        f" aggregate_to_topk = {str(aggregate_to_topk).lower()},"
        f" reduction_input_size_override = {reduction_input_size_override} : i64"
    )
    if ctx.platform != "tpu":
        config += ", is_fallback = true"
    attributes = {
        "call_target_name": ctx.string("ApproxTopK"),
        "called_computations": ctx.parse(f"[@{ctx.symbol_of(closed, name)}]"),
        **typed_call(ctx, ctx.parse(f"{{{config}}}")),
    }
    results = [ctx.type(a) for a in ctx.avals_out]
    return list(ctx.create("stablehlo.custom_call", results, operands, **attributes).results)


@util.cached(64, core.tracing_context)
def _approx_comparator(dtype: Any, is_max_k: bool) -> tuple[str, ClosedJaxpr]:
    """Return name and jaxpr of (x, y, index of x, index of y) -> whether x ranks first."""
    value, index = shaped((), dtype), shaped((), dtypes.int32)
    better = gt if is_max_k else lt
    closed = stage_closed(lambda x, y, *_: [better(x, y)], [value, value, index, index])
    name = f"top_k_{'gt' if is_max_k else 'lt'}_{dtypes.short_name(dtype)}_comparator"
    return name, closed


approx_top_k_p = primitive(
    "approx_top_k",
    type=_approx_type,
    jvp=_approx_jvp,
    batch=_approx_batch,
    lower=_approx_lower,
    many=True,
    workspace=copies(1),
)
approx_top_k_p.def_sharding(
    specs=replicated_axes_specs(
        lambda avals, params: [params["reduction_dimension"]],
        "approx_top_k operand must be unsharded over the axis that is searched.",
    )
)


def _approx(
    operand: Any,
    k: int,
    dimension: int,
    recall: float,
    largest: bool,
    override: int,
    aggregate: bool,
) -> tuple[Any, Any]:
    out, index = approx_top_k_p.bind(
        operand,
        k=int(k),
        reduction_dimension=int(dimension),
        recall_target=float(recall),
        is_max_k=largest,
        reduction_input_size_override=int(override),
        aggregate_to_topk=bool(aggregate),
    )
    return out, index


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """Return approximately the `k` largest elements along an axis.

    The result is approximate and fast on TPUs, and exact on other platforms.

    Args:
      operand: array of floats.
      k: how many.
      reduction_dimension: the axis.
      recall_target: how many of the true ones to find, on average: 0 to 1.
      reduction_input_size_override: the axis's size over all devices, if it is sharded.
      aggregate_to_topk: False returns the candidates unsorted, and more than `k`.

    Returns:
      (values, indices), of `operand`'s dtype and int32, with `k` elements along the
      axis, descending.

    Raises:
      ValueError: `k` exceeds the number of elements.

    Example:
      >>> import minijax.numpy as jnp
      >>> approx_max_k(jnp.array([1.0, 3.0, 2.0]), 2)[1]
      Array([1, 2], dtype=int32)

    Source: F. Chern et al., TPU-KNN: K nearest neighbor search at peak FLOP/s, 2022.
    """
    return _approx(
        operand,
        k,
        reduction_dimension,
        recall_target,
        True,
        reduction_input_size_override,
        aggregate_to_topk,
    )


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """Return approximately the `k` smallest elements along an axis.

    The result is approximate and fast on TPUs, and exact on other platforms.

    Args:
      operand: array of floats.
      k: how many.
      reduction_dimension: the axis.
      recall_target, reduction_input_size_override, aggregate_to_topk: as for
        `approx_max_k`.

    Returns:
      (values, indices), of `operand`'s dtype and int32, with `k` elements along the
      axis, ascending.

    Raises:
      ValueError: `k` exceeds the number of elements.

    Example:
      >>> import minijax.numpy as jnp
      >>> approx_min_k(jnp.array([1.0, 3.0, 2.0]), 2)[1]
      Array([0, 2], dtype=int32)

    Source: F. Chern et al., TPU-KNN: K nearest neighbor search at peak FLOP/s, 2022.
    """
    return _approx(
        operand,
        k,
        reduction_dimension,
        recall_target,
        False,
        reduction_input_size_override,
        aggregate_to_topk,
    )
