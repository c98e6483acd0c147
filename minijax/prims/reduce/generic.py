"""`lax.reduce`: reduction of several arrays together by any associative computation.

A computation that is one of the monoids of over_axes.py, with its neutral element as the
initial value, becomes that primitive.  Any other is staged once on scalars, and the equation
contains its jaxpr.

Next: cumulative.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...analysis.contents import holds_functions
from ...base import tree, util
from ...ir import core
from ...ir.core import Primitive, Tracer
from ...ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ...passes.ad_util import Zero
from ...passes.batch import Axis, batch_flat, move_lane, no_name
from ...passes.jvp import jvp_flat
from ...passes.stage import stage
from ...runtime.running import dispatch
from ...types import dtypes
from ...types.avals import shaped
from ..math.algebraic import add, mul
from ..math.cast import cast
from ..math.logic import bitwise_and, bitwise_or, bitwise_xor
from ..math.order import max, min
from ..shape.shapes import broadcast, int_tuple, problem, type_problem, value_problem
from .fold import fold
from .over_axes import (
    all_ones,
    check_axes,
    drop_axes,
    highest,
    lowest,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
    reduction_specs,
)

__all__ = ("reduce_p", "reduce")

# ------------------------------------------------------------------ the computation


# By identity, since computations may be unhashable; weak, so as not to keep them alive.
@util.cached_by(
    is_shareable=lambda closed: not holds_functions(closed.jaxpr), context=core.tracing_context
)
def staged_computation(
    computation: Callable[..., Any], name: str, treedef: Any, cells: Sequence[Any]
) -> ClosedJaxpr:
    """Return the jaxpr of `computation(a, b)` on pytrees of scalars of types `cells`."""
    n = len(cells)

    def flat(*xs: Any) -> list[Any]:
        out = computation(tree.unflatten(treedef, xs[:n]), tree.unflatten(treedef, xs[n:]))
        leaves, out_treedef = tree.flatten(out)
        if out_treedef != treedef:
            raise value_problem(
                f"{name} computation must return a tree like its operands: expected"
                f" {treedef}, got {out_treedef}.",
                why="Its result is combined again.",
            )
        return leaves

    jaxpr, consts = stage(flat, [*cells, *cells])
    if any(isinstance(c, Tracer) for c in consts):
        raise problem(
            NotImplementedError,
            f"{name} computations can't close over Tracers.",
            why="Inside a reduction, only the computation's arguments are available.",
            tries=["pass the value as another operand", "lax.scan"],
        )
    for expected, got in zip(cells, jaxpr.out_avals, strict=True):
        if got.shape or got.dtype != expected.dtype:
            raise type_problem(
                f"{name} computation must return scalars of its operands' dtypes:"
                f" expected {expected.str_short(True)}, got {got.str_short(True)}.",
                why="Its result is combined again.",
            )
    return ClosedJaxpr(jaxpr, consts)


# ----------------------------------------------------------------------- the primitive

reduce_p = Primitive("reduce", multiple_results=True)
reduce_p.def_sharding(
    specs=lambda specs, avals, outs, params: reduction_specs(
        specs, avals, outs, {"axes": params["dimensions"]}
    )
)


def halves(args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Split arguments into operands and initial values."""
    return args[: len(args) // 2], args[len(args) // 2 :]


def _reduce_type(*avals, computation, jaxpr, dimensions: tuple[int, ...]) -> list[Any]:
    operands, inits = halves(avals)
    if any(x.shape != operands[0].shape for x in operands):
        raise value_problem(
            "reduce operands must have one shape, got"
            f" {', '.join(str(x.shape) for x in operands)}.",
            *operands,
            why="They are reduced together, element by element.",
        )
    if any(v.shape for v in inits):
        raise value_problem(
            f"reduce found non-scalar initial value: {[v.shape for v in inits]}",
            *inits,
            why="The computation starts from scalars.",
        )
    if any(x.dtype != v.dtype for x, v in zip(operands, inits, strict=True)):
        raise type_problem(
            "reduce operand dtypes should match corresponding initial value dtypes.",
            *avals,
            why="lax functions do not promote.",
            tries=["an initial value such as np.float32(0)"],
        )
    shape = check_axes("reduce", operands[0], dimensions)
    return [
        shaped(shape, x.dtype, x.weak_type and v.weak_type)
        for x, v in zip(operands, inits, strict=True)
    ]


def on_arrays(jaxpr: ClosedJaxpr, rank: int) -> Callable[..., Sequence[Any]]:
    """Return the computation on arrays of `rank` axes, elementwise."""

    def combine(a: Sequence[Any], b: Sequence[Any]) -> Sequence[Any]:
        return _eval_mapped(jaxpr, rank, (*a, *b))

    return combine


def _eval_mapped(jaxpr: ClosedJaxpr, rank: int, xs: Sequence[Any]) -> Sequence[Any]:
    if rank == 0:
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *xs)
    axis = Axis(no_name, core.aval_of(xs[0]).shape[0])
    outs, dims = batch_flat(
        lambda *lanes: _eval_mapped(jaxpr, rank - 1, lanes), axis, xs, [0] * len(xs)
    )
    return [move_lane(x, axis, d, 0) for x, d in zip(outs, dims, strict=True)]


