"""Gather and scatter-add: reading and summing windows at computed positions.

The two are each other's transposes, so they share a file, with the rules that all scatters
have in common.  Dimension numbers, modes and type rules are in dimension_numbers.py.  Under
vmap, indices with lanes become batching dimensions, so index vectors keep their length.

A scatter combines the old element with each update by the jaxpr `update_jaxpr` (None: the
update replaces it).  The order of several updates of one element is unspecified.

Next: scatter.py, the other scatters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...analysis.cost_model import copies
from ...base import util
from ...base.util import canonical_axis, named_after
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import FORWARDS, Facts
from ...ir.jaxpr import ClosedJaxpr
from ...passes.ad_util import Zero, core_ops, instantiate, is_linear
from ...passes.batch import lane_to_front
from ...passes.stage import stage
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import ANY, NUMBER, check_kind, same_dtype
from ..math.algebraic import add, neg, sub
from ..math.logic import lt, select_n
from ..math.order import rem
from ..shape.concatenation import concatenate
from ..shape.creation import zero_array
from ..shape.shapes import expand_dims, int_tuple, primitive, type_problem, value_problem
from ..sharding_specs import unresolved
from .dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    canonical_dimension_numbers,
    common_lanes,
    default_fill,
    gather_attribute,
    gather_dims_of,
    gather_type,
    index_lanes,
    last_starts,
    operand_lanes,
    scatter_attribute,
    scatter_dims_of,
    scatter_type,
    window_sizes,
)

__all__ = (
    "gather_p",
    "gather",
    "index_take",
    "scatter_add_p",
    "scatter_sub_p",
    "scatter_add",
    "scatter_sub",
)

CLIP = GatherScatterMode.CLIP
FILL_OR_DROP = GatherScatterMode.FILL_OR_DROP
PROMISE_IN_BOUNDS = GatherScatterMode.PROMISE_IN_BOUNDS


def zeros(aval: Any, dtype: Any = None) -> Any:
    """Return zeros with the shape and sharding of a type, and optionally another dtype."""
    out = zero_array(shaped(aval.shape, dtype or aval.dtype))
    return out if aval.type_sharding.explicit is None else core_ops.reshard_to_aval(out, aval)


# ----------------------------------------------------------------------------- gather


def _gather_type(x, indices, *, dimension_numbers, slice_sizes, **_):
    return gather_type(x, indices, dimension_numbers, slice_sizes)


def _gather_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x, indices), t = primals, tangents[0]
    out = gather_p.bind(x, indices, **params)
    if type(t) is Zero:
        return out, Zero(core.aval_of(out).to_tangent())
    if params["mode"] is FILL_OR_DROP:
        params["fill_value"] = 0
    return out, gather_p.bind(t, indices, **params)


def _gather_transpose(
    ct, x, indices, *, dimension_numbers, slice_sizes, fill_value, **flags
) -> list[Any]:
    dims = scatter_dims_of(dimension_numbers)
    start = zeros(x.aval.to_ct_aval())
    return [bind_scatter(scatter_add_p, add, start, indices, ct, dims, **flags), None]


def _gather_batch(
    axis: Any,
    args: Any,
    lanes: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    **params: Any,
) -> Any:
    (x, indices), (x_lane, index_lane) = args, lanes
    size, dims = axis.size, dimension_numbers
    if x_lane is not None:
        x = lane_to_front(x, axis, x_lane)
    if index_lane is None:
        dims, slice_sizes = operand_lanes(dims), (size, *slice_sizes)
    else:
        indices = lane_to_front(indices, axis, index_lane)
        if x_lane is None:  # two lanes may have the same indices
            dims, indices_are_sorted, unique_indices = index_lanes(dims), False, False
        else:
            dims, slice_sizes = common_lanes(dims), (1 if size else 0, *slice_sizes)
    out = gather_p.bind(
        x,
        indices,
        dimension_numbers=dims,
        slice_sizes=slice_sizes,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        **params,
    )
    return out, 0


def _gather_lower(
    ctx: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
) -> Any:
    """Lower to StableHLO's gather, which clamps starts; only filling needs a select."""
    operand, index = ctx.avals_in
    out = ctx.avals_out[0]
    value = ctx.op(
        "gather",
        out,
        x,
        indices,
        dimension_numbers=ctx.parse(gather_attribute(dimension_numbers, index.ndim)),
        slice_sizes=ctx.i64s(slice_sizes),
        indices_are_sorted=ctx.bool(indices_are_sorted),
    )
    if mode is not FILL_OR_DROP or not dimension_numbers.start_index_map:
        return value
    inside = _emit_in_bounds(ctx, indices, operand, index, dimension_numbers, slice_sizes)
    batch = [d for d in range(out.ndim) if d not in dimension_numbers.offset_dims]
    wide = shaped(out.shape, dtypes.bool_)
    inside = ctx.op("broadcast_in_dim", wide, inside, broadcast_dimensions=ctx.i64s(batch))
    with np.errstate(invalid="ignore", over="ignore"):  # as C converts numbers
        fill = np.asarray(fill_value).astype(out.dtype)[()]
    return ctx.op("select", out, inside, value, ctx.constant(fill, out))


