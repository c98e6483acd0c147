"""Axis specifications of `vmap` and `pmap`: checked, and broadcast to leaves.

`in_axes` and `out_axes` are pytree prefixes; here they become one axis (or None) per leaf,
never negative.  All mapped arguments must have the same size along theirs; otherwise an
error lists the sizes.  Next: calls/pmap.py, api/vmap.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors, tree
from ..base.source import function_text
from ..ir import core
from ..types.sizes import size_of
from .arguments import ArgNames


class Mapped:
    """A mapped function, for messages: `who` names what it is mapped over."""

    __slots__ = ("fun", "transform", "who")

    def __init__(self, transform: str, fun: Any, who: str) -> None:
        self.transform = transform
        self.fun = fun
        self.who = who

    def error(self, what: str, kind: type[Exception] = ValueError, **details: Any) -> Any:
        """Return an error about this function."""
        location = function_text(self.fun)
        return kind(errors.message(f"{self.transform} {what}", where=location, **details))

    def unstackable(self, x: Any) -> Any:
        """Return the error for a result that is not an array."""
        return self.error(
            f"cannot stack a result: Output from batched function {x!r} with type"
            f" {type(x)} is not a valid JAX type.",
            TypeError,
        )

    def check_spec(
        self, what: str, spec: Any, also: Callable[[Any], bool] = lambda x: False
    ) -> None:
        """Raise TypeError unless all leaves are ints or None, or `also` accepts them."""
        for x in tree.leaves(spec, is_leaf=lambda a: a is None):
            no_axis = not hasattr(x, "__index__") or isinstance(x, bool)
            if x is not None and no_axis and not also(x):
                raise TypeError(
                    f"{self.transform} {what} must be an int, None, or (nested)"
                    f" container with those types as leaves, but got {spec}."
                )

    def flat_axes(self, in_axes: Any, in_tree: Any) -> list[Any]:
        """Return an axis per leaf of the arguments; keyword arguments are mapped over 0."""
        args, kwargs = in_tree.children()
        out = tree.flatten_axes(f"{self.transform} in_axes", args, in_axes)
        return out + [0] * kwargs.num_leaves

    def avals(self, leaves: Sequence[Any], dims: Sequence[Any], names: ArgNames) -> list[Any]:
        """Return the types of the mapped arguments; None for the others."""
        out = []
        for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
            if d is not None and not core.is_value(x):
                core.check_foreign(x)
                raise TypeError(
                    errors.message(
                        f"Argument {x!r} of type {type(x)} is not a valid JAX type.",
                        which=names[i],
                        where=function_text(self.fun),
                        tries=[f"in_axes=None for arguments that all {self.who} share"],
                    )
                )
            out.append(None if d is None else core.aval_of(x))
        return out

    def normalise(
        self, avals: Sequence[Any], dims: Sequence[Any], names: ArgNames
    ) -> list[int | None]:
        """Return non-negative axes, checked against the arguments' ranks."""
        out: list[int | None] = []
        for i, (aval, d) in enumerate(zip(avals, dims, strict=True)):
            if d is None:
                out.append(None)
                continue
            shape = getattr(aval, "shape", ())
            if not -len(shape) <= d < len(shape):
                raise self.error(
                    f"was requested to map its argument along axis {d}, which implies"
                    f" that its rank should be at least {d + 1 if d >= 0 else -d}, but"
                    f" is only {len(shape)} (its shape is {shape}).",
                    which=names[i],
                    tries=[f"in_axes=None for arguments that all {self.who} share"],
                )
            out.append(d % len(shape))
        return out

    def size(
        self,
        avals: Sequence[Any],
        dims: Sequence[int | None],
        names: ArgNames,
        axis_size: int | None = None,
    ) -> int | None:
        """Return the size of all mapped axes (and `axis_size`); None if there is none."""
        size = axis_size
        for aval, d in zip(avals, dims, strict=True):
            if d is not None:
                n = aval.shape[d]
                if size is None:
                    size = n
                elif n != size:
                    raise self._disagreement(avals, dims, names, axis_size)
        return None if size is None else size_of(size)

    def _disagreement(
        self, avals: Sequence[Any], dims: Sequence[Any], names: ArgNames, axis_size: Any
    ) -> Exception:
        by_size: dict[int, list[str]] = {}
        for i, (aval, d) in enumerate(zip(avals, dims, strict=True)):
            if d is not None:
                by_size.setdefault(aval.shape[d], []).append(
                    f"axis {d} of argument {names[i]} of type {aval.str_short(False)}"
                )
        lines = [] if axis_size is None else [f"the `axis_size` argument was {axis_size}"]
        sizes = sorted(by_size, key=lambda n: -len(by_size[n]))
        for n in sizes:
            k = len(by_size[n])
            if k == 1:
                lines.append(f"one axis had size {n}: {by_size[n][0]}")
            else:
                many = "most" if n == sizes[0] else "some"
                lines.append(f"{many} axes ({k} of them) had size {n}, e.g. {by_size[n][0]}")
        return self.error(
            "got inconsistent sizes for array axes to be mapped:\n  * " + ";\n  * ".join(lines),
            tries=[f"in_axes=None for arguments that all {self.who} share"],
        )


def result_axis(axis: int, rank: int) -> int:
    """Return the non-negative position of a new axis in a result of rank `rank`."""
    if not -rank <= axis < rank:
        raise ValueError(
            f"axis {axis} is out of bounds for array of dimension {rank}.\n"
            "Why: it is where out_axes puts the mapped axis of a result."
        )
    return axis % rank
