"""Loops inside a lowering rule, for operations that are sequential.

Users' control flow is a higher layer (control/).  Here a loop only emits an operation that
a platform lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..types import dtypes
from ..types.avals import shaped
from .math.algebraic import add


def emit_loop(
    ctx, n: int, body: Callable[..., Sequence[Any]], values: Sequence[Any], avals: Sequence[Any]
) -> list[Any]:
    """Emit `for i in range(n): values = body(i, *values)`; i is an int32 scalar."""
    if n <= 0:
        return list(values)
    counter = shaped((), dtypes.int32)
    types = [ctx.type(a) for a in (counter, *avals)]
    op = ctx.region_op("stablehlo.while", types, [ctx.constant(0, counter), *values], 2)
    with ctx.block(op.regions[0], *types) as args:
        ctx.return_(
            ctx.op(
                "compare",
                shaped((), dtypes.bool_),
                args[0],
                ctx.constant(n, counter),
                comparison_direction=ctx.parse("#stablehlo<comparison_direction LT>"),
                compare_type=ctx.parse("#stablehlo<comparison_type SIGNED>"),
            )
        )

    def step(i: Any, *state: Any) -> list[Any]:
        return [add(i, np.int32(1)), *body(i, *state)]

    with ctx.block(op.regions[1], *types) as args:
        ctx.return_(*ctx.fun(step, *args, avals=[counter, *avals]))
    return list(op.results)[1:]
