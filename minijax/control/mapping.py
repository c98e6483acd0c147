"""`map`: a function over rows, one after the other; built on scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import tree
from ..core import core
from ..interpreters import batch as batching
from ..interpreters.algebra import lib
from ..ops import structural
from .scan import scan, scan_length


def map(  # noqa: A001
    f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None
) -> Any:
    """Apply a function to each row of `xs`, one after the other, in one compiled loop.

    Args:
      f: a function of one row.
      xs: a pytree of arrays with equal leading sizes.
      batch_size: how many rows to take at a time, by `vmap`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.lax.map(lambda x: x * x, jnp.arange(4))
      Array([0, 1, 4, 9], dtype=int32)
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, xs_tree = tree.flatten(xs)
    n = scan_length(f, leaves, None)
    full, rest = divmod(n, batch_size)

    def rows(*row: Any) -> list[Any]:
        outs, out_tree = tree.flatten(f(tree.unflatten(xs_tree, row)))
        trees.append(out_tree)
        return outs

    trees: list[Any] = []

    def block(size: int) -> Callable[..., list[Any]]:
        axis = batching.Axis(batching.no_name, size)

        def run(*vals: Any) -> list[Any]:
            outs, dims = batching.batch_flat(rows, axis, vals, [0] * len(vals))
            return [
                batching.bring_front(x, size, d) for x, d in zip(outs, dims, strict=True)
            ]

        return run

    parts: list[list[Any]] = []
    if full:
        head = [
            lib.reshape(
                lib.slice_axis(x, 0, 0, full * batch_size) if rest else x,
                (full, batch_size, *core.aval_of(x).shape[1:]),
            )
            for x in leaves
        ]
        many = scan(lambda _, x: ((), block(batch_size)(*x)), (), head)[1]
        parts.append([
            lib.reshape(y, (full * batch_size, *core.aval_of(y).shape[2:])) for y in many
        ])  # fmt: skip
    if rest or not full:
        tail = [lib.slice_axis(x, 0, full * batch_size, n) for x in leaves]
        parts.append(block(rest)(*tail))
    if len(parts) == 1:
        outs = parts[0]
    else:
        outs = [structural.concatenate(pair, 0) for pair in zip(*parts, strict=True)]
    return tree.unflatten(trees[0], outs)


