"""Sums, maxima and minima over windows that slide along axes.

reduce_window_sum is linear.  The tangent of reduce_window_max is the tangent of the element
chosen in each window: select_and_gather_add.  Its transpose adds each cotangent to the chosen
element: select_and_scatter_add.

window_padding.py computes the number of windows.
Source: the StableHLO specification, reduce_window and select_and_scatter.
Next: reduce_window.py, windows under any computation.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...analysis.cost_model import copies
from ...base import errors
from ...ir import core
from ...ir.core import ByPlatform, Primitive
from ...ir.facts import Facts
from ...passes.ad_util import UndefinedPrimal, Zero
from ...passes.batch import move_lane
from ...passes.stage import stage
from ...passes.transpose import backward_pass
from ...types import dtypes
from ...types.avals import shaped
from ..axis_dependence import over_windows, windowed
from ..elementwise import ANY, NUMBER, check_kind, linear_in_first
from ..math.algebraic import add_p
from ..math.logic import ge_p, le_p, select
from ..math.order import max_p, min_p
from ..shape.concatenation import pad
from ..shape.shapes import broadcast
from ..shape.slicing import slice as slice_
from ..window_padding import dilated, ints, is_open, padded, window_count
from .over_axes import emit_monoid, highest, lowest

__all__ = (
    "reduce_window_shape_tuple",
    "reduce_window_sum_p",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
)

# -------------------------------------------------------------------- window parameters


def check_windows(
    name: str,
    shape: Sequence[int],
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any,
    window_dilation: Any,
) -> tuple[int, ...]:
    """Return the shape of a result; raise TypeError for windows that do not match."""
    if len(window_dimensions) != len(shape):
        raise errors.type_error(
            f"{name} got the wrong number of window_dimensions for operand: got"
            f" operand shape {tuple(shape)} with window_dimensions"
            f" {window_dimensions}.",
            tries=["1 for an axis that has no windows"],
        )
    for what, values in (
        ("window_dimensions", window_dimensions),
        ("window_strides", window_strides),
        ("base_dilation", base_dilation),
        ("window_dilation", window_dilation),
    ):
        if len(values) != len(shape):
            raise TypeError(
                f"{name} got inconsistent {what} and window_dimensions: got {what}"
                f" {values} and window_dimensions {window_dimensions}."
            )
        if any(v <= 0 for v in values):
            rule = f"{name} {what} must have every element be strictly positive"
            if "dilation" in what:
                rule = "All dilations must be positive"
            raise TypeError(f"{rule}, got {values}.")
    if len(padding) != len(shape):
        raise ValueError(
            f"{name} padding must have a (low, high) pair for each of the {len(shape)}"
            f" axes, got {padding}."
        )
    sizes = zip(
        shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
        strict=True,
    )
    return tuple(
        window_count(dilated(n, b) + lo + hi, dilated(k, d), s)
        for n, k, s, (lo, hi), b, d in sizes
    )


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return how many windows there are along each axis.

    Args:
      operand_shape: the shape of the operand, of n axes.
      window_dimensions, window_strides: n sizes and n steps of the window.
      padding: n pairs (low, high) of elements to add.
      base_dilation, window_dilation: n factors by which operand and window are dilated, or
        None: ones.

    Returns:
      A tuple of n ints.

    Example:
      >>> reduce_window_shape_tuple((4, 6), (2, 3), (1, 2), ((0, 0), (1, 1)))
      (3, 3)
    """
    n = len(operand_shape)
    return check_windows(
        "reduce_window",
        operand_shape,
        window_dimensions,
        window_strides,
        padding,
        ints(base_dilation, "base_dilation", n),
        ints(window_dilation, "window_dilation", n),
    )


