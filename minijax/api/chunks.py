"""`vmap(chunk=k)`: lanes in chunks of k, one after the other, in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..control import scanning as loops
from ..core import core
from ..interpreters.algebra import lib
from ..interpreters.batch import Axis, batch_flat, bring_front
from ..ops import structural


def batch_in_chunks(
    fun: Callable[..., Sequence[Any]],
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    chunk: int,
) -> tuple[list[Any], list[int | None]]:
    """What `batch_flat` gives, with at most `chunk` lanes at a time.

    Lane axes of the results come first.  Collectives over the lane axis would see one
    chunk only, so a named axis is refused.
    """
    if chunk < 1:
        raise ValueError(f"vmap: chunk must be a positive int, got {chunk}.")
    if isinstance(axis.name, str):
        raise ValueError(
            f"vmap: chunk={chunk} with axis_name={axis.name!r}: collectives would see one"
            " chunk only.\nTry: drop axis_name, or chunk."
        )
    mapped = [bring_front(x, axis.size, d) for x, d in zip(args, dims, strict=True)
              if d is not None]  # fmt: skip
    full, rest = divmod(axis.size, chunk)

    def run(size: int, rows: Sequence[Any]) -> list[Any]:
        it = iter(rows)
        ins = [x if d is None else next(it) for x, d in zip(args, dims, strict=True)]
        outs, out_dims = batch_flat(
            fun, Axis(axis.name, size, axis.spmd_name), ins,
            [None if d is None else 0 for d in dims],
        )  # fmt: skip
        return [bring_front(x, size, d) for x, d in zip(outs, out_dims, strict=True)]

    head = [
        lib.reshape(
            lib.slice_axis(x, 0, 0, full * chunk),
            (full, chunk, *core.aval_of(x).shape[1:]),
        )
        for x in mapped
    ]
    _, many = loops.scan(lambda _, rows: ((), run(chunk, rows)), (), head, length=full)
    parts = [[lib.reshape(y, (full * chunk, *core.aval_of(y).shape[2:])) for y in many]]
    if rest:
        tail = [lib.slice_axis(x, 0, full * chunk, axis.size) for x in mapped]
        parts.append(run(rest, tail))
    if len(parts) == 1:
        outs = parts[0]
    else:
        outs = [structural.concatenate(pair, 0) for pair in zip(*parts, strict=True)]
    return outs, [0] * len(outs)