def _emit_in_bounds(ctx, indices, operand, index, dims, sizes):
    """Emit, for each index vector, whether its window is in bounds."""
    last = index.ndim - 1
    bounds = last_starts(operand, index, dims.start_index_map, sizes)
    one = shaped((*index.shape[:-1], 1), index.dtype)
    flat = shaped(index.shape[:-1], index.dtype)
    flag = shaped(index.shape[:-1], dtypes.bool_)

    def compare(x: Any, value: Any, direction: str) -> Any:
        return ctx.op(
            "compare",
            flag,
            x,
            ctx.constant(value, flat),
            comparison_direction=ctx.parse(f"#stablehlo<comparison_direction {direction}>"),
        )

    inside = None
    for i, bound in enumerate(bounds):
        component = ctx.op(
            "slice",
            one,
            indices,
            start_indices=ctx.i64s([0] * last + [i]),
            limit_indices=ctx.i64s([*index.shape[:-1], i + 1]),
            strides=ctx.i64s([1] * index.ndim),
        )
        component = ctx.op("reshape", flat, component)
        checks = [compare(component, bound, "LE")]
        if not dtypes.is_unsigned(index.dtype):
            checks.append(compare(component, 0, "GE"))
        for check in checks:
            inside = check if inside is None else ctx.op("and", flag, inside, check)
    return inside


gather_p = primitive(
    "gather",
    type=_gather_type,
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=_gather_batch,
    lower=_gather_lower,
)


def _gather_bounds(x, indices, *, dimension_numbers, slice_sizes, **_):
    shape, axes = core.aval_of(x).shape, dimension_numbers.start_index_map
    return shape, indices, axes, [shape[a] - slice_sizes[a] for a in axes]


def _gather_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    (operand, indices), dims = specs, params["dimension_numbers"]
    sizes, shape = params["slice_sizes"], avals[0].shape
    pairs = dict(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True))
    batch_entries: list[Any] = list(indices[:-1])  # the last axis contains the index vectors
    unambiguous = not any(s for i, s in enumerate(indices) if i not in pairs.values())
    for i, entry in enumerate(operand):
        if i in pairs:
            other = batch_entries[pairs[i]]
            unambiguous = unambiguous and (entry is None or other in (None, entry))
            batch_entries[pairs[i]] = entry or other
        else:
            unambiguous = unambiguous and (entry is None or sizes[i] == shape[i])
    if not unambiguous:
        raise unresolved("gather", ".at[...].get(out_sharding=)", "indexing", avals, specs)
    removed_axes = {*pairs, *dims.collapsed_slice_dims}
    window_entries = iter([s for i, s in enumerate(operand) if i not in removed_axes])
    remaining_batch = iter(batch_entries)
    n = len(outs[0].shape)
    return [
        tuple(
            next(window_entries if i in dims.offset_dims else remaining_batch) for i in range(n)
        )
    ]