def window_slices(
    x: Any,
    fill: Any,
    *,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any,
    window_dilation: Any,
) -> list[Any]:
    """Return for each offset in a window the elements of all windows at that offset."""
    counts = reduce_window_shape_tuple(
        core.aval_of(x).shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    config = [(lo, hi, b - 1) for (lo, hi), b in zip(padding, base_dilation, strict=True)]
    if any(c != (0, 0, 0) for c in config):
        x = pad(x, fill, config)
    if 0 in counts:
        return [broadcast(fill, counts)]
    slices = []
    for offset in itertools.product(*map(range, window_dimensions)):
        start = [o * d for o, d in zip(offset, window_dilation, strict=True)]
        stop = [
            first + (n - 1) * s + 1
            for first, n, s in zip(start, counts, window_strides, strict=True)
        ]
        slices.append(slice_(x, start, stop, window_strides))
    return slices


def batch_windows(lane: int, params: dict[str, Any]) -> dict[str, Any]:
    """Return the params of windows of size 1 along a lane axis at `lane`."""
    out = dict(params)
    for name, idle in _LANE_PARAMS.items():
        if name in out:
            values = list(out[name])
            values.insert(lane, idle)
            out[name] = tuple(values)
    return out


_LANE_PARAMS: dict[str, Any] = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def emit_windows(
    ctx: Any,
    operands: Sequence[Any],
    inits: Sequence[Any],
    avals: Sequence[Any],
    fill: Callable[[Any], None],
    params: dict[str, Any],
) -> list[Any]:
    """Emit stablehlo.reduce_window; `fill` fills its region, which combines elements."""
    if 0 in avals[0].shape:
        return [ctx.constant(0, a) for a in avals]
    if is_open(params["padding"]):
        pads, dilation = params["padding"], params["base_dilation"]
        shape = ctx.avals_in[0].shape
        operands = [
            padded(ctx, x, shaped(shape, out.dtype), init, pads, dilation)[0]
            for x, init, out in zip(operands, inits, avals, strict=True)
        ]
        n = len(pads)
        params = {**params, "padding": ((0, 0),) * n, "base_dilation": (1,) * n}
    op = ctx.region_op(
        "stablehlo.reduce_window",
        [ctx.type(a) for a in avals],
        [*operands, *inits],
        window_dimensions=ctx.i64s(params["window_dimensions"]),
        window_strides=ctx.i64s(params["window_strides"]),
        base_dilations=ctx.i64s(params["base_dilation"]),
        window_dilations=ctx.i64s(params["window_dilation"]),
        padding=ctx.dense(
            np.asarray(params["padding"], np.int64).reshape(-1, 2),
            shaped((len(params["padding"]), 2), dtypes.int64),
        ),
    )
    fill(op.regions[0])
    return list(op.results)


def fill_with(ctx, region, fun: Callable[..., Any], cells: Sequence[Any]) -> None:
    """Fill a region with a function of scalars of these types."""
    with ctx.block(region, *map(ctx.type, cells)) as scalars:
        ctx.return_(*ctx.fun(fun, *scalars, avals=cells))


# ----------------------------------------------------------- sums, maxima, minima


def _monoid(
    name: str, combine: Primitive, neutral: Callable[[Any], Any], accepts: Any
) -> Primitive:
    prim = Primitive(name)

    def abstract(x: Any, **params: Any) -> Any:
        check_kind(name, x, accepts, 0, 1)
        return shaped(check_windows(name, x.shape, **params), x.dtype, x.weak_type)

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        return prim.bind(args[0], **batch_windows(dims[0], params)), dims[0]

    def lower(ctx: Any, x: Any, **params: Any) -> Any:
        (out,) = ctx.avals_out
        cell = shaped((), out.dtype)
        init = ctx.constant(neutral(out.dtype), cell)
        fill = functools.partial(emit_monoid, ctx, prim=combine, cell=cell)
        return emit_windows(ctx, [x], [init], [out], fill, params)[0]

    prim.abstract = abstract
    prim.def_sharding(specs=window_specs)
    prim.batch = batch
    prim.lower = lower
    prim.facts = Facts(
        axes_of=windowed,
        flops=lambda ins, outs, params: outs[0].size * math.prod(params["window_dimensions"]),
    )
    return prim


def window_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give results the first operand's spec: shards exchange the edges of windows."""
    return [specs[0] for _ in outs]


def _sum_transpose(
    ct, x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation
) -> list[Any]:
    """Dilate the cotangent by the strides, and sum it over reversed windows."""
    config = []
    for n, p, k, s, (lo, _), b, d in zip(
        x.aval.shape,
        core.aval_of(ct).shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
        strict=True,
    ):
        window_reach = (k - 1) * d
        low = window_reach - lo
        config.append((low, dilated(n, b) + window_reach - dilated(p, s) - low, s - 1))
    ct = pad(ct, dtypes.canonical(x.aval.dtype).type(0), config)
    ones = (1,) * len(config)
    return [
        reduce_window_sum_p.bind(
            ct,
            window_dimensions=window_dimensions,
            window_strides=base_dilation,
            padding=((0, 0),) * len(config),
            base_dilation=ones,
            window_dilation=window_dilation,
        )
    ]


reduce_window_sum_p = _monoid("reduce_window_sum", add_p, lambda _: 0, NUMBER)
linear_in_first(reduce_window_sum_p, _sum_transpose)


def _set_chosen_jvp(prim: Primitive, better: Primitive) -> None:
    """Set the jvp of a maximum or minimum: the tangent of the chosen element."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = prim.bind(x, **params)
        if type(t) is Zero:
            return out, Zero(core.aval_of(out).to_tangent())
        return out, select_and_gather_add_p.bind(t, x, select_prim=better, **params)

    prim.jvp = jvp


reduce_window_max_p = _monoid("reduce_window_max", max_p, lowest, ANY)
_set_chosen_jvp(reduce_window_max_p, ge_p)
reduce_window_min_p = _monoid("reduce_window_min", min_p, highest, ANY)
_set_chosen_jvp(reduce_window_min_p, le_p)


# ---------------------------------------------- the chosen element's tangent, and back


def _never_chosen(select_prim: Primitive) -> Callable[[Any], Any]:
    """Return the function that returns the value of a dtype that is never chosen."""
    return lowest if select_prim.name in ("ge", "gt") else highest


select_and_gather_add_p = Primitive("select_and_gather_add")
select_and_gather_add_p.def_sharding(specs=window_specs)


def _gather_add_abstract(t, x, *, select_prim: Primitive, **params):
    if t.shape != x.shape:
        raise TypeError(
            "select_and_gather_add tangents and operand shapes must match, got"
            f" {t.shape} and {x.shape}."
        )
    return shaped(check_windows("select_and_gather_add", x.shape, **params), t.dtype)


def _chosen_tangents(t: Any, x: Any, *, select_prim: Primitive, **params: Any) -> Any:
    """Compute select_and_gather_add by slices; it is linear in t."""
    xs = window_slices(x, _scalar(_never_chosen(select_prim), x), **params)
    ts = window_slices(t, _scalar(lambda _: 0, t), **params)
    best, chosen = xs[0], ts[0]
    for value, tangent in zip(xs[1:], ts[1:], strict=True):
        keep_best = select_prim.bind(best, value)
        best, chosen = select(keep_best, best, value), select(keep_best, chosen, tangent)
    return chosen


def _scalar(value: Callable[[Any], Any], x: Any) -> Any:
    """Return a NumPy scalar of the dtype of `x`."""
    dtype = core.aval_of(x).dtype
    return np.asarray(value(dtype)).astype(dtype)[()]


def _gather_add_transpose(
    ct, t, x, *, select_prim: Primitive, base_dilation, window_dilation, **params
) -> list[Any]:
    if {*base_dilation, *window_dilation} <= {1}:
        back = select_and_scatter_add_p.bind(ct, x, select_prim=select_prim, **params)
        return [back, None]
    # StableHLO scatters only without dilations; the version by slices has a transpose.
    jaxpr, consts = stage(
        lambda tangent: [
            _chosen_tangents(
                tangent,
                x,
                select_prim=select_prim,
                base_dilation=base_dilation,
                window_dilation=window_dilation,
                **params,
            )
        ],
        [t.aval],
    )
    return [*backward_pass(jaxpr, consts, [UndefinedPrimal(t.aval)], [ct]), None]


def _pair_batch(prim: Primitive) -> Callable[..., Any]:
    """Return the batch rule of a primitive of two arrays with windows over the second."""

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        a, b = (move_lane(x, axis, d, 0) for x, d in zip(args, dims, strict=True))
        return prim.bind(a, b, **batch_windows(0, params)), 0

    return batch


def _gather_add_lower(ctx, t, x, *, select_prim: Primitive, **params):
    """Lower to windows over pairs of value and tangent, and keep the better pair."""
    (out,) = ctx.avals_out
    value, tangent = shaped((), ctx.avals_in[1].dtype), shaped((), out.dtype)
    inits = [
        ctx.constant(_never_chosen(select_prim)(value.dtype), value),
        ctx.constant(0, tangent),
    ]

    def better(a: Any, ta: Any, b: Any, tb: Any) -> list[Any]:
        keep_first = select_prim.bind(a, b)
        return [select(keep_first, a, b), select(keep_first, ta, tb)]

    return emit_windows(
        ctx,
        [x, t],
        inits,
        [shaped(out.shape, value.dtype), out],
        lambda region: fill_with(ctx, region, better, [value, tangent] * 2),
        params,
    )[1]


def _gather_add_lower_tpu(ctx: Any, t: Any, x: Any, **params: Any) -> Any:
    """Lower to slices: TPUs support windows only over single arrays."""
    return ctx.fun(functools.partial(_chosen_tangents, **params), t, x)[0]


select_and_gather_add_p.abstract = _gather_add_abstract
linear_in_first(select_and_gather_add_p, _gather_add_transpose)
select_and_gather_add_p.batch = _pair_batch(select_and_gather_add_p)
select_and_gather_add_p.lower = ByPlatform(_gather_add_lower, tpu=_gather_add_lower_tpu)
select_and_gather_add_p.facts = Facts(axes_of=windowed, workspace=copies(3))


def _scatter_add_axes(ins: Any, outs: Any, params: Any) -> list[Any]:
    """Return `axes_of`: a scattered number can affect each element under its window."""
    each = zip(
        outs[0].shape,
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        strict=True,
    )
    axes = [
        (i, over_windows(n, window, stride, low))
        for i, (n, window, stride, (low, _)) in enumerate(each)
    ]
    return [axes, [None] * outs[0].ndim]


select_and_scatter_add_p = Primitive("select_and_scatter_add")
select_and_scatter_add_p.def_sharding(
    specs=lambda specs, avals, outs, params: window_specs(specs[1:], avals[1:], outs, params)
)


def _scatter_add_abstract(source: Any, x: Any, **params: Any) -> Any:
    return shaped(x.shape, source.dtype)


def _scatter_add_transpose(ct: Any, source: Any, x: Any, **params: Any) -> list[Any]:
    ones = (1,) * len(core.aval_of(x).shape)
    gathered = select_and_gather_add_p.bind(
        ct, x, base_dilation=ones, window_dilation=ones, **params
    )
    return [gathered, None]


def _scatter_add_lower(
    ctx: Any,
    source: Any,
    x: Any,
    *,
    select_prim: Primitive,
    padding: Any,
    window_dimensions: Any,
    window_strides: Any,
) -> Any:
    aval, out = ctx.avals_in[1], ctx.avals_out[0]
    if 0 in ctx.avals_in[0].shape or 0 in out.shape:
        return ctx.constant(0, out)
    if not out.shape:  # one window with one element, for which XLA aborts
        return source
    value, scalar = shaped((), aval.dtype), shaped((), out.dtype)
    # Pad by values that are never chosen, scatter, and remove the padding.
    low, high = ([p[i] for p in padding] for i in (0, 1))
    worst = ctx.constant(_never_chosen(select_prim)(aval.dtype), value)
    padded = tuple(n + a + b for n, a, b in zip(aval.shape, low, high, strict=True))
    x = emit_pad(ctx, x, worst, shaped(padded, aval.dtype), low, high)
    zero = ctx.constant(0, scalar)
    op = emit_scatter(
        ctx,
        [x, source, zero],
        shaped(padded, out.dtype),
        window_dimensions,
        window_strides,
        ((0, 0),) * len(low),
    )
    emit_monoid(ctx, op.regions[1], add_p, scalar)
    fill_with(ctx, op.regions[0], select_prim.bind, [value, value])
    return emit_pad(ctx, op.result, zero, out, [-n for n in low], [-n for n in high])


def emit_pad(ctx, x, fill, out, low: Sequence[int], high: Sequence[int]):
    """Emit stablehlo.pad if there is any padding."""
    if not any(low) and not any(high):
        return x
    return ctx.op(
        "pad",
        out,
        x,
        fill,
        edge_padding_low=ctx.i64s(low),
        edge_padding_high=ctx.i64s(high),
        interior_padding=ctx.i64s([0] * len(low)),
    )


def emit_scatter(ctx, operands: Sequence[Any], out, window, strides, padding):
    """Emit stablehlo.select_and_scatter with two empty regions: choose and combine."""
    return ctx.region_op(
        "stablehlo.select_and_scatter",
        [ctx.type(out)],
        operands,
        2,
        window_dimensions=ctx.i64s(window),
        window_strides=ctx.i64s(strides),
        padding=ctx.dense(
            np.asarray(padding, np.int64).reshape(-1, 2),
            shaped((len(padding), 2), dtypes.int64),
        ),
    )


select_and_scatter_add_p.abstract = _scatter_add_abstract
linear_in_first(select_and_scatter_add_p, _scatter_add_transpose)
select_and_scatter_add_p.batch = _pair_batch(select_and_scatter_add_p)
select_and_scatter_add_p.lower = _scatter_add_lower
select_and_scatter_add_p.facts = Facts(axes_of=_scatter_add_axes, workspace=copies(3))