def _reduce_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    jaxpr, axes = params["jaxpr"], params["dimensions"]
    operands, inits = halves(primals)
    ts, init_ts = halves(tangents)
    if not all(type(t) is Zero for t in init_ts):
        raise problem(
            NotImplementedError,
            "reduce cannot be differentiated with respect to its initial values.",
            why="They are neutral elements, used any number of times.",
            tries=["combine the value with the result of the reduction"],
        )
    if all(type(t) is Zero for t in ts):
        outs = reduce_p.bind(*primals, **params)
        return outs, [Zero(core.aval_of(x).to_tangent()) for x in outs]
    shape = core.aval_of(operands[0]).shape
    rank = len(shape) - len(axes)

    def by_fold(*xs: Any) -> Sequence[Any]:
        out = fold(xs, on_arrays(jaxpr, rank + 1), inits, axes)
        if any(shape[i] == 0 for i in axes):
            return out
        broadcast_inits = [broadcast(v, core.aval_of(x).shape) for v, x in zip(inits, out)]
        return on_arrays(jaxpr, rank)(broadcast_inits, out)

    return jvp_flat(by_fold, operands, ts)


def _reduce_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    operands, inits = halves(args)
    lanes, init_lanes = halves(dims)
    if any(d is not None for d in init_lanes):
        raise problem(
            NotImplementedError,
            "reduce cannot be vmapped over its initial values.",
            why="They are neutral elements, equal for all lanes.",
            tries=["combine the value with the result of the reduction"],
        )
    lane = next(d for d in lanes if d is not None)
    operands = [move_lane(x, axis, d, lane) for x, d in zip(operands, lanes, strict=True)]
    params["dimensions"], out = drop_axes(lane, params["dimensions"])
    return reduce_p.bind(*operands, *inits, **params), out


def _lower_reduce(ctx, *args, computation, jaxpr: ClosedJaxpr, dimensions) -> list[Any]:
    _, cells = halves(ctx.avals_in)
    op = ctx.region_op(
        "stablehlo.reduce",
        [ctx.type(a) for a in ctx.avals_out],
        args,
        dimensions=ctx.i64s(dimensions),
    )
    kinds = [ctx.type(shaped((), c.dtype)) for c in cells]
    emit_computation(ctx, op.regions[0], [*kinds, *kinds], jaxpr)
    return list(op.results)


def emit_computation(ctx, region, kinds: Sequence[Any], jaxpr: ClosedJaxpr) -> None:
    """Fill the region of a reduction with a jaxpr of scalars.

    Such a region cannot use values from outside, so captured arrays become constants inside.
    """
    captured, ctx.consts = ctx.consts, {}
    with ctx.block(region, *kinds) as scalars:
        ctx.return_(*ctx.jaxpr(jaxpr, *scalars))
    ctx.consts = captured


