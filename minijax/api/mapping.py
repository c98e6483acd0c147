"""`vmap`: lift a function of one lane to all lanes.

The work is interpreters/batch.py; here are axis specifications and their messages.
Next: autodiff.py.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from ..base import errors, tree
from ..base.source import function_text
from ..control.jit import ArgNames
from ..core import core
from ..interpreters.batch import Axis, batch_flat, move_lane, no_name
from .chunks import batch_in_chunks


def _check_spec(spec: Any, what: str) -> None:
    for x in tree.leaves(spec, is_leaf=lambda a: a is None):
        if x is not None and (not hasattr(x, "__index__") or isinstance(x, bool)):
            raise TypeError(
                f"vmap {what} must be an int, None, or (nested) container with those"
                f" types as leaves, but got {spec!r}."
            )


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
    sum_match: bool = False,
    *,
    chunk: int | None = None,
) -> Callable[..., Any]:
    """Map a function over axes of its arguments, all lanes at once.

    Args:
      fun: a function of one lane.
      in_axes: for each positional argument the axis to map, or None to share it; a
        pytree prefix of the arguments.  Keyword arguments are mapped over axis 0.
      out_axes: where the lane axis goes in the results; a pytree prefix of them.
      axis_name: a name for the lane axis, for collectives such as `lax.psum`.
      axis_size: the number of lanes, where no argument tells it.
      spmd_axis_name: mesh axes over which the lane axis is laid out.
      chunk: run this many lanes at a time, one chunk after the other, in one compiled
        loop; for work that does not fit in memory at once.

    Raises:
      ValueError: sizes or trees do not match; TypeError: a specification is no int.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(jnp.dot)(jnp.ones((2, 3)), jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)

    Differs from JAX: `chunk`.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}.")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or hasattr(in_axes, "__index__")
            or isinstance(in_axes, (tuple, dict))):  # fmt: skip
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to"
            f" the positional arguments passed to the function, but got {in_axes!r}."
        )
    _check_spec(in_axes, "in_axes")
    _check_spec(out_axes, "out_axes")
    name = no_name if axis_name is None else axis_name

    @functools.wraps(fun)
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                errors.message(
                    "vmap in_axes must be an int, None, or a tuple of entries"
                    " corresponding to the positional arguments passed to the function,"
                    f" but got len(in_axes)={len(in_axes)}, len(args)={len(args)}.",
                    where=function_text(fun),
                )
            )
        leaves, in_tree = tree.flatten((args, kwargs))
        dims = tree.flatten_axes("vmap in_axes", in_tree, (in_axes, 0))
        dims = _normalise(fun, leaves, dims, in_tree)
        size = _lane_count(fun, leaves, dims, in_tree, axis_size)
        trees: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            a, k = tree.unflatten(in_tree, xs)
            outs, out_tree = tree.flatten(fun(*a, **k))
            trees.append(out_tree)
            return outs

        axis = Axis(name, size, spmd_axis_name)
        if chunk is not None and chunk < size:
            outs, out_dims = batch_in_chunks(flat, axis, leaves, dims, chunk)
        else:
            outs, out_dims = batch_flat(flat, axis, leaves, dims)
        wanted = tree.flatten_axes("vmap out_axes", trees[0], out_axes)
        placed = [
            _place(x, size, d, w)
            for x, d, w in zip(outs, out_dims, wanted, strict=True)
        ]
        return tree.unflatten(trees[0], placed)

    return vmapped


def _place(x: Any, size: int, dim: int | None, want: int | None) -> Any:
    """An output with its lane axis where it is wanted."""
    if want is None:
        if dim is not None:
            raise ValueError(
                errors.message(
                    "vmap has mapped output but out_axes is None.",
                    which=core.aval_of(x).str_short(),
                    why="the result differs from lane to lane.",
                    tries=["an int in out_axes for this output"],
                )
            )
        return x
    rank = core.aval_of(x).ndim + (dim is None)
    if not -rank <= want < rank:
        raise ValueError(
            f"axis {want} is out of bounds for array of dimension {rank} in vmap"
            " out_axes."
        )
    return move_lane(x, size, dim, want % rank)


def _label(fun: Any, in_tree: Any, i: int) -> str:
    return ArgNames(fun, in_tree, range(10_000))[i]


def _normalise(fun: Any, leaves: Any, dims: Any, in_tree: Any) -> list[int | None]:
    """Non-negative axes, checked against the arguments' ranks."""
    out: list[int | None] = []
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None:
            out.append(None)
            continue
        aval = core.aval_of(x)
        rank = len(getattr(aval, "shape", ()))
        if not -rank <= d < rank:
            raise ValueError(
                errors.message(
                    f"vmap was requested to map its argument along axis {d}, which"
                    f" implies that its rank should be at least"
                    f" {d + 1 if d >= 0 else -d}, but is only {rank} (its shape is"
                    f" {getattr(aval, 'shape', ())}).",
                    which=_label(fun, in_tree, i),
                    where=function_text(fun),
                    tries=["in_axes=None for arguments that all lanes share"],
                )
            )
        out.append(d % rank)
    return out


def _lane_count(
    fun: Any, leaves: Any, dims: Any, in_tree: Any, axis_size: int | None
) -> int:
    """The number of lanes that all mapped arguments agree on."""
    sizes = [
        core.aval_of(x).shape[d]
        for x, d in zip(leaves, dims, strict=True)
        if d is not None
    ]
    if not sizes:
        if axis_size is None:
            raise ValueError(
                errors.message(
                    "vmap must have at least one non-None value in in_axes"
                    if leaves
                    else "vmap wrapped function must be passed at least one argument"
                    " containing an array, got empty arguments.",
                    where=function_text(fun),
                    tries=["axis_size=..."],
                )
            )
        return axis_size
    if axis_size is not None:
        sizes.append(axis_size)
    if len(set(sizes)) == 1:
        return int(sizes[0])
    counts = Counter(sizes)
    lines = []
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is not None:
            aval = core.aval_of(x)
            lines.append(
                f"axis {d} of argument {_label(fun, in_tree, i)} of type {aval} has size"
                f" {aval.shape[d]}"
            )
    if axis_size is not None:
        lines.append(f"the argument axis_size is {axis_size}")
    most = counts.most_common(1)[0][0]
    raise ValueError(
        errors.message(
            "vmap got inconsistent sizes for array axes to be mapped:\n  * "
            + "\n  * ".join(lines[:8]),
            where=function_text(fun),
            why=f"all mapped axes must have one size; most have {most}.",
            tries=["in_axes=None for arguments that all lanes share"],
        )
    )