gather_p.def_sharding(specs=_gather_specs)


def _gather_axes(ins: Any, outs: Any, params: Any) -> list[Any]:
    """Return `axes_of` for any indices: batching axes and full axes of windows stay."""
    dims, sizes = params["dimension_numbers"], params["slice_sizes"]
    axes: list[int | None] = [None] * outs[0].ndim
    removed_axes = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    window_axes = [i for i in range(ins[0].ndim) if i not in removed_axes]
    for k, i in zip(dims.offset_dims, window_axes, strict=True):
        if sizes[i] == ins[0].shape[i]:
            axes[k] = i
    rest = [k for k in range(outs[0].ndim) if k not in dims.offset_dims]
    for i, k in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
        axes[rest[k]] = i
    return [axes, [None] * outs[0].ndim]


gather_p.facts = Facts(
    data_movement="moved",
    axes_of=_gather_axes,
    makes_no_nans=True,
    bounds=_gather_bounds,
    uses_keys=FORWARDS,
)


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Read windows of an array.

    Args:
      operand: an array.
      start_indices: integers; the last axis contains the index vectors.
      dimension_numbers: a `GatherDimensionNumbers`.
      slice_sizes: the size of a window along each axis of `operand`.
      unique_indices: promises that no element is read twice.
      indices_are_sorted: promises that index vectors ascend.
      mode: the treatment out of bounds, a `GatherScatterMode` or its name: 'clip' moves
        the window inside, 'fill' reads `fill_value`; None promises that all windows are in
        bounds.
      fill_value: the value out of bounds for mode 'fill', a number (None: NaN, the
        least signed, the greatest unsigned integer, True).

    Returns:
      An array of `operand`'s dtype, with the axes of the index vectors and of the
      windows.

    Raises:
      TypeError: the numbers do not fit the shapes, or `fill_value` is traced.
      ValueError: indices are not integers, or mode is 'one_hot'.

    Example:
      >>> import minijax.numpy as jnp
      >>> rows = GatherDimensionNumbers((1,), (0,), (0,))
      >>> gather(jnp.eye(3), jnp.array([[2], [0]]), rows, (1, 3))
      Array([[0., 0., 1.],
             [1., 0., 0.]], dtype=float32)

    Source: StableHLO specification, `gather`.
    """
    mode = PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if mode is FILL_OR_DROP:
        if fill_value is None:
            fill_value = default_fill(core.aval_of(operand).dtype)
        elif isinstance(fill_value, core.Tracer):
            raise type_problem(
                "gather got a traced fill_value.",
                fill_value,
                why="The fill value is part of the program, not of its data.",
                tries=["a Python number", "jnp.where on the gathered values"],
            )
        else:
            fill_value = np.asarray(fill_value).item()
    elif mode is GatherScatterMode.ONE_HOT:
        raise value_problem(
            "gather does not support the mode 'one_hot'.",
            why="Only NumPy-style indexing multiplies by one-hot vectors.",
            tries=["jnp.take_along_axis(x, i, axis, mode='one_hot')"],
        )
    else:
        fill_value = None
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=canonical_dimension_numbers(dimension_numbers),
        slice_sizes=int_tuple(slice_sizes, "slice_sizes"),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=mode,
        fill_value=fill_value,
    )


def index_take(src: Any, idxs: Any, axes: Any) -> Any:
    """Take elements at `idxs[k]` along `axes[k]`, all together; indices wrap around.

    Args:
      src: an array.
      idxs: for each of `axes` an integer array of shape (n,).
      axes: axes of `src`, each once.

    Returns:
      An array of `src`'s dtype, with an axis of size n before the remaining axes of `src`.

    Example:
      >>> import minijax.numpy as jnp
      >>> index_take(jnp.arange(4), (jnp.array([0, -1]),), (0,))
      Array([0, 3], dtype=int32)
    """
    shape = core.aval_of(src).shape
    axes = tuple([canonical_axis(a, len(shape)) for a in int_tuple(axes, "axes")])
    index = concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    dtype = core.aval_of(index).dtype
    sizes = np.array([[shape[a] for a in axes]], dtype)
    index = rem(index, sizes)
    index = select_n(lt(index, np.zeros((), dtype)), index, add(index, sizes))
    dims = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape) - len(axes) + 1)),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=axes,
    )
    window = [1 if d in axes else n for d, n in enumerate(shape)]
    return gather(src, index, dims, window)


# ------------------------------------------------------ rules that all scatters share


@util.cached(4096, core.tracing_context)
def update_jaxpr_of(combine: Callable[..., Any], dtype: Any) -> Any:
    """Return the jaxpr of `combine(old, update)` on scalars of a dtype.

    It is cached because programs are cached by params, and jaxprs are equal only if identical.
    """
    scalar = shaped((), dtype)
    return stage(lambda x, y: [combine(x, y)], [scalar, scalar], text="scatter")[0]


def bind_scatter(
    prim: Primitive,
    combine: Callable[..., Any] | None,
    x,
    indices,
    updates,
    dims,
    *,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode,
):
    """Bind one of the scatters."""
    jaxpr = None
    if combine is not None:
        jaxpr = update_jaxpr_of(combine, core.aval_of(x).dtype)
    return prim.bind(
        x,
        indices,
        updates,
        dimension_numbers=dims,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
        update_jaxpr=jaxpr,
        update_consts=(),
    )


def scatter_function(prim: Primitive, combine: Callable[..., Any] | None) -> Any:
    """Turn a stub into the public function of a scatter.

    The function gets the stub's name and its docstring, with the sections that all scatters
    share between its sentence and its example."""

    def declare(stub: Callable[[], None]) -> Any:
        def scatter(
            operand: Any,
            scatter_indices: Any,
            updates: Any,
            dimension_numbers: ScatterDimensionNumbers,
            *,
            indices_are_sorted: bool = False,
            unique_indices: bool = False,
            mode: Any = None,
        ) -> Any:
            if combine is not None:  # before `combine` is staged
                kinds = NUMBER if combine in (add, sub) else ANY
                check_kind(prim.name, core.aval_of(operand), kinds, 0, 3)
            return bind_scatter(
                prim,
                combine,
                operand,
                scatter_indices,
                updates,
                canonical_dimension_numbers(dimension_numbers),
                indices_are_sorted=bool(indices_are_sorted),
                unique_indices=bool(unique_indices),
                mode=GatherScatterMode.from_any(mode),
            )

        sentence, _, example = (stub.__doc__ or "").partition("\n\n")
        stub.__doc__ = f"{sentence}\n{_SCATTER}{example}"
        return named_after(stub, scatter)

    return declare


_SCATTER = """
    Args:
      operand: an array.
      scatter_indices: integers; the last axis contains the index vectors.
      updates: an array of `operand`'s dtype; its axes are the axes of the index vectors
        and of the windows, as in `dimension_numbers`.
      dimension_numbers: a `ScatterDimensionNumbers`.
      indices_are_sorted: promises that index vectors ascend.
      unique_indices: promises that no element is written twice.
      mode: the treatment out of bounds, a `GatherScatterMode` or its name: 'clip' moves
        the window inside; None and 'drop' skip the update.

    Returns:
      An array of `operand`'s shape and dtype.

    Raises:
      TypeError: the numbers do not fit the shapes, or dtypes differ.
      ValueError: indices are not integers.

