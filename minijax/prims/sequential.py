"""Loops inside a lowering rule, for operations that are sequential.

Users' control flow is a higher layer (control/).  Here a loop only emits an operation that
a platform lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..types import dtypes
from ..types.avals import shaped
from .reduce.over_axes import reduce_or

Step = Callable[..., Sequence[Any]]


def emit_loop(
    ctx: Any, n: int, step: Step, state: Sequence[Any], avals: Sequence[Any]
) -> list[Any]:
    """Emit `for i in range(n): state = step(i, *state)`; i is an int32 scalar."""
    if n <= 0:
        return list(state)
    count = shaped((), dtypes.int32)

    def goes_on(i: Any, *_: Any) -> Any:
        return _compare(ctx, "LT", i, ctx.constant(n, count))

    return _emit_while(ctx, 0, count, goes_on, step, state, avals)


def emit_iteration(
    ctx: Any, step: Step, state: Sequence[Any], avals: Sequence[Any], limit: int
) -> list[Any]:
    """Emit `while any(state[0]): state = step(n, *state)`, `limit` steps at most.

    n counts the steps from 1, in the dtype of `state[1]`; `state[0]` is of bools.
    """
    count = shaped((), avals[1].dtype)
    axes = tuple(range(avals[0].ndim))

    def goes_on(n: Any, active: Any, *_: Any) -> Any:
        (some,) = ctx.fun(lambda x: reduce_or(x, axes), active, avals=[avals[0]])
        early = _compare(ctx, "LE", n, ctx.constant(limit, count))
        return ctx.op("and", shaped((), dtypes.bool_), some, early)

    return _emit_while(ctx, 1, count, goes_on, step, state, avals)


def _emit_while(
    ctx: Any,
    first: int,
    count: Any,
    goes_on: Callable[..., Any],
    step: Step,
    state: Sequence[Any],
    avals: Sequence[Any],
) -> list[Any]:
    """Emit a while loop that counts its steps from `first`; `count` is the counter's aval."""
    types = [ctx.type(a) for a in (count, *avals)]
    op = ctx.region_op("stablehlo.while", types, [ctx.constant(first, count), *state], 2)
    with ctx.block(op.regions[0], *types) as args:
        ctx.return_(goes_on(*args))
    with ctx.block(op.regions[1], *types) as (i, *values):
        values = ctx.fun(step, i, *values, avals=[count, *avals])
        ctx.return_(ctx.op("add", count, i, ctx.constant(1, count)), *values)
    return list(op.results)[1:]


def _compare(ctx: Any, direction: str, x: Any, y: Any) -> Any:
    direction = ctx.parse(f"#stablehlo<comparison_direction {direction}>")
    return ctx.op("compare", shaped((), dtypes.bool_), x, y, comparison_direction=direction)
