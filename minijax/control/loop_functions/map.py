"""`map` and `sequential_vmap`: apply a function to slices, one after the other, by a scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base import tree
from ...base.tracebacks import boundary
from ...base.util import pick
from ...ir import core
from ...passes import batch as batching
from ...passes.ad_util import core_ops
from ...prims.shape import concatenation
from ..body_staging import LoopDescription, cached_wrapper
from ..flat import FlatFun
from ..rules.custom_vmap import custom_vmap
from .scan import run_scan, scan_length


@boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each slice of `xs`, one after the other, in one compiled loop.

    Args:
      f: a function of one slice along the leading axis.
      xs: a pytree of arrays with equal leading sizes.
      batch_size: how many slices to process at a time, by `vmap`; None or 0: one.

    Returns:
      The results of `f`, stacked along a new first axis, as long as that of `xs`.

    Raises:
      TypeError: `f` is not a function.
      ValueError: leading sizes differ, or `xs` has no array.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.lax.map(lambda x: x * x, jnp.arange(4))
      Array([0, 1, 4, 9], dtype=int32)
    """
    if not callable(f):
        raise TypeError(f"lax.map: f argument should be a callable, got {f!r}.")
    loop = LoopDescription("map", f, "carry")
    if not batch_size:
        return run_scan(cached_wrapper(f, _one_row), (), xs, loop=loop)[1]
    leaves, xs_tree = tree.flatten(xs)
    n = scan_length(f, leaves, xs_tree, None)
    full, rest = divmod(n, batch_size)
    results = []
    if full:
        head = [
            core_ops.reshape(
                core_ops.slice_axis(x, 0, 0, full * batch_size) if rest else x,
                (full, batch_size, *core.aval_of(x).shape[1:]),
            )
            for x in leaves
        ]
        step = cached_wrapper(f, _some_rows, batch_size)
        many = run_scan(step, (), tree.unflatten(xs_tree, head), loop=loop)[1]
        results.append(
            tree.map(lambda y: core_ops.reshape(y, (full * batch_size, *y.shape[2:])), many)
        )
    if rest or not full:
        done = full * batch_size
        tail = [core_ops.slice_axis(x, 0, done, n) if done else x for x in leaves]
        results.append(_lanes(f, rest, tree.unflatten(xs_tree, tail)))
    if len(results) == 1:
        return results[0]
    return tree.map(lambda *pair: concatenation.concatenate(pair, 0), *results)


def _one_row(f: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda _, x: ((), f(x))


def _some_rows(f: Callable[[Any], Any], size: int) -> Callable[..., Any]:
    return lambda _, xs: ((), _lanes(f, size, xs))


def _lanes(f: Callable[[Any], Any], size: int, xs: Any) -> Any:
    """Apply `f` to `size` slices together."""
    leaves, xs_tree = tree.flatten(xs)
    flat = FlatFun(f, tree.treedef_tuple([xs_tree]), "map")
    axis = batching.Axis(batching.no_name, size)
    outs, dims = batching.batch_flat(flat, axis, leaves, [0] * len(leaves))
    results = [batching.lane_to_front(x, size, d) for x, d in zip(outs, dims, strict=True)]
    return flat.result(results)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Return a function that `vmap` runs lane after lane, by `lax.map`.

    Args:
      f: a function of arrays to a pytree of arrays.

    Returns:
      A `custom_vmap` with `f`'s arguments and result.

    >>> import minijax as mj
    >>> mj.vmap(sequential_vmap(lambda x: x * 2))(mj.numpy.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    out = custom_vmap(f)

    @out.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        leaves, in_tree = tree.flatten(tuple(args))
        flags = tree.leaves(tuple(in_batched))
        batched_leaves = pick(leaves, flags)

        def one(slices: Any) -> Any:
            it = iter(slices)
            full = [next(it) if f else x for x, f in zip(leaves, flags, strict=True)]
            return out(*tree.unflatten(in_tree, full))

        result = map(one, batched_leaves)
        return result, tree.map(lambda _: True, result)

    return out