"""


def _scatter_type(x, indices, updates, *, dimension_numbers, **_):
    same_dtype("scatter", [x, updates])
    return scatter_type(x, indices, updates, dimension_numbers)


def _scatter_batch(prim: Primitive) -> Any:
    def batch(axis: Any, args: Any, lanes: Any, **params: Any) -> Any:
        """Give operand and updates a lane axis, and indices only if they have one."""
        (x, indices, updates), (x_lane, index_lane, update_lane) = args, lanes
        dims = params.pop("dimension_numbers")
        if index_lane is None:
            dims = operand_lanes(dims)
        else:
            indices = lane_to_front(indices, axis, index_lane)
            dims = common_lanes(dims)
        x = lane_to_front(x, axis, x_lane)
        updates = lane_to_front(updates, axis, update_lane)
        out = prim.bind(x, indices, updates, dimension_numbers=dims, **params)
        return out, 0

    return batch


def _emit_rows(ctx: Any, row: Any, aval: Any) -> Any:
    """Emit an array whose rows are all equal."""
    if isinstance(row, np.ndarray):
        return ctx.constant(np.broadcast_to(row, aval.shape), aval)
    column = shaped((*aval.shape[:-1], 1), aval.dtype)
    columns = [ctx.constant(x, column) for x in row]
    return ctx.op("concatenate", aval, *columns, dimension=ctx.i64(aval.ndim - 1))


def _scatter_lower(
    ctx,
    x,
    indices,
    updates,
    *,
    dimension_numbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode,
    update_jaxpr,
    update_consts,
):
    """Lower to StableHLO's scatter, which drops out of bounds; clipping needs a clamp."""
    operand, index, update = ctx.avals_in
    out = ctx.avals_out[0]
    if mode is CLIP and dimension_numbers.scatter_dims_to_operand_dims:
        sizes = window_sizes(operand, update, dimension_numbers)
        index_map = dimension_numbers.scatter_dims_to_operand_dims
        bounds = last_starts(operand, index, index_map, sizes)
        low, high = ctx.constant(0, index), _emit_rows(ctx, bounds, index)
        indices = ctx.op("clamp", index, low, indices, high)
    op = ctx.region_op(
        "stablehlo.scatter",
        [ctx.type(out)],
        [x, indices, updates],
        scatter_dimension_numbers=ctx.parse(scatter_attribute(dimension_numbers, index.ndim)),
        indices_are_sorted=ctx.bool(indices_are_sorted),
        unique_indices=ctx.bool(unique_indices),
    )
    element = ctx.type(shaped((), operand.dtype))
    with ctx.block(op.regions[0], element, element) as (old, new):
        if update_jaxpr is None:
            ctx.return_(new)
        else:
            closed = ClosedJaxpr(update_jaxpr, update_consts)
            ctx.return_(*ctx.jaxpr(closed, old, new))
    return op.result


