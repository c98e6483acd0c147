"""Window reductions by any computation: reduce_window, and select_and_scatter.

A sum, a maximum or a minimum with its neutral element as the initial value becomes that
primitive of window_reductions.py.  Any other computation is staged once on scalars, and the
equation contains its jaxpr.  Its derivative combines shifted slices elementwise.

window_reductions.py contains the helpers for windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...analysis.cost_model import copies
from ...base import errors, tree
from ...ir import core
from ...ir.core import Primitive, Tracer, unsupported
from ...ir.facts import Facts
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...passes.ad_util import Zero
from ...passes.batch import move_lane
from ...passes.jvp import jvp_flat
from ...types.avals import shaped
from ...types.sizes import size_of
from ..math.algebraic import add
from ..math.cast import cast, scalar
from ..math.logic import select
from ..math.order import max, min
from ..shape.shapes import broadcast
from ..window_padding import dilated, ints, padtype_to_pads
from .generic import halves, monoid_of, on_arrays, staged_computation
from .window_reductions import (
    batch_windows,
    check_windows,
    emit_scatter,
    emit_windows,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    window_slices,
    window_specs,
)

__all__ = ("reduce_window_p", "reduce_window", "select_and_scatter_p")

# ----------------------------------------------------------------------- reduce_window

reduce_window_p = Primitive("reduce_window", multiple_results=True)


def _windows_abstract(*avals: Any, jaxpr: Any, consts: Any, **params: Any) -> list[Any]:
    operands, inits = halves(avals)
    if any(x.shape != operands[0].shape for x in operands):
        raise TypeError(
            f"reduce_window operands must have one shape, got {[x.shape for x in operands]}."
        )
    if any(v.shape for v in inits):
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have"
            f" shapes {[v.shape for v in inits]}."
        )
    if any(x.dtype != v.dtype for x, v in zip(operands, inits, strict=True)):
        raise errors.type_error(
            "reduce_window got inconsistent dtypes for operands and init_values:"
            f" got operand dtypes {[str(x.dtype) for x in operands]} and init_value"
            f" dtypes {[str(v.dtype) for v in inits]}.",
            why="lax functions do not promote.",
            tries=["an initial value such as np.float32(0)"],
        )
    shape = check_windows("reduce_window", operands[0].shape, **params)
    return [shaped(shape, x.dtype) for x in operands]


def _windows_jvp(primals, tangents, *, jaxpr: Jaxpr, consts, **params):
    operands, inits = halves(primals)
    ts, init_ts = halves(tangents)
    if not all(type(t) is Zero for t in init_ts):
        raise errors.type_error(
            "reduce_window jvp does not support non-zero init_value_tangent.",
            why="Initial values are neutral elements, used any number of times.",
            tries=["combine the value with the result of the reduction"],
        )
    if all(type(t) is Zero for t in ts):
        outs = reduce_window_p.bind(*primals, jaxpr=jaxpr, consts=consts, **params)
        return outs, [Zero(core.aval_of(x).to_tangent()) for x in outs]
    rank = len(core.aval_of(operands[0]).shape)
    combine = on_arrays(ClosedJaxpr(jaxpr, consts), rank)

    shape = core.aval_of(operands[0]).shape
    inside = window_slices(broadcast(np.True_, shape), np.False_, **params)

    def by_slices(*xs: Any) -> Sequence[Any]:
        slices = [window_slices(x, v, **params) for x, v in zip(xs, inits, strict=True)]
        counts = core.aval_of(inside[0]).shape
        out: Sequence[Any] = [broadcast(v, counts) for v in inits]
        for is_inside, *values in zip(inside, *slices, strict=True):
            combined = combine(out, values)  # ignored in the padding
            out = [select(is_inside, x, y) for x, y in zip(combined, out, strict=True)]
        return out

    return jvp_flat(by_slices, operands, ts)


def _windows_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    operands, inits = halves(args)
    lanes, init_lanes = halves(dims)
    if any(d is not None for d in init_lanes):
        raise NotImplementedError(
            "reduce_window batching is not implemented for initial values.\nWhy: They"
            " are neutral elements, equal for all lanes."
        )
    lane = next(d for d in lanes if d is not None)
    operands = [move_lane(x, axis, d, lane) for x, d in zip(operands, lanes, strict=True)]
    return reduce_window_p.bind(*operands, *inits, **batch_windows(lane, params)), lane


def _windows_lower(ctx, *args, jaxpr: Jaxpr, consts, **params) -> list[Any]:
    operands, inits = halves(args)
    closed = ClosedJaxpr(jaxpr, consts)

    def fill(region: Any) -> None:
        with ctx.block(region, *map(ctx.type, closed.in_avals)) as scalars:
            ctx.return_(*ctx.jaxpr(closed, *scalars))

    return emit_windows(ctx, operands, inits, ctx.avals_out, fill, params)


reduce_window_p.abstract = _windows_abstract
reduce_window_p.jvp = _windows_jvp
reduce_window_p.batch = _windows_batch
reduce_window_p.lower = _windows_lower
reduce_window_p.facts = Facts(workspace=copies(3))
reduce_window_p.def_sharding(specs=window_specs)

_POOLS = {add: reduce_window_sum_p, max: reduce_window_max_p, min: reduce_window_min_p}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements in each window by an associative computation.

    Args:
      operand: a pytree of arrays of one shape, of n axes.
      init_value: a pytree of scalars like `operand`: neutral elements of the computation.
      computation: takes two pytrees of scalars and returns one; associative.
      window_dimensions: the n sizes of the window.
      window_strides: the n steps between windows (default: ones).
      padding: 'SAME', 'SAME_LOWER', 'VALID', or n pairs (low, high).
      base_dilation, window_dilation: n factors by which operand and window are dilated
        (default: ones).

    Returns:
      A pytree like `operand`, of arrays of their dtypes with one element per window.
      `reduce_window_shape_tuple` returns their shape.

    Raises:
      TypeError: windows do not match the operand, or dtypes differ.
      ValueError: trees differ, or have no array.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce_window(jnp.arange(5.0), 0.0, add, (3,), (2,))
      Array([3., 9.], dtype=float32)
    """
    xs, treedef = tree.flatten(operand)
    inits, init_treedef = tree.flatten(init_value)
    if not xs:
        raise ValueError("reduce_window must have at least one operand.")
    if treedef != init_treedef:
        raise ValueError(
            "Operands must have the same tree structure as init_values:"
            f" {treedef} vs. {init_treedef}"
        )
    shape = core.aval_of(xs[0]).shape
    params = _window_params(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    if len(xs) == 1 and tree.treedef_is_leaf(treedef):
        dtype = core.aval_of(xs[0]).dtype
        init = inits[0]
        if type(init) is float and init in (np.inf, -np.inf):
            init = scalar(init, dtype)  # the least or greatest integer
        if monoid_of(computation, dtype, init) and computation in _POOLS:
            return _POOLS[computation].bind(xs[0], **params)
    cells = [shaped((), core.aval_of(v).dtype) for v in inits]
    # Check the types before the computation is staged on scalars of them.
    _windows_abstract(*map(core.aval_of, (*xs, *inits)), jaxpr=None, consts=(), **params)
    closed = staged_computation(computation, "reduce_window", treedef, cells)
    inits = [
        v if isinstance(v, Tracer) else cast(v, c.dtype)
        for v, c in zip(inits, cells, strict=True)
    ]
    outs = reduce_window_p.bind(
        *xs, *inits, jaxpr=closed.jaxpr, consts=tuple(closed.consts), **params
    )
    return tree.unflatten(treedef, outs)


def _window_params(
    shape: Sequence[int], window: Any, strides: Any, padding: Any, base: Any, dilation: Any
) -> dict[str, Any]:
    window = tuple(map(int, window))
    n = len(window)
    strides = (1,) * n if strides is None else tuple(map(int, strides))
    base = ints(base, "base_dilation", n)
    dilation = ints(dilation, "window_dilation", n)
    if isinstance(padding, str) or hasattr(padding, "name"):
        check_windows("reduce_window", shape, window, strides, [(0, 0)] * n, base, dilation)
        reach = [dilated(k, d) for k, d in zip(window, dilation, strict=True)]
        padding = padtype_to_pads(shape, reach, strides, padding)
    return {
        "window_dimensions": window,
        "window_strides": strides,
        "padding": tuple((size_of(lo), size_of(hi)) for lo, hi in padding),
        "base_dilation": base,
        "window_dilation": dilation,
    }


# ------------------------------------------------------------------ select_and_scatter

select_and_scatter_p = Primitive("select_and_scatter")


def _scatter_abstract(operand: Any, source: Any, init: Any, **_: Any) -> Any:
    if not operand.dtype == source.dtype == init.dtype:
        raise TypeError(
            "select_and_scatter requires an operand, a source and an initial value of one"
            f" dtype, got {operand.dtype}, {source.dtype}, {init.dtype}."
        )
    return shaped(operand.shape, operand.dtype)


def _scatter_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    if dims[2] is not None:
        raise NotImplementedError(
            "select_and_scatter cannot be vmapped over its initial value."
        )
    x, source = (move_lane(v, axis, d, 0) for v, d in zip(args[:2], dims[:2], strict=True))
    return select_and_scatter_p.bind(x, source, args[2], **batch_windows(0, params)), 0


def _scatter_lower(
    ctx,
    operand,
    source,
    init,
    *,
    select_jaxpr: Jaxpr,
    select_consts,
    scatter_jaxpr: Jaxpr,
    scatter_consts,
    window_dimensions,
    window_strides,
    padding,
):
    if not ctx.avals_out[0].shape:  # one window with one element, for which XLA aborts
        (out,) = ctx.jaxpr(ClosedJaxpr(scatter_jaxpr, scatter_consts), init, source)
        return out
    op = emit_scatter(
        ctx,
        [operand, source, init],
        ctx.avals_out[0],
        window_dimensions,
        window_strides,
        padding,
    )
    for region, jaxpr, consts in (
        (op.regions[0], select_jaxpr, select_consts),
        (op.regions[1], scatter_jaxpr, scatter_consts),
    ):
        closed = ClosedJaxpr(jaxpr, consts)
        with ctx.block(region, *map(ctx.type, closed.in_avals)) as scalars:
            ctx.return_(*ctx.jaxpr(closed, *scalars))
    return op.result


select_and_scatter_p.abstract = _scatter_abstract
select_and_scatter_p.jvp = unsupported(
    "Differentiation rule for 'select_and_scatter' not implemented"
)
select_and_scatter_p.batch = _scatter_batch
select_and_scatter_p.lower = _scatter_lower
select_and_scatter_p.facts = Facts(workspace=copies(3))
