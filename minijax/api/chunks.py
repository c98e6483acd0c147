"""`vmap(chunk=k)`: lanes in chunks of k, one after the other, in one compiled loop."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors
from ..control.loop_functions import scan as loops
from ..ir import core
from ..passes.ad_util import core_ops
from ..passes.batch import Axis, batch_flat, lane_to_front, no_name
from ..prims.shape import concatenation


def chunk_size(chunk: object) -> int:
    """Return the user's number of lanes per chunk, checked."""
    if isinstance(chunk, bool) or not hasattr(chunk, "__index__"):
        raise TypeError(f"vmap: chunk must be a positive int, got {chunk!r}.")
    if operator.index(chunk) < 1:
        raise ValueError(f"vmap: chunk must be a positive int, got {chunk}.")
    return operator.index(chunk)


def batch_in_chunks(
    fun: Callable[..., Sequence[Any]],
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    chunk: int,
) -> tuple[list[Any], list[int | None]]:
    """Return what `batch_flat` returns, computed with at most `chunk` lanes at a time.

    Lane axes of the results come first.  Collectives over the lane axis would see only
    one chunk, so a named axis is refused.
    """
    if axis.name is not no_name:
        raise errors.value_error(
            f"vmap: chunk={chunk} with axis_name={axis.name!r}: collectives would"
            " see only one chunk.",
            tries=["drop axis_name, or chunk"],
        )
    mapped = [
        lane_to_front(x, axis, d) for x, d in zip(args, dims, strict=True) if d is not None
    ]
    num_chunks, num_rest = divmod(axis.size, chunk)
    stacked: list[bool] = []

    def run(size: int, slices: Sequence[Any]) -> list[Any]:
        it = iter(slices)
        ins = [x if d is None else next(it) for x, d in zip(args, dims, strict=True)]
        outs, out_dims = batch_flat(
            fun,
            Axis(axis.name, size, axis.spmd_name),
            ins,
            [None if d is None else 0 for d in dims],
        )
        stacked[:] = [d is not None for d in out_dims]
        return [
            x if d is None else lane_to_front(x, size, d)
            for x, d in zip(outs, out_dims, strict=True)
        ]

    head = [
        core_ops.reshape(
            core_ops.slice_axis(x, 0, 0, num_chunks * chunk) if num_rest else x,
            (num_chunks, chunk, *core.aval_of(x).shape[1:]),
        )
        for x in mapped
    ]
    _, chunked_outs = loops.run_scan(
        lambda _, slices: ((), run(chunk, slices)), (), head, length=num_chunks
    )
    outs = [
        _joined(y, num_chunks * chunk) if s else y
        for y, s in zip(chunked_outs, stacked, strict=True)
    ]
    if num_rest:
        tail = [core_ops.slice_axis(x, 0, num_chunks * chunk, axis.size) for x in mapped]
        last = run(num_rest, tail)
        outs = [
            concatenation.concatenate([y, z], 0) if s else z
            for y, z, s in zip(outs, last, stacked, strict=True)
        ]
    else:  # a result that all lanes share is equal in every chunk
        outs = [y if s else _first(y) for y, s in zip(outs, stacked, strict=True)]
    return outs, [0 if s else None for s in stacked]


def _joined(x: Any, size: int) -> Any:
    """Concatenate the chunks of a result along the lane axis."""
    return core_ops.reshape(x, (size, *core.aval_of(x).shape[2:]))


def _first(x: Any) -> Any:
    return core_ops.reshape(core_ops.slice_axis(x, 0, 0, 1), core.aval_of(x).shape[1:])