def _scatter_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    (operand, indices, updates), dims = specs, params["dimension_numbers"]
    sizes = window_sizes(avals[0], avals[2], dims)
    pairs = dict(
        zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True)
    )
    unambiguous = not any(s for i, s in enumerate(indices) if i not in pairs.values())
    removed_axes = {*pairs, *dims.inserted_window_dims}
    windows = [s for i, s in enumerate(operand) if i not in removed_axes]
    for i, entry in enumerate(operand):
        is_full = i in pairs or sizes[i] == avals[0].shape[i]
        unambiguous = unambiguous and (entry is None or is_full)
    for i, entry in zip(dims.update_window_dims, windows, strict=True):
        unambiguous = unambiguous and (updates[i] is None or updates[i] == entry)
    batch_axes = [i for i in range(len(updates)) if i not in dims.update_window_dims]
    lanes = {batch_axes[k]: operand[i] for i, k in pairs.items()}
    unambiguous = unambiguous and all(updates[i] in (None, lanes.get(i)) for i in batch_axes)
    if not unambiguous:
        method = ".at[...].set/add/mul/...(out_sharding=)"
        raise unresolved("scatter", method, "update", avals, specs)
    return [operand]


def _scatter_axes(ins: Any, outs: Any, params: Any) -> list[Any]:
    """Return `axes_of` for any indices: batching, full window and operand axes stay."""
    dims, (out,) = params["dimension_numbers"], outs
    axes: list[int | None] = [None] * out.ndim
    removed_axes = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window_axes = [i for i in range(out.ndim) if i not in removed_axes]
    for k, i in zip(dims.update_window_dims, window_axes, strict=True):
        if ins[2].shape[k] == out.shape[i]:
            axes[i] = k
    rest = [k for k in range(ins[2].ndim) if k not in dims.update_window_dims]
    for i, k in zip(
        dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True
    ):
        axes[i] = rest[k]
    return [list(range(out.ndim)), [None] * out.ndim, axes]