reduce_p.abstract = _reduce_type
reduce_p.jvp = _reduce_jvp
reduce_p.batch = _reduce_batch
reduce_p.lower = _lower_reduce
# The compiled program is cached with the jaxpr, and must not keep the function alive.
reduce_p.impl = lambda *args, computation, **params: dispatch.run(
    reduce_p, args, {"computation": None, **params}
)

# ------------------------------------------------------------------------ the function

_MONOIDS: dict[Any, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    add: (reduce_sum, lambda _: 0),
    mul: (reduce_prod, lambda _: 1),
    max: (reduce_max, lowest),
    min: (reduce_min, highest),
    bitwise_and: (reduce_and, all_ones),
    bitwise_or: (reduce_or, lambda _: 0),
    bitwise_xor: (reduce_xor, lambda _: 0),
}


def monoid_of(
    computation: Any, dtype: Any, init: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any]] | None:
    """Return the monoid for a computation that starts from its neutral element, or None."""
    try:
        monoid = _MONOIDS.get(computation)
    except TypeError:  # unhashable
        return None
    if monoid is None or isinstance(init, Tracer) or dtypes.is_extended(dtype):
        return None
    value = np.asarray(init)
    if value.shape or not np.array_equal(value, np.asarray(monoid[1](dtype))):
        return None
    return monoid


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Combine the elements along axes by an associative computation.

    Args:
      operands: a pytree of arrays of one shape.
      init_values: a pytree of scalars like `operands`: neutral elements of the computation.
      computation: takes two pytrees of scalars and returns one; associative.
      dimensions: the axes to reduce, which disappear.
      out_sharding: the sharding of the result (only for sums).

    Returns:
      A pytree like `operands`, of arrays of their dtypes without the axes `dimensions`.

    Raises:
      TypeError, ValueError: trees, shapes or dtypes are incompatible.
      NotImplementedError: the computation closes over traced values.

    Example:
      >>> import minijax.numpy as jnp
      >>> reduce(jnp.arange(1, 5), 1, mul, (0,))
      Array(24, dtype=int32)
    """
    xs, treedef = tree.flatten(operands)
    inits, init_treedef = tree.flatten(init_values)
    if treedef != init_treedef:
        raise value_problem(
            "Operands must have the same tree structure as init_values:"
            f" {treedef} vs. {init_treedef}",
            why="Each operand has its own initial value.",
        )
    if not xs:
        raise value_problem(
            "reduce needs at least one operand.", why="Without operands there is no shape."
        )
    rank = len(core.aval_of(xs[0]).shape)
    axes = tuple(a + rank if -rank <= a < 0 else a for a in int_tuple(dimensions, "dimensions"))
    if len(xs) == 1 and tree.treedef_is_leaf(treedef):
        monoid = monoid_of(computation, core.aval_of(xs[0]).dtype, inits[0])
        if monoid is not None:
            if monoid[0] is reduce_sum:
                out = reduce_sum(xs[0], axes, out_sharding=out_sharding)
            else:
                _check_no_out_sharding(out_sharding)
                out = monoid[0](xs[0], axes)
            kind = core.aval_of(out)
            weak = kind.weak_type and core.aval_of(inits[0]).weak_type
            return cast(out, kind.dtype, weak)
    _check_no_out_sharding(out_sharding)
    cells = [core.aval_of(v) for v in inits]
    # Check the types before the computation is staged on scalars of them.
    _reduce_type(*map(core.aval_of, xs), *cells, computation=None, jaxpr=None, dimensions=axes)
    jaxpr = staged_computation(computation, "reduce", treedef, cells)
    outs = reduce_p.bind(*xs, *inits, computation=computation, jaxpr=jaxpr, dimensions=axes)
    return tree.unflatten(treedef, outs)


def _check_no_out_sharding(out_sharding: Any) -> None:
    if out_sharding is not None:
        raise problem(
            NotImplementedError,
            "reduce supports out_sharding only for sums.",
            why="The compiler chooses the sharding of other reductions.",
            tries=["lax.with_sharding_constraint on the result"],
        )