def scatter_primitive(name: str, **facts: Any) -> Primitive:
    """Declare a scatter, except its jvp and transpose."""
    prim = Primitive(name)
    prim.abstract = _scatter_type
    prim.def_sharding(specs=_scatter_specs)
    prim.batch = _scatter_batch(prim)
    prim.lower = _scatter_lower
    prim.facts = Facts(
        axes_of=_scatter_axes,
        makes_no_nans=True,
        bounds=_scatter_bounds,
        flops=lambda ins, outs, params: ins[2].size,
        workspace=copies(0),
        **facts,
    )
    return prim


def _scatter_bounds(x, indices, updates, *, dimension_numbers, **_):
    aval = core.aval_of(x)
    sizes = window_sizes(aval, core.aval_of(updates), dimension_numbers)
    axes = dimension_numbers.scatter_dims_to_operand_dims
    return aval.shape, indices, axes, [aval.shape[a] - sizes[a] for a in axes]


def read_back(x, indices, updates, dims, mode, fill=0):
    """Read `x` where a scatter with these arguments writes, in the shape of the updates."""
    update = updates.aval if is_linear(updates) else core.aval_of(updates)
    sizes = window_sizes(core.aval_of(x), update, dims)
    return gather(x, indices, gather_dims_of(dims), sizes, mode=mode, fill_value=fill)


def flags_of(params: dict[str, Any]) -> dict[str, Any]:
    """Return the params that all scatters to the same positions have in common."""
    names = ("indices_are_sorted", "unique_indices", "mode")
    return {name: params[name] for name in names}


# ---------------------------------------------------------------- scatter-add and -sub


def _scatter_add_transpose(sign: Callable[[Any], Any]) -> Any:
    def transpose(ct, x, indices, updates, *, dimension_numbers, mode, **_) -> list[Any]:
        updates_ct = None
        if is_linear(updates):
            updates_ct = sign(read_back(ct, indices, updates, dimension_numbers, mode))
        return [ct if is_linear(x) else None, None, updates_ct]

    return transpose


def _linear_scatter(prim: Primitive) -> None:
    """Set the jvp of a scatter that is linear in operand and updates together."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x, indices, updates), (x_t, _, u_t) = primals, tangents
        out = prim.bind(x, indices, updates, **params)
        if type(x_t) is Zero and type(u_t) is Zero:
            return out, Zero(core.aval_of(out).to_tangent())
        out_t = prim.bind(instantiate(x_t), indices, instantiate(u_t), **params)
        return out, out_t

    prim.jvp = jvp


scatter_add_p = scatter_primitive("scatter-add", data_movement="back")
_linear_scatter(scatter_add_p)
scatter_add_p.transpose = _scatter_add_transpose(lambda ct: ct)

scatter_sub_p = scatter_primitive("scatter-sub")
_linear_scatter(scatter_sub_p)
scatter_sub_p.transpose = _scatter_add_transpose(neg)


@scatter_function(scatter_add_p, add)
def scatter_add() -> None:
    """Add updates to windows of an array of numbers.

    Example:
      >>> import minijax.numpy as jnp
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter_add(jnp.zeros(3), jnp.array([[1], [1]]), jnp.ones(2), points)
      Array([0., 2., 0.], dtype=float32)
    """


@scatter_function(scatter_sub_p, sub)
def scatter_sub() -> None:
    """Subtract updates from windows of an array of numbers.

    Example:
      >>> import minijax.numpy as jnp
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter_sub(jnp.zeros(3), jnp.array([[1], [1]]), jnp.ones(2), points)
      Array([ 0., -2.,  0.], dtype=float32)
    """
